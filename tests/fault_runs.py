"""Runs for the fault campaign, in processes that can be killed: see ``test_faults.py``.

``python fault_runs.py CACHE SCRATCH`` reads lines ``{"kind": ..., "folder": ..., "resume": ...}``,
forks a child for each, and prints its process id and how it ended. It forks before JAX starts.
"""

import json
import os
import sys
import tempfile

import numpy as np
import numpyro.distributions as dist

import pliant
import pliant.methods.pli
import pliant.run.infer
import pliant.run.ledger
import pliant.simulators.command
import pliant.simulators.python

PROGRAM = """
srand(seed); u = rand(); rand();
if (u < 0.05) { print "no convergence" > "/dev/stderr"; exit 1 }
if (u < 0.10) { print "[null, 1]"; exit 0 }
if (u < 0.12) { system("sleep 300 & sleep 300") }
printf "[%.9f, %.9f]", mu + 0.5 * rand(), mu + rand()
"""
OPTIONS = {"rounds": 2, "n_particles": 16, "n_draws": 4}
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


def problem(kind):
    if kind == "serial":
        simulator = pliant.PythonSimulator(model, timeout=1.0)
    elif kind == "workers":
        simulator = pliant.PythonSimulator(model, timeout=1.0, workers=2)
    else:
        command = ["awk", "-v", "mu={mu}", "-v", "seed={seed}", f"BEGIN {{{PROGRAM}}}"]
        simulator = pliant.CommandSimulator(command, timeout=1.0, workers=2)
    observed = 1.0 + 0.5 * np.random.default_rng(0).normal(size=(10, 2))
    return pliant.Problem({"mu": dist.Normal(0, 2)}, simulator, observed)


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
    return pliant.PLI(family=pliant.Gaussian(), discrepancy=pliant.Euclidean(), **OPTIONS)


def run(kind, folder, resume):
    """Begin a run, or go on with it; small chunks, so that there is something to lose."""
    pliant.run.ledger._SECONDS = 0.0
    if resume:
        return pliant.resume(folder, problem(kind))
    return pliant.infer(problem(kind), method(), seed=SEEDS[kind], folder=folder)


def main():
    import jax

    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    tempfile.tempdir = sys.argv[2]
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            status = run(**wanted).status
            sys.stderr.flush()
            os._exit(0 if status == "finished" else 1)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(status, flush=True)


if __name__ == "__main__":
    main()
