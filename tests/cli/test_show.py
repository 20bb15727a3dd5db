"""A saved run is printed; ``test_run.py`` shows real ones."""

from shell import pliant_command, python


def test_a_run_is_printed_from_its_files(saved_run):
    outcome = pliant_command("show", saved_run)
    assert outcome.exit_code == 0, outcome.output
    status, check, options, reason, *rest = outcome.stdout.splitlines()
    assert status == "finished: 1 round of 1."
    assert check == "All is well."
    assert options == "slcp: 2 observations, seed 3, PLI(rounds=1)"
    assert reason == "It was chosen."
    rows = [line.split() for line in rest if line]
    assert rows[:2] == [["round", "KL"], ["1", "0.500"]]
    assert " ".join(rows[2]) == "failed draws: 2 timeout (first at mu=1.: slow)"
    assert rows[4] == ["mu", "1.5", "0.5", "1.05", "1.5", "1.95", "1.25"]  # the last is the truth
    assert rows[5] == [f"{saved_run}/"]
    names = ["result.json", "history.json", "config.json", "samples.npz"]
    assert [row[0] for row in rows[6:]] == names


def test_show_does_not_load_jax(saved_run):
    code = (
        "import sys\n"
        f"sys.argv = ['pliant', 'show', {str(saved_run)!r}]\n"
        "from pliant.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "assert 'jax' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
