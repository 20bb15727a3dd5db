"""The line below a cell, with a stand-in for IPython."""

import io
import sys
from types import SimpleNamespace

import pytest

from pliant.run.notebook import NotebookLine, in_notebook
from pliant.run.progress import Display


@pytest.fixture
def shown(monkeypatch):
    """A kernel; the contents of its cell's line, one after the other."""
    lines = []

    def show(content, *, display_id):
        assert display_id is True
        lines.append(content)
        return SimpleNamespace(update=lines.append)

    kernel = SimpleNamespace(kernel=object())
    ipython = SimpleNamespace(get_ipython=lambda: kernel)
    display = SimpleNamespace(HTML=lambda code: code, display=show)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return lines


def test_a_line_is_rewritten_and_escaped(shown):
    line = NotebookLine()
    line.write("<b>1")
    line.write("2")
    assert shown == ["<p>&lt;b&gt;1</p>", "<p>2</p>"]


def test_a_kernel_is_recognised(shown, monkeypatch):
    assert in_notebook()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    assert not in_notebook()  # IPython on a terminal
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert not in_notebook()  # imported by a script
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()


def test_a_run_shows_its_rounds_below_the_cell_and_logs_nothing(shown, monkeypatch, caplog):
    caplog.set_level("INFO", "pliant")
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    with Display(5, enabled=True, simulations=7200) as display:
        display.begin()
        display.simulating(10, 40, 2.0)
        display.update({"round": 1, "ess": 1234.0, "simulations": 40})
    assert shown == [
        "<p>round 1 of 5: compiling</p>",
        "<p>round 1 of 5: simulating 10 of 40 · up to 60 min for 7,200</p>",
        "<p>round 1 of 5: 0 s left · ESS 1,234 · simulations 40</p>",
        "<p>1 round in 0 s</p>",
    ]
    assert caplog.messages == []
    assert written.getvalue() == ""


def test_a_run_without_progress_shows_nothing(shown):
    with Display(5, enabled=False) as display:
        display.begin()
        display.update({"round": 1})
    assert shown == []
