"""Small runs to attack, and whether two results are the same in all bits."""

import os
import shutil
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpyro.distributions as dist

import pliant

PROGRAM = """
srand(seed); u = rand(); rand();
if (u < 0.05) { print "no convergence" > "/dev/stderr"; exit 1 }
if (u < 0.10) { print "[null, 1]"; exit 0 }
if (u < 0.11) { system("sleep 300 & sleep 300") }
printf "[%.9f, %.9f]", mu + 0.5 * rand(), mu + rand()
"""
PRIOR = {"mu": dist.Normal(0, 2)}
OBSERVED = 1.0 + 0.5 * np.random.default_rng(0).normal(size=(10, 2))
FILE = '''
"""A problem of a user, as a file for ``pliant run``."""

import numpy as np
import numpyro.distributions as dist
import pliant


def draw(rng, theta):
    return theta["mu"] + 0.5 * rng.normal(size=2)


problem = pliant.Problem(
    {"mu": dist.Normal(0, 2)}, pliant.PythonSimulator(draw), np.full((10, 2), 1.0)
)
broken = pliant.Problem(
    {"mu": dist.Normal(0, 2)}, pliant.PythonSimulator(lambda *_: 1 / 0), [[1.0]]
)
'''
TINY = ("--method", "pli", "--family", "gaussian", "--discrepancy", "euclidean")
TINY = (*TINY, "--rounds", "2", "--n-particles", "16", "--n-draws", "4")


def draw(rng: np.random.Generator, theta: dict[str, Any]) -> Any:
    """One draw: 5 % raise, 5 % are not finite."""
    import time

    u = rng.random()
    time.sleep(0.002)
    if u < 0.05:
        raise ArithmeticError("no convergence")
    return np.array([np.nan, 1.0]) if u < 0.10 else theta["mu"] + 0.5 * rng.normal(size=2)


def quick(rng: np.random.Generator, theta: dict[str, Any]) -> Any:
    """One draw that never fails."""
    return theta["mu"] + 0.5 * rng.normal(size=2)


def problem(simulator: Any = quick, **options: Any) -> pliant.Problem:
    """The problem with a Python function, or one of the named simulators."""
    if simulator == "quick":
        simulator = quick
    elif simulator == "workers":
        simulator, options = draw, {"workers": 2, **options}
    elif simulator == "serial":
        simulator = draw
    elif simulator == "programs":
        words = ["awk", "-v", "mu={mu}", "-v", "seed={seed}", f"BEGIN {{{PROGRAM}}}"]
        made = pliant.CommandSimulator(words, timeout=1.0, workers=2)
        return pliant.Problem(PRIOR, made, OBSERVED)
    return pliant.Problem(PRIOR, pliant.PythonSimulator(simulator, **options), OBSERVED)


def method(rounds: int = 3) -> pliant.PLI:
    """A method whose runs take a fraction of a second, and reach their target."""
    return pliant.PLI(
        family=pliant.Gaussian(),
        discrepancy=pliant.Euclidean(),
        rounds=rounds,
        n_particles=16,
        n_draws=4,
        beta=1.0,
    )


def infer(given: pliant.Problem, folder: Path | None = None, **options: Any) -> pliant.Result:
    """A run without a display."""
    return pliant.infer(given, method(), folder=folder, progress=False, **options)


def content(result: pliant.Result) -> dict[str, Any]:
    """A result in a form that can be compared; clocks are left out."""
    from pliant.run.serialise import encode

    clocks = {"seconds", "busy"}
    return {
        "posterior": encode(result.posterior),
        "method": encode(result.method),
        "history": [{n: v for n, v in row.items() if n not in clocks} for row in result.history],
        "end": (result.status, result.message, result.seed, encode(result.check)),
        "failures": [(f.kind, f.draws) for f in result.failures],
    }


def posterior(folder: Path) -> Any:
    """The posterior that a folder holds, and how its run ended."""
    found = content(pliant.load(folder))
    return found["posterior"], found["end"][0], found["failures"]


def write_runs(folder: Path) -> None:
    """The runs that are attacked: finished, interrupted, killed, and one of the command."""
    from attacks.campaign import command

    infer(problem(), folder / "finished")

    def interrupt(row: dict[str, Any], _: object) -> None:
        if row["round"] == 2:
            raise KeyboardInterrupt

    infer(problem(), folder / "interrupted", callback=interrupt)
    shutil.copytree(folder / "interrupted", folder / "killed")
    for name in ("result.json", "posterior.npz", "history.json"):
        (folder / "killed" / name).unlink()
    (folder / "model.py").write_text(FILE)
    outcome = command("run", f"{folder / 'model.py'}:problem", *TINY, "--out", folder / "command")
    assert outcome.exit_code == 0, outcome.output


# ---- in processes of their own, see ``children`` ----


def begin(kind: str, folder: str, die_at: int = 0) -> int:
    """Begin a run or resume it; the process kills itself at a certain step of its saving."""
    import pliant.run.ledger

    pliant.run.ledger._SECONDS = 0.0  # every piece is written at once
    _count_steps(die_at)
    with warnings.catch_warnings(action="ignore"):
        if (Path(folder) / "run.json").exists():
            result = pliant.resume(folder, problem(kind), progress=False)
        else:
            result = infer(problem(kind), Path(folder))
    return 3 if result.status.is_error else 0


def run_command(words: list[str]) -> int:
    """``pliant`` as a process of its own would run it."""
    from pliant.cli import app

    app(words, prog_name="pliant")
    return 0


def _count_steps(die_at: int) -> None:
    """Kill this process before the n-th step of writing files: a sync, a rename or a removal."""
    steps = 0

    def fatal(function: Any) -> Any:
        def step(*args: Any, **options: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **options)

        return step

    os.fsync = fatal(os.fsync)
    for name in ("replace", "unlink"):
        setattr(Path, name, fatal(getattr(Path, name)))
