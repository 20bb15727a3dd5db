"""Files that are complete or absent, with checksums; folders locked by one process; the cache."""

import ast
import errno
import hashlib
import json
import math
import os
import re
import socket
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np


class StorageError(OSError):
    """A file could not be written: the disk is full, or the folder no longer exists."""


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` into a ``StorageError`` that names the file or folder."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise StorageError(f"{path} could not be written: {reason}.") from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that replaces ``path`` once it is complete and on the disk.

    Whatever ends the block early, ``path`` stays as it was. What a killed process of this machine
    left when it was writing ``path`` is removed.

    Raises:
        StorageError: If the file cannot be written.
    """
    suffix = f"{os.urandom(6).hex()}{_machine()}{os.getpid():08x}"
    unfinished = path.with_name(f".{path.name}{_UNFINISHED}{suffix}")
    with storing(path):
        _remove_abandoned(path)
        try:
            with unfinished.open("w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)  # so that the new name survives a power failure
            os.close(folder)
        finally:
            unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left of the files that they were writing into the folder."""
    for path in filter(is_unfinished, folder.iterdir()) if folder.is_dir() else ():
        path.unlink(missing_ok=True)


def is_unfinished(path: Path) -> bool:
    """Whether ``replacing`` gave a file its name, for the time until it is complete."""
    return re.fullmatch(rf"\..+{re.escape(_UNFINISHED)}[0-9a-f]+", path.name) is not None


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write ``data`` as a JSON object with its checksum; non-finite numbers become null."""
    plain = _plain(data)
    text = json.dumps({_CHECKSUM: _json_checksum(plain), **plain}, indent=1, allow_nan=False)
    with replacing(path) as file:
        file.write(text.encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read what ``write_json`` wrote.

    Raises:
        FileNotFoundError, ValueError: If there is no such file, or it is damaged.
    """
    with path.open("rb") as file:
        text = file.read(_MOST_JSON + 1)
    try:
        data = parse_json(text.decode())
        stored = data.pop(_CHECKSUM, None) if isinstance(data, dict) else None
        computed = _json_checksum(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a JSON file, or damaged ({error}).") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path}: damaged (expected a JSON object, got {type(data).__name__}).")
    _compare(path, stored, computed)
    return data


def parse_json(text: str) -> Any:
    """JSON as Pliant writes it: no name stands twice in an object, and all numbers are finite.

    Raises:
        ValueError, RecursionError: If the text is anything else, or so long that its objects could
            fill the memory.
    """
    if len(text) > _MOST_JSON:
        raise ValueError(f"expected at most {_MOST_JSON / 2**20:g} MiB of JSON")
    return json.loads(text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_finite)


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays as one ``.npz`` file, whose comment is their checksum."""
    named = {name: np.asarray(value) for name, value in arrays.items()}
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.comment = checksum(named).encode()


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read what ``write_arrays`` wrote. Nothing is unpickled.

    Members are not compressed and do not overlap, so the arrays are not larger than the file.

    Raises:
        FileNotFoundError, ValueError: If there is no such file, or it is damaged.
    """
    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as archive:
            members = archive.infolist()
            _check_members(members, path.stat().st_size)
            stored = archive.comment.decode()
            arrays = {m.filename.removesuffix(_MEMBER): _array(archive.read(m)) for m in members}
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile and NumPy raise errors of many types for damaged files
        raise ValueError(f"{path}: not a file of arrays, or damaged ({error}).") from error
    _compare(path, stored, checksum(arrays))
    return arrays


def checksum(arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of the arrays' names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


_UNFINISHED = ".unfinished-"
_MOST_JSON = 2**26  # bytes; as Python objects, they take up to 20 times as much
_CHECKSUM = "checksum"
_MEMBER = ".npy"
_KINDS = "biufcSU"  # of arrays: numbers and texts
_MAGIC, _LONGEST_HEADER = b"\x93NUMPY\x01\x00", 10_000


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Raise a ``ValueError`` before anything is read if this takes more memory than the file."""
    names = {member.filename for member in members}
    if len(names) < len(members) or not all(name.endswith(_MEMBER) for name in names):
        raise ValueError("expected one member for each array")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise ValueError(f"{member.filename}: expected a member without compression")
    if sum(member.file_size for member in members) > size:
        raise ValueError(f"its arrays are larger than its {size:,} bytes")


def _array(content: bytes) -> np.ndarray:
    """The array in a ``.npy`` file of version 1.0, whose header says what the rest of it is."""
    start = len(_MAGIC) + 2
    length = int.from_bytes(content[len(_MAGIC) : start], "little")
    if not content.startswith(_MAGIC) or length > _LONGEST_HEADER:
        raise ValueError("expected an array of NumPy's format 1.0")
    header = ast.literal_eval(content[start : start + length].decode("latin1").strip())
    descr, order, shape = (header.pop(n) for n in ("descr", "fortran_order", "shape"))
    if header or type(descr) is not str or type(order) is not bool or type(shape) is not tuple:
        raise ValueError("expected the type, order and shape of an array")
    dtype, data = np.dtype(descr), memoryview(content)[start + length :]
    if dtype.kind not in _KINDS or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"expected an array of numbers, got the type {dtype}, shape {shape}")
    if math.prod(shape) * dtype.itemsize != len(data) or dtype.itemsize == 0:
        raise ValueError(f"an array of the shape {shape} does not have {len(data):,} bytes")
    array = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
    return array.reshape(shape, order="F" if order else "C").copy(order="K")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {text}")
    return number


def _json_checksum(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _compare(path: Path, stored: Any, computed: str) -> None:
    if not stored:
        raise ValueError(f"{path}: it has no checksum. This version of Pliant did not write it.")
    if stored != computed:
        raise ValueError(f"{path}: damaged, or edited by hand (its checksum does not match).")


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


def _remove_abandoned(path: Path) -> None:
    """Remove unfinished versions of one file whose process, on this machine, no longer exists."""
    name = re.escape(f".{path.name}{_UNFINISHED}") + f"[0-9a-f]{{12}}{_machine()}([0-9a-f]{{8}})"
    for other in os.listdir(path.parent):
        match = re.fullmatch(name, other)
        if match and not _is_alive(int(match[1], 16)):
            path.with_name(other).unlink(missing_ok=True)


def _machine() -> str:
    """Eight digits that tell this machine from others with the same disk."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


_LOCKED = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)  # errors of a lock that is taken
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


class InUseError(BlockingIOError):
    """Another process uses the folder."""


def lock(path: Path, folder: Path) -> IO[str]:
    """Lock a file for this process. Closing it, or the end of the process, unlocks it.

    Args:
        path: The file, created if it does not exist. It says who locked it.
        folder: The folder that it guards, for the message.

    Warns:
        UserWarning: If the file system has no locks. The file is then open, but not locked.

    Raises:
        InUseError: If another process has locked it.
        OSError: If it cannot be written.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
        _take(file, folder)
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            break
        file.close()  # its owner removed it after it was opened here
    try:
        with storing(path):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}")
            file.flush()
    except StorageError:
        with suppress(OSError):  # closing tries to write again
            file.close()
        raise
    return file


def _take(file: IO[str], folder: Path) -> None:
    """Lock an open file, or close it and raise."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            text = f"{folder}: its file system has no locks ({error.strerror}). Take care that no "
            warnings.warn(f"{text}other process uses the folder at the same time.", stacklevel=4)
            return
        file.seek(0)
        owner = file.read().strip() or "another process"
        file.close()
        if error.errno not in _LOCKED:
            raise
        raise InUseError(
            f"{folder} is in use by {owner}. Wait for it, or choose another folder."
        ) from error


def cache_folder() -> Path:
    """``$PLIANT_CACHE`` if it is set, else ``pliant`` in the platform's cache of the user."""
    if chosen := os.environ.get("PLIANT_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pliant"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "pliant"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pliant"
