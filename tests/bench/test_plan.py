import dataclasses
import json
import pickle

import pytest

import pliant
from pliant.bench.plan import Run

RUN = Run(
    experiment="accuracy",
    task="slcp",
    method="PLI",
    n_obs=2,
    seed=0,
    varied={"epsilon": 0.5},
    options={"method": "pli", "rounds": 3, "epsilon": 0.5},
    samples=100,
    classify=False,
    snapshots=0,
    built_method=pliant.PLI(rounds=3),
)


def test_a_name_has_the_settings_in_words_and_their_digest():
    assert RUN.name == "accuracy-slcp-PLI-n2-seed0-epsilon0.5-e4a12c"
    again = dataclasses.replace(RUN, options=dict(reversed(RUN.options.items())))
    assert again.name == RUN.name


@pytest.mark.parametrize(
    "change",
    [{"options": {**RUN.options, "rounds": 9}}, {"samples": 9}, {"classify": True}, {"seed": 1}],
)
def test_other_settings_are_another_run(change):
    assert dataclasses.replace(RUN, **change).name != RUN.name


def test_tables_and_lists_are_words_of_a_name_and_cut():
    varied = {"family": {"name": "gaussian", "weights": [1.0, 2.5]}, "kernel": {"a": "b" * 100}}
    name = dataclasses.replace(RUN, varied=varied).name
    assert name.startswith("accuracy-slcp-PLI-n2-seed0-familynamegaussian_weights1.0_2.5-kernelab")
    assert len(name) < 130


def test_settings_are_json_data_and_leave_the_method_out():
    assert json.loads(json.dumps(RUN.settings)) == RUN.settings
    assert "built_method" not in RUN.settings
    assert dataclasses.replace(RUN, built_method=pliant.APT()).name == RUN.name


def test_a_run_reaches_another_process_with_its_method():
    again = pickle.loads(pickle.dumps(RUN))
    assert again == RUN
    assert again.built_method == pliant.PLI(rounds=3)
