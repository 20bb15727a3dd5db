import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.cli.dask import connect, on_dask
from shell import pliant_command

PROBLEM = pliant.Problem(
    {"mu": dist.Normal(0, 1)},
    pliant.PythonSimulator(lambda rng, theta: theta["mu"] + rng.normal(size=2), workers=3),
    np.zeros((5, 2)),
)


class Closing:
    """The parts of a client and of a cluster that are used."""

    def __init__(self, executor=None):
        self.executor, self.closed = executor, False

    def get_executor(self):
        return self.executor

    def close(self):
        self.closed = True


def test_a_cluster_is_for_simulators_outside_of_jax(model, slow_model, monkeypatch):
    outcome = pliant_command("run", f"{model}:problem", "--dask", "local")
    assert outcome.exit_code == 2
    assert "--dask: only a PythonSimulator or a CommandSimulator" in outcome.stderr
    monkeypatch.setattr("pliant.cli.dask._SECONDS", 0.5)
    outcome = pliant_command("run", f"{slow_model}:problem", "--dask", "nowhere")
    assert outcome.exit_code == 2
    assert "--dask: nowhere does not answer" in outcome.stderr


def test_without_an_address_the_problem_stays_as_it_is():
    with on_dask(PROBLEM, None) as problem:
        assert problem is PROBLEM


def test_the_cluster_replaces_the_simulators_workers_and_is_closed(monkeypatch):
    with ThreadPoolExecutor() as executor:
        client, cluster = Closing(executor), Closing()
        monkeypatch.setattr("pliant.cli.dask.connect", lambda address: (client, cluster))
        with on_dask(PROBLEM, "local") as problem:
            assert isinstance(problem.simulator, pliant.PythonSimulator)
            assert (problem.simulator.executor, problem.simulator.workers) == (executor, None)
            assert not client.closed
    assert client.closed
    assert cluster.closed


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"--dask needs Dask: pip install 'pliant\[dask\]'"):
        connect("local")
