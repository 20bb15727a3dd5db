import numpy as np
import pytest

from pliant.tasks import rejection
from pliant.tasks.rejection import collect


def test_collect_takes_the_first_n():
    def propose(m):
        start = calls[-1] if calls else 0
        calls.append(start + m)
        numbers = np.arange(start, start + m, dtype=float)
        return numbers[numbers % 3 == 0][:, None]

    calls = []
    np.testing.assert_array_equal(collect(propose, 500)[:, 0], 3 * np.arange(500))


def test_collect_gives_up(monkeypatch):
    monkeypatch.setattr(rejection, "_MOST_PROPOSALS", 1000)
    with pytest.raises(RuntimeError, match="0 of 7 samples"):
        collect(lambda m: np.empty((0, 2)), 7)
