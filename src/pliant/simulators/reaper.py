"""A process that cleans up after one that may be killed at any moment.

``python reaper.py`` reads lines from standard input: ``open FOLDER`` before a command is started
in a scratch folder, ``group FOLDER PGID`` once it runs, ``close FOLDER`` when all is cleaned up.
When the input ends, its writer is dead: process groups that are still open are killed and their
folders removed. It is a separate program, and imports only the standard library.
"""

import contextlib
import os
import shutil
import signal
import sys


def kill_group(group: int) -> None:
    """Kill a process group, if there is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def groups_inside(folder: str) -> set[int]:
    """Process groups with a member whose working directory is the folder (needs /proc)."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        try:
            if os.readlink(f"/proc/{pid}/cwd").startswith(folder):
                found.add(os.getpgid(int(pid)))
        except OSError:  # it has exited, or belongs to another user
            continue
    return found


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
        known = groups_inside(folder) if group is None else {group}
        for one in known:
            kill_group(one)
        for _ in range(10):  # processes that are being killed may still write
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break


if __name__ == "__main__":
    main()
