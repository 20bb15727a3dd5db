"""Files of others in the folder of a run, and folders that another process uses."""

import fcntl
import warnings
from pathlib import Path

import pliant
from attacks.campaign import LOST, Arena, Attack, command, expect, refused, refused_command
from attacks.models import TINY, infer, problem

GROUP, LOCKED = "1 files of others", "5 locked folders"
NAMES = (
    "notes.txt",
    "run.json",
    "config.json",
    "result.json",
    "history.json",
    "posterior.npz",
    "samples.npz",
    "metrics.json",
    "rounds/001.npz",
    "rounds/notes.txt",
    "simulations/precious.csv",
    "simulations/001/00001.npz",
    ".hidden",
    "pairs.png",
)


def contents(folder: Path) -> dict[Path, bytes]:
    """All files of a folder with their bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(folder: Path, name: str) -> Path:
    """A user's file in a folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"mine": 1}')
    return path


def target(arena: Arena, name: str = "problem") -> str:
    """The problem file of the campaign, for the command."""
    return f"{arena.runs / 'model.py'}:{name}"


def _unchanged(arena: Arena, before: dict[Path, bytes]) -> None:
    after = contents(arena.folder)
    lost = [path.name for path, data in before.items() if after.get(path) != data]
    expect(not lost, LOST, f"changed or removed: {lost}")


def _infer_into(name: str):
    def act(arena: Arena) -> None:
        put(arena.folder / "run", name)
        before = contents(arena.folder)
        refused(lambda: infer(problem(), arena.folder / "run"), arena.folder / "run")
        _unchanged(arena, before)

    return act


def _run_into(name: str, *more: str):
    def act(arena: Arena) -> None:
        put(arena.folder / "run", name)
        before = contents(arena.folder)
        folder = arena.folder / "run"
        refused_command("run", target(arena), *TINY, "--out", folder, *more, naming=folder)
        _unchanged(arena, before)

    return act


def _replace_in_run(name: str):
    """A user's file in place of one of a finished run, and ``--overwrite``."""

    def act(arena: Arena) -> None:
        folder = arena.copy("command")
        put(folder, name)
        before = contents(arena.folder)
        words = ("run", target(arena), *TINY, "--out", folder, "--overwrite")
        refused_command(*words, naming=folder)
        _unchanged(arena, before)

    return act


def _overwrite_beside(name: str):
    def act(arena: Arena) -> None:
        folder = arena.copy("command")
        mine = put(folder, name)
        outcome = command("run", target(arena), *TINY, "--out", folder, "--overwrite")
        expect(outcome.exit_code == 0, LOST, f"not written: {outcome.output}")
        expect(mine.is_file() and mine.read_text() == '{"mine": 1}', LOST, f"{name} is gone")
        pliant.load(folder)

    return act


def _failing_run(name: str):
    """Every draw fails, so the run is discarded; a file came into its folder meanwhile."""

    def act(arena: Arena) -> None:
        folder = arena.folder / "run"

        def fails(rng, theta):
            put(folder, name)
            raise ArithmeticError("never")

        with warnings.catch_warnings(action="ignore"):
            result = infer(problem(fails), folder)
        expect(result.status == "failed", LOST, f"the status is {result.status}")
        expect((folder / name).read_text() == '{"mine": 1}', LOST, f"{name} is gone")

    return act


def _locked(run: str, call):
    """A folder whose lock another open file holds."""

    def act(arena: Arena) -> None:
        folder = arena.copy(run)
        before = contents(arena.folder)
        with (folder / "rounds" / ".lock").open("a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            call(arena, folder)
        _unchanged(arena, {p: data for p, data in before.items() if p.name != ".lock"})

    return act


def _overwrite(arena: Arena, folder: Path) -> None:
    words = ("run", target(arena), *TINY, "--out", folder, "--overwrite")
    refused_command(*words, naming="in use")


def _run(arena: Arena, folder: Path) -> None:
    refused_command("run", target(arena), *TINY, "--out", folder, naming=folder)


def _resume(arena: Arena, folder: Path) -> None:
    refused(lambda: pliant.resume(folder, problem(), progress=False), "in use")


def _resume_command(arena: Arena, folder: Path) -> None:
    refused_command("resume", folder, "--problem", target(arena), naming=folder)


def _infer(arena: Arena, folder: Path) -> None:
    refused(lambda: infer(problem(), folder), folder)


BESIDE = ("notes.txt", "rounds/notes.txt", "simulations/precious.csv", "simulations/1/00001.npz")
ATTACKS = [
    *(Attack(GROUP, f"infer, {name}", _infer_into(name)) for name in NAMES),
    *(Attack(GROUP, f"run, {name}", _run_into(name)) for name in NAMES),
    *(Attack(GROUP, f"--overwrite, {name}", _run_into(name, "--overwrite")) for name in NAMES),
    *(
        Attack(GROUP, f"--overwrite of a run with another {name}", _replace_in_run(name))
        for name in ("config.json", "run.json", "metrics.json", "result.json", "history.json")
    ),
    *(
        Attack(GROUP, f"--overwrite beside {name}", _overwrite_beside(name), slow=True)
        for name in BESIDE
    ),
    *(Attack(GROUP, f"a failed run, {name}", _failing_run(name)) for name in BESIDE),
    *(
        Attack(LOCKED, f"{call.__name__.strip('_')}, {run}", _locked(run, call))
        for run in ("command", "killed", "finished")
        for call in (_overwrite, _run, _resume, _resume_command, _infer)
        if run == "command" or call is not _resume_command  # the others have no config.json
    ),
]
