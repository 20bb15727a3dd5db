"""What a run notes of its simulations, without any inference."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.problem.prior import read_prior
from pliant.run.ledger import Ledger
from pliant.run.recording import Record, RecordedSimulator

SPACE = read_prior({"mu": dist.Normal(0, 5)}).space
KEYS = jax.random.split(jax.random.key(0), 40)
THETAS = {"mu": jnp.linspace(-2.0, 2.0, 40)}


@pytest.fixture
def calls():
    return []


@pytest.fixture
def simulator(calls):
    """Fails where mu is above 1, which it is for 10 of 40 parameters."""

    def draw(rng, theta):
        calls.append(theta["mu"])
        if theta["mu"] > 1:
            raise ArithmeticError("too warm")
        return theta["mu"] + rng.normal(size=2)

    return pliant.PythonSimulator(draw, event=(2,))


def test_draws_are_passed_on_and_failures_are_explained(simulator):
    seen = []
    record = Record(SPACE, watch=lambda made, wanted, pace: seen.append((made, wanted, pace)))
    recorded = RecordedSimulator(simulator, record)
    x, ok = recorded.simulate(KEYS, THETAS, 3)
    expected, usable = simulator.simulate(KEYS, THETAS, 3)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(ok, usable)
    assert (recorded.compiled, recorded.event_shape(THETAS)) == (False, (2,))
    (failure,) = record.failures
    assert (failure.kind, failure.draws) == ("exception", 10 * 3)
    assert failure.parameters == {"mu": float(THETAS["mu"][30])}
    assert "They lie mostly at mu above " in record.explanation()
    assert 0 < record.row["busy"] <= 1
    assert seen[-1][:2] == (120, 120)
    assert [made for made, _, _ in seen] == sorted(made for made, _, _ in seen)
    assert all(pace > 0 for _, _, pace in seen)


def test_draws_of_the_ledger_are_not_made_again(simulator, calls, tmp_path):
    record = Record(SPACE)
    record.begin(Ledger(tmp_path))
    first = record.external(simulator, KEYS[:20], {"mu": THETAS["mu"][:20]}, 3, None)
    assert len(calls) == 20 * 3
    seen = []
    again = Record(SPACE, watch=lambda made, wanted, pace: seen.append((made, pace)))
    again.begin(Ledger(tmp_path))
    x, ok = again.external(simulator, KEYS, THETAS, 3, None)
    assert len(calls) == 40 * 3
    assert all((pace is None) == (made <= 20 * 3) for made, pace in seen)  # the ledger is no pace
    np.testing.assert_array_equal(x[:20], first[0])
    assert again.failures[0].draws == np.sum(~np.asarray(ok)) == 10 * 3


def test_repeated_parameters_of_a_compiled_batch_count_once():
    """A batch is padded with its last parameter, whose draws are the same."""
    keys, thetas = KEYS[jnp.array([0, 1, 1, 1])], {"mu": jnp.array([5.0, 7.0, 7.0, 7.0])}
    sets = jnp.ones((4, 3, 2)), jnp.array([[True, True, False], *[[False, True, True]] * 3])
    record = Record(SPACE)
    assert record.compiled(keys, thetas, sets) is sets
    (failure,) = record.failures
    assert (failure.kind, failure.draws) == ("not finite", 2)
    assert failure.parameters == {"mu": 5.0}
    assert record.row == {}


def test_a_round_without_failures_explains_nothing():
    record = Record(SPACE)
    record.compiled(KEYS[:2], {"mu": jnp.zeros(2)}, (jnp.ones((2, 3, 2)), jnp.ones((2, 3), bool)))
    assert record.failures == ()
    assert record.explanation() == ""
