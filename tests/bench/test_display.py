import io

from rich.console import Console

from pliant.bench.display import GridDisplay
from pliant.bench.perform import RunOutcome
from pliant.cli.grid import read_grid

RUNS = list(read_grid("smoke").runs)


def ended(run, seconds, *, failed=False):
    return RunOutcome(run.name, seconds, "ValueError: no" if failed else "finished", failed)


def test_outside_of_a_terminal_every_run_is_a_line(capsys):
    with GridDisplay(RUNS[:3], finished=2, failed=1) as display:
        display.started(RUNS[0])
        display.started(RUNS[1])
        display.ended(ended(RUNS[0], 5.0), 1)
        display.ended(ended(RUNS[1], 7.0, failed=True), 1)
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"[4/6] {RUNS[0].name}: finished, 5 s; about 10 s left"
    assert second == f"[5/6] {RUNS[1].name}: FAILED: ValueError: no, 7 s; about 6 s left"
    assert (display.finished, display.failed) == (3, 2)


def test_the_live_display_names_what_runs_and_what_failed():
    display = GridDisplay(RUNS[:3], finished=0, failed=0)
    display.started(RUNS[0])
    display.started(RUNS[1])
    display.ended(ended(RUNS[0], 5.0, failed=True), 1)
    text = io.StringIO()
    console = Console(file=text, width=120)
    console.print(display)
    head, *_, last = text.getvalue().splitlines()
    assert head.startswith("1/3  0 finished  1 failed  1 running  about 10 s left")
    assert RUNS[1].name in text.getvalue()
    assert last.startswith(f"{RUNS[0].name}: ValueError: no")
