"""``--dask``: simulations and runs on a Dask cluster."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pliant.cli.errors import UserError, first_line

if TYPE_CHECKING:
    from pliant.problem.problem import Problem

_SECONDS = 30  # timeout for reaching a scheduler


@contextmanager
def on_dask(problem: "Problem", address: str | None) -> Iterator["Problem"]:
    """The problem with its simulator running on a Dask cluster; unchanged without an address."""
    if address is None:
        yield problem
        return
    from pliant.simulators.external import AbstractExternalSimulator

    if not isinstance(problem.simulator, AbstractExternalSimulator):
        raise UserError(
            "--dask: only a PythonSimulator or a CommandSimulator runs on a cluster. A JAX "
            "function is compiled for this machine."
        )
    client, cluster = connect(address)
    try:
        executor = client.get_executor()
        yield problem.with_simulator(
            dataclasses.replace(problem.simulator, executor=executor, workers=None)
        )
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def connect(address: str) -> tuple[Any, Any]:
    """A Dask client, and its cluster if it was started here.

    The address is that of a scheduler, or "local" to start one worker process per core.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("--dask needs Dask: pip install 'pliant[dask]'.") from error
    try:
        if address != "local":
            return Client(address, timeout=_SECONDS), None
        cluster = LocalCluster(threads_per_worker=1, dashboard_address=":0")
        return Client(cluster, timeout=_SECONDS), cluster
    except (OSError, ValueError) as error:
        raise UserError(f"--dask: {address} does not answer: {first_line(error)}") from error
