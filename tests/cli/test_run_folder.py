"""The folder of a run, before there is one; ``test_run.py`` has what a run writes."""

import pliant
from pliant.cli.run_folder import changed_options, command_line
from shell import TINY, assert_one_line_error, pliant_command


def test_a_result_is_not_overwritten(saved_run):
    before = (saved_run / "result.json").read_bytes()
    outcome = pliant_command("run", "gaussian_location", *TINY, "--out", saved_run)
    assert_one_line_error(outcome, str(saved_run), "holds a result already", "--overwrite")
    assert (saved_run / "result.json").read_bytes() == before


def test_a_folder_that_cannot_be_used_is_seen_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    for out in ("file", "file/deeper"):
        assert_one_line_error(pliant_command("run", "slcp", "--out", out), "is a file")


def test_changed_options_are_written_as_python():
    method = pliant.PLI(rounds=3, family=pliant.GaussianMixture(components=2))
    assert changed_options(method) == {"rounds": 3, "family": "GaussianMixture(components=2)"}
    assert changed_options(pliant.PLI()) == {}


def test_command_line_quotes():
    given = {"n_obs": 3, "beta": 0.5}
    assert command_line("a b.py:p", given) == "pliant run 'a b.py:p' --n-obs 3 --beta 0.5"
