"""The rounds of a learned discrepancy: the approach, then learning, by networks without weights.

What a training would find is written down here, so that the rounds' own numbers can be computed
by hand.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.densities.gaussian import gaussian_from_moments
from pliant.densities.training import Effort
from pliant.discrepancies.base import Proposal, RoundOptions
from pliant.discrepancies.ensemble import AbstractNetwork
from pliant.discrepancies.learned import AbstractLearnedDiscrepancy, LearnedState
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy
from pliant.discrepancies.memory import empty_memory
from pliant.problem.sets import Draws

N, K, M = 12, 60, 10
PRIOR = {"mu": dist.Normal(0, 2)}
OBSERVED = np.random.default_rng(0).normal(0.5, 0.3, (N, 2))
OPTIONS = RoundOptions(M, None, False, None)


def problem(noise):
    return pliant.Problem(
        PRIOR, lambda key, theta: theta["mu"] + noise * jax.random.normal(key, (2,)), OBSERVED
    )


PROBLEM, NOISY = problem(0.3), problem(100.0)
Z = PROBLEM.prior.sample(jax.random.key(0), K)


class Constant(AbstractNetwork):
    """``-c_0^2 / 2 + value`` for every observation."""

    value: float

    def log_values(self, x, theta):
        values = self.value - 0.5 * theta[0] ** 2
        return jnp.broadcast_to(values, (x.u.shape[1],))

    def with_parameters(self, factor, shift):
        return self


ALL = Effort()


class Scripted(AbstractLearnedDiscrepancy):
    """Its networks have the held-out losses ``losses``, and ``before`` on a later round."""

    by_kind = False

    losses: tuple[float, ...] = eqx.field(static=True)
    before: float = eqx.field(static=True, default=0.0)
    training: pliant.Training = pliant.Training()
    batch_size: int = 8
    window: int = 3
    networks: int = 3
    n_evaluated: int | None = 100
    defensive_share: float | None = None
    approach: AbstractMeasuredDiscrepancy | None = None

    def check(self, problem):
        pass

    def untrained(self, key, problem, widths, like):
        return Constant(0.0)

    def trained(self, key, network, data, effort=ALL):
        part = max(int(data.part), 0)
        info = {"fit_steps": 10 + part, "held_out": self.losses[part], "effort": effort.steps}
        TRAINED.append((data, effort))
        return Constant(float(part)), info

    def held_out_loss(self, network, data):
        return jnp.asarray(self.before)

    def averaged(self, log_values, shares):
        return np.average(log_values, axis=0, weights=shares)


TRAINED = []


@pytest.fixture(autouse=True)
def _forget():
    TRAINED.clear()


def memory(rounds):
    """Of some rounds with the same parameters."""
    draws = Draws(np.zeros((K, M, 2), np.float32), np.ones((K, M), bool))
    kept = empty_memory(PROBLEM, Z, draws, by_kind=False)
    for index in range(rounds):
        kept = kept.with_round(jax.random.key(index), PROBLEM, Z, draws, window=3)
    return kept


def learn(kind, rounds, last=None, level=1.0):
    return kind.learn(jax.random.key(0), PROBLEM, memory(rounds), last, level)


def evaluate(kind, state, *, given=PROBLEM, level=0.0):
    proposal = Proposal(given.prior, level)
    return kind.evaluate(jax.random.key(1), given, state, proposal, Z, OPTIONS)


# --- Learning -----------------------------------------------------------------------------------


def test_one_network_is_trained_on_the_way_and_all_of_them_at_the_target():
    kind = Scripted(losses=(1.0, 1.0, 1.0))
    for level, networks in ((0.0, 1), (0.99, 1), (1.0, 3)):
        TRAINED.clear()
        ensemble, row = learn(kind, rounds=2, level=level)
        assert len(ensemble.networks) == row["networks"] == networks
        parts = list(range(networks)) if networks > 1 else [-1]
        assert sorted(int(data.part) for data, _ in TRAINED) == parts
        assert row["net_steps"] == 9 + networks


def test_trainings_are_short_on_the_way_and_gentle_once_the_target_is_known():
    kind = Scripted(losses=(1.0, 1.0, 1.0))
    efforts = []
    last = None
    for level in (0.0, 0.5, 1.0, 1.0):
        TRAINED.clear()
        last, _ = learn(kind, rounds=1, last=last, level=level)
        (effort,) = {(float(e.steps), round(float(e.rate), 3)) for _, e in TRAINED}
        efforts.append(effort)
    rough, again, first, fine = efforts
    assert rough == again
    assert rough[0] < 1
    assert first == (1.0, 1.0)  # new networks
    assert fine[0] < 1
    assert fine[1] < 1


def test_networks_begin_anew_when_there_are_half_as_many_draws_more():
    kind = Scripted(losses=(1.0, 1.0, 1.0))
    last, _ = learn(kind, rounds=1)
    assert last.n_draws == K * M
    for rounds, anew in ((1, False), (2, True), (2, False), (3, True), (3, False)):
        TRAINED.clear()
        last, _ = learn(kind, rounds=rounds, last=last)
        assert {float(effort.steps) == 1.0 for _, effort in TRAINED} == {anew}
        assert last.n_draws == rounds * K * M
    kept, _ = learn(kind, rounds=1, last=dataclasses.replace(last, n_draws=K * M - 1))
    assert kept.n_draws == K * M - 1  # what they began with


def test_networks_count_by_their_likelihood_of_as_many_draws_as_there_are_observations():
    ensemble, row = learn(Scripted(losses=(1.0, 1.1, 1.3)), rounds=1)
    shares = np.exp(-N * np.array([0.0, 0.1, 0.3]))
    np.testing.assert_allclose(ensemble.shares, shares / shares.sum(), rtol=1e-9)
    assert row["net_loss"] == 1.0


def test_older_rounds_count_less_by_what_the_new_training_gained():
    kind = Scripted(losses=(1.0, 1.0, 1.0), before=1.05)
    first, row = learn(kind, rounds=1)
    np.testing.assert_array_equal(first.relevance, [1])
    assert row["agreeing_rounds"] == 1
    second, _ = learn(kind, rounds=2, last=first)
    np.testing.assert_allclose(second.relevance, [1, np.exp(-N * 0.05)], rtol=1e-5)
    third, row = learn(kind, rounds=3, last=second)
    expected = [1, np.exp(-N * 0.05), np.exp(-2 * N * 0.05)]
    np.testing.assert_allclose(third.relevance, expected, rtol=1e-5)
    assert row["agreeing_rounds"] == pytest.approx(sum(expected), rel=1e-5)
    fourth, _ = learn(kind, rounds=4, last=third)  # of which three are kept
    np.testing.assert_allclose(fourth.relevance, expected, rtol=1e-5)


def test_a_training_that_gained_nothing_leaves_older_rounds_as_they_are():
    kind = Scripted(losses=(1.0, 1.0, 1.0), before=0.9)
    first, _ = learn(kind, rounds=1)
    np.testing.assert_array_equal(learn(kind, rounds=2, last=first)[0].relevance, [1, 1])


def test_half_of_the_training_is_shared_evenly_and_half_by_relevance():
    kind = Scripted(losses=(1.0, 1.0, 1.0), before=1.05)
    first, _ = learn(kind, rounds=1)
    second, _ = learn(kind, rounds=2, last=first)
    TRAINED.clear()
    learn(kind, rounds=3, last=second)
    relevance = np.array([1, 1, np.exp(-N * 0.05)])  # before this training
    shares = 0.5 * relevance / relevance.sum() + 0.5 / 3
    for data, _ in TRAINED:
        np.testing.assert_allclose(data.cumulative, shares.cumsum(), rtol=1e-5)


def test_the_errors_are_those_of_a_jackknife():
    """Three networks, each without a third: SE^2 = 2 / 3 times the sum of squared differences."""
    kind = Scripted(losses=(1.0, 1.0, 1.0))
    ensemble, _ = learn(kind, rounds=1)
    values = np.array([0.0, 0.1, 0.5])
    ensemble = dataclasses.replace(ensemble, networks=tuple(map(Constant, values)))
    distance, errors = kind.distances(PROBLEM, ensemble, Z[:5])
    differences = N * (values - values.mean())
    np.testing.assert_allclose(np.sum(errors**2, axis=0), 2 / 3 * np.sum(differences**2), rtol=1e-3)
    assert np.ptp(distance) > 0.1
    few = dataclasses.replace(ensemble, shares=np.array([0.6, 0.395, 0.005]))
    _, errors = kind.distances(PROBLEM, few, Z[:5])
    assert errors.shape == (2, 5)  # a network of no weight is not evaluated
    alone = dataclasses.replace(ensemble, shares=np.array([0.0, 1.0, 0.0]))
    np.testing.assert_array_equal(kind.distances(PROBLEM, alone, Z[:5])[1], np.zeros((1, 5)))


@pytest.mark.parametrize("level", [0.5, 1.0])
def test_a_share_of_the_simulations_has_parameters_of_a_broader_posterior(level):
    kind = Scripted(losses=(1.0, 1.0, 1.0), defensive_share=0.25)
    far_off = gaussian_from_moments(np.full(1, 50.0), np.eye(1))
    proposal = Proposal(PROBLEM.prior, level, broader=far_off)
    state = kind.evaluate(jax.random.key(1), PROBLEM, LearnedState(), proposal, Z, OPTIONS).state
    own = state.memory.draws[0].rows.mean(axis=(1, 2))
    assert own.max() < 20  # nothing was learned before: all parameters are the proposal's
    state = kind.evaluate(jax.random.key(2), PROBLEM, state, proposal, Z, OPTIONS).state
    far = state.memory.draws[0].rows.mean(axis=(1, 2)) > 20
    np.testing.assert_array_equal(np.flatnonzero(far), np.arange(3, K, 4))


# --- The approach -------------------------------------------------------------------------------

APPROACHING = Scripted(losses=(1.0, 1.0, 1.0), approach=pliant.MMD(scale=np.ones(2)))


def begin(kind, given=PROBLEM):
    return kind.init(jax.random.key(0), given, M)[0]


def test_the_first_rounds_compare_sets_and_learn_nothing():
    state = begin(APPROACHING)
    evaluation = evaluate(APPROACHING, state)
    assert not TRAINED
    assert evaluation.beta == pliant.MMD().default_beta(N)
    assert evaluation.simulations == K * M
    np.testing.assert_array_equal(evaluation.particles.z, Z)
    assert 0 < evaluation.row["noise_share"] < 0.5
    after = evaluation.state
    assert after.approach is not None
    assert (after.approach.rounds, len(after.memory.draws), after.ensemble) == (1, 1, None)
    metric = pliant.MMD(scale=np.ones(2))
    measured = metric.init(jax.random.key(0), PROBLEM, M)[0]
    x, ok = (jnp.asarray(after.memory.draws[0].rows), jnp.asarray(after.memory.draws[0].ok))
    distance, _ = measured.discrepancy.measure(measured.prepared, x, ok)
    np.testing.assert_allclose(evaluation.particles.distance, distance, rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "level", "rounds", "last"),
    [
        (PROBLEM, 0.3, 0, False),
        (NOISY, 0.3, 0, True),  # distances are mostly noise
        (PROBLEM, 1.0, 0, True),  # the posterior has reached the metric's target
        (PROBLEM, 0.3, 4, False),
        (PROBLEM, 0.3, 5, True),  # the sixth round is the last in any case
    ],
)
def test_the_approach_ends_where_it_leads_no_further(given, level, rounds, last):
    state = begin(APPROACHING, given)
    state = dataclasses.replace(state, approach=dataclasses.replace(state.approach, rounds=rounds))
    after = evaluate(APPROACHING, state, given=given, level=level).state
    assert (after.approach is None) == last
    assert last or after.approach.rounds == rounds + 1


def test_after_the_approach_all_its_draws_are_learned_from():
    state = begin(APPROACHING)
    for level in (0.0, 1.0):
        state = evaluate(APPROACHING, state, level=level).state
    evaluation = evaluate(APPROACHING, state, level=0.5)
    assert evaluation.beta is None
    assert len(TRAINED) == 1
    assert len(evaluation.particles.z) == APPROACHING.n_evaluated
    after = evaluation.state
    assert len(after.memory.draws) == 3
    # Older rounds were not learned from, so all of them together count like one.
    np.testing.assert_allclose(after.ensemble.relevance, [1, 0.5, 0.5])
    assert after.approach is None


@pytest.mark.parametrize(
    "kind",
    [Scripted(losses=(1.0,)), dataclasses.replace(APPROACHING, approach=pliant.Wasserstein())],
    ids=["none", "too few draws"],
)
def test_without_an_approach_the_first_round_learns(kind):
    n_draws = 1 if kind.approach is None else kind.approach.min_draws - 1
    state, simulations = kind.init(jax.random.key(0), PROBLEM, n_draws)
    assert state == LearnedState()
    assert simulations == 0


def test_a_pilot_of_the_approach_is_counted():
    few = pliant.Problem(PRIOR, PROBLEM.simulator, OBSERVED[:3])
    kind = dataclasses.replace(APPROACHING, approach=pliant.MMD())
    _, simulations = kind.init(jax.random.key(0), few, M)
    assert simulations == kind.simulations_before(few) == 1024
    assert Scripted(losses=(1.0,)).simulations_before(few) == 0
