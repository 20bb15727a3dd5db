import pytest

from pliant.bench.perform import RunOutcome
from pliant.bench.time_left import TimeLeft
from pliant.cli.grid import read_grid

RUNS = list(read_grid("smoke").runs)


def ended(run, seconds):
    return RunOutcome(run.name, seconds, "finished", failed=False)


def test_the_time_left_is_that_of_runs_of_the_same_kind():
    pli = [run for run in RUNS if run.method == "PLI-MMD"]
    abc = [run for run in RUNS if run.method == "PMC-ABC-MMD"]
    left = TimeLeft([*pli[:3], *abc[:2]])
    assert left.seconds is None
    left.ended(ended(pli[0], 10.0), workers=1)
    assert left.seconds == pytest.approx(4 * 10)  # nothing is known of the others
    left.ended(ended(abc[0], 100.0), workers=2)
    assert left.seconds == pytest.approx((2 * 10 + 1 * 100) / 2)
    assert str(left) == "about 60 s left"
