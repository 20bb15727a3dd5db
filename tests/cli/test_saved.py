"""Saved runs that are whole, and some that are not."""

import pytest

from pliant._files import read_json, write_arrays, write_json
from pliant.cli.saved import read_run
from pliant.run.failures import Failure
from pliant.run.folder import FORMAT
from shell import assert_one_line_error, pliant_command


def test_a_run_is_read_without_its_posterior(saved_run):
    run = read_run(saved_run)
    assert (run.status, run.message, run.check) == ("finished", "1 round of 1.", "All is well.")
    assert run.reason == "It was chosen."
    assert (run.seed, run.method, run.changed) == (3, "PLI", {"rounds": 1})
    assert run.failures == [Failure("timeout", 2, "slow", {"mu": 1.0})]
    assert run.history["round"].tolist() == [1]
    assert run.samples["mu"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("key", ["status", "message", "check", "reason", "seed", "method"])
def test_a_result_that_lacks_something_is_damaged(saved_run, key):
    result = read_json(saved_run / "result.json")
    del result[key]
    write_json(saved_run / "result.json", result)
    with pytest.raises(ValueError, match=rf"result\.json: damaged, or not .*: it has no '{key}'"):
        read_run(saved_run)


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        *(("result.json", key, [1]) for key in ("status", "message", "check", "seed", "method")),
        *(("result.json", key, 3) for key in ("failures", "message", "method", "reason")),
        *(("result.json", "failures", value) for value in ([1], [{}], [{"kind": 1}])),
        ("result.json", "method", {"class": 3}),
        *(("config.json", key, "x") for key in ("n_obs", "changed", "truth")),
        ("config.json", "target", None),
        ("samples.npz", "truth", {"nu": 1.0}),  # the samples are of another parameter
        ("samples.npz", "truth", {"mu": "x"}),
        ("samples.npz", "truth", {"mu": [1.0, 2.0]}),
    ],
)
def test_a_forged_field_is_one_line_that_names_the_file(saved_run, file, key, value):
    path = saved_run / file.replace("samples.npz", "config.json")
    write_json(path, {**read_json(path), key: value})
    assert_one_line_error(pliant_command("show", saved_run), f"{file}: damaged, or not written")


def test_samples_that_are_no_numbers_are_named(saved_run):
    write_arrays(saved_run / "samples.npz", {"mu": ["a"]})
    assert_one_line_error(pliant_command("show", saved_run), "samples.npz: damaged")


def test_no_file_can_control_the_terminal(saved_run):
    result = read_json(saved_run / "result.json")
    failure = {"kind": "\x1b[2J", "draws": 1, "message": "\x9b2J", "parameters": {"\x07": 1}}
    texts = {"message": "\x1b]0;title\x07", "check": "\r\x1b[31m", "failures": [failure]}
    texts["reason"] = "\x1b[2J"
    write_json(saved_run / "result.json", {**result, **texts})
    outcome = pliant_command("show", saved_run)
    assert outcome.exit_code == 0, outcome.output
    assert not set("\x1b\x07\r\x9b") & set(outcome.output)
    assert r"\x1b]0;title\x07" in outcome.stdout


def test_show_says_what_is_wrong_with_a_folder(tmp_path):
    assert_one_line_error(pliant_command("show", "nowhere"), "nowhere holds no run")
    (tmp_path / "run").mkdir()
    write_json(tmp_path / "run" / "result.json", {"format": FORMAT})
    assert_one_line_error(pliant_command("show", "run"), "history.json is missing")
    (tmp_path / "run" / "history.json").write_text("[")
    assert_one_line_error(pliant_command("show", "run"), "history.json: not a JSON file")
