"""A real cluster of two worker processes, one of which dies in the middle of a round."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import cloudpickle
import numpy as np
import numpyro.distributions as dist
import pytest
from distributed import Client, LocalCluster

import pliant
import pliant.run.ledger
from pliant._files import read_arrays

pytestmark = pytest.mark.training

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import JAX
METHOD = pliant.PLI(
    rounds=2, n_particles=100, n_draws=10, discrepancy=pliant.MMD(), family=pliant.Gaussian()
)


def model(rng, theta):
    time.sleep(0.001)
    return theta["mu"] + theta["sigma"] * rng.normal(size=2)


def problem(function=model, **options):
    return pliant.Problem(
        {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)},
        pliant.PythonSimulator(function, **options),
        2 + np.random.default_rng(0).normal(size=(30, 2)),
    )


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def killing(client, after):
    """Kill a worker process after some seconds."""
    killed = []

    def kill():
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    timer = threading.Timer(after, kill)
    timer.start()
    yield killed
    timer.join()


def test_a_cluster_gives_the_serial_posterior_though_a_worker_dies(client):
    serial = pliant.infer(problem(), METHOD)
    spread = problem(executor=client.get_executor())
    with killing(client, after=0.4) as killed:
        disturbed = pliant.infer(spread, METHOD)
    assert killed
    assert disturbed.status == serial.status in ("finished", "cut_short")
    np.testing.assert_array_equal(
        disturbed.posterior.sample(100)["mu"], serial.posterior.sample(100)["mu"]
    )
    assert disturbed.history["distance_min"].tolist() == serial.history["distance_min"].tolist()
    assert not disturbed.failures


def kills_scheduler(pid, after):
    """A model that kills the scheduler at one of its draws."""
    calls = []

    def draw(rng, theta):
        calls.append(1)
        if len(calls) == after:
            os.kill(pid, signal.SIGKILL)
            time.sleep(1.0)
        time.sleep(0.01)
        return model(rng, theta)

    return draw


@contextmanager
def own_cluster(file):
    """The process of a scheduler, and a client of it; there is one worker."""
    part = [sys.executable, "-m"]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    where = ["--scheduler-file", file, "--no-dashboard"]
    scheduler = subprocess.Popen(
        [*part, "distributed.cli.dask_scheduler", "--port", "0", *where], **options
    )
    worker = subprocess.Popen(
        [*part, "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *where], **options
    )
    try:
        client = Client(scheduler_file=str(file), timeout=60)
        client.wait_for_workers(1, timeout=60)
        yield scheduler, client
        client.close(timeout=1)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_a_dead_scheduler_costs_no_finished_draw(tmp_path, monkeypatch):
    monkeypatch.setattr(pliant.run.ledger, "_SECONDS", 0.0)
    folder = tmp_path / "run"
    with own_cluster(tmp_path / "scheduler.json") as (scheduler, client):
        function = kills_scheduler(scheduler.pid, after=200)
        spread = problem(function, executor=client.get_executor())
        with pytest.warns(pliant.PliantWarning, match="and a new executor"):
            broken = pliant.infer(spread, METHOD, folder=folder)
    assert broken.status == "failed"
    assert f"pliant.resume({str(folder)!r}, problem) and a new executor" in broken.message
    kept = sum(len(read_arrays(path)["code"]) for path in folder.glob("simulations/*/*.npz"))
    assert kept >= 100
    calls = []

    def counted(rng, theta):
        calls.append(1)
        return model(rng, theta)

    resumed = pliant.resume(folder, problem(counted))
    assert len(calls) == 2000 - kept
    expected = pliant.infer(problem(), METHOD)
    np.testing.assert_array_equal(
        resumed.posterior.sample(100)["mu"], expected.posterior.sample(100)["mu"]
    )
