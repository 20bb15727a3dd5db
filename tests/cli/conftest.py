"""Problems in files, and one run, for all tests of the command."""

from types import SimpleNamespace

import pytest

from pliant._files import write_arrays, write_json
from pliant.run.folder import CONFIG, FORMAT, HISTORY, RESULT, SAMPLES
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

SLOW_MODEL = """
import numpy as np
import numpyro.distributions as dist
import pliant

def draw(rng, theta):
    if theta["mu"] > 1.5:
        raise ArithmeticError("too warm")
    return theta["mu"] + rng.normal(size=2)

problem = pliant.Problem({"mu": dist.Normal(0, 1)}, pliant.PythonSimulator(draw), [[0.5, 0.6]] * 5)
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


@pytest.fixture
def slow_model(tmp_path):
    path = tmp_path / "slow_model.py"
    path.write_text(SLOW_MODEL)
    return path


@pytest.fixture
def saved_run(tmp_path):
    """What ``pliant show`` reads of a run, made up; there is no posterior."""
    folder = tmp_path / "saved_run"
    folder.mkdir()
    failure = {"kind": "timeout", "draws": 2, "message": "slow", "parameters": {"mu": 1.0}}
    result = {
        **{"status": "finished", "message": "1 round of 1.", "check": "All is well."},
        **{"seed": 3, "method": {"class": "PLI"}, "failures": [failure]},
        "reason": "It was chosen.",
    }
    config = {"target": "slcp", "n_obs": 2, "changed": {"rounds": 1}, "truth": {"mu": 1.25}}
    history = {"rounds": [{"round": 1, "kl": 0.5}]}
    for name, data in ((RESULT, result), (CONFIG, config), (HISTORY, history)):
        write_json(folder / name, {"format": FORMAT, **data})
    write_arrays(folder / SAMPLES, {"mu": [1.0, 2.0]})
    return folder


@pytest.fixture(scope="session")
def task_run(tmp_path_factory):
    """One small run of a built-in task, which several tests look at."""
    folder = tmp_path_factory.mktemp("runs") / "location"
    outcome = pliant_command(
        "run", "gaussian_location", "--n-obs", 20, "--seed", 3, *TINY, "--out", folder
    )
    assert outcome.exit_code == 0, outcome.output
    return SimpleNamespace(folder=folder, output=outcome.stdout, told=outcome.stderr)
