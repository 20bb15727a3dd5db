"""Folders that one process works in at a time."""

import os
import socket
from pathlib import Path
from typing import IO


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
