"""Runs of five kinds, small enough for tests, each in a folder with its report.

The one that converged has the exact posterior of a conjugate problem, and is diagnosed with its
exact likelihood. Two are real runs, which end early. One failed, and one has two modes, by
construction.
"""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import pliant
from known_posteriors import EXACT, clean, gaussian, known, problem_of
from pliant._files import write_arrays, write_json
from pliant.densities.affine import AffineDensity
from pliant.densities.gaussian import GaussianDensity
from pliant.densities.mixture import MixtureDensity
from pliant.problem.samples import named
from pliant.reporting.report import write_page
from pliant.reporting.saved import OF, read_ended, result_digest
from pliant.reporting.subject import Known
from pliant.run.failures import Failure
from pliant.run.history import History
from pliant.run.posterior import Posterior

EVIL = '<script>alert(1)</script>.x["0"]\''  # a parameter's name
SMALL = {"rounds": 3, "n_particles": 100, "n_draws": 20, "noise_limit": None}


def method(**options: Any) -> pliant.PLI:
    return pliant.PLI(discrepancy=pliant.MMD(), family=pliant.Gaussian(), **(SMALL | options))


def shifted(key, theta):
    return theta["mu"] + 0.5 * theta[EVIL] * jax.random.normal(key, (2,))


def folded(key, theta):
    return jnp.abs(theta["mu"]) + 0.1 * jax.random.normal(key, (2,))


def dosed(key, theta, dose):
    return theta["slope"] * dose + 0.3 * jax.random.normal(key, (1,))


def breaking(key, theta):
    x = theta["mu"] + jax.random.normal(key, (2,))
    return jnp.where(theta["mu"] > -1.0, x, jnp.nan)


def data(mean: Any, spread: float, n: int = 20) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (mean + spread * rng.standard_normal((n, 2))).astype(np.float32)


def problems() -> dict[str, pliant.Problem]:
    normal = dist.Normal(0.0, 2.0)
    both = {"mu": normal, EVIL: dist.LogNormal(0.0, 0.5)}
    vector = {"mu": dist.Normal(jnp.zeros(2), 2.0).to_event(1)}
    dose = np.linspace(0.5, 2.0, 20, dtype=np.float32)[:, None]
    lines = 1.5 * dose + 0.3 * np.random.default_rng(1).standard_normal((20, 1)).astype(np.float32)
    return {
        "converged": problem_of(clean()),
        "cut_short": pliant.Problem(both, shifted, data(0.5, 0.5)),
        "failed": pliant.Problem({"mu": normal}, breaking, data(0.5, 1.0)),
        "multimodal": pliant.Problem(vector, folded, data(1.0, 0.1)),
        "conditions": pliant.Problem({"slope": normal}, dosed, lines, conditions=dose),
    }


def made(problem: pliant.Problem, density: Any, status: pliant.Status, **fields: Any):
    """A result without a run."""
    rows = [
        {"round": i, "bandwidth": 1.0 / i, "eta": 1.0 / i - 1.0 if i == 1 else 0.0} for i in (1, 2)
    ]
    extra = {"kl": 0.4, "ess": 80.0, "simulations": 4000, "seconds": 1.5, "net_loss": -0.5}
    options = {
        "posterior": Posterior(problem.prior.space, density),
        "history": History([{**row, **extra} for row in rows]),
        "status": status,
        "message": "Two rounds & <b>a tag</b>.",
        "method": method(),
        "seed": 3,
        "observed_shape": problem.observed.shape,
    }
    return pliant.Result(**{**options, **fields})


def two_modes(problem: pliant.Problem) -> MixtureDensity:
    """Two modes at (1, 1) and (-1, -1), with the shares 0.7 and 0.3."""
    space = problem.prior.space
    centres = [space.unconstrain({"mu": jnp.full(2, v)}) for v in (1.0, -1.0)]
    parts = [gaussian(np.asarray(c), 0.05 * np.eye(2)) for c in centres]
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *parts)
    assert isinstance(stacked, GaussianDensity)
    return MixtureDensity(jnp.log(jnp.array([0.7, 0.3])), stacked)


def failed(problem: pliant.Problem) -> pliant.Result:
    """The posterior before a round in which the simulator failed everywhere."""
    failure = Failure("not finite", 40, "<i>NaN</i>", {"mu": -1.5})
    density = gaussian([0.3], [[0.4]])
    return made(problem, density, pliant.Status.FAILED, failures=(failure,))


def result_of(kind: str, problem: pliant.Problem) -> pliant.Result:
    if kind == "converged":
        density = known().result.posterior.density
        assert isinstance(density, AffineDensity)  # of which the exact Gaussian is the base
        return made(problem, density.base, pliant.Status.CONVERGED)
    if kind == "failed":
        return failed(problem)
    if kind == "multimodal":
        return made(problem, two_modes(problem), pliant.Status.FINISHED)
    return pliant.infer(problem, method(), seed=3, progress=False)


def reported(kind: str, folder: Path) -> SimpleNamespace:
    """A run in a folder as ``pliant run`` leaves it, with its diagnosis and its report."""
    problem = problems()[kind]
    result = result_of(kind, problem)
    result.save(folder)
    truth = {"mu": np.array([0.5, -1.0])} if kind == "converged" else None
    truth = {"mu": 0.5, EVIL: 1.0} if kind == "cut_short" else truth
    config = {"command": f"pliant run {EVIL}", "versions": {"pliant": "<b>0</b>"}, "n_obs": 20}
    write_arrays(folder / "samples.npz", named(result.posterior.sample(10_000, seed=3)))
    likelihood = EXACT if kind == "converged" else result.likelihood
    whole = dataclasses.replace(result, likelihood=likelihood)
    diagnosis = pliant.diagnose(whole, problem, progress=lambda text: None)
    about = {"seed": 0, OF: result_digest(folder)}
    write_json(folder / "diagnosis.json", {**about, **diagnosis.as_dict()})
    known = Known(problem, truth, _reference(kind, result), config)
    subject = read_ended(folder, known)
    write_page(folder / "report.html", subject)
    return SimpleNamespace(
        kind=kind, folder=folder, problem=problem, subject=subject, page=folder / "report.html"
    )


def _reference(kind: str, result: pliant.Result) -> Any:
    return named(result.posterior.sample(500, seed=9)) if kind == "converged" else None
