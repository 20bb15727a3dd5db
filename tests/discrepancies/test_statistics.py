import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

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
    means = memory.draws[0].rows.mean(axis=2)
    correlation = np.corrcoef(means.ravel(), short.draws[0].rows.ravel())[0, 1]
    assert abs(correlation) > 0.98

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
