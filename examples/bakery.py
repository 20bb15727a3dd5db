"""An external program: arrival and service rates of a queue, from the waits of 15 mornings.

    python examples/bakery.py
    pliant run examples/bakery.py:problem --family gaussian --max-simulations 3000

Pliant runs the program ``bakery_model.py`` once per draw, two at a time. The program refuses some
parameters. These draws count as failures, and the run continues. If the run is killed,
``pliant resume`` (or ``pliant.resume``, for a run with ``folder=``) continues from the last draw.
"""

import sys
from pathlib import Path

import numpyro.distributions as dist

import pliant

MODEL = Path(__file__).with_name("bakery_model.py")
TRUTH = {"arrivals": 0.8, "service": 1.0}  # per minute
OBSERVED = [  # mean wait in minutes: four groups of customers on fifteen mornings
    [2.7, 2.8, 2.1, 2.5],
    [2.8, 1.4, 3.2, 2.0],
    [0.6, 4.9, 5.9, 1.5],
    [5.6, 7.7, 0.9, 0.6],
    [5.4, 1.8, 3.9, 2.2],
    [1.7, 4.0, 4.2, 1.7],
    [4.2, 3.0, 2.8, 7.8],
    [1.8, 11.2, 11.7, 4.3],
    [2.1, 0.6, 0.9, 0.6],
    [1.3, 4.2, 3.6, 3.1],
    [0.5, 3.3, 5.9, 4.4],
    [0.5, 2.3, 2.6, 1.2],
    [0.1, 3.8, 2.3, 3.1],
    [0.6, 0.4, 2.5, 3.2],
    [2.1, 4.0, 5.4, 3.0],
]

problem = pliant.Problem(
    prior={"arrivals": dist.LogNormal(0.0, 0.7), "service": dist.LogNormal(0.0, 0.7)},
    simulator=pliant.CommandSimulator(
        [
            *(sys.executable, "-I", "-S", MODEL),  # a bare Python starts faster
            *("--arrivals", "{arrivals}", "--service", "{service}", "--seed", "{seed}"),
        ],
        read="csv",
        timeout=10,
        workers=2,
    ),
    observed=OBSERVED,
)
method = pliant.PLI(family=pliant.Gaussian())


def main() -> None:
    """Infer the rates from 3,000 simulated mornings."""
    result = pliant.infer(problem, method, max_simulations=3_000)
    print(f"{result.status}: {result.message}\n{result.posterior.summary()}\ntruth: {TRUTH}")
    for failure in result.failures:
        print(failure)


if __name__ == "__main__":
    main()
