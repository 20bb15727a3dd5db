"""The table of a grid's runs."""

from pliant.reporting.grid import GridRow, LiveGrid, grid_section, run_path, told_of_rows

ROWS = [
    GridRow("a/<b>", "slcp", "pli", 10, 0, "finished", "converged, 5 rounds"),
    GridRow("second", "sir", "<i>", 10, 1, "waiting", ""),
]


def test_runs_have_links_and_names_are_text():
    code = grid_section(ROWS).code
    assert 'href="/run/a%2F%3Cb%3E/"' in code
    assert code.count("href=") == 1  # nothing is there of a run that waits
    assert "<i>" not in code
    assert run_path("..") == "/run/../"


def test_the_head_counts_states():
    assert told_of_rows(ROWS) == "2 runs: 1 finished, 1 waiting."
    assert told_of_rows([]) == "No runs."


def test_the_state_changes_with_the_rows():
    rows = list(ROWS)
    live = LiveGrid("<lite>", lambda: rows)
    first = live.shown()
    assert first.state["version"] == live.shown().state["version"]
    assert "<title>Grid: &lt;lite&gt;</title>" in first.page
    rows[1] = rows[1]._replace(state="begun")
    assert live.shown().state["version"] != first.state["version"]
