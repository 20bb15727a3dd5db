"""Reference samples on disk, so that each is computed once on a machine."""

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pliant._files import cache_folder, read_arrays, write_arrays

_KEY = "__key__"


def cached(
    key: Mapping[str, Any], data: np.ndarray, compute: Callable[[], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """The samples stored under ``key`` and ``data``, or those of ``compute()``, then stored.

    A file that is damaged, or has another key, is computed again. A folder that cannot be
    written to causes a warning.

    Args:
        key: What the samples depend on, as JSON data. The file's name starts with
            ``key["task"]``, and every array has ``key["n"]`` rows.
        data: The observations, of which the key holds a digest.
        compute: Computes the samples by name.
    """
    digest = hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()
    text = json.dumps({**key, "data": digest}, sort_keys=True)
    name = f"{key['task']}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz"
    path = cache_folder() / name
    samples = _read(path, text, key["n"])
    if samples is None:
        samples = compute()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(path, {_KEY: np.array(text), **samples})
        except OSError as error:
            warnings.warn(
                f"The reference could not be stored in {path.parent} ({error}), and will be "
                "computed again. Set PLIANT_CACHE to a folder that can be written to.",
                stacklevel=3,
            )
    return samples


def _read(path: Path, text: str, n: int) -> dict[str, np.ndarray] | None:
    try:
        samples = read_arrays(path)
    except (OSError, ValueError):
        return None
    if str(samples.pop(_KEY, "")) != text or not samples:
        return None
    good = all(a.shape[:1] == (n,) and np.all(np.isfinite(a)) for a in samples.values())
    return samples if good else None
