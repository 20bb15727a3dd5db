"""Small learned discrepancies, what they learn at the prior, and networks with random weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import pliant
from pliant.discrepancies.draws import Examples, TrainingDraws
from pliant.discrepancies.memory import empty_memory
from pliant.problem.sets import simulate_sets

TRAINING = pliant.Training(steps=600, rate=3e-3, every=100, patience=6)
LIKELIHOOD = pliant.LikelihoodKL(
    layers=1, bins=4, width=16, training=TRAINING, networks=2, approach=None
)
RATIO = pliant.RatioKL(width=32, training=TRAINING, networks=2, approach=None)


def learned(kind, problem, rounds=2, n_particles=1000):
    """What all networks have learned after some rounds at the prior, and the last row.

    The first round trains one network, the others all of them.
    """
    memory, ensemble, row = None, None, {}
    for index in range(rounds):
        z_key, sim_key, memory_key, key = jax.random.split(jax.random.key(index), 4)
        z = problem.prior.sample(z_key, n_particles)
        draws = simulate_sets(sim_key, problem, z, 20)
        memory = memory or empty_memory(problem, z, draws, by_kind=kind.by_kind)
        memory = memory.with_round(memory_key, problem, z, draws, kind.window)
        ensemble, row = kind.learn(key, problem, memory, ensemble, level=min(index, 1.0))
    return ensemble, row


def shaken(network, size=0.3):
    """The network with random numbers added to its weights: a function of all its inputs."""
    rng = np.random.default_rng(0)
    weights, rest = eqx.partition(network, eqx.is_inexact_array)
    weights = jax.tree.map(lambda w: w + jnp.asarray(rng.normal(0, size, w.shape), float), weights)
    return eqx.combine(weights, rest)


def plain(u):
    """Draws that have nothing but numbers, all of them measured, with the batch last."""
    return Examples(u=u, own=jnp.zeros((0, u.shape[1])), kind=None, seen=None)


def random_draws(n_particles=25, n_draws=3):
    """A round of draws of two numbers with parameters of four, some of them unusable."""
    rng = np.random.default_rng(1)
    return TrainingDraws(
        condition=jnp.asarray(rng.normal(size=(4, n_particles)), float),
        u=jnp.asarray(rng.normal(size=(n_particles, n_draws, 2)), float),
        own=jnp.zeros((n_particles, n_draws, 0)),
        kind=None,
        seen=None,
        ok=jnp.asarray(rng.random((n_particles, n_draws)) < 0.7),
        cumulative=jnp.ones(1),
        part=jnp.asarray(0),
        parts=1,
        n_particles=n_particles,
        batch_size=8,
    )
