"""Saved runs that are whole, and some that are not."""

import pytest

from pliant._files import read_json, write_json
from pliant.cli.errors import UserError
from pliant.cli.saved import read_run
from pliant.run.failures import Failure
from pliant.run.folder import FORMAT
from shell import assert_one_line_error, pliant_command


def test_a_run_is_read_without_its_posterior(saved_run):
    run = read_run(saved_run)
    assert (run.status, run.message, run.check) == ("finished", "1 round of 1.", "All is well.")
    assert (run.seed, run.method, run.changed) == (3, "PLI", {"rounds": 1})
    assert run.failures == [Failure("timeout", 2, "slow", {"mu": 1.0})]
    assert run.history["round"].tolist() == [1]
    assert run.samples["mu"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("key", ["status", "message", "check", "seed", "method", "failures"])
def test_a_result_that_lacks_something_is_damaged(saved_run, key):
    result = read_json(saved_run / "result.json")
    del result[key]
    write_json(saved_run / "result.json", result)
    with pytest.raises(UserError, match=rf"damaged, or not written by Pliant \(KeyError\('{key}'"):
        read_run(saved_run)


def test_show_says_what_is_wrong_with_a_folder(tmp_path):
    assert_one_line_error(pliant_command("show", "nowhere"), "nowhere holds no run")
    (tmp_path / "run").mkdir()
    write_json(tmp_path / "run" / "result.json", {"format": FORMAT})
    assert_one_line_error(pliant_command("show", "run"), "history.json is missing")
    (tmp_path / "run" / "history.json").write_text("[")
    assert_one_line_error(pliant_command("show", "run"), "history.json: not a JSON file")
