"""The runs in ``tests/run/fixtures``, which later versions must read or refuse by their version.

``python tests/format_runs.py`` writes them for the present format. Folders of older formats stay.
"""

import shutil
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist

import pliant
from pliant.run.folder import FORMAT

FIXTURES = Path(__file__).parent / "run" / "fixtures"
METHOD = pliant.PLI(
    rounds=2,
    n_particles=20,
    n_draws=3,
    discrepancy=pliant.MMD(),
    family=pliant.Gaussian(),
    beta=0.1,  # which two rounds reach
)


def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (1,))


def problem():
    return pliant.Problem({"mu": dist.Normal(0, 2)}, simulator, np.array([[0.5], [1.0], [1.5]]))


def interrupt(row, posterior):
    raise KeyboardInterrupt


def write(folder):
    """An interrupted and a finished run."""
    pliant.infer(problem(), METHOD, folder=folder / "finished", progress=False)
    pliant.infer(
        problem(), METHOD, folder=folder / "interrupted", progress=False, callback=interrupt
    )
    for lock in folder.glob("*/rounds/.lock"):
        lock.unlink()


if __name__ == "__main__":
    shutil.rmtree(FIXTURES / f"format{FORMAT}", ignore_errors=True)
    write(FIXTURES / f"format{FORMAT}")
