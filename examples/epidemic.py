"""An epidemic in 20 villages: contact and recovery rate, from a simulator written in NumPy.

    python examples/epidemic.py
    pliant run examples/epidemic.py:problem --family gaussian --max-simulations 20000

Every village has 300 people, two of whom are ill on the first day. The data are the new cases in
each of the first eight weeks. They are simulated with the rates in ``TRUTH``.
"""

import numpy as np
import numpyro.distributions as dist

import pliant

PEOPLE, WEEKS, VILLAGES = 300, 8, 20
TRUTH = {"contact": 0.35, "recovery": 0.2}  # per day


def outbreak(rng: np.random.Generator, theta: dict[str, float]) -> np.ndarray:
    """New cases per week, from a chain of daily binomial draws."""
    susceptible, ill = PEOPLE - 2, 2
    cases = np.zeros(WEEKS)
    recovers = 1 - np.exp(-theta["recovery"])
    for day in range(7 * WEEKS):
        infection = 1 - np.exp(-theta["contact"] * ill / PEOPLE)
        new, recovered = rng.binomial(susceptible, infection), rng.binomial(ill, recovers)
        susceptible, ill = susceptible - new, ill + new - recovered
        cases[day // 7] += new
    return np.sqrt(cases)  # stabilises the variance of counts


def observed() -> np.ndarray:
    """The data of all villages: ``(20, 8)``."""
    rng = np.random.default_rng(2020)
    return np.stack([outbreak(rng, TRUTH) for _ in range(VILLAGES)])


problem = pliant.Problem(
    prior={"contact": dist.LogNormal(-1.0, 0.5), "recovery": dist.LogNormal(-1.5, 0.5)},
    simulator=pliant.PythonSimulator(outbreak, workers=2),
    observed=observed(),
)
method = pliant.PLI(family=pliant.Gaussian())


def main() -> None:
    """Infer the rates from 20,000 simulated outbreaks."""
    result = pliant.infer(problem, method, max_simulations=20_000)
    print(f"{result.status}: {result.message}\n{result.posterior.summary()}\ntruth: {TRUTH}")


if __name__ == "__main__":
    main()
