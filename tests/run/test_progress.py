import io
import sys
from types import SimpleNamespace

import pytest

from pliant.run.progress import Display, duration

ROW = {"round": 2, "bandwidth": 0.25, "ess": 1234.0, "kl": None, "simulations": 4000}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """Shows a round on a terminal of some width, and returns what was written."""

    def show(columns, *, enabled=True, stream=Terminal):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")
        written = stream()
        monkeypatch.setattr(sys, "stderr", written)
        with Display(5, enabled=enabled) as display:
            display.update(ROW)
        return written.getvalue()

    return show


def test_a_round_is_one_line_without_what_is_not_known(shown):
    text = shown(150)
    assert "2/5 rounds" in text
    assert "0 s left · bandwidth 0.25 · ESS 1,234 · simulations 4,000" in text
    assert "KL" not in text


def test_a_narrow_terminal_shows_the_first_parts_that_fit(shown):
    text = shown(60)
    assert "0 s left · bandwidth 0.25" in text
    assert "ESS" not in text


def test_nothing_is_shown_in_a_file_or_if_it_is_disabled(shown):
    assert shown(150, stream=io.StringIO) == ""
    assert shown(150, enabled=False) == ""


def test_the_first_round_does_not_count_for_the_time_left(monkeypatch):
    """It compiles: 100 seconds, and 2 for each of the others."""
    clock = SimpleNamespace(monotonic=iter([0.0, 100.0, 104.0]).__next__)
    monkeypatch.setattr("pliant.run.progress.time", clock)
    display = Display(5, enabled=False)
    assert display._seconds_left(1) == 4 * 100
    assert display._seconds_left(3) == 2 * 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (99.4, "99 s"), (100, "2 min"), (5990, "100 min"), (9000, "2.5 h")],
)
def test_durations_have_a_fitting_unit(seconds, text):
    assert duration(seconds) == text
