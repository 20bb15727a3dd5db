"""Reference samples on disk, so that each is computed once on a machine."""

import hashlib
import json
import os
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pliant._files import cache_folder

_KEY = "__key__"
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


def cached(
    key: Mapping[str, Any], data: np.ndarray, compute: Callable[[], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """The samples stored under ``key`` and ``data``, or those of ``compute()``, then stored.

    A file that is damaged or belongs to something else is computed anew. A folder that
    cannot be written to is a warning: the samples themselves are good.

    Args:
        key: What the samples depend on, as JSON data; ``key["task"]`` starts the file's name,
            and every array has ``key["n"]`` rows.
        data: The observations, which enter by their bytes.
        compute: Makes the samples, name to array.
    """
    digest = hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()
    text = json.dumps({**key, "data": digest}, sort_keys=True)
    name = f"{key['task']}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz"
    path = cache_folder() / name
    samples = _read(path, text, key["n"])
    if samples is None:
        samples = compute()
        try:
            _write(path, text, samples)
        except OSError as error:
            warnings.warn(
                f"The reference could not be stored in {path.parent} ({error}), and will be "
                "computed again. Set PLIANT_CACHE to a folder that can be written to.",
                stacklevel=3,
            )
    return samples


def _read(path: Path, text: str, n: int) -> dict[str, np.ndarray] | None:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            samples = {name: file[name] for name in file.files}
    except _UNREADABLE:
        return None
    if str(samples.pop(_KEY, "")) != text or not samples:
        return None
    good = all(a.shape[:1] == (n,) and np.all(np.isfinite(a)) for a in samples.values())
    return samples if good else None


def _write(path: Path, text: str, samples: Mapping[str, np.ndarray]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            arrays: dict[str, Any] = {_KEY: np.array(text), **samples}
            np.savez(file, **arrays)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
