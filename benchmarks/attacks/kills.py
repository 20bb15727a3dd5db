"""SIGKILL at random moments, of the main process and of workers: resumed runs lose nothing.

A run is killed several times, then left to finish. The moments are random times, or random steps
of its saving: before a file is synced, renamed or removed.
"""

import contextlib
import random
import signal
import time
from pathlib import Path

import psutil

from attacks.campaign import DIFFERENCE, LOST, ORPHAN, TRACEBACK, Arena, Attack, expect
from attacks.children import Family
from attacks.models import posterior
from pliant._files import is_unfinished, read_arrays

GROUP = "12, 16 SIGKILL"


def _draws(run: Path) -> int:
    """The number of draws that are on the disk."""
    return sum(len(read_arrays(path)["code"]) for path in run.glob("simulations/*/*.npz"))


def _workers(child: psutil.Process) -> list[psutil.Process]:
    found = []
    with contextlib.suppress(psutil.Error):
        for process in child.children(recursive=True):
            found += [process] if "popen_loky" in " ".join(process.cmdline()) else []
    return found


def _attempt(arena: Arena, run: Path, kind: str, rng: random.Random, way: str) -> bool:
    """Begin or resume a run, and kill it or one of its workers; whether that was in time."""
    step = rng.randint(1, 60) if way == "saving" else 0
    child = arena.children.start("models:begin", kind=kind, folder=str(run), die_at=step)
    family, killed = Family(child), False
    if way != "saving":
        time.sleep(rng.uniform(0.3, 3.0))
        victims = _workers(child)[:1] if way == "a worker" else [child]
        for victim in victims:
            with contextlib.suppress(psutil.Error):
                victim.send_signal(signal.SIGKILL)
                killed = way == "a worker"
    code, text = arena.children.wait()
    dead = code == -signal.SIGKILL
    expect(dead or code == 0, TRACEBACK, f"exit code {code}: {text[-500:]}")
    alive = family.alive()
    expect(not alive, ORPHAN, f"processes are left: {alive}")
    left = [path.name for path in arena.scratch.glob("pliant-*")]
    expect(not left, ORPHAN, f"{left} are left")
    return killed or dead


def _killed(kind: str, way: str, kills: int, number: int):
    def act(arena: Arena) -> int:
        rng = random.Random(f"{arena.seed} {kind} {way} {number}")
        run, count, before = arena.folder / "run", 0, 0
        for _ in range(1 if arena.short else kills):
            count += _attempt(arena, run, kind, rng, way)
            expect(_draws(run) >= before, LOST, f"{before} draws became {_draws(run)}")
            before = _draws(run)
        _finish(arena, run, kind)
        whole = arena.root / f"whole-{kind}"
        if not whole.exists():
            _finish(arena, whole, kind)
        expect(posterior(run) == posterior(whole), DIFFERENCE, "another posterior")
        left = [path.name for path in run.rglob("*") if is_unfinished(path)]
        expect(not left, ORPHAN, f"{left} are left")
        return count

    return act


def _finish(arena: Arena, run: Path, kind: str) -> None:
    code, text = arena.children.call("models:begin", kind=kind, folder=str(run))
    expect("Processes are left" not in text, ORPHAN, text)
    expect(code == 0, LOST, f"the run does not finish: {code}, {text[-500:]}")


ATTACKS = [
    Attack(
        GROUP,
        f"{kind}, {way}, run {number}",
        _killed(kind, way, kills, number),
        slow=number > 0 or kind == "programs" or way == "a worker",
    )
    for kind, way, kills, runs in (
        ("serial", "saving", 5, 8),
        ("serial", "any time", 4, 5),
        ("workers", "any time", 3, 5),
        ("workers", "a worker", 1, 8),
        ("programs", "any time", 3, 4),
        ("programs", "saving", 3, 4),
    )
    for number in range(runs)
]
