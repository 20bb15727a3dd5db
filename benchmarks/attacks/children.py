"""Processes that can be killed and limited: a server that forks one for each call.

``python -m attacks.children`` reads lines such as ``{"call": "models:begin", "arguments": {...}}``,
forks a child for each before JAX starts, and prints its process id and how it ended. A fork saves
the seconds of the imports.
"""

import contextlib
import fcntl
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import psutil

import pliant

HERE = Path(__file__).parent
_OUTPUT = 2**20  # bytes that a child may print


class Children:
    """The server, seen from the campaign.

    Args:
        folder: For the output of each child.
        environment: Of the server and its children.
    """

    def __init__(self, folder: Path, environment: dict[str, str]):
        self.output = folder / "output"
        source = Path(pliant.__file__).parents[1]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "attacks.children"],
            env={**environment, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{source}"},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(
        self, call: str, *, limits: dict[str, int] | None = None, **arguments: Any
    ) -> psutil.Process:
        """Call a function of this package in a new process, with limits of ``resource``."""
        self.output.write_text("")
        request = {"call": call, "arguments": arguments, "limits": limits or {}}
        assert self._server.stdin is not None
        print(json.dumps({**request, "output": str(self.output)}), file=self._server.stdin)
        self._server.stdin.flush()
        return psutil.Process(int(self._line()))

    def wait(self) -> tuple[int, str]:
        """How the child ended (0, or minus its signal), and what it printed."""
        code = os.waitstatus_to_exitcode(int(self._line()))
        return code, self.output.read_text(errors="replace")

    def call(self, call: str, **arguments: Any) -> tuple[int, str]:
        """Start a child and wait for its end and that of all processes that it started."""
        child = self.start(call, **arguments)
        family = Family(child)
        code, text = self.wait()
        alive = family.alive()
        if alive:
            text += f"\nProcesses are left: {alive}"
        return code, text

    def owns(self, process: psutil.Process) -> bool:
        """Whether a process is the server, which lives on."""
        return process.pid == self._server.pid

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def _line(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline()


class Family:
    """The processes of a session that a child leads; they outlive it only by mistake."""

    def __init__(self, child: psutil.Process):
        self.mark = f"PLIANT_CAMPAIGN={child.pid}"

    def alive(self, seconds: float = 15.0) -> list[str]:
        """Those that are still there after some seconds."""
        end = time.monotonic() + seconds
        while (found := self._members()) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def _members(self) -> list[str]:
        """All processes whose environment, which they inherit, has the mark of the child."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if self.mark.encode() in path.read_bytes().split(b"\0"):
                    words = (path.parent / "cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(words.decode(errors="replace")[:200])
            except OSError:  # it has just ended
                continue
        return found


def main() -> None:
    """Fork a child for each line of the standard input."""
    import pliant.cli
    import pliant.run.infer
    import pliant.simulators.command
    import pliant.simulators.python  # noqa: F401  the children find it all imported
    from attacks import models, simulators  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        read, write = os.pipe()  # no limit on the size of files holds for a pipe
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _OUTPUT)
        child = os.fork()
        if child == 0:
            _perform(request, write)
        os.close(write)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        os.set_blocking(read, False)  # a process that is left may keep its other end open
        with contextlib.suppress(BlockingIOError):
            Path(request["output"]).write_bytes(os.read(read, _OUTPUT))
        os.close(read)
        print(status, flush=True)


def _perform(request: dict[str, Any], output: int) -> None:
    """Call a function and end the process: with 0, or with 1 and a traceback."""
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    os.close(output)
    os.environ["PLIANT_CAMPAIGN"] = str(os.getpid())  # inherited by all that it starts
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the campaign
    for name, value in request["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    module, _, name = request["call"].partition(":")
    code = 1
    try:
        function = getattr(importlib.import_module(f"attacks.{module}"), name)
        code = function(**request["arguments"]) or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # without Python's own cleaning up, as after a crash


if __name__ == "__main__":
    main()
