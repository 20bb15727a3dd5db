"""A process that cleans up after one that may be killed at any moment.

``python reaper.py`` reads lines from standard input: ``open FOLDER`` before a command is started
in a scratch folder, ``group FOLDER PGID`` once it runs, ``close FOLDER`` when all is cleaned up.
When the input ends, its writer is dead: programs that are still open are killed with all that they
started, and their folders removed. It is a separate program, and imports only the standard library.
"""

import contextlib
import os
import shutil
import signal
import sys
import time

MARK = "PLIANT_SCRATCH"
"""The environment variable by which processes are found: the scratch folders they belong to."""


def kill_group(group: int) -> None:
    """Kill a process group, if there is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def processes_of(folder: str) -> set[int]:
    """Processes that a command in the scratch folder started, in whatever session they are.

    They inherited its mark, or work in the folder. Without /proc, as on macOS, none are found:
    there, processes that started a session of their own outlive a command that is killed.
    """
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        if int(pid) != os.getpid() and (_marked(pid, folder) or _works_in(pid, folder)):
            found.add(int(pid))
    return found


def _marked(pid: str, folder: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:  # it has exited, or belongs to another user
        return False
    name = f"{MARK}=".encode()
    marks = [word[len(name) :].split(b":") for word in variables if word.startswith(name)]
    return any(os.fsencode(folder) in mark for mark in marks)


def _works_in(pid: str, folder: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd").startswith(folder)
    except OSError:
        return False


def kill_all(folder: str) -> None:
    """Kill all processes of a scratch folder, and those that they start meanwhile."""
    for _ in range(100):
        found = processes_of(folder)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def main() -> None:
    """Read all lines, then clean up what is still open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the writer
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    groups: dict[str, int | None] = {}
    for line in sys.stdin:
        verb, folder, *group = line.rstrip("\n").split("\t")
        if verb == "close":
            groups.pop(folder, None)
        else:
            groups[folder] = int(group[0]) if group else None
    for folder, group in groups.items():
        if group is not None:
            kill_group(group)
        kill_all(folder)
        for _ in range(10):  # processes that are being killed may still write
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break


if __name__ == "__main__":
    main()
