"""Real runs of five kinds, small enough for tests, each in a folder with its report.

Two converge, and learn their likelihood: one on a conjugate problem, whose exact posterior is shown
beside it, and one on a problem whose parameters are known up to a sign. One fails after two rounds,
and two end early.
"""

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import pliant
from known_posteriors import clean, problem_of, result_of
from pliant._files import write_arrays, write_json
from pliant.problem.samples import named
from pliant.reporting.report import write_page
from pliant.reporting.saved import OF, read_ended, result_digest
from pliant.reporting.subject import Known

EVIL = '<script>alert(1)</script>.x["0"]\''  # a parameter's name
SMALL = {"rounds": 3, "n_particles": 100, "n_draws": 20, "noise_limit": None}
LEARNED = pliant.LikelihoodKL(
    training=pliant.Training(steps=600, rate=1e-2, every=100, patience=6),
    **{"layers": 1, "bins": 4, "width": 8, "networks": 2, "approach": None},
)
LICENSED = 2 * SMALL["n_particles"] * SMALL["n_draws"]  # draws: those of two rounds


def method(**options: Any) -> pliant.PLI:
    return pliant.PLI(discrepancy=pliant.MMD(), family=pliant.Gaussian(), **(SMALL | options))


def learning(family: Any) -> pliant.PLI:
    return pliant.PLI(discrepancy=LEARNED, family=family, rounds=10, n_particles=200, n_draws=20)


def methods() -> dict[str, pliant.PLI]:
    return {
        "converged": learning(pliant.Gaussian()),
        "multimodal": learning(pliant.GaussianMixture(components=2)),
    }


def shifted(key, theta):
    return theta["mu"] + 0.5 * theta[EVIL] * jax.random.normal(key, (2,))


def products(key, theta):
    """The same for mu and -mu: the posterior is symmetric, with two modes of the same share."""
    return theta["mu"][0] * theta["mu"] + 0.5 * jax.random.normal(key, (2,))


def dosed(key, theta, dose):
    return theta["slope"] * dose + 0.3 * jax.random.normal(key, (1,))


def licensed():
    """A simulator that works for the first two rounds only."""
    calls = 0

    def solver(rng, theta):
        nonlocal calls
        calls += 1
        if calls > LICENSED:
            raise RuntimeError("<i>NaN</i>: the licence has expired")
        return theta["mu"] + rng.standard_normal(2)

    return pliant.PythonSimulator(solver)


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
        "failed": pliant.Problem({"mu": normal}, licensed(), data(0.5, 1.0)),
        "multimodal": pliant.Problem(vector, products, data(1.0, 0.5)),
        "conditions": pliant.Problem({"slope": normal}, dosed, lines, conditions=dose),
    }


def made(kind: str, problem: pliant.Problem, folder: Path) -> pliant.Result:
    """The run in its folder."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The run ended with the status failed")
        given = methods().get(kind, method())
        return pliant.infer(problem, given, seed=3, folder=folder, progress=False)


def reported(kind: str, folder: Path) -> SimpleNamespace:
    """A run in a folder as ``pliant run`` leaves it, with its diagnosis and its report.

    It is made unless the report is there.
    """
    problem, page = problems()[kind], folder / "report.html"
    if not page.is_file():
        result = made(kind, problem, folder)
        write_arrays(folder / "samples.npz", named(result.posterior.sample(10_000, seed=3)))
        diagnosis = pliant.diagnose(result, problem, progress=lambda text: None)
        about = {"seed": 0, OF: result_digest(folder)}
        write_json(folder / "diagnosis.json", {**about, **diagnosis.as_dict()})
        write_page(page, read_ended(folder, known_of(kind, problem)))
    subject = read_ended(folder, known_of(kind, problem))
    return SimpleNamespace(kind=kind, folder=folder, problem=problem, subject=subject, page=page)


def known_of(kind: str, problem: pliant.Problem) -> Known:
    """Truths, 500 draws of the exact posterior of the conjugate problem, and a configuration."""
    config = {"command": f"pliant run {EVIL}", "versions": {"pliant": "<b>0</b>"}, "n_obs": 20}
    if kind == "converged":
        exact = named(result_of(problem).posterior.sample(500, seed=9))
        return Known(problem, {"mu": np.array([0.5, -1.0])}, exact, config)
    return Known(problem, {"mu": 0.5, EVIL: 1.0} if kind == "cut_short" else None, None, config)
