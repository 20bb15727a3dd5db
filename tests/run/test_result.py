"""A result in a folder: the same bits come back, and nothing but data is read."""

import dataclasses
import functools
import json
import warnings
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from attacks.forged import forge, put
from numpyro.distributions.transforms import OrderedTransform

import pliant
from pliant._files import read_arrays, write_arrays
from pliant.densities.coupling import CouplingFlow
from pliant.densities.gaussian import GaussianDensity
from pliant.densities.mixture import MixtureDensity
from pliant.densities.spline_flow import FlowDensity
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.problem.prior import read_prior
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.run.result import Result, warned
from pliant.run.serialise import encode
from pliant.weighting.final_check import final_check

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
    """A density with arbitrary numbers."""
    rng = np.random.default_rng(0)

    def number(*shape):
        return jnp.asarray(0.1 * rng.normal(size=shape), float)

    if family == "flow":
        flow = CouplingFlow(jax.random.key(0), dim=dim, layers=2, bins=4, width=8)
        return FlowDensity(number(dim), jnp.eye(dim) + jnp.diag(number(dim)), flow)
    if family == "mixture":
        parts = jax.vmap(GaussianDensity)(number(2, dim), number(2, dim), number(2, dim, dim))
        return MixtureDensity(number(2), parts)
    return GaussianDensity(number(dim), number(dim), number(dim, dim))


@functools.cache
def make(prior="dict", family="gaussian"):
    space = space_of(prior)
    return Result(
        posterior=Posterior(space, some_density(family, space.dim)),
        history=History([{"round": 1, "kl": 0.5, "distance_se": float("nan")}]),
        status=pliant.Status.FINISHED,
        message="Finished after 1 round.",
        method=pliant.PLI(family=FAMILIES[family], discrepancy=pliant.MMD(lengthscales=(1.0, 2.0))),
        seed=7,
        observed_shape=(10, 2),
        reason="MMD: it was chosen.",
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
    assert loaded.reason == "MMD: it was chosen."
    assert loaded.history[0]["kl"] == 0.5
    assert np.isnan(loaded.history["distance_se"][0])
    assert not list((tmp_path / "run").glob(".*"))


def test_nothing_is_replaced_silently(tmp_path):
    result = make()
    result.save(tmp_path)
    with pytest.raises(FileExistsError, match="overwrite"):
        result.save(tmp_path)
    result.save(tmp_path, overwrite=True)


@pytest.mark.parametrize("name", ["result.json", "posterior.npz", "history.json"])
def test_a_users_file_is_never_replaced(tmp_path, name):
    (tmp_path / name).write_text('{"mine": 1}')
    with pytest.raises(FileExistsError, match=f"{name} in it is not a file of Pliant"):
        make().save(tmp_path, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == '{"mine": 1}'


def test_a_result_may_lie_beside_a_users_files(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    make().save(tmp_path)
    (tmp_path / "result.json").unlink()  # as if the next save had been killed
    make().save(tmp_path)
    assert pliant.load(tmp_path).message == make().message
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_without_a_round_there_is_nothing_to_save(tmp_path):
    result = make()
    prior = read_prior(PRIORS["dict"])
    empty = Result(
        *(Posterior(prior.space, prior), History(), pliant.Status.FAILED, ""),
        *(result.method, 0, (10, 2)),
    )
    with pytest.raises(ValueError, match="No round"):
        empty.save(tmp_path)


@pytest.mark.parametrize("status", pliant.Status)
def test_every_end_warns_but_successes_and_what_the_user_wanted(status):
    result = dataclasses.replace(make(), status=status, message="What happened.")
    quiet = {"finished", "converged", "reached_tolerance", "interrupted", "stopped_by_callback"}
    if status not in quiet:
        with pytest.warns(pliant.PliantWarning, match=rf"status {status}: What happened\.$"):
            assert warned(result) is result
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert warned(result) is result
    prior = read_prior(PRIORS["dict"])
    empty = dataclasses.replace(result, posterior=Posterior(prior.space, prior))
    if status == "interrupted":
        assert warned(empty) is empty
    else:
        with pytest.warns(pliant.PliantWarning, match=r"happened\. .* this is the prior\.$"):
            warned(empty)


@pytest.mark.parametrize(("spread", "fails"), [(0.5, False), (8.0, True)])
def test_a_success_whose_check_fails_warns(spread, fails):
    """Weights of a log-normal distribution: eight is far too wide for them to be usable."""
    draws = np.random.default_rng(0).normal(size=(2000, 2))
    check = final_check(draws, spread * draws[:, 0])
    assert check.is_usable != fails
    result = dataclasses.replace(make(), status=pliant.Status.CONVERGED, check=check)
    if fails:
        with pytest.warns(pliant.PliantWarning, match="converged, but its check failed. The post"):
            assert warned(result) is result
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert warned(result) is result


class Skewed(AbstractMeasuredDiscrepancy):
    """A user's own class."""

    power: float = eqx.field(static=True, default=1.0)
    scale: None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    min_draws: ClassVar[int] = 1

    def prepare(self, observed):
        return observed.mean()

    def measure(self, prepared, x, ok):
        return abs(x.mean(axis=(1, 2)) - prepared) ** self.power, {}


def test_a_run_with_a_users_class_is_read_when_the_class_is_passed(tmp_path):
    own = dataclasses.replace(make(), method=pliant.PLI(discrepancy=Skewed(2.0), family=GAUSSIAN))
    own.save(tmp_path)
    with pytest.raises(ValueError, match=r"Skewed.*classes=\[Skewed\]"):
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


@pytest.mark.parametrize(
    "change",
    [
        put("format", value=1),
        put("format", value=None),
        lambda data: data.pop("format"),
        lambda data: data.pop("seed"),
        lambda data: data.pop("failures"),
        put("status", value="wonderful"),
        put("failures", value=[{"kind": "crash"}]),
        put("method", value="PLI"),
        put("method", value={"class": "ExponentialKernel"}),  # no method
        put("method", "class", value="Result"),
        put("method", "n_parameters", value=5),
        put("method", "rounds", value=-1),
        put("method", "family", value=None),
        put("method", "family", "class", value="Popen"),
    ],
)
def test_a_result_of_something_else_is_refused(saved, change):
    forge(saved / "result.json", change)
    with pytest.raises(ValueError, match=r"result\.json"):
        pliant.load(saved)


SPACE = ("dict", "posterior", "space")
DENSITY = ("dict", "posterior", "density")


@pytest.mark.parametrize(
    "change",
    [
        put("dict", "posterior", value=None),
        put("dict", "check", value=3),
        put(*SPACE, "names", value=["a", "z"]),
        put(*SPACE, "shapes", value=[[2], [3], []]),
        put(*SPACE, "supports", value=[]),
        put(*SPACE, "supports", 0, "support", value="Path"),
        put(*SPACE, "loc", value=encode(jnp.zeros(3))),
        put(*SPACE, "scale", value=encode(jnp.full(4, jnp.nan))),
        put(*DENSITY, value=None),
        put(*DENSITY, "class", value="Training"),
        put(*DENSITY, "mean", value=encode(jnp.zeros(5))),
        put(*DENSITY, "mean", value=encode(jnp.full(4, jnp.inf))),
        put(*DENSITY, "mean", value="abcd"),
        lambda data: data["dict"]["posterior"]["density"].pop("below"),
    ],
)
def test_a_posterior_of_something_else_is_refused(saved, change):
    path = saved / "posterior.npz"
    arrays = read_arrays(path)
    tree = json.loads(str(arrays["tree"]))
    change(tree["value"])
    write_arrays(path, {**arrays, "tree": np.array(json.dumps(tree))})
    with pytest.raises(ValueError, match=r"posterior\.npz"):
        pliant.load(saved)


def test_an_edited_file_is_named(saved):
    for name in ("result.json", "history.json"):
        text = (saved / name).read_text()
        (saved / name).write_text(text.replace("1", "2", 1))
        with pytest.raises(ValueError, match=rf"{name}: damaged, or edited by hand"):
            pliant.load(saved)
        (saved / name).write_text(text)
    arrays = {**read_arrays(saved / "posterior.npz"), "array_0": np.zeros(4, np.float32)}
    np.savez(saved / "posterior.npz", **arrays)
    with pytest.raises(ValueError, match=r"posterior\.npz: it has no checksum"):
        pliant.load(saved)


def test_nothing_is_replaced_by_what_cannot_be_written(saved):
    class Odd(GaussianDensity):
        rule: object

    posterior = make().posterior
    density = Odd(*jax.tree.leaves(posterior.density), rule=print)
    odd = dataclasses.replace(make(), posterior=Posterior(posterior.space, density))
    with pytest.raises(TypeError, match=r"posterior\.density\.rule: .*cannot be written"):
        odd.save(saved, overwrite=True)
    assert pliant.load(saved).message == make().message


@pytest.mark.parametrize("name", ["posterior.npz", "history.json"])
def test_a_missing_part_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        pliant.load(saved)


@pytest.mark.parametrize("rows", [3, "rows", [1, 2], [[1]], None])
def test_a_history_of_something_else_is_refused(saved, rows):
    forge(saved / "history.json", put("rounds", value=rows))
    with pytest.raises(ValueError, match=r"history\.json.*one row per round"):
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
    method = pliant.PLI(
        rounds=1, n_particles=100, n_draws=10, discrepancy=pliant.MMD(), family=pliant.Gaussian()
    )
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
