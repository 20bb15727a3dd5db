import threading
import time

import pytest

from pliant.run import heartbeat
from pliant.run.heartbeat import Heartbeat


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(heartbeat, "_PERIOD", 0.05)


def test_silence_is_broken_in_every_period_until_the_end():
    told, twice = [], threading.Event()

    def tell(seconds):
        told.append(seconds)
        if len(told) == 2:
            twice.set()

    with Heartbeat(tell):
        assert twice.wait(10)
    number = len(told)
    assert 0.05 <= told[0] < told[1]
    time.sleep(0.15)
    assert len(told) == number


def test_who_speaks_is_left_alone(monkeypatch):
    monkeypatch.setattr(heartbeat, "_PERIOD", 0.5)
    told = []
    with Heartbeat(told.append) as beat:
        for _ in range(20):
            time.sleep(0.05)
            beat.spoken()
    assert told == []  # after a second in all
