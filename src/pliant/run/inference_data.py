"""Draws of a posterior, and what belongs to them, as an ``arviz.InferenceData``."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from pliant._checks import check_integer, check_seed
from pliant.densities.particles import ParticleDensity
from pliant.discrepancies.likelihood import AbstractLikelihood
from pliant.problem.problem import Problem
from pliant.problem.samples import named
from pliant.problem.sets import observed_draws, simulate_sets
from pliant.problem.space import constrain_all
from pliant.run.show import parameters_text

if TYPE_CHECKING:
    from pliant.run.posterior import Posterior

_CHAINS = 4  # into which independent draws are split, as ArviZ expects several
_LIKELIHOOD = "likelihood"  # the variable, which must not have the name of an axis
_BATCH = 100  # draws whose log-likelihoods are computed at once


def inference_data(
    posterior: "Posterior",
    n: int,
    *,
    problem: Problem | None,
    n_predictive: int,
    log_likelihood: Callable[..., Any] | AbstractLikelihood | None,
    seed: int,
) -> Any:
    """The groups of ``Posterior.to_arviz``."""
    try:
        import arviz
    except ImportError as error:
        raise ImportError("to_arviz needs ArviZ: pip install 'pliant[arviz]'.") from error
    check_integer("n", n, at_least=1)
    check_integer("n_predictive", n_predictive, at_least=0)
    check_seed("seed", seed)
    chains = _n_chains(posterior, n)
    prior_key, predictive_key = jax.random.split(jax.random.key(seed))
    z = posterior.density.sample(jax.random.key(seed), n)  # as Posterior.sample draws them
    theta = constrain_all(posterior.space, z)
    groups: dict[str, Any] = {"posterior": _in_chains(named(theta), chains)}
    if problem is None:
        if log_likelihood is not None:
            raise ValueError("log_likelihood: expected a problem too, which has the observations.")
        return arviz.from_dict(**groups)
    _check_same(posterior, problem)
    prior = constrain_all(problem.prior.space, problem.prior.sample(prior_key, n))
    density = problem.prior.log_prob(z) - jax.vmap(problem.prior.space.log_det)(z)
    groups["prior"] = _in_chains(named(prior), 1)
    groups["observed_data"] = _observations(problem)
    if n_predictive:
        some = z[np.arange(min(n_predictive, n)) * n // min(n_predictive, n)]
        groups["posterior_predictive"] = _predictions(predictive_key, problem, some)
    if log_likelihood is not None:
        values = _log_likelihoods(log_likelihood, problem, z)
        groups["log_likelihood"] = _in_chains({_LIKELIHOOD: values}, chains)
    data = arviz.from_dict(**groups, dims=_dims(problem))
    data.add_groups({"log_prior": _in_chains({"prior": density}, chains)})
    return data


def _n_chains(posterior: "Posterior", n: int) -> int:
    """Four if draws are independent and there are enough of them."""
    independent = not isinstance(posterior.density, ParticleDensity)  # whose draws repeat
    return _CHAINS if independent and n % _CHAINS == 0 and n >= _CHAINS**2 else 1


def _check_same(posterior: "Posterior", problem: Problem) -> None:
    own, other = posterior.space, problem.prior.space
    if (own.names, own.shapes) != (other.names, other.shapes):
        raise ValueError(
            f"problem: expected that of the posterior, with the parameters {parameters_text(own)}, "
            f"got one with {parameters_text(other)}."
        )


def _in_chains(values: dict[str, Any], chains: int) -> dict[str, np.ndarray]:
    """Arrays ``(n, ...)`` as ``(chains, n / chains, ...)``."""
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return {name: a.reshape(chains, -1, *a.shape[1:]) for name, a in arrays.items()}


def _by_name(problem: Problem, x: np.ndarray, lead: int) -> dict[str, np.ndarray]:
    """Observations by name; a single array without a name is called ``x``."""
    split = problem.layout.split(x, lead=lead)
    return split if isinstance(split, dict) else {"x": split}


def _observations(problem: Problem) -> dict[str, np.ndarray]:
    """What was measured, with NaN for what was not."""
    x = np.asarray(problem.observed)
    if problem.seen is not None:
        x = np.where(problem.seen, x, np.nan)
    return _by_name(problem, x, 1)


def _predictions(
    key: Array, problem: Problem, z: Float[Array, "K dim"]
) -> dict[str, Float[np.ndarray, "1 usable N *_"]]:
    """A simulated set as large as the observed one for each parameter."""
    draws = simulate_sets(key, problem, z, problem.n_obs)
    whole = np.asarray(draws.ok).all(axis=1)
    if not whole.any():
        raise ValueError(
            f"n_predictive: each of {len(z)} simulated sets has a failed draw, so there is no "
            "posterior predictive sample. Pass n_predictive=0, or more."
        )
    x = np.asarray(draws.x)
    if draws.seen is not None:
        x = np.where(draws.seen, x, np.nan)
    return _by_name(problem, x[whole][None], 3)


def _log_likelihoods(
    log_likelihood: Callable[..., Any] | AbstractLikelihood,
    problem: Problem,
    z: Float[Array, "n dim"],
) -> Float[np.ndarray, "n N"]:
    """The log-likelihood of each observation at each parameter."""
    if isinstance(log_likelihood, AbstractLikelihood):
        return log_likelihood.log_values(problem, observed_draws(problem), z)
    theta = constrain_all(problem.prior.space, z)
    observed = jax.tree.map(jnp.asarray, problem.layout.split(problem.observed, lead=1))
    given = () if problem.conditions is None else (problem.conditions.values,)

    def at(parameter: PyTree) -> Float[Array, " N"]:
        return jax.vmap(lambda x, *condition: log_likelihood(parameter, x, *condition))(
            observed, *given
        )

    values = np.asarray(jax.lax.map(at, theta, batch_size=_BATCH))
    if values.ndim != 2 or not np.all(np.isfinite(values)):
        raise ValueError(
            "log_likelihood: expected a finite number for each parameter and observation, got "
            f"the shape {values.shape[2:]} with {np.sum(~np.isfinite(values)):,} that are not "
            "finite."
        )
    return values


def _dims(problem: Problem) -> dict[str, list[str]]:
    """Names for the axes of observations."""
    names = problem.layout.names or ("x",)
    dims = {
        name: ["observation", *(f"{name}_axis_{axis}" for axis in range(len(shape)))]
        for name, shape in zip(names, problem.layout.shapes, strict=True)
    }
    return dims | {_LIKELIHOOD: ["observation"]}
