"""Forged files with right checksums, in whole runs: each is named in one line, and nothing runs."""

import shutil
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from attacks.forged import forge, put

import format_runs
import pliant
from pliant._files import read_arrays, write_arrays
from pliant.run.folder import FORMAT
from pliant.run.serialise import encode
from pliant.run.store import RunStore

RUNS = format_runs.FIXTURES / f"format{FORMAT}"
NAN = {"float": "nan"}
MMD = encode(pliant.MMD())
DEEP = []
for _ in range(400):
    DEEP = [DEEP]


def drop(*names):
    def change(data):
        for name in names[:-1]:
            data = data[name]
        del data[names[-1]]

    return change


DENSITY = ("value", "dict", "posterior", "density")
SPACE = ("value", "dict", "posterior", "space")
METHODS = {
    "list-for-int": put("method", "rounds", value=[2]),
    "float-for-int": put("method", "n_particles", value=20.0),
    "bool-for-int": put("method", "n_draws", value=True),
    "string-for-int": put("method", "rounds", value="2"),
    "string-for-float": put("method", "noise_limit", value="0.9"),
    "nan": put("method", "noise_limit", value=NAN),
    "literal": put("method", "projection", value="x"),
    "other-class": put("method", "discrepancy", value={"class": "ExponentialKernel"}),
    "swapped": put("method", "kernel", value=MMD),
    "class-for-none": put("method", "partition", value=MMD),
    "function": put("method", "family", value={"function": "silu"}),
    "list": put("method", "family", value={"list": []}),
    "string-array": put("method", "discrepancy", "scale", value="1.0"),
    "rank": put("method", "discrepancy", "scale", value=encode(jnp.ones((1, 1)))),
    "nested-nan": put("method", "family", "reverse_training", "rate", value=NAN),
    "nested-bool": put("method", "family", "reverse_training", "selection", value=1),
    "extra": put("method", "extra", value=1),
    "missing": drop("method", "reuse"),
    "dotted": put("method", "class", value="pliant.methods.pli.PLI"),
    "main": put("method", "class", value="__main__.PLI"),
    "module": put("method", "class", value="forged_module.Method"),
    "partial": put("method", value={"class": "Partial", "func": {"function": "silu"}}),
    "no-method": put("method", value=MMD),
    "null-method": put("method", value=None),
    "deep": put("method", "rounds", value=DEEP),
    "other-field": put("surprise", value=1),
}
RESULT = {
    **METHODS,
    "seed-string": put("seed", value="0"),
    "seed-float": put("seed", value=0.0),
    "seed-negative": put("seed", value=-1),
    "seed-huge": put("seed", value=10**400),
    "message": put("message", value=["a"]),
    "reason": put("reason", value=["a"]),
    "status": put("status", value=["finished"]),
    "shape-string": put("observed_shape", value="31"),
    "shape-floats": put("observed_shape", value=[3.0, 1.0]),
    "shape-null": put("observed_shape", value=None),
    "failures": put("failures", value=[1]),
    "failure-types": put(
        "failures", value=[{"kind": 1, "draws": "3", "message": "", "parameters": {}}]
    ),
    "check": put("check", value={"class": "MMD"}),
}
HISTORY = {
    "row-of-lists": put("rounds", 0, "ess", value=[1.0]),
    "row-of-trees": put("rounds", 0, "own", value={"class": "PLI"}),
    "string": put("rounds", 0, "kl", value="0.1"),
    "float-for-int": put("rounds", 0, "round", value=1.5),
    "huge": put("rounds", 0, "bandwidth", value=10**400),
    "other-field": put("surprise", value=1),
    "format": put("format", value="3"),
}
POSTERIOR = {
    "string": put(*DENSITY, "mean", value="abc"),
    "numbers": put(*DENSITY, "mean", value=[0.0]),
    "integers": put(*DENSITY, "mean", value=encode(jnp.zeros(1, int))),
    "strings": put(*DENSITY, "mean", value={"numpy": "tree"}),
    "rank": put(*DENSITY, "mean", value=encode(jnp.zeros((1, 1)))),
    "axes": put(*DENSITY, "below", value=encode(jnp.ones((1, 2)))),
    "other-density": put(*DENSITY, value=MMD),
    "function": put(*DENSITY, value={"function": "silu"}),
    "partial": put(*DENSITY, value={"class": "Partial", "func": {"function": "silu"}}),
    "key": put(*DENSITY, "mean", value={"key": encode(np.zeros(2, np.uint32)), "impl": "fry"}),
    "same-array": put(*DENSITY, "log_diagonal", value={"jax": "array_0"}),
    "names": put(*SPACE, "names", value=[1]),
    "names-list": put(*SPACE, "names", value={"list": ["mu"]}),
    "shapes": put(*SPACE, "shapes", value=[["a"]]),
    "shape-float": put(*SPACE, "shapes", value=[[1.0]]),
    "support": put(*SPACE, "supports", value=[MMD]),
    "support-string": put(
        *(*SPACE, "supports"),
        value=[{"support": "_GreaterThan", "fields": {"dict": {"lower_bound": "0"}}}],
    ),
    "support-nan": put(
        *(*SPACE, "supports"),
        value=[{"support": "_GreaterThan", "fields": {"dict": {"lower_bound": NAN}}}],
    ),
    "support-dependent": put(
        *(*SPACE, "supports"),
        value=[{"support": "_Multinomial", "fields": {"dict": {"upper_bound": 1.0}}}],
    ),
    "check": put("value", "dict", "check", value=MMD),
    "part": put("value", "dict", "more", value=1),
    "no-parts": put("value", value=[1, 2]),
    "field": put("surprise", value=1),
    "deep": put("value", value=DEEP),
    "main": put(*DENSITY, "class", value="__main__:GaussianDensity"),
}
FORGERIES = [
    (file, name, change)
    for file, table in (
        ("result.json", RESULT),
        ("history.json", HISTORY),
        ("posterior.npz", POSTERIOR),
    )
    for name, change in table.items()
]


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(RUNS / "interrupted", tmp_path / "run")


def refused(error, path):
    message = str(error.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 1000


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("file", "change"),
    [pytest.param(file, change, id=f"{file}-{name}") for file, name, change in FORGERIES],
)
def test_load_refuses(file, change, run):
    forge(run / file, change)
    before = set(sys.modules)
    with pytest.raises(ValueError, match=file) as error:
        pliant.load(run)
    refused(error, run / file)
    assert not {m for m in set(sys.modules) - before if "forged" in m}


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", sorted(METHODS))
def test_resume_refuses_a_method(name, run):
    forge(run / "run.json", METHODS[name])
    with pytest.raises(ValueError, match=r"run\.json") as error:
        pliant.resume(run, format_runs.problem(), progress=False)
    refused(error, run / "run.json")


STATE = ("value", "dict", "state")
ROUND = {
    "beta-string": put(*STATE, "beta", value="1"),
    "beta-nan": put(*STATE, "beta", value=NAN),
    "noisy": put(*STATE, "noisy", value=0),
    "earlier": put(*STATE, "earlier", value=[MMD]),
    "density": put(*STATE, "density", value=MMD),
    "tempering": put(*STATE, "tempering", "power", value="1"),
    "mean": put(*STATE, "density", "mean", value=[0.0]),
    "discrepancy": put(*STATE, "discrepancy", value={"function": "silu"}),
    "observed": put(*STATE, "discrepancy", "prepared", "observed", value=MMD),
    "points": put(*STATE, "discrepancy", "prepared", "observed", "points", value="abc"),
    "stop": put("value", "dict", "stop", value={"class": "Stop", "status": "a", "message": 1}),
    "part": put("value", "dict", "more", value=1),
    "no-parts": put("value", value=3),
    "main": put(*STATE, "class", value="__main__.PLIState"),
    "deep": put(*STATE, "beta", value=DEEP),
}


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", ROUND)
def test_resume_goes_back_to_the_round_before(name, run):
    path = run / "rounds/001.npz"
    forge(path, ROUND[name])
    with RunStore(run) as store:
        store.plan(format_runs.problem())
        with pytest.warns(UserWarning, match="001") as caught:
            last = store.last()
    assert last is not None
    assert len(last.rows) == 0
    (message,) = {str(warning.message) for warning in caught}
    assert message.startswith(f"{path}: damaged, or not written by Pliant")
    assert "\n" not in message


def test_resume_names_a_forged_round_and_makes_it_again(run):
    forge(run / "rounds/001.npz", ROUND["points"])
    with pytest.warns(UserWarning, match=r"001\.npz.*Resuming from round 0"):
        result = pliant.resume(run, format_runs.problem(), progress=False)
    assert result.status == "finished"
    assert len(result.history) == 2


@pytest.mark.parametrize("depth", [2_000, 200_000])
@pytest.mark.parametrize("text", ['{"a": ', "["])
def test_nesting_without_end_is_refused(text, depth, run):
    (run / "result.json").write_text(text * depth)
    with pytest.raises(ValueError, match=r"result\.json") as error:
        pliant.load(run)
    refused(error, run / "result.json")
    end = {"[": "]", '{"a": ': "}"}[text]
    tree = np.array(text * depth + ("1" if end == "}" else "") + end * depth)
    write_arrays(run / "posterior.npz", {"tree": tree})
    shutil.copy(RUNS / "interrupted/result.json", run)
    with pytest.raises(ValueError, match=r"posterior\.npz") as error:
        pliant.load(run)
    refused(error, run / "posterior.npz")


@pytest.mark.parametrize("more", ['"seed": 0,', '"seed": 1,', '"x": NaN,', '"x": 1e999,'])
def test_names_that_stand_twice_and_numbers_that_are_none_are_refused(more, run):
    path = run / "result.json"
    path.write_text(path.read_text().replace("{", "{" + more, 1))
    with pytest.raises(ValueError, match=r"result\.json: not a JSON file, or damaged") as error:
        pliant.load(run)
    refused(error, path)


def test_an_array_that_nothing_refers_to_is_refused(run):
    path = run / "posterior.npz"
    write_arrays(path, {**read_arrays(path), "more": np.zeros(3)})
    with pytest.raises(ValueError, match=r"posterior\.npz.*nothing refers to.*more"):
        pliant.load(run)


PLAN = {
    "seed-string": put("seed", value="0"),
    "seed-float": put("seed", value=0.0),
    "seed-negative": put("seed", value=-1),
    "budget-string": put("max_simulations", value="9"),
    "budget-list": put("max_seconds", value=[9]),
    "reason-list": put("reason", value=["a"]),
    "problem": put("problem", value=3),
}
PROGRESS = {
    "simulations": put("value", "dict", "simulations", value="3"),
    "seconds": put("value", "dict", "seconds", value=NAN),
    "rows": put("value", "dict", "rows", value=[{"dict": {"kl": [1]}}]),
    "failures": put("value", "dict", "failures", value=[MMD]),
    "stop": put("value", "dict", "stop", value=MMD),
    "other-state": put(*STATE, value=MMD),
    "null-state": put(*STATE, value=None),
}


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", PLAN)
def test_resume_refuses_a_plan(name, run):
    forge(run / "run.json", PLAN[name])
    with pytest.raises(ValueError, match=r"run\.json") as error:
        pliant.resume(run, format_runs.problem(), progress=False)
    refused(error, run / "run.json")


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", PROGRESS)
def test_resume_goes_back_from_forged_progress(name, run):
    path = run / "rounds/001.npz"
    forge(path, PROGRESS[name])
    with RunStore(run) as store:
        store.plan(format_runs.problem())
        with pytest.warns(UserWarning, match=str(path)):
            last = store.last()
    assert last is not None
    assert len(last.rows) == 0
