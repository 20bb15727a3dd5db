"""Every help text shows an example, and loads nothing heavy."""

import re
from pathlib import Path

import pytest

import pliant
from shell import pliant_command, python


@pytest.mark.parametrize(
    "command", [[], ["new"], ["run"], ["resume"], ["show"], ["diagnose"], ["eval"], ["tasks"]]
)
def test_help_shows_usage_and_an_example(command):
    outcome = pliant_command(*command, "--help")
    assert outcome.exit_code == 0
    assert f"Usage: {' '.join(['pliant', *command])}" in outcome.stdout
    assert re.search(r"(Examples?|Start with):\s+pliant \w+", outcome.stdout)


def test_without_a_command_the_help_is_shown():
    assert pliant_command().stdout == pliant_command("--help").stdout


@pytest.mark.parametrize(
    "command", [["--help"], ["run", "--help"], ["eval", "--help"], ["--version"]]
)
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys\n"
        f"sys.argv = ['pliant', *{command!r}]\n"
        "from pliant.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = {'jax', 'numpy', 'scipy', 'matplotlib', 'equinox', 'numpyro'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_version():
    assert pliant_command("--version").stdout == f"pliant {pliant.__version__}\n"


def test_only_what_was_given_is_recorded(monkeypatch):
    calls = []

    def run_target(*args, **options):
        calls.append((args, options))
        return 7

    monkeypatch.setattr("pliant.cli.run.run_target", run_target)
    outcome = pliant_command("run", "slcp", "--beta", "0.5", "--n-draws", 9, "--max-seconds", 60)
    assert outcome.exit_code == 7
    ((args, options),) = calls
    assert args == ("slcp", Path("runs/slcp-0"))
    assert options["given"] == {
        **{"seed": 0, "method": "pli"},
        **{"n_draws": 9, "beta": 0.5, "max_seconds": 60.0},
    }
    assert options["options"]["rounds"] is None
    assert options["budget"] == {"max_simulations": None, "max_seconds": 60.0}
