"""Problems: what is kept of good ones, and what is said of bad ones."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
import pliant.problem.problem
from pliant.problem.prior import read_prior
from pliant.problem.sets import simulate_sets
from pliant.simulators.base import AbstractSimulator
from pliant.simulators.jax import JaxSimulator

PRIOR = {"mu": dist.Normal(jnp.zeros(2), 1), "a": dist.Uniform(0, 1)}
READ = read_prior(PRIOR)
OBSERVED = np.array([[0.1, 0.2], [0.3, -0.4], [0.0, 1.0]])


def simulator(key, theta):
    return theta["mu"] + theta["a"] * jax.random.normal(key, (2,))


@pytest.fixture(autouse=True)
def _read_once(monkeypatch):
    """All problems here have one prior; what is wrong with others is tested with priors."""
    monkeypatch.setattr(pliant.problem.problem, "read_prior", lambda prior: READ)


@pytest.mark.wrong_types
def test_the_prior_is_read(monkeypatch):
    monkeypatch.undo()
    found = problem()
    assert found.prior.space.names == ("mu", "a")
    np.testing.assert_array_equal(found.prior.space.loc, READ.space.loc)
    with pytest.raises(TypeError, match="prior: expected a dict"):
        problem(prior={})


def problem(**changes):
    return pliant.Problem(
        **{"prior": PRIOR, "simulator": simulator, "observed": OBSERVED, **changes}
    )


@pytest.mark.parametrize(
    "observed",
    [
        OBSERVED,
        OBSERVED.tolist(),
        jnp.asarray(OBSERVED),
        (OBSERVED * 10).astype(int),
        OBSERVED > 0,
        OBSERVED[:1],
        np.ma.masked_array(OBSERVED, mask=False),
    ],
)
def test_observations_become_one_float_array(observed):
    found = problem(observed=observed)
    assert found.observed.dtype == jnp.float32
    np.testing.assert_array_equal(found.observed, np.asarray(observed, np.float32))
    assert found.n_obs == len(observed)
    assert found.event_shape == (2,)


def test_events_can_be_scalars_and_matrices():
    scalar = problem(simulator=lambda k, t: t["a"], observed=[1.0, 2.0, 3.0])
    assert (scalar.n_obs, scalar.event_shape) == (3, ())
    matrix = problem(
        simulator=lambda k, t: jnp.outer(t["mu"], t["mu"]), observed=np.ones((5, 2, 2))
    )
    assert (matrix.n_obs, matrix.event_shape) == (5, (2, 2))


def test_a_simulator_sees_the_priors_names_and_shapes():
    seen = []

    def look(key, theta):
        seen.append(jax.tree.map(jnp.shape, theta))
        assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        return theta["mu"]

    problem(simulator=look)
    assert seen == [{"mu": (2,), "a": ()}]  # traced once, and not run


class OwnSimulator(AbstractSimulator):
    @property
    def compiled(self):
        return False

    def event_shape(self, theta):
        return (2,)

    def simulate(self, keys, thetas, n, under=None):
        return jnp.zeros((len(keys), n, 2)), jnp.ones((len(keys), n), bool)


def test_a_simulator_object_is_kept():
    given = OwnSimulator()
    assert problem(simulator=given).simulator is given
    found = problem(simulator=JaxSimulator(simulator)).simulator
    assert isinstance(found, JaxSimulator)
    assert found.function is simulator


def test_truth_values_are_numbers():
    found = problem(simulator=lambda key, theta: theta["mu"] > 0)
    assert found.event_shape == (2,)
    thetas = {"mu": jnp.array([[-1.0, 1.0]]), "a": jnp.zeros(1)}
    x, ok = found.simulator.simulate(jax.random.split(jax.random.key(0), 1), thetas, 1)
    np.testing.assert_array_equal(x, [[[0.0, 1.0]]])
    assert ok.all()


def test_scales():
    assert problem().scale == "auto"
    assert problem(scale="pilot").scale == "pilot"
    assert problem(scale=None).scale is None
    assert problem(scale=[1, 0.5]).scale == (1.0, 0.5)
    assert problem(scale=jnp.array([2.0, 4.0])).scale == (2.0, 4.0)
    one = problem(simulator=lambda k, t: t["a"], observed=[1.0], scale=3)
    assert one.scale == (3.0,)
    square = np.arange(1.0, 5).reshape(2, 2)
    outer = problem(
        simulator=lambda k, t: jnp.outer(t["mu"], t["mu"]), observed=[square], scale=square
    )
    assert outer.scale == (1.0, 2.0, 3.0, 4.0)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("scale", "error", "message"),
    [
        ("pilots", ValueError, 'expected "auto", "pilot", None or an array'),
        ([1.0], ValueError, r"observations' shape \(2,\)"),
        (1.0, ValueError, r"observations' shape \(2,\)"),
        ([1.0, 0.0], ValueError, "positive"),
        ([1.0, -1.0], ValueError, "positive"),
        ([1.0, np.nan], ValueError, "positive"),
        ([1.0, np.inf], ValueError, "positive"),
        ([1.0, 1e300], ValueError, "single precision"),
        ([1.0, 1e-300], ValueError, "single precision"),
        (["1", "2"], TypeError, "real numbers"),
        ([1.0, 1j], TypeError, "real numbers"),
        ([1.0, [2.0]], ValueError, "ragged"),
        (object(), TypeError, "real numbers"),
    ],
)
def test_a_scale_that_does_not_fit_is_refused(scale, error, message):
    with pytest.raises(error, match=f"scale: .*{message}"):
        problem(scale=scale)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("observed", "error", "message"),
    [
        ([], ValueError, "at least one observation"),
        (np.zeros((0, 2)), ValueError, "at least one observation"),
        (1.0, ValueError, r"single number. Pass \[x\]"),
        ([[1.0, 2.0], [3.0]], ValueError, "ragged sequence.* one shape"),
        ([["a", "b"]], TypeError, "real numbers"),
        ("data.csv", TypeError, "real numbers"),
        (None, TypeError, "real numbers"),
        ([[1.0, None]], TypeError, "real numbers"),
        ([[1j, 0]], TypeError, "real numbers"),
        ([[1.0, np.nan], [0, 0]], ValueError, "1 of 2 observations are not finite.*Remove or"),
        ([[1.0, 0], [np.inf, 0]], ValueError, "not finite .* first is number 1.*Remove or"),
        ([[1.0, 1e300]], ValueError, "single precision.*change units"),
        (np.ma.masked_array(OBSERVED, mask=OBSERVED == 1), ValueError, "masked"),
        (list(np.ma.masked_array(OBSERVED, mask=OBSERVED == 1)), ValueError, "masked"),
        (OBSERVED * 1e-42, ValueError, "feature 0 .*below 1e-35.*Change the units"),
        (OBSERVED * [1, 1e36], ValueError, "feature 1 .*above 1e35.*Change the units"),
        (OBSERVED[0], ValueError, r"pass observed\[None\]"),
        (
            OBSERVED[:, :1],
            ValueError,
            r"the simulator returns \(2,\), got \(3, 1\)",
        ),
        (OBSERVED[..., None], ValueError, r"got \(3, 2, 1\)"),
    ],
)
def test_observations_that_cannot_be_used_are_refused(observed, error, message):
    with pytest.raises(error, match=f"observed: .*{message}"):
        problem(observed=observed)


def numpy_code(key, theta):
    return np.asarray(theta["mu"])


def branch(key, theta):
    return theta["mu"] if theta["a"] > 0 else -theta["mu"]


def silent(key, theta):
    raise RuntimeError


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3.0, "expected a function"),
        (None, "expected a function"),
        ("model", "expected a function"),
        (numpy_code, "TracerArrayConversionError.*no NumPy calls"),
        (branch, "TracerBoolConversionError.*no `if` on values"),
        (silent, r"RuntimeError\. Expected a function"),
        (lambda theta: theta["mu"], "positional argument.*a jax.random key and one parameter"),
        (lambda key, theta, more: theta["mu"], "'more'.*a jax.random key and one parameter"),
        (lambda key, theta: theta["nu"], "KeyError: 'nu'.*in the prior's structure"),
        (lambda key, theta: (theta["mu"], 1.0), "one array, or a dict of arrays .*, got tuple"),
        (
            lambda key, theta: {"x": theta["mu"]},
            r"an array of the shape \(2,\), got a dict with 'x'",
        ),
        (lambda key, theta: None, "one array, .*, got NoneType"),
        (lambda key, theta: "text", "str"),
        (lambda key, theta: theta["mu"] * 1j, "real numbers, got complex64"),
        (lambda key, theta: key, "real numbers, got key"),
    ],
)
@pytest.mark.wrong_types
def test_a_simulator_that_cannot_be_used_is_refused(function, message):
    with pytest.raises(TypeError, match=f"(?s)simulator: .*{message}"):
        problem(simulator=function)


def test_a_problem_takes_more_observations_under_its_own_conditions():
    c = np.arange(4.0, dtype=np.float32)

    def simulator(key, theta, condition):
        return theta["mu"] + condition["dose"] + 0.0 * jax.random.normal(key, (2,))

    problem = pliant.Problem(PRIOR, simulator, np.zeros((4, 2)), conditions={"dose": c})
    new = np.array([[9.0, 7.0], [8.0, 6.0]], np.float32)
    more = problem.with_more(new, np.array([3, 1]))
    assert more.n_obs == 6
    np.testing.assert_array_equal(more.observed[4:], new)
    np.testing.assert_array_equal(more.conditions.values["dose"], [0, 1, 2, 3, 3, 1])
    np.testing.assert_array_equal(more.conditions.rows[4:], problem.conditions.rows[[3, 1]])
    draws = simulate_sets(jax.random.key(0), more, jnp.zeros((1, 3)), 6)
    mu = float(problem.prior.space.constrain(jnp.zeros(3))["mu"][0])
    np.testing.assert_allclose(draws.x[0, :, 0], mu + more.conditions.values["dose"], atol=1e-6)
    assert problem.n_obs == 4


def test_more_observations_have_gaps_too():
    x = np.array([[0.0, 1.0], [np.nan, 2.0], [1.0, 1.0]], np.float32)

    def simulator(key, theta):
        return theta["mu"] + jax.random.normal(key, (2,))

    problem = pliant.Problem(PRIOR, simulator, x, missing=True)
    seen = np.array([[True, False]])
    more = problem.with_more(np.ones((1, 2), np.float32), np.array([0]), seen)
    np.testing.assert_array_equal(more.seen, np.concatenate([problem.seen, seen]))
    whole = problem.with_more(np.ones((1, 2), np.float32), np.array([0]))
    assert whole.seen[-1].all()
