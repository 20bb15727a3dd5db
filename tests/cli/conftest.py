"""A problem in a file, and one run, for all tests of the command."""

from types import SimpleNamespace

import pytest

from shell import TINY, pliant_command

# a file of its own, so that it stays imported and is compiled once for all runs
NEIGHBOUR = """
import jax

def simulator(key, theta):
    return theta["mu"] + jax.random.normal(key, (2,))
"""

MODEL = """
import jax
import numpyro.distributions as dist
import pliant
from neighbour_of_my_model import simulator

problem = pliant.Problem({"mu": dist.Normal(0, 1)}, simulator, [[0.5, 0.6]] * 5)

def make():
    return problem

number = 3

def fails():
    raise RuntimeError("no data\\nin the file")

broken = pliant.Problem(
    {"mu": dist.Normal(0, 1)}, lambda key, theta: jax.numpy.log(-1 - theta["mu"]**2), [0.5]
)
"""


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path, monkeypatch):
    """No test may write into the project's folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "my_model.py"
    path.with_name("neighbour_of_my_model.py").write_text(NEIGHBOUR)
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="session")
def task_run(tmp_path_factory):
    """One small run of a built-in task, which several tests look at."""
    folder = tmp_path_factory.mktemp("runs") / "location"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(folder.parent / "cache"))
        outcome = pliant_command(
            "run", "gaussian_location", "--n-obs", 20, "--seed", 3, *TINY, "--out", folder
        )
    assert outcome.exit_code == 0, outcome.output
    return SimpleNamespace(folder=folder, output=outcome.stdout)
