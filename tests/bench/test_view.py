import io

import pytest
from rich.console import Console

from pliant.bench.grid import read_grid
from pliant.bench.perform import Outcome
from pliant.bench.time_left import TimeLeft
from pliant.bench.view import View, closing_line

RUNS = list(read_grid("smoke").runs)


def ended(run, seconds, *, failed=False):
    return Outcome(run.name, seconds, "ValueError: no" if failed else "finished", failed)


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


def test_outside_of_a_terminal_every_run_is_a_line(capsys):
    with View(RUNS[:3], finished=2, failed=1) as view:
        view.started(RUNS[0])
        view.started(RUNS[1])
        view.ended(ended(RUNS[0], 5.0), 1)
        view.ended(ended(RUNS[1], 7.0, failed=True), 1)
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"[4/6] {RUNS[0].name}: finished, 5 s; about 10 s left"
    assert second == f"[5/6] {RUNS[1].name}: FAILED: ValueError: no, 7 s; about 6 s left"
    assert (view.finished, view.failed) == (3, 2)


def test_the_live_view_names_what_runs_and_what_failed():
    view = View(RUNS[:3], finished=0, failed=0)
    view.started(RUNS[0])
    view.started(RUNS[1])
    view.ended(ended(RUNS[0], 5.0, failed=True), 1)
    text = io.StringIO()
    console = Console(file=text, width=120)
    console.print(view)
    head, *_, last = text.getvalue().splitlines()
    assert head.startswith("1/3  0 finished  1 failed  1 running  about 10 s left")
    assert RUNS[1].name in text.getvalue()
    assert last.startswith(f"{RUNS[0].name}: ValueError: no")


def test_the_last_line_leaves_out_what_there_is_none_of():
    assert closing_line(3, 0, 0) == "3 runs finished."
    assert closing_line(1, 2, 4) == "1 run finished, 2 failed, 4 to do."
