"""How often ``pliant.diagnose`` is right: ``python benchmarks/diagnosis.py``.

Exact posteriors of many data sets should pass. Posteriors that are moved, stretched or lack a mode,
models that do not fit, and planted outliers should be found. Everything is exact here, so that no
run is needed: the posterior's samples, its density and the likelihood. Writes
``benchmarks/results/diagnosis.csv`` (a row per diagnosis, as soon as it is made) and
``diagnosis.md``. What the table has is not repeated.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from exact_results import VARIANTS, ExactLikelihood, as_result
from jax.scipy.stats import norm

import pliant
from pliant.tasks.annealing import sample_annealed

PLACE = Path(__file__).parent / "results"
POOL = 4000  # exact samples
COLUMNS = ("case", "variant", "seed", "verdict", "doubted", "auc", "accused", "seconds")


class Case(NamedTuple):
    """Data sets of one kind with their exact posteriors."""

    problem: object
    """``problem(seed)``."""
    sample: object
    """``sample(problem, seed, n)``, exact samples in the prior's structure."""
    likelihood: ExactLikelihood
    signed: tuple = ()
    planted: object = None
    """``planted(seed)``, the planted outliers."""


def _task_case(name, n_obs, function, signed=()):
    task = pliant.tasks.get(name)

    def sample(problem, seed, n):
        given = {} if problem.conditions is None else {"conditions": problem.conditions.values}
        return task.posterior_samples(problem.observed, seed=seed, n=n, **given)

    def problem(seed):
        if task.conditions(1, 0) is not None:
            return task.problem(n_obs, seed)
        return _with_data(base, task.observed(n_obs, seed))

    base = task.problem(n_obs, 0)
    return Case(problem, sample, ExactLikelihood(1.0, function), signed)


def _with_data(base, observed):
    """The same problem with other data: nothing compiles anew."""
    return eqx.tree_at(lambda problem: problem.observed, base, jnp.asarray(observed, float))


def _location(theta, x):
    return norm.logpdf(x, theta["theta"], 0.1**0.5).sum()


def _slcp(theta, x):
    t1, t2, t3, t4, t5 = theta["theta"]
    points = x.reshape(4, 2)
    u = (points[:, 0] - t1) / t3**2
    v = ((points[:, 1] - t2) / t4**2 - jnp.tanh(t5) * u) * jnp.cosh(t5)
    log_det = jnp.log(t3**2) + jnp.log(t4**2) - jnp.log(jnp.cosh(t5))
    return (norm.logpdf(u) + norm.logpdf(v)).sum() - 4 * log_det


def _normal(theta, x):
    return norm.logpdf(x, theta["mu"], theta["sigma"]).sum()


def _poisson(theta, x):
    return (x * jnp.log(theta["rate"]) - theta["rate"] - jax.scipy.special.gammaln(x + 1)).sum()


def _regression(theta, x, condition):
    mean = theta["intercept"] + theta["slope"] * condition
    return norm.logpdf(x, mean, theta["sigma"]).sum()


_NORMAL_PRIOR = {"mu": dist.Normal(0.0, 5.0), "sigma": dist.LogNormal(0.0, 1.0)}
_POISSON_PRIOR = {"rate": dist.LogNormal(1.0, 1.0)}


def _normal_draw(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,))


def _single_draw(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (1,))


def _poisson_draw(key, theta):
    return jax.random.poisson(key, theta["rate"], (1,)).astype(float)


def _annealed(function, prior):
    """Exact samples of a small problem, by its likelihood as a function of a standard normal."""
    names = list(prior)

    def sample(problem, seed, n):
        x = jnp.asarray(problem.observed)

        def theta_of(z):
            columns = []
            for i, name in enumerate(names):
                entry = prior[name]
                if isinstance(entry, dist.LogNormal):
                    columns.append(np.exp(float(entry.loc) + float(entry.scale) * z[:, i]))
                else:
                    columns.append(float(entry.loc) + float(entry.scale) * z[:, i])
            return dict(zip(names, columns, strict=True))

        def log_l(z):
            thetas = {k: jnp.asarray(v, float) for k, v in theta_of(z).items()}
            return np.nan_to_num(
                np.asarray(_totals(function, thetas, x), float), nan=-1e9, neginf=-1e9
            )

        z = sample_annealed(log_l, len(names), n=n, rng=np.random.default_rng(seed))
        return theta_of(z)

    return sample


def _totals_impl(function, thetas, x):
    return jax.lax.map(lambda t: jax.vmap(lambda y: function(t, y))(x).sum(), thetas, batch_size=50)


_totals = jax.jit(_totals_impl, static_argnums=0)


def _data_case(prior, simulator, function, data, planted=None):
    base = pliant.Problem(prior, simulator, data(np.random.default_rng(0)))

    def problem(seed):
        return _with_data(base, data(np.random.default_rng(5000 + seed)))

    sample = _annealed(function, prior)
    return Case(problem, sample, ExactLikelihood(1.0, function), planted=planted)


def _contaminated(rng):
    """100 draws, of which the first five are five deviations off."""
    x = 1.0 + 2.0 * rng.standard_normal((100, 2))
    x[:5] += 5 * 2.0 * rng.choice([-1.0, 1.0], (5, 2))
    return x


def _wrong_signs():
    """A regression with a wrong sign in three of sixty rows, those at the ends of the regressor."""
    task = pliant.tasks.get("regression")

    def problem(seed):
        x, c = np.asarray(task.observed(60, seed)).copy(), np.asarray(task.conditions(60, seed))
        x[_outermost(x)] *= -1
        return pliant.Problem(task.prior, task.simulator, x, conditions=c, scale=task.scale)

    def sample(problem, seed, n):
        values = problem.conditions.values
        return task.posterior_samples(problem.observed, conditions=values, seed=seed, n=n)

    def planted(seed):
        return _outermost(np.asarray(task.observed(60, seed)))

    return Case(problem, sample, ExactLikelihood(1.0, _regression), planted=planted)


def _outermost(x):
    """Three of the ten rows with the largest outcomes: a wrong sign of a small one is no error."""
    return np.argsort(-np.abs(x.ravel()))[[0, 4, 8]]


CASES = {
    "gaussian_location": _task_case("gaussian_location", 20, _location),
    "readme": _data_case(
        _NORMAL_PRIOR,
        _normal_draw,
        _normal,
        lambda rng: 1.0 + 2.0 * rng.standard_normal((50, 2)),
    ),
    "slcp": _task_case("slcp", 100, _slcp, signed=(2, 3)),
    "outliers": _data_case(
        _NORMAL_PRIOR, _normal_draw, _normal, _contaminated, planted=lambda seed: np.arange(5)
    ),
    "wrong signs": _wrong_signs(),
    "regression": _task_case("regression", 60, _regression),
    "normal for t": _data_case(
        _NORMAL_PRIOR, _single_draw, _normal, lambda rng: 1.0 + rng.standard_t(3, (200, 1))
    ),
    "Poisson for negative binomial": _data_case(
        _POISSON_PRIOR,
        _poisson_draw,
        _poisson,
        lambda rng: rng.negative_binomial(5, 0.5, (200, 1)).astype(float),
    ),
    "Poisson": _data_case(
        _POISSON_PRIOR, _poisson_draw, _poisson, lambda rng: rng.poisson(5, (200, 1)).astype(float)
    ),
}
STRETCHED = ("gaussian_location", "readme", "slcp")


def variants(case):
    """Which posteriors are diagnosed."""
    if case not in STRETCHED:
        return ("exact",)
    return VARIANTS if CASES[case].signed else VARIANTS[:-1]


def diagnosed(name, variant, seed):
    """The row of one diagnosis."""
    case = CASES[name]
    problem = case.problem(seed)
    theta = case.sample(problem, seed, POOL)
    result = as_result(problem, case.likelihood, theta, variant, case.signed)
    start = time.perf_counter()
    found = pliant.diagnose(result, problem, seed=seed, progress=lambda text: None)
    doubted = [f.check for f in found.findings if f.level in ("doubtful", "unsound")]
    table = found.observations
    auc = ""
    if case.planted is not None:
        is_planted = np.isin(table.index, case.planted(seed))
        auc = f"{ranked(table.p_value, is_planted):.4f}"
    return {
        "case": name,
        "variant": variant,
        "seed": seed,
        "verdict": str(found.verdict),
        "doubted": "|".join(doubted),
        "auc": auc,
        "accused": len(table.accused),
        "seconds": f"{time.perf_counter() - start:.1f}",
    }


def ranked(p, is_planted):
    """The area under the ROC curve: how often a planted row is less likely than another one."""
    a, b = p[is_planted], p[~is_planted]
    return np.mean((a[:, None] < b[None]) + 0.5 * (a[:, None] == b[None]))


HEAD = """# How often `pliant diagnose` is right

Written by `python benchmarks/diagnosis.py`. Posteriors, densities and likelihoods are exact, or
exact but for one change: every parameter moved by one standard deviation, twice or half as wide
(around its mode), or one of four modes left out. *Sound*, *doubtful* and *unsound* are shares of
the data sets. *Checks* are those that found something, with the share of the data sets.
Gaussian location: N = 20; README's problem: 50; SLCP: 100; outliers: 5 of 100 at five standard
deviations in both features; wrong signs: 3 of 60 rows of a regression with conditions, of the ten
with the largest outcomes (a wrong sign of a small one is no error); t with 3
degrees for normal, and negative binomial with twice the variance for Poisson: N = 200. *AUC* is the
area under the ROC curve of the ranking of single observations, the mean over data sets. *Accused*
is the share of the data sets in which a sound observation would be accused, or any of the planted.

"""


def summary(rows):
    """The Markdown page."""
    lines = [
        "| case | posterior | data sets | sound | doubtful | unsound | AUC | accused | checks |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in CASES:
        for variant in variants(name):
            some = [r for r in rows if (r["case"], r["variant"]) == (name, variant)]
            if not some:
                continue
            n = len(some)
            shares = [
                f"{sum(r['verdict'] == v for r in some) / n:.2f}"
                for v in ("sound", "doubtful", "unsound")
            ]
            aucs = [float(r["auc"]) for r in some if r["auc"]]
            checks = {}
            for row in some:
                for check in set(filter(None, row["doubted"].split("|"))):
                    checks[check] = checks.get(check, 0) + 1
            told = ", ".join(
                f"{c} {k / n:.2f}" for c, k in sorted(checks.items(), key=lambda item: -item[1])
            )
            auc = f"{np.mean(aucs):.3f}" if aucs else "-"
            accused = f"{sum(int(r['accused']) > 0 for r in some) / n:.2f}"
            cells = [name, variant, str(n), *shares, auc, accused, told]
            lines.append(f"| {' | '.join(cells)} |")
    return HEAD + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--table", type=Path, default=PLACE / "diagnosis.csv")
    arguments = parser.parse_args()
    path = arguments.table
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    known = {(r["case"], r["variant"], int(r["seed"])) for r in rows}
    for seed in range(arguments.data_sets):
        for name in arguments.cases:
            for variant in variants(name):
                if (name, variant, seed) in known:
                    continue
                row = diagnosed(name, variant, seed)
                rows.append({key: str(value) for key, value in row.items()})
                new = not path.exists()
                with path.open("a", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS)
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print(*row.values(), flush=True)
    path.with_suffix(".md").write_text(summary(rows))


if __name__ == "__main__":
    main()
