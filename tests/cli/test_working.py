"""What a command shows while it works."""

import io
import logging
import sys
import time

import pytest

from pliant.cli.working import log_lines, working

LOGGER = logging.getLogger("pliant")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def written(monkeypatch):
    """Standard error, which is a terminal or not."""

    def replaced(kind):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", stream := kind())
        return stream

    return replaced


@pytest.mark.parametrize("context", [log_lines, lambda: working("loading")])
def test_without_a_terminal_the_log_is_printed_once(context, written, caplog):
    stream = written(io.StringIO)
    with context():
        LOGGER.info("round %d", 1)
        LOGGER.debug("a detail")
    LOGGER.info("afterwards")
    assert stream.getvalue() == "round 1\n"
    assert caplog.messages == []  # neither in other logs, nor with another level afterwards
    assert (LOGGER.handlers, LOGGER.level, LOGGER.propagate) == ([], logging.NOTSET, True)


def test_on_a_terminal_a_run_shows_itself(written):
    stream = written(Terminal)
    with log_lines():
        LOGGER.info("round 1")
    assert stream.getvalue() == ""


def test_on_a_terminal_the_log_stands_beside_the_spinner(written):
    stream = written(Terminal)
    with working("loading"):
        LOGGER.info("measuring C2ST")
    assert "measuring C2ST" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K")  # the line is erased in the end


def test_what_takes_long_is_said_again(written, monkeypatch):
    monkeypatch.setattr("pliant.run.heartbeat._PERIOD", 0.05)
    stream = written(io.StringIO)
    with working("loading"):
        for _ in range(200):
            if stream.getvalue():
                break
            time.sleep(0.05)
    assert stream.getvalue().splitlines()[0] == "loading; 0 s since the start"
