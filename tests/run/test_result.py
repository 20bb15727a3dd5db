"""A result in a folder: the same bits come back, and nothing but data is read."""

import dataclasses
import functools
import json
import re
from typing import ClassVar

import equinox as eqx
import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions.transforms import OrderedTransform

import pliant
from pliant.discrepancies.base import AbstractDiscrepancy
from pliant.problem.prior import read_prior
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.run.result import Result

PRIORS = {
    "dict": {
        "z": dist.Uniform(-3, 3).expand([2]),
        "a": dist.LogNormal(0, 1),
        "t": dist.TruncatedNormal(0, 1, low=-1.0),
    },
    "single": dist.Dirichlet(np.ones(4, np.float32)),
    "far": {
        "bounds": dist.Uniform(np.array([1e6, -0.1], np.float32), np.array([1e6 + 9, 0.3])),
        "ordered": dist.TransformedDistribution(
            dist.Normal(np.zeros(3), 1).to_event(1), OrderedTransform()
        ),
    },
}
GAUSSIAN = pliant.Gaussian()
FAMILIES = {
    "gaussian": GAUSSIAN,
    "mixture": pliant.GaussianMixture(components=2),
    "flow": pliant.SplineFlow(layers=2, width=8, training=pliant.Training(steps=50)),
}


@pytest.fixture
def saved(tmp_path):
    return make().save(tmp_path / "run")


@functools.cache
def space_of(prior):
    return read_prior(PRIORS[prior]).space


def some_density(family, dim):
    """A density that no fit gave: all its numbers are moved a little."""
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda leaf: leaf + 0.1 * rng.normal(size=leaf.shape).astype(leaf.dtype),
        family.skeleton(dim),
    )


@functools.cache
def make(prior="dict", family="gaussian"):
    space = space_of(prior)
    return Result(
        posterior=Posterior(space, some_density(FAMILIES[family], space.dim)),
        history=History([{"round": 1, "kl": 0.5, "distance_se": float("nan")}]),
        status="finished",
        message="Finished after 1 round.",
        method=pliant.PLI(family=FAMILIES[family], discrepancy=pliant.MMD(lengthscales=(1.0, 2.0))),
        seed=7,
        observed_shape=(10, 2),
    )


@pytest.mark.parametrize(
    ("prior", "family"),
    [
        *(("dict", "gaussian"), ("dict", "mixture"), ("dict", "flow")),
        *(("single", "mixture"), ("far", "gaussian")),
    ],
)
def test_the_same_bits_come_back(tmp_path, prior, family):
    result = make(prior, family)
    loaded = pliant.load(result.save(tmp_path / "run"))
    before, after = (r.posterior.sample(200, seed=3) for r in (result, loaded))
    jax.tree.map(np.testing.assert_array_equal, before, after)
    np.testing.assert_array_equal(
        result.posterior.log_prob(before), loaded.posterior.log_prob(before)
    )
    assert loaded.method == result.method
    assert (loaded.status, loaded.message, loaded.seed) == ("finished", result.message, 7)
    assert loaded.history[0]["kl"] == 0.5
    assert np.isnan(loaded.history["distance_se"][0])
    assert not list((tmp_path / "run").glob(".*"))


def test_nothing_is_replaced_silently(tmp_path):
    result = make()
    result.save(tmp_path)
    with pytest.raises(FileExistsError, match="overwrite"):
        result.save(tmp_path)
    result.save(tmp_path, overwrite=True)


def test_without_a_round_there_is_nothing_to_save(tmp_path):
    result = make()
    prior = read_prior(PRIORS["dict"])
    empty = Result(
        Posterior(prior.space, prior), History(), "failed", "", result.method, 0, (10, 2)
    )
    with pytest.raises(ValueError, match="No round"):
        empty.save(tmp_path)


class Skewed(AbstractDiscrepancy):
    """A user's own class."""

    power: float = eqx.field(static=True, default=1.0)
    scale: None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    min_draws: ClassVar[int] = 1

    def prepare(self, observed):
        return observed.mean()

    def measure(self, key, state, thetas, x, ok):
        return abs(x.mean(axis=(1, 2)) - state) ** self.power, state


def test_a_run_with_a_users_class_is_read_when_the_class_is_passed(tmp_path):
    own = dataclasses.replace(make(), method=pliant.PLI(discrepancy=Skewed(2.0), family=GAUSSIAN))
    own.save(tmp_path)
    with pytest.raises(ValueError, match=r"Skewed.*classes=\[\.\.\.\]"):
        pliant.load(tmp_path)
    loaded = pliant.load(tmp_path, classes=[Skewed])
    assert loaded.method == own.method
    np.testing.assert_array_equal(
        loaded.posterior.sample(10)["a"], make().posterior.sample(10)["a"]
    )


@pytest.mark.wrong_types
def test_a_folder_must_be_a_path():
    with pytest.raises(TypeError, match="folder"):
        make().save(5)
    with pytest.raises(TypeError, match="folder"):
        pliant.load(5)


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"result\.json"):
        pliant.load(tmp_path)
    make().save(tmp_path)
    whole = (tmp_path / "posterior.npz").read_bytes()
    (tmp_path / "posterior.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"posterior\.npz"):
        pliant.load(tmp_path)
    make().save(tmp_path, overwrite=True)
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(ValueError, match=r"result\.json"):
        pliant.load(tmp_path)


def test_only_plain_data_of_plain_classes_is_read(tmp_path):
    make().save(tmp_path)
    path = tmp_path / "result.json"
    data = json.loads(path.read_text())
    data["method"]["family"]["class"] = "Popen"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="Popen"):
        pliant.load(tmp_path)

    make().save(tmp_path, overwrite=True)
    with np.load(tmp_path / "posterior.npz") as file:
        arrays = dict(file)
    arrays["loc"] = np.array([print], dtype=object)
    np.savez(tmp_path / "posterior.npz", **arrays)
    with pytest.raises(ValueError, match=r"pickle|posterior"):
        pliant.load(tmp_path)


def edit_json(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def edit_arrays(path, **changes):
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{name: a for name, a in {**arrays, **changes}.items() if a is not None})


def put(*names, value):
    """A change of JSON data: the entry under ``names`` becomes ``value``."""

    def change(data):
        for name in names[:-1]:
            data = data[name]
        data[names[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("format", value=2),
        put("format", value=None),
        lambda data: data.pop("format"),
        lambda data: data.pop("seed"),
        lambda data: data.pop("space"),
        put("method", value="PLI"),
        put("method", value={"class": "MMD"}),  # no method, and without a family
        put("method", "class", value="Result"),
        put("method", "n_parameters", value=5),
        put("method", "rounds", value=-1),
        put("method", "family", value={"class": "GaussianMixture"}),
        put("method", "family", value=None),
        put("space", "names", value=["a", "z"]),
        put("space", "shapes", value=[[2], [3], []]),
        put("space", "supports", value=[]),
        put("space", "supports", 0, "kind", value="Path"),
        put("space", "supports", 0, "kind", value="_Sphere"),
        put("space", "supports", 0, "values", value={}),
    ],
)
def test_a_result_of_something_else_is_refused(saved, change):
    edit_json(saved / "result.json", change)
    with pytest.raises(ValueError, match=re.escape(str(saved))):
        pliant.load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"loc": np.zeros(3)},
        {"scale": np.ones((4, 1))},
        {"loc": np.full(4, np.nan)},
        {"density_0": np.zeros(5)},
        {"density_0": np.full(4, np.inf)},
        {"density_1": None},
        {"density_0": np.array(["a", "b", "c", "d"])},
    ],
)
def test_arrays_of_something_else_are_refused(saved, changes):
    edit_arrays(saved / "posterior.npz", **changes)
    with pytest.raises(ValueError, match=re.escape(str(saved))):
        pliant.load(saved)


@pytest.mark.parametrize("name", ["posterior.npz", "history.json"])
def test_a_missing_part_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        pliant.load(saved)


@pytest.mark.parametrize("text", ["3", '"rows"', "[1, 2]", "[[1]]"])
def test_a_history_of_something_else_is_refused(saved, text):
    (saved / "history.json").write_text(text)
    with pytest.raises(ValueError, match=re.escape(str(saved))):
        pliant.load(saved)


def test_what_is_broken_off_while_it_overwrites_is_no_result(saved, monkeypatch):
    def fail(path, data):
        raise OSError("no space left on device")

    monkeypatch.setattr("pliant.run.result.write_json", fail)
    with pytest.raises(OSError, match="no space"):
        make().save(saved, overwrite=True)
    with pytest.raises(FileNotFoundError, match="holds no result"):
        pliant.load(saved)


def test_a_run_can_be_saved(tmp_path):
    def simulator(key, theta):
        return theta["mu"] + theta["sd"] * jax.random.normal(key, (2,))

    problem = pliant.Problem(
        {"sd": dist.HalfNormal(1.0), "mu": dist.Normal(0, 1)}, simulator, np.zeros((5, 2))
    )
    method = pliant.PLI(rounds=1, n_particles=100, n_draws=10, family=pliant.Gaussian())
    result = pliant.infer(problem, method, progress=False)
    loaded = pliant.load(result.save(tmp_path / "a" / "run"))
    before, after = (r.posterior.sample(100) for r in (result, loaded))
    jax.tree.map(np.testing.assert_array_equal, before, after)
    assert len(loaded.history) == 1
    for name in result.history.columns:
        wanted = np.asarray(result.history[name], float)
        wanted[~np.isfinite(wanted)] = np.nan  # JSON has no infinity
        np.testing.assert_array_equal(np.asarray(loaded.history[name], float), wanted)
    assert str(loaded.posterior.summary()) == str(result.posterior.summary())
    assert sorted(p.name for p in (tmp_path / "a" / "run").iterdir()) == [
        *("history.json", "posterior.npz", "result.json")
    ]


def test_history_columns_and_rows():
    history = History([{"round": 1, "kl": 0.5}, {"round": 2, "kl": None, "spearman": 0.9}])
    assert history.columns == ("round", "kl", "spearman")
    assert list(history["round"]) == [1, 2]
    assert np.isnan(history["kl"][1])
    assert np.isnan(history["spearman"][0])
    assert len(history[:1]) == 1
    assert "spearman" in str(history)
    with pytest.raises(KeyError, match="round"):
        history["rounds"]
