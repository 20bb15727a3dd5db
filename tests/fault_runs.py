"""Runs in processes that can be killed: see ``test_faults.py`` and ``test_killed.py``.

``python fault_runs.py CACHE SCRATCH`` reads lines ``{"mortal": ..., "runs": [{"folder": ...}]}``,
forks a child for each, and prints its process id and how it ended. It forks before JAX starts.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist
import psutil

import pliant
import pliant.discrepancies.likelihood_kl
import pliant.methods.abc.mh
import pliant.methods.abc.pmc
import pliant.methods.abc.rejection
import pliant.methods.abc.smc
import pliant.methods.apt
import pliant.methods.pli
import pliant.run.infer
import pliant.run.ledger
import pliant.simulators.command
import pliant.simulators.dispatch
import pliant.simulators.python
from pliant._files import read_arrays

COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
PROGRAM = """
srand(seed); u = rand(); rand();
if (u < 0.05) { print "no convergence" > "/dev/stderr"; exit 1 }
if (u < 0.10) { print "[null, 1]"; exit 0 }
if (u < 0.12) { system("sleep 300 & sleep 300") }
printf "[%.9f, %.9f]", mu + 0.5 * rand(), mu + rand()
"""
SOUND_PROGRAM = 'srand(seed); rand(); printf "[%.9f, %.9f]", mu + 0.5 * rand(), mu + rand()'
OPTIONS = {"rounds": 2, "n_particles": 16, "n_draws": 4}
SMALL = {"rounds": 4, "n_particles": 16, "n_draws": 10}
TRAINING = pliant.Training(steps=20, every=10)
NETWORKS = {"layers": 1, "bins": 4, "width": 8, "training": TRAINING}
METHODS = {
    "Euclidean": lambda: pliant.PLI(
        family=pliant.Gaussian(), discrepancy=pliant.Euclidean(), **OPTIONS
    ),
    "MMD": lambda: pliant.PLI(family=pliant.Gaussian(), discrepancy=pliant.MMD(), **SMALL),
    "likelihood": lambda: pliant.PLI(
        family=pliant.Gaussian(),
        discrepancy=pliant.LikelihoodKL(**NETWORKS, networks=1, n_evaluated=100, approach=None),
        **SMALL,
    ),
    "rejection": lambda: pliant.RejectionABC(quantile=0.25, **SMALL),
    "SMC": lambda: pliant.SMCABC(**SMALL),
    "PMC": lambda: pliant.PMCABC(**{**SMALL, "n_particles": 24}),
    "MH": lambda: pliant.MHABC(max_tries=3, **SMALL),
    "APT": lambda: pliant.APT(
        rounds=3, n_particles=40, embedding=pliant.DeepSet(width=8), batch_size=10, **NETWORKS
    ),
}
SEEDS = {"serial": 9, "workers": 9, "programs": 10}  # with all kinds of failure, and one hang


def model(rng, theta):
    """One draw, if nothing goes wrong: 5 % raise, 5 % are not finite, 2 % hang."""
    import time

    u = rng.random()
    if u < 0.05:
        raise ArithmeticError("no convergence")
    if u < 0.10:
        return np.array([np.nan, 1.0])
    time.sleep(300 if u < 0.12 else 0.002)
    return theta["mu"] + 0.5 * rng.normal(size=2)


def sound(rng, theta):
    """One draw; nothing goes wrong."""
    import time

    time.sleep(0.0005)
    return theta["mu"] + 0.5 * rng.normal(size=2)


def traced(key, theta):
    """The same in JAX."""
    return theta["mu"] + 0.5 * jax.random.normal(key, (2,))


def command(program):
    return ["awk", "-v", "mu={mu}", "-v", "seed={seed}", f"BEGIN {{{program}}}"]


SIMULATORS = {
    "serial": lambda: pliant.PythonSimulator(model, timeout=1.0),
    "workers": lambda: pliant.PythonSimulator(model, timeout=1.0, workers=2),
    "programs": lambda: pliant.CommandSimulator(command(PROGRAM), timeout=1.0, workers=2),
    "sound jax": lambda: traced,
    "sound serial": lambda: pliant.PythonSimulator(sound),
    "sound workers": lambda: pliant.PythonSimulator(sound, workers=2),
    "sound programs": lambda: pliant.CommandSimulator(command(SOUND_PROGRAM), workers=2),
}


def problem(kind):
    observed = 1.0 + 0.5 * np.random.default_rng(0).normal(size=(10, 2))
    return pliant.Problem({"mu": dist.Normal(0, 2)}, SIMULATORS[kind](), observed)


def counted(note, **options):
    """A problem whose draws never fail; ``note`` is called with every one."""
    seconds = 0.05 if options else 0.0  # five draws per piece of an executor

    def draw(rng, theta):
        import time

        note(1)
        time.sleep(seconds)
        return theta["mu"] + 0.5 * rng.normal(size=2)

    observed = 1.0 + 0.5 * np.random.default_rng(0).normal(size=(10, 2))
    simulator = pliant.PythonSimulator(draw, **options)
    return pliant.Problem({"mu": dist.Normal(0, 2)}, simulator, observed)


def killer(file, fatal):
    """A ``note`` of all processes: the one that makes the fatal draw is killed."""

    def note(_):
        import os
        import signal

        with file.open("ab") as notes:
            notes.write(b".")
        if file.stat().st_size == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    return note


def method():
    return METHODS["Euclidean"]()


def run(folder, kind, method="Euclidean"):
    """Begin a run, or go on with it; small chunks, so that there is something to lose."""
    pliant.run.ledger._SECONDS = 0.0
    pliant.simulators.dispatch._SECONDS = 0.05
    if (Path(folder) / "run.json").exists():
        return pliant.resume(folder, problem(kind))
    return pliant.infer(problem(kind), METHODS[method](), seed=SEEDS.get(kind, 0), folder=folder)


def main():
    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
    tempfile.tempdir = sys.argv[2]
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            # JAX does not write its files atomically, and never replaces half of one.
            least = float("inf") if wanted["mortal"] else 0.0
            jax.config.update("jax_persistent_cache_min_compile_time_secs", least)
            ended = [run(**options).status for options in wanted["runs"]]
            sys.stderr.flush()
            os._exit(any(status.is_error for status in ended))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(status, flush=True)


class Runs:
    """A process that has imported everything, and forks one for each run, or for several.

    Args:
        scratch: An empty folder for temporary files.
    """

    def __init__(self, scratch):
        self.scratch = scratch
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(COMPILED), str(scratch)],
            env={
                **os.environ,
                "PYTHONPATH": str(Path(pliant.__file__).parents[1]),
                "TMPDIR": str(scratch),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, *runs, mortal):
        """Begin runs, or go on with them, in a process whose id is returned."""
        print(json.dumps({"mortal": mortal, "runs": runs}), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def kill(self, child):
        """Kill the process, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    def wait(self):
        """How the process ended: 0, or the signal that killed it."""
        return int(self.process.stdout.readline())

    def left_behind(self, seconds=15):
        """Processes and temporary files that are still there some seconds after a run."""
        end = time.monotonic() + seconds
        while (left := [*self._processes(), *self.scratch.iterdir()]) and time.monotonic() < end:
            time.sleep(0.02)
        return left

    def _processes(self):
        """All that the runs started: they inherited the folder for temporary files."""
        for process in psutil.process_iter():
            try:
                own = process.environ().get("TMPDIR") == str(self.scratch)
            except psutil.Error:  # it has just ended, or belongs to another user
                continue
            if own and process.pid != self.process.pid:
                yield process

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def paid(folder):
    """Every draw in the ledgers of a run: its round, the key of its parameter, its number."""
    draws = []
    for path in sorted(Path(folder).glob("simulations/*/*.npz")):
        chunk = read_arrays(path)
        keys = [key.tobytes() for key in chunk["keys"][chunk["parameter"]]]
        draws += [
            (path.parent.name, *draw) for draw in zip(keys, chunk["draw"].tolist(), strict=True)
        ]
    return draws


if __name__ == "__main__":
    main()
