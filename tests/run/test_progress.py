import io
import sys
import time
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
        with Display(5, enabled=enabled, done=1) as display:
            display.begin()
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


def test_nothing_is_written_in_a_file_or_if_it_is_disabled(shown):
    assert shown(150, stream=io.StringIO) == ""
    assert shown(150, enabled=False) == ""


def test_without_a_terminal_each_round_is_logged(shown, caplog):
    caplog.set_level("INFO", "pliant")
    shown(150, stream=io.StringIO)
    assert caplog.messages == [
        "round 2 of 5: compiling",
        "round 2 of 5: 0 s left, bandwidth 0.25, ESS 1,234, simulations 4,000",
    ]


def test_nothing_is_logged_on_a_terminal_or_if_it_is_disabled(shown, caplog):
    caplog.set_level("INFO", "pliant")
    shown(150)
    shown(150, enabled=False, stream=io.StringIO)
    assert caplog.messages == []


def test_what_takes_long_is_logged_now_and_then(caplog, monkeypatch):
    caplog.set_level("INFO", "pliant")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr("pliant.run.heartbeat._PERIOD", 0.05)
    with Display(5, enabled=True, done=1, simulations=7200) as display:
        display.simulating(10, 40, 2.0)
        for _ in range(200):
            if caplog.messages:
                break
            time.sleep(0.05)
    text = "round 2 of 5: simulating 10 of 40, up to 60 min for 7,200; 0 s since the start"
    assert caplog.messages[0] == text


def test_the_pace_of_a_slow_simulator_gives_the_time_of_all_rounds(monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", written := Terminal())
    with Display(5, enabled=True, simulations=7200) as display:
        display.simulating(10, 40, 2.0)
    assert "simulating 10 of 40 · up to 60 min for 7,200" in written.getvalue()


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
