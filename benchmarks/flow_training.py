"""How long a flow of the paper should be trained: ``python benchmarks/flow_training.py [--help]``.

Fits the flow of the paper's table to exact posterior samples, as many as a round's effective
sample size, with the paper's 200,000 steps and with early stopping. The score is the loss on other
samples of the same posterior.
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import pliant

PAGE = Path(__file__).parent / "results" / "flow_training.md"
CELLS = [("gaussian_mixture", 20), ("slcp", 100)]
STOPPED = pliant.Training(steps=5000, rate=1e-3, every=100, patience=5)
TRAININGS = {
    "stopped (`replication`)": STOPPED,
    "stopped, rate 1e-4": pliant.Training(
        steps=40_000, rate=1e-4, decay=1.0, every=500, patience=10
    ),
    "2,000 steps": pliant.Training.plain(steps=2_000, rate=1e-4),
    "20,000 steps": pliant.Training.plain(steps=20_000, rate=1e-4),
    "200,000 steps (the paper)": pliant.Training.plain(steps=200_000, rate=1e-4),
}
HEAD = """# Training the paper's flow

Written by `python benchmarks/flow_training.py`: `SplineFlow.paper` with several trainings, fitted
to exact posterior samples. The loss is minus the mean log density, in nats, of 5000 other samples
of the same posterior, and of those that were trained on. Lower is better on other samples; a much
lower loss on its own shows overfitting.

| task | N | samples | training | steps | loss on other samples | on its own | seconds |
|---|---|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", nargs="+", type=int, default=[600, 2500])
    arguments = parser.parse_args()
    lines = []
    for task, n_obs in CELLS:
        z = exact_samples(task, n_obs, max(arguments.samples) + 5000)
        own, others = z[5000:], z[:5000]
        for n in arguments.samples:
            for name, training in TRAININGS.items():
                lines.append(compare(task, n_obs, own[:n], others, name, training))
                print(lines[-1], end="", flush=True)
                PAGE.write_text(HEAD + "".join(lines))


def exact_samples(name, n_obs, n):
    """Samples of the exact posterior, in the space of the flows."""
    task = pliant.tasks.get(name)
    space = task.problem(n_obs=n_obs, seed=0).prior.space
    return jax.vmap(space.unconstrain)(task.reference(n_obs=n_obs, seed=0, n=n))


def compare(task, n_obs, own, others, name, training):
    family = pliant.SplineFlow.paper(training=training)
    start = time.monotonic()
    density, info = family.fit(jax.random.key(0), own, jnp.zeros(len(own)), None)
    losses = [-float(density.log_prob(z).mean()) for z in (others, own)]
    seconds = time.monotonic() - start
    return (
        f"| {task} | {n_obs} | {len(own)} | {name} | {int(info['fit_steps']):,} | "
        f"{losses[0]:.2f} | {losses[1]:.2f} | {seconds:.0f} |\n"
    )


if __name__ == "__main__":
    main()
