import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from scipy.stats import spearmanr

import pliant
from pliant.discrepancies.memory import Sizes, empty_memory
from pliant.discrepancies.statistics import fit_summary
from pliant.problem.scale import fit_standardise
from pliant.problem.sets import simulate_sets

POINTS = 40


def level(key, theta):
    return theta["mu"] + jax.random.normal(key, (POINTS,))


PROBLEM = pliant.Problem({"mu": dist.Normal(0, 2)}, level, np.zeros((3, POINTS)))


def remembered(rounds=2, n=400):
    memory = None
    for index in range(rounds):
        z = PROBLEM.prior.sample(jax.random.key(index), n)
        draws = simulate_sets(jax.random.key(10 + index), PROBLEM, z, 5)
        memory = memory or empty_memory(PROBLEM, z, draws, by_kind=True)
        memory = memory.with_round(jax.random.key(0), PROBLEM, z, draws, 4)
    return memory


def test_statistics_tell_what_an_observation_tells_of_the_parameters():
    """The mean of 40 points explains all but 1 / (1 + 160) of the variance."""
    memory = remembered()
    squash, standardise = memory.simulated_squash(), fit_standardise(memory.draws[0].features)
    data = memory.training_draws(np.ones(2), squash, standardise, Sizes(4, 1, 32))
    embedding = pliant.SeriesEmbedding(features=4, channels=4, width=16)
    given = embedding, PROBLEM, memory, squash, data
    summary, unexplained = fit_summary(jax.random.key(3), *given, None)
    assert unexplained < 0.03
    assert len(summary.rounds) == 2
    short = summary.shortened(memory)
    assert short.widths.numbers == 1
    np.testing.assert_allclose(summary.rounds[0].std(), 1.0, rtol=1e-3)  # whitened
    means = memory.draws[0].rows.mean(axis=2)
    correlation = spearmanr(means.ravel(), short.draws[0].rows.ravel())[0]
    assert abs(correlation) > 0.999  # any monotone function of the mean is sufficient

    later = summary.after(dataclasses.replace(memory, draws=(memory.draws[1], *memory.draws)))
    assert len(later.rounds) == 3
    np.testing.assert_allclose(later.rounds[0], summary.rounds[1], rtol=1e-4, atol=1e-5)
    rows = jnp.asarray(memory.draws[0].rows[:3, 0])
    found = summary.of_observed(squash(rows), jnp.zeros((3, 0)))
    wanted = summary.scale(jnp.asarray(summary.rounds[0][:3, 0]))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_the_scale_of_statistics_does_not_depend_on_the_observations():
    memory = remembered(rounds=1)
    squash = memory.simulated_squash()
    rows = memory.draws[0].rows.reshape(-1, POINTS)
    np.testing.assert_allclose(squash.centre, np.median(rows, axis=0), atol=1e-5)


def test_statistics_see_what_an_observation_was_made_under():
    """With ``x = mu c + noise``, the mean of x times c is sufficient."""

    def slope(key, theta, c):
        return theta["mu"] * c + jax.random.normal(key, (POINTS,))

    problem = pliant.Problem(
        {"mu": dist.Normal(0, 0.3)},
        slope,
        np.zeros((6, POINTS)),
        conditions=np.linspace(-1.5, 1.5, 6),
    )
    z = problem.prior.sample(jax.random.key(0), 800)
    draws = simulate_sets(jax.random.key(1), problem, z, 12)
    memory = empty_memory(problem, z, draws, by_kind=True)
    memory = memory.with_round(jax.random.key(2), problem, z, draws, 1)
    squash, standardise = memory.simulated_squash(), fit_standardise(memory.draws[0].features)
    data = memory.training_draws(np.ones(1), squash, standardise, Sizes(1, 1, 32))
    embedding = pliant.SeriesEmbedding(features=4, channels=4, width=16)
    given = embedding, problem, memory, squash, data
    summary, _ = fit_summary(jax.random.key(3), *given, None)
    newest = memory.draws[0]
    wanted = newest.rows.mean(axis=2) * newest.own[..., 0]
    correlation = spearmanr(wanted.ravel(), summary.rounds[0].ravel())[0]
    assert abs(correlation) > 0.95
