"""A pendulum identified from recordings: length and damping, from noisy angles.

    python examples/pendulum.py
    pliant run examples/pendulum.py:problem --family gaussian

``pendulum_recordings.csv`` has twelve swings, one per row. The first two columns are the angle (in
radians) and the speed (in radians per second) at which the swing was released; then the angle
follows, 40 times in two seconds. Each swing is simulated from its own release: a condition.
(The recordings are simulated by this model with ``TRUTH``, so the answer is known.)
"""

from pathlib import Path

import numpy as np
import numpyro.distributions as dist

import pliant

RECORDINGS = Path(__file__).with_name("pendulum_recordings.csv")
TRUTH = {"length": 0.6, "damping": 0.25}  # m, 1/s
STEPS, STEP, GRAVITY = 40, 0.05, 9.81
SUBSTEPS = 5


def swings(
    rng: np.random.Generator, theta: dict[str, float], release: dict[str, np.ndarray]
) -> np.ndarray:
    """Simulate a swing from each release by the leapfrog method: angles ``(n, 40)``."""
    angle, speed = release["angle"], release["speed"]
    h, out = STEP / SUBSTEPS, np.zeros((len(angle), STEPS))
    for step in range(STEPS):
        for _ in range(SUBSTEPS):
            angle = angle + h / 2 * speed
            pull = -GRAVITY / theta["length"] * np.sin(angle) - theta["damping"] * speed
            speed = speed + h * pull
            angle = angle + h / 2 * speed
        out[:, step] = angle
    return out + 0.01 * rng.normal(size=out.shape)


table = np.loadtxt(RECORDINGS, delimiter=",")
problem = pliant.Problem(
    prior={"length": dist.Uniform(0.2, 2.0), "damping": dist.LogNormal(-1.0, 0.7)},
    simulator=pliant.PythonSimulator(swings, vectorised=True),
    observed=table[:, 2:],
    conditions={"angle": table[:, 0], "speed": table[:, 1]},
)
method = pliant.PLI(n_particles=500, family=pliant.Gaussian())


def main() -> None:
    """Infer length and damping."""
    result = pliant.infer(problem, method)
    print(f"{result.status}: {result.message}\n{result.posterior.summary()}\ntruth: {TRUTH}")


if __name__ == "__main__":
    main()
