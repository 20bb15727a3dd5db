import io
import warnings

import numpy as np
import pytest
from rich.console import Console

from pliant.cli.report import (
    counted,
    print_files,
    print_history,
    print_metrics,
    print_status,
    print_summary,
    print_table,
    quiet_status,
)
from pliant.methods.status import PliantWarning, Status
from pliant.metrics.table import Metric
from pliant.run.history import History


@pytest.fixture
def out():
    return Console(file=io.StringIO(), width=200, highlight=False, markup=False)


def lines(out):
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


@pytest.mark.parametrize(("n", "text"), [(0, "0 runs"), (1, "1 run"), (2000, "2,000 runs")])
def test_numbers_agree_with_their_nouns(n, text):
    assert counted(n, "run") == text


def test_columns_are_aligned_and_text_is_no_markup(out):
    print_table(out, ["name", "value"], [["a[0]", "1"], ["[bold]", "1000"]])
    print_table(out, ["name", "value"], [["a", "b"]], right=[0])
    assert lines(out) == [
        "name    value",
        "a[0]        1",
        "[bold]   1000",
        "name  value",
        "   a  b",
    ]


def test_a_summary_puts_the_truth_beside_its_parameter(out):
    samples = {"b": np.array([1.0, 2.0, 3.0]), "a": np.array([[10.0], [20.0], [30.0]])}
    print_summary(out, samples, {"a": [15.0], "b": 2.5})
    head, b, a = (line.split() for line in lines(out))
    assert head[-1] == "truth"
    assert (b[0], b[1], b[-1]) == ("b", "2", "2.5")
    assert (a[0], a[1], a[-1]) == ("a[0]", "20", "15")


def test_what_is_not_known_is_a_dash(out):
    print_metrics(out, [Metric("MMD^2", 0.125, None)])
    print_history(out, History([{"round": 1, "kl": 0.5, "own": 3}, {"round": 2, "kl": None}]))
    assert [line.split() for line in lines(out)] == [
        *(["value", "noise", "floor"], ["MMD^2", "0.125", "-"]),
        *(["round", "KL"], ["1", "0.500"], ["2", "-"]),
    ]


def test_a_status_is_coloured_by_how_the_run_ended():
    def printed(status):
        out = Console(
            file=io.StringIO(), force_terminal=True, color_system="standard", no_color=False
        )
        print_status(out, status, "why")
        return lines(out)[0]

    colours = {Status.FINISHED: "32", Status.OUT_OF_TIME: "33", Status.FAILED: "31"}
    for status, colour in colours.items():
        assert printed(status) == f"\x1b[1;{colour}m{status}\x1b[0m: why"


def test_only_files_that_are_there_are_listed(out, tmp_path):
    (tmp_path / "result.json").touch()
    (tmp_path / "notes.txt").touch()
    print_files(out, tmp_path)
    assert lines(out) == [f"{tmp_path}/", "  result.json    status and options"]


def test_the_command_warns_of_no_status():
    with quiet_status():
        warnings.warn("failed", PliantWarning, stacklevel=1)
        with pytest.raises(UserWarning, match="other"):
            warnings.warn("other", UserWarning, stacklevel=1)
    with pytest.raises(PliantWarning, match="failed"):
        warnings.warn("failed", PliantWarning, stacklevel=1)


def test_a_status_without_a_message_has_no_colon(out):
    print_status(out, Status.FINISHED, "")
    assert lines(out) == ["finished"]
