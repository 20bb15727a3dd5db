"""Which problem files ``pliant eval`` and ``pliant resume`` may execute without being asked to.

A run folder may come from a stranger, so its ``config.json`` is data: it must not choose the code
that runs. ``pliant run`` therefore signs the file that it executes (path, digest and the name of
the problem) with a key of this user, which is no part of the folder. A file with a valid signature
is one that this user has executed before. So are its neighbours: the modules in and below its
folder that it has imported, whose digests are signed too. Installed packages are not, nor is what a
function imports only when it is called.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

_KEY_BYTES = 32
_INSTALLED = {"site-packages", "dist-packages"}


def digest(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def neighbours(path: Path) -> dict[str, str]:
    """The digests of the imported modules in and below a file's folder, by their relative paths."""
    folder, own = path.resolve().parent, path.resolve()
    files = {
        Path(file).resolve()
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] != "pliant" and (file := getattr(module, "__file__", None))
    }
    found = {
        file.relative_to(folder).as_posix(): file
        for file in files - {own}
        if file.is_relative_to(folder) and file.is_file()
    }
    return {
        name: digest(file.read_bytes())
        for name, file in sorted(found.items())
        if not _is_installed(file)
    }


def _is_installed(file: Path) -> bool:
    """Whether a module is one of Python's or of a package; they may lie below any folder."""
    python = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    return bool(_INSTALLED & set(file.parts)) or any(map(file.is_relative_to, python))


def changed_neighbour(path: Path, modules: Mapping[str, str]) -> Path | None:
    """The first of a file's neighbours that is no longer what it was."""
    for name, sha256 in modules.items():
        file = path.resolve().parent / name
        if not file.is_file() or digest(file.read_bytes()) != sha256:
            return file
    return None


def signature(path: str, sha256: str, name: str, modules: Mapping[str, str]) -> str:
    """This user's signature of the problem ``name`` in a file; empty if there can be no key."""
    key = _key()
    parts = ["pliant problem", path, sha256, name]
    if modules:
        parts.append(json.dumps(modules, sort_keys=True))
    text = "\0".join(parts).encode()
    return "" if key is None else hmac.new(key, text, hashlib.sha256).hexdigest()


def is_own(path: str, sha256: str, name: str, modules: Mapping[str, str], signed: str) -> bool:
    """Whether the signature is this user's."""
    own = signature(path, sha256, name, modules)
    return own != "" and hmac.compare_digest(own.encode(), signed.encode())


def _key() -> bytes | None:
    """The user's key, made when it is first needed; None if it cannot be kept secret or at all."""
    from pliant._files import cache_folder

    path = cache_folder() / f"key-{os.getuid()}"
    with contextlib.suppress(OSError):
        if not path.exists():
            _make_key(path)
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            key = file.read(_KEY_BYTES + 1)
        private = status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077
        return key if private and len(key) == _KEY_BYTES else None
    return None


def _make_key(path: Path) -> None:
    """Write a new key that only this user can read; the first of several processes wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}-{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
