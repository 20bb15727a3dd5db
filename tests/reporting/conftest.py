"""Runs of five kinds, made once."""

import pytest

from report_runs import problems, reported

KINDS = tuple(problems())


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """The runs by kind."""
    root = tmp_path_factory.mktemp("reported")
    return {kind: reported(kind, root / kind) for kind in KINDS}


@pytest.fixture(scope="session", params=KINDS)
def run(request, runs):
    """Each of the runs."""
    return runs[request.param]
