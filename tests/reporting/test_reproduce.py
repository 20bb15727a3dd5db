"""The lines of Python on a page run, and give what the page shows."""

import dataclasses
import re

import pytest

import pliant
from pliant.reporting.reproduce import reproduction, versions_of
from pliant.reporting.subject import Known


@pytest.mark.user_code
@pytest.mark.training
def test_the_code_of_every_figure_runs(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = runs["cut_short"]
    names = {"given": run.problem}
    for block in reproduction(run.subject)["code"]:
        exec(block["text"].replace("problem = ...", "problem = given"), names)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"pairs.png", "prior.png", "history.png", "diagnosis.png"}
    assert names["diagnosis"].verdict == run.subject.diagnosis["verdict"]


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            {"target": "slcp", "n_obs": 5, "seed": 1},
            "pliant.tasks.get('slcp').problem(n_obs=5, seed=1)",
        ),
        ({"target": "a/my_model.py:problem"}, "from my_model import problem as problem"),
        ({"target": "a/my-model.py:make"}, "problem = ...  # make of 'a/my-model.py:make'"),
        ({"target": "x.py:a\nimport os"}, "from x import problem as problem"),
        ({"target": 3}, "problem = ...  # the problem of the run"),
        ({}, "problem = ...  # the problem of the run"),
    ],
)
@pytest.mark.training
def test_the_problem_is_named_and_no_text_becomes_code(runs, config, line):
    subject = dataclasses.replace(runs["failed"].subject, known=Known(config=config))
    first = reproduction(subject)["code"][0]["text"]
    assert line in first
    compile(first, "page", "exec")
    assert len(first.splitlines()) == 4


def test_versions_are_those_of_the_run():
    assert versions_of({"versions": {"pliant": 1}}) == {"pliant": "1"}
    assert versions_of({})["pliant"] == pliant.__version__
    assert versions_of({"versions": "none"})["pliant"] == pliant.__version__


@pytest.mark.training
def test_command_and_options_are_told(runs):
    known = Known(config={"command": "pliant run slcp", "changed": {"rounds": 3}, "target": "slcp"})
    found = reproduction(dataclasses.replace(runs["failed"].subject, known=known))
    assert found["command"] == "pliant run slcp"
    told = dict(found["configuration"])
    assert told["changed options"] == "rounds=3"
    assert told["method"].startswith("PLI(rounds=3, ")
    assert not re.search(r"[(\[]\s|\s[)\]]", told["method"])
    forged = Known(config={"command": ["rm"], "changed": ["x"]})
    assert reproduction(dataclasses.replace(runs["failed"].subject, known=forged))["command"] == ""
