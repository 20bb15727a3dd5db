"""``pliant`` as the tests of the command call it, and what they expect of its errors."""

import os
import re
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.cli.choices import build_method

ABC = {
    "rejection-abc": "RejectionABC",
    "smc-abc": "SMCABC",
    "pmc-abc": "PMCABC",
    "mh-abc": "MHABC",
}
NOT_THERE = {"metrics.json", "simulations"}  # before pliant eval, and with JAX simulators
NOT_THERE |= {"diagnosis.json", "diagnosis.png", "reruns"}  # before pliant diagnose
NOT_THERE |= {"report.html"}  # before pliant report
TINY = ["--method", "pli-mmd", "--family", "gaussian"]
TINY += ["--rounds", "2", "--n-particles", "200", "--n-draws", "20"]


def pliant_command(*args):
    """Run ``pliant`` in this process; the output is as in a file, without colours."""
    return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="pliant")


def python(code):
    """Run code in a process of its own, which finds the same Pliant as this one."""
    source = str(Path(pliant.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )


def said(outcome):
    """The lines on standard error, without those that tell what is being done."""
    lines = outcome.stderr.splitlines()
    return [line for line in lines if not re.match(r"round \d+ of|drawing |measuring ", line)]


def assert_one_line_error(outcome, *parts):
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stdout == ""
    (line,) = said(outcome)
    assert line.startswith("pliant: ")
    for part in parts:
        assert part in line


def method_of(method="pli", n_obs=10, **options):
    """The method that these options of the command choose."""
    none = {"discrepancy": None, "family": None, "epsilon": None}
    return build_method(method, n_obs, **(none | options))
