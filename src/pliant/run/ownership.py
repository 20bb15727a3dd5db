"""Whose files are in a folder: a run uses its own folder only, and removes its own files only.

This module imports nothing heavy.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pliant.run import folder as layout

_BEGUN = (layout.RUN, layout.CONFIG, layout.SETTINGS)  # written into a folder that a run may use
_SAVED = (layout.RESULT, layout.POSTERIOR, layout.HISTORY)  # ``Result.save`` writes them anywhere
_SYSTEM = (".DS_Store", "Thumbs.db", "desktop.ini")  # files of file managers
_PAGE = b'data-made-by="pliant-report"'  # in the first line of HTML of a page that Pliant wrote
_SHOWN = 3  # names in a message


def check_own(folder: Path) -> None:
    """Refuse a folder that is neither new, nor empty, nor that of a run. Nothing is written.

    Raises:
        FileExistsError: If there is something in the folder that is not Pliant's.
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file, not a folder. Choose another folder.")
    names = _contents(folder)
    if names and (found := _foreign(folder, names)):
        raise FileExistsError(
            f"{folder}: expected a new folder, an empty one, or one that holds a run of Pliant, "
            f"but {found}. Choose another folder."
        )


def check_saved(folder: Path) -> None:
    """Refuse a folder in which a result would replace files that are not Pliant's.

    Raises:
        FileExistsError: If there is such a file.
    """
    if any(is_own(folder / name) for name in _BEGUN):
        return
    saved = is_own(folder / layout.RESULT)  # then a damaged file of arrays is Pliant's too
    for name in _SAVED:
        path = folder / name
        if path.exists() and not is_own(path) and not (saved and path.suffix == ".npz"):
            raise FileExistsError(
                f"{folder}: {name} in it is not a file of Pliant, or is damaged. Choose another "
                "folder, or move the file."
            )


def is_own(path: Path) -> bool:
    """Whether Pliant wrote this file of JSON or arrays, and nobody edited it; or this page."""
    from pliant._files import read_arrays, read_json

    try:
        if path.suffix == ".html":
            with path.open("rb") as file:
                return _PAGE in file.read(200)
        return bool(read_json(path) if path.suffix == ".json" else read_arrays(path))
    except (OSError, ValueError):
        return False


def remove_run(folder: Path) -> None:
    """Remove all files that a run wrote, except for its lock, and nothing else."""
    for ledger in _ledgers(folder):
        _remove_numbered(ledger, partial(layout.ledger_file, ledger))
    _remove_empty(folder / layout.SIMULATIONS)
    _remove_numbered(folder / layout.ROUNDS, partial(layout.round_file, folder))
    remove_evaluations(folder)
    files = set(layout.CONTENTS) - {layout.ROUNDS, layout.SIMULATIONS, layout.RERUNS, *_BEGUN}
    for name in (*sorted(files), layout.RUN, layout.CONFIG):  # what says whose it is comes last
        if not name.endswith((".json", ".html")) or is_own(folder / name):
            (folder / name).unlink(missing_ok=True)


def remove_evaluations(folder: Path) -> None:
    """Remove what was found out about a result, which another one is about to replace."""
    if is_own(folder / layout.DIAGNOSIS):
        (folder / layout.DIAGNOSIS).unlink()
        (folder / layout.DIAGNOSIS_FIGURE).unlink(missing_ok=True)
    for name in (layout.METRICS, layout.REPORT):
        if is_own(folder / name):
            (folder / name).unlink()
    for rerun in _reruns(folder):
        remove_run(rerun)
        remove_lock(rerun)
        _remove_empty(rerun)
        _remove_empty(rerun.parent)
    _remove_empty(folder / layout.RERUNS)


def remove_checkpoints(folder: Path) -> None:
    """Remove the plan and the states, which a finished run no longer needs, and the lock."""
    _remove_numbered(folder / layout.ROUNDS, partial(layout.round_file, folder))
    (folder / layout.RUN).unlink(missing_ok=True)
    remove_lock(folder)


def remove_lock(folder: Path) -> None:
    """Remove the lock of a run, which this process holds or nobody does."""
    with contextlib.suppress(OSError):
        (folder / layout.ROUNDS / layout.LOCK).unlink()
    _remove_empty(folder / layout.ROUNDS)


def remove_snapshots(folder: Path) -> None:
    """Remove the snapshots of a benchmark's run."""
    _remove_numbered(folder / layout.SNAPSHOTS, partial(layout.snapshot_file, folder))


def _contents(folder: Path) -> list[str]:
    """The names in a folder, without what a system or a refused, killed or failed run leaves."""
    if not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir() if not _is_left_over(path))
    left = (layout.ERROR, layout.REPORT)
    return [name for name in names if name not in left or not is_own(folder / name)]


def _is_left_over(path: Path) -> bool:
    from pliant._files import is_unfinished

    if path.name == layout.ROUNDS and path.is_dir():
        return not any(inner.is_dir() or not _is_left_over(inner) for inner in path.iterdir())
    return path.name == layout.LOCK or is_unfinished(path) or _is_of_the_system(path)


def _is_of_the_system(path: Path) -> bool:
    """Whether a file manager or NFS made a file. Nobody misses it, and it is never removed."""
    return path.is_file() and (path.name in _SYSTEM or path.name.startswith(".nfs"))


def _foreign(folder: Path, names: list[str]) -> str:
    """What in a folder is not Pliant's; empty if it holds a run or a result.

    Other files beside a run are of no concern: only a name that a run writes can be in its way.
    """
    begun = any(is_own(folder / name) for name in _BEGUN)
    if not begun and not is_own(folder / layout.RESULT):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"it holds {', '.join(names[:_SHOWN])}{more}, and no run"
    for name in layout.CONTENTS:
        path = folder / name
        known = begun or name in (*_SAVED, layout.REPORT)
        checked = path.suffix in (".json", ".html")
        if path.exists() and not (known and (not checked or is_own(path))):
            return f"{name} in it is not a file of Pliant, or is damaged"
    return ""


def _ledgers(folder: Path) -> Iterator[Path]:
    for path in (folder / layout.SIMULATIONS).glob("*"):
        if path.name.isdecimal() and path == layout.ledger_folder(folder, int(path.name)):
            yield path


def _reruns(folder: Path) -> Iterator[Path]:
    """Runs on simulated sets, by the exact names of their folders."""
    for path in (folder / layout.RERUNS).glob("*/*"):
        named = path.name == f"{int(path.name):03d}" if path.name.isdecimal() else False
        if named and path.parent.name.isdecimal() and any(is_own(path / n) for n in _BEGUN):
            yield path


def _remove_numbered(folder: Path, file_of: Callable[[int], Path]) -> None:
    """Remove the files whose names are exactly those that a run gives, and the empty folder."""
    for number, path in layout.numbered(folder).items():
        if path == file_of(number):
            path.unlink(missing_ok=True)
    _remove_empty(folder)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # something else is in there
        folder.rmdir()
