"""How runs end: the level and the remedy of each end."""

import pytest

import pliant
from known_posteriors import ROW, known
from pliant.diagnosis.arrived import check_arrival
from pliant.run.history import History
from pliant.run.posterior import Posterior


def found(status, message="", **row):
    result = known(status=status, message=message, history=History([{**ROW, **row}])).result
    return check_arrival(result)


@pytest.mark.parametrize(
    ("status", "row", "level", "remedy"),
    [
        ("converged", {}, "ok", ""),
        ("finished", {}, "ok", ""),
        ("cut_short", {"eta": 5.0}, "unsound", "more rounds"),
        ("cut_short", {"eta": 0.5}, "doubtful", "more rounds"),
        ("out_of_time", {"eta": 0.0}, "doubtful", "larger budget"),
        ("out_of_simulations", {"eta": 3.0}, "unsound", "larger budget"),
        ("noise_limited", {}, "doubtful", "n_draws"),
        ("noise_limited", {"eta": 0.4}, "doubtful", "n_draws"),
        ("low_acceptance", {"eta": None}, "doubtful", "min_acceptance"),
        ("interrupted", {}, "doubtful", "pliant.resume"),
        ("failed", {}, "unsound", "Fix the simulator"),
        ("diverged", {}, "unsound", "learning rate"),
    ],
)
def test_every_end_has_its_level_and_remedy(status, row, level, remedy):
    finding = found(pliant.Status(status), **row)[0]
    assert (finding.check, finding.level) == ("arrived", level)
    assert remedy in finding.remedy
    assert status in finding.text


def test_a_wide_bandwidth_says_how_much_too_wide():
    finding = found(pliant.Status.CUT_SHORT, eta=8.0)[0]
    assert "9 times its target" in finding.text
    assert "about 3 times too wide" in finding.text
    assert (finding.number, finding.limit) == (9.0, 1.05)


def test_a_run_that_still_moves_is_noted():
    assert found(pliant.Status.FINISHED, kl=0.9)[1].level == "note"
    assert found(pliant.Status.FINISHED, kl=0.1)[1].level == "ok"
    assert found(pliant.Status.FINISHED, kl=None, moved=0.12)[1].number == 0.12  # of APT
    assert found(pliant.Status.CONVERGED, kl=0.9)[1].level == "ok"


def test_a_run_without_a_posterior(exact):
    space = exact.problem.prior.space
    result = known(
        status=pliant.Status.FAILED,
        message="All draws failed.",
        posterior=Posterior(space, exact.problem.prior),
    ).result
    (finding,) = check_arrival(result)
    assert finding.level == "unsound"
    assert "All draws failed." in finding.text
