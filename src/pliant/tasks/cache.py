"""A cache of reference samples on disk: each is computed once per machine."""

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from pliant._files import cache_folder, read_arrays, write_arrays

Samples = dict[str, np.ndarray]
"""Name to ``(n, *shape)``."""

_KEY = "__key__"


def cached(key: Mapping[str, Any], data: np.ndarray, compute: Callable[[], Samples]) -> Samples:
    """The samples stored for ``key`` and ``data``; if there are none, compute and store them.

    A damaged file, or one with another key, is computed again. A folder that is not writable
    only causes a warning.

    Args:
        key: What the samples depend on, as JSON data. ``key["task"]`` is the file's prefix, and
            every array has ``key["n"]`` rows.
        data: The observations, which enter the key by their bytes.
        compute: Computes the samples, name to array.
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
                f"The reference could not be stored in {path.parent} ({error}) and will be "
                "computed again next time. Set PLIANT_CACHE to a folder that is writable.",
                stacklevel=3,
            )
    return samples


def as_json(value: Any) -> Any:
    """An option of a task as JSON data for a key: other values, other data."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    leaves, structure = jax.tree.flatten(value)
    return [str(structure), *map(_leaf_text, leaves)]


def _leaf_text(leaf: Any) -> str:
    if not isinstance(leaf, np.ndarray | np.generic | jax.Array):
        return repr(leaf)
    array = np.asarray(leaf)
    return f"{array.dtype}{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _read(path: Path, text: str, n: int) -> Samples | None:
    try:
        samples = read_arrays(path)
    except (OSError, ValueError):
        return None
    if str(samples.pop(_KEY, "")) != text or not samples:
        return None
    good = all(a.shape[:1] == (n,) and np.all(np.isfinite(a)) for a in samples.values())
    return samples if good else None
