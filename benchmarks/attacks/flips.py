"""Single flipped bytes in every file of runs: the same result, or a file that is named.

Each flip is read by what reads that file: ``pliant.load``, the store that resumes a run, or
``pliant show``. Some runs are also resumed, in full.
"""

import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from attacks.campaign import (
    DIFFERENCE,
    REFUSALS,
    TRACEBACK,
    Arena,
    Attack,
    Fault,
    command,
    expect,
)
from attacks.models import content, posterior, problem
from pliant.run.serialise import encode
from pliant.run.store import RunStore

READ, RESUMED = "8 flipped bytes, read", "8 flipped bytes, resumed"
SAVED = ("result.json", "posterior.npz", "history.json")
PROBLEM = problem()
SHOWN = ("config.json", "samples.npz", "pairs.png", "history.png")


def flip(rng: random.Random, data: bytes) -> bytes:
    """The data with one byte that differs in one bit, or in all."""
    place = rng.randrange(len(data))
    changed = data[place] ^ rng.choice([1 << rng.randrange(8), 0xFF])
    return data[:place] + bytes([changed]) + data[place + 1 :]


def _load(run: Path) -> Any:
    return content(pliant.load(run))


def _show(run: Path) -> Any:
    outcome = command("show", run)
    if isinstance(outcome.exception, SystemExit):
        raise ValueError(outcome.stderr.removesuffix("\n"))
    expect(outcome.exception is None, TRACEBACK, repr(outcome.exception))
    return outcome.output


def _store(run: Path) -> Any:
    """What a resumed run reads: its plan, its last round, and all draws."""
    with RunStore(run) as store:
        plan = store.plan(PROBLEM)
        last = store.last()
        ledgers = [store.ledger(index) for index in (0, 1, 2, 3)]
    return (
        encode(plan.method),
        plan[1:],
        None if last is None else (encode(last.state), last[1:]),
        [
            {name: np.asarray(part).tobytes() for name, part in chunk.items()}
            for ledger in ledgers
            for chunk in ledger._chunks
        ],
    )


def _reader(path: Path) -> Callable[[Path], Any]:
    return _load if path.name in SAVED else _show if path.name in SHOWN else _store


def _outcome(read: Callable[[Path], Any], run: Path, expected: Any, path: Path) -> None:
    """Read a run with a flipped byte, and raise a fault unless it is as it should be."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            found = read(run)
        except REFUSALS as error:
            text = str(error)
        else:
            text = " ".join(str(warning.message) for warning in caught)
            if not text:
                expect(found == expected, DIFFERENCE, f"{path}: another content, without a word")
                return
    expect("\n" not in text, TRACEBACK, f"not one line: {text}")
    expect(path.name in text, DIFFERENCE, f"{path} is not named: {text}")


def _files(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file() and path.stat().st_size)


def _read(name: str, number: int, part: int):
    """Flips in all files of a run, equally many in each."""

    def act(arena: Arena) -> int:
        rng = random.Random(f"{arena.seed} {name} {part}")
        run, total = arena.copy(name), number // 10 if arena.short else number
        files = [path for path in _files(run) if name != "command" or path.name in SHOWN]
        expected = {read: read(run) for read in {_reader(path) for path in files}}
        for index in range(total):
            path = files[index % len(files)]
            read, data = _reader(path), path.read_bytes()
            path.write_bytes(flip(rng, data))
            try:
                _outcome(read, run, expected[read], path)
            except Fault:
                raise
            except Exception as error:
                raise Fault(TRACEBACK, f"{path}: {error!r}") from error
            finally:
                path.write_bytes(data)
        return total

    return act


def _resumed(run: Path, whole: Any) -> None:
    """Resume a run, and compare its posterior with that of the whole one."""
    pliant.resume(run, PROBLEM, progress=False)
    expect(posterior(run) == whole, DIFFERENCE, "another posterior after a flipped byte")


def _resume(name: str, number: int, part: int):
    """Flips in the files that a resumed run reads; the posterior is that of the whole run."""

    def act(arena: Arena) -> int:
        rng = random.Random(f"{arena.seed} {name} {part} resumed")
        whole = posterior(arena.runs / "finished")
        total = number // 10 if arena.short else number
        for index in range(total):
            run = shutil.copytree(arena.runs / name, arena.folder / str(index))
            files = [path for path in _files(run) if path.name != ".lock"]
            path = files[index % len(files)]
            path.write_bytes(flip(rng, path.read_bytes()))
            _outcome(lambda run: _resumed(run, whole), run, None, path)
            shutil.rmtree(run)
        return total

    return act


ATTACKS = [
    Attack(group, f"{name}, part {part}", make(name, number, part))
    for group, make, name, number, parts in (
        (READ, _read, "finished", 500, 16),
        (READ, _read, "interrupted", 500, 12),
        (READ, _read, "killed", 500, 8),
        (READ, _read, "command", 500, 4),
        (RESUMED, _resume, "interrupted", 40, 3),
        (RESUMED, _resume, "killed", 40, 3),
    )
    for part in range(parts)
]
