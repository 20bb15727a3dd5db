import fcntl
import os

import pytest

from report_runs import problems, reported

KINDS = tuple(problems())


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """The runs by kind, made by the first process that asks for them."""
    root = tmp_path_factory.getbasetemp()
    shared = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder = shared / "reported"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return {kind: reported(kind, folder / kind) for kind in KINDS}


@pytest.fixture(scope="session", params=KINDS)
def run(request, runs):
    """Each of the runs."""
    return runs[request.param]
