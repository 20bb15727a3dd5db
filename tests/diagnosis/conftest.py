"""One exact posterior for all tests of the room."""

import pytest

from known_posteriors import known


@pytest.fixture(scope="session")
def exact():
    return known()


@pytest.fixture(scope="session")
def evidence(exact):
    return exact.evidence()
