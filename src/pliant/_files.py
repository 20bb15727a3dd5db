"""Files that are whole or absent, folders that one process locks, and Pliant's own cache."""

import json
import os
import socket
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np


class StorageError(OSError):
    """A file could not be written: the disk is full, or the folder is not there any more."""


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn what the system says into a ``StorageError`` that names the file or folder."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} could not be written: {reason}.") from error


def write_json(path: Path, data: Any) -> None:
    """Write ``data`` as JSON; numbers that are not finite become null."""
    text = json.dumps(_plain(data), indent=1, allow_nan=False)
    _replace(path, lambda file: file.write(text.encode()))


def read_json(path: Path) -> Any:
    """What ``write_json`` wrote.

    Raises:
        FileNotFoundError, ValueError: If there is no such file, or it is damaged.
    """
    try:
        return json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a JSON file, or damaged ({error}).") from error


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays as one ``.npz`` file."""
    named: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    _replace(path, lambda file: np.savez(file, **named))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """What ``write_arrays`` wrote. Nothing is unpickled.

    Raises:
        FileNotFoundError, ValueError: If there is no such file, or it is damaged.
    """
    try:
        with path.open("rb") as opened:  # NumPy would leave a damaged file open
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: not a file of arrays, or damaged ({error}).") from error


def remove_unfinished(folder: Path) -> None:
    """Remove what processes left that were killed while they wrote into the folder."""
    for path in folder.glob(f".*{_ASIDE}*") if folder.is_dir() else []:
        path.unlink(missing_ok=True)


_ASIDE = ".unfinished-"


def _replace(path: Path, write: Any) -> None:
    aside = path.with_name(f".{path.name}{_ASIDE}{os.getpid()}")
    with storing(path):
        try:
            with aside.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, np.ndarray | np.generic):
        return _plain(data.tolist())
    if isinstance(data, float) and not np.isfinite(data):
        return None
    return data


class InUseError(BlockingIOError):
    """Another process works in the folder."""


def lock(path: Path, folder: Path) -> IO[str]:
    """A file that this process alone has locked; closing it, or the process' end, unlocks it.

    Args:
        path: The file; it is made if it does not exist, and says who locked it.
        folder: What it stands for, for the message.

    Raises:
        InUseError: If another process has locked it.
    """
    import fcntl

    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        owner = file.read().strip() or "another process"
        file.close()
        raise InUseError(
            f"{folder} is in use by {owner}. Wait for it, or choose another folder."
        ) from error
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}")
    file.flush()
    return file


def cache_folder() -> Path:
    """``$PLIANT_CACHE`` if it is set, else ``pliant`` in the platform's cache of the user."""
    if chosen := os.environ.get("PLIANT_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pliant"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "pliant"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pliant"
