"""Small learned discrepancies, what they learn at the prior, and networks with random weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import pliant
from pliant.discrepancies.draws import TrainingDraws
from pliant.problem.sets import simulate_sets

TRAINING = pliant.Training(steps=600, rate=3e-3, every=100, patience=6)
LIKELIHOOD = pliant.LikelihoodKL(layers=1, bins=4, width=16, training=TRAINING, networks=2)
RATIO = pliant.RatioKL(width=32, training=TRAINING, networks=2)


def learned(kind, problem, rounds=2, n_particles=1000):
    """The state after some rounds at the prior."""
    state, row = None, {}
    for index in range(rounds):
        z_key, sim_key, key = jax.random.split(jax.random.key(index), 3)
        z = problem.prior.sample(z_key, n_particles)
        x, ok = simulate_sets(sim_key, problem, z, 20)
        state, row = kind.learn(key, problem, state, z, x, ok)
    return state, row


def shaken(network):
    """The network with random numbers added to its weights: a function of all its inputs."""
    rng = np.random.default_rng(0)
    weights, rest = eqx.partition(network, eqx.is_inexact_array)
    weights = jax.tree.map(lambda w: w + jnp.asarray(rng.normal(0, 0.3, w.shape), float), weights)
    return eqx.combine(weights, rest)


def random_draws(n_particles=25, n_draws=3):
    """A round of draws of two numbers with parameters of four, some of them unusable."""
    rng = np.random.default_rng(1)
    return TrainingDraws(
        condition=jnp.asarray(rng.normal(size=(4, n_particles)), float),
        u=jnp.asarray(rng.normal(size=(n_particles, n_draws, 2)), float),
        ok=jnp.asarray(rng.random((n_particles, n_draws)) < 0.7),
        rounds=jnp.asarray(1),
        newest_share=jnp.asarray(1.0),
        n_particles=n_particles,
        batch_size=8,
    )
