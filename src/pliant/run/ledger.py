"""The ledger: every draw of a slow simulator, in files, so that no draw is made twice."""

import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from pliant._files import parse_json, read_arrays, storing, write_arrays
from pliant.run.folder import ledger_file, numbered
from pliant.simulators.dispatch import DrawnAt, Request
from pliant.simulators.external import Table
from pliant.simulators.worker import KINDS, OK, Drawn

_SECONDS = 1.0  # draws that finish faster are written together


class Ledger:
    """The draws of one round, in files ``00001.npz``, ``00002.npz``, ... of a folder.

    Each file holds the parameters (``theta_0``, ...) with their random keys, and for each draw its
    ``parameter``, its number ``draw``, ``x``, ``code``, ``seconds``, and ``examples`` of failures;
    and ``under``, the number of its condition, if there are any.
    A killed process loses the draws of its last second.

    Args:
        folder: The round's folder, created with the first file.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._chunks: list[dict[str, np.ndarray]] = []
        self._places: dict[bytes, set[int]] = {}
        self._number = 0
        self._waiting: list[DrawnAt] = []
        self._written = time.monotonic()
        for self._number, path in numbered(folder).items():
            self._read(path)

    def known(self, table: Table) -> list[DrawnAt]:
        """The draws of a request that the ledger has, in the order in which they were written."""
        request = table.request
        rows = {key.tobytes(): row for row, key in enumerate(request.keys)}
        some = {index for key in rows for index in self._places.get(key, ())}
        found = [_matching(self._chunks[index], request, rows) for index in sorted(some)]
        return [(places, drawn) for places, drawn in found if places.size]

    def add(self, request: Request, places: Int[np.ndarray, " D"], drawn: Drawn) -> None:
        """Add finished draws. They are written if a second has passed since the last write."""
        self._waiting.append((places, drawn))
        if time.monotonic() - self._written > _SECONDS:
            self.write(request)

    def write(self, request: Request) -> None:
        """Write the draws that are not written yet."""
        self._written = time.monotonic()
        if not self._waiting:
            return
        with storing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        write_arrays(ledger_file(self.folder, self._number), _chunk(request, self._waiting))
        self._waiting = []

    def _read(self, path: Path) -> None:
        try:
            chunk: dict[str, Any] = read_arrays(path)
            chunk["examples"] = parse_json(str(chunk["examples"]))
            if not _fits_together(chunk):
                raise ValueError(f"{path}: damaged (its arrays do not fit together).")
        except Exception as error:  # whatever a damaged file leads to
            warnings.warn(f"{path} is damaged. Its draws are made again ({error!r}).", stacklevel=4)
            return
        for key in chunk["keys"]:
            self._places.setdefault(key.tobytes(), set()).add(len(self._chunks))
        self._chunks.append(chunk)


def holds_usable_draw(path: Path) -> bool:
    """Whether a file of a ledger holds a usable draw; a damaged one may."""
    try:
        return bool(np.any(read_arrays(path)["code"] == KINDS.index(OK)))
    except (ValueError, KeyError):
        return True


def _fits_together(chunk: dict[str, Any]) -> bool:
    """Whether the arrays of a file have the types, axes and numbers of ``_chunk``."""
    n_keys, n_draws = len(chunk["keys"]), len(chunk["draw"])
    kinds = {"parameter": "i", "draw": "i", "code": "iu", "seconds": "f"}
    kinds |= {"under": "i"} if "under" in chunk else {}
    columns = [chunk[name] for name in kinds]
    thetas = [chunk[name] for name in set(chunk) - {*kinds, "keys", "x", "examples"}]
    return (
        all(c.dtype.kind in kind for c, kind in zip(columns, kinds.values(), strict=True))
        and all(column.shape == (n_draws,) for column in columns)
        and len(chunk["x"]) == n_draws
        and all(len(theta) == n_keys for theta in thetas)
        and all(array.dtype.kind in "biufc" for array in (chunk["keys"], chunk["x"], *thetas))
        and bool(np.all((chunk["parameter"] >= 0) & (chunk["parameter"] < n_keys)))
        and bool(np.all(chunk["draw"] >= 0))
        and all(
            (type(kind), type(row), type(text)) == (str, int, str) and 0 <= row < n_draws
            for kind, row, text in chunk["examples"]
        )
    )


def _chunk(request: Request, pieces: list[DrawnAt]) -> dict[str, np.ndarray]:
    places = np.concatenate([places for places, _ in pieces])
    some, parameter = np.unique(places // request.n, return_inverse=True)
    examples: list[Any] = []
    start = 0
    for own, drawn in pieces:
        examples += [[kind, start + row, text] for kind, (row, text) in drawn.examples.items()]
        start += len(own)
    return {
        "keys": request.keys[some],
        **{f"theta_{i}": values[some] for i, values in enumerate(request.values)},
        "parameter": parameter.astype(np.int32),
        "draw": (places % request.n).astype(np.int32),
        "x": np.concatenate([drawn.x for _, drawn in pieces]),
        "code": np.concatenate([drawn.code for _, drawn in pieces]),
        "seconds": np.concatenate([drawn.seconds for _, drawn in pieces]),
        "examples": np.array(json.dumps(examples)),
        **({} if request.under is None else {"under": _under(request, places)}),
    }


def _under(request: Request, places: Int[np.ndarray, " D"]) -> Int[np.ndarray, " D"]:
    """The numbers of the conditions at some places."""
    assert request.under is not None
    return request.under.reshape(-1)[places].astype(np.int32)


def _matching(chunk: dict[str, Any], request: Request, rows: dict[bytes, int]) -> DrawnAt:
    """The draws of a chunk that belong to a request: same keys and same parameters."""
    row = np.array([rows.get(key.tobytes(), -1) for key in chunk["keys"]])
    for index, values in enumerate(request.values):
        stored = chunk.get(f"theta_{index}")
        if stored is None or stored.shape[1:] != values.shape[1:]:
            row[:] = -1
        else:
            same = (stored == values[row]).reshape(len(row), -1).all(axis=1)
            row = np.where(same, row, -1)
    if chunk["x"].shape[1:] != request.event or chunk["x"].dtype != request.dtype:
        row[:] = -1
    own = row[chunk["parameter"]]
    kept = np.flatnonzero((own >= 0) & (chunk["draw"] < request.n))
    places = own[kept] * request.n + chunk["draw"][kept]
    if request.under is not None:
        asked = _under(request, places)
        same = chunk["under"][kept] == asked if "under" in chunk else np.zeros(len(kept), bool)
        kept, places = kept[same], places[same]
    at = {int(old): new for new, old in enumerate(kept)}
    examples = {
        kind: (at[place], text) for kind, place, text in reversed(chunk["examples"]) if place in at
    }
    drawn = Drawn(chunk["x"][kept], chunk["code"][kept], chunk["seconds"][kept], examples)
    return places, drawn
