"""How time and memory of a round grow: ``python benchmarks/scaling.py [--help]``.

One default PLI run for each size, in a process of its own, with more observations (and as many
draws), more parameters, or more dimensions. Writes ``benchmarks/results/scaling.md`` and
``scaling.png``: seconds of a round after the first, which compiles, and peak memory. All other
sizes are those of the default run on SLCP with N = 100 and K = 5000; the dimension is that of a
location model with as many parameters as numbers in an observation.
"""

import argparse
import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
GRIDS = {
    "observations": (10, 30, 100, 300, 1000, 3000),
    "parameters": (500, 1500, 5000, 15_000, 50_000),
    "dimensions": (2, 5, 10, 20, 50),
}
ROUNDS = 4
HEAD = """# Time and memory per round

Written by `python benchmarks/scaling.py`. Seconds are those of the fastest of {rounds} rounds after
the first. The machine also did other work, so compare ratios. *Growth* is the exponent between a
row and the one above; 1 is linear. Above N = 266, where M / 2 + N exceeds 400, `MMD` falls back to
random features; the last column has their number.

![Time and memory](scaling.png)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=GRIDS, help="one of the three")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measured(arguments.case[0], int(arguments.case[1]))))
        return
    cases = {}
    for what in [arguments.only] if arguments.only else GRIDS:
        cases[what] = []
        for size in GRIDS[what]:
            command = [sys.executable, __file__, "--case", what, str(size)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            cases[what].append(json.loads(done.stdout.splitlines()[-1]))
            print(what, cases[what][-1], flush=True)
    write(cases)


def measured(what, size):
    """Seconds of a round and peak GiB of one run."""
    import resource

    import pliant

    seconds = []
    options = {"n_particles": size} if what == "parameters" else {}
    method = pliant.PLI(discrepancy=pliant.MMD(), rounds=1 + ROUNDS, noise_limit=None, **options)
    result = pliant.infer(
        problem(what, size), method, callback=lambda row, _: seconds.append(row["seconds"])
    )
    rounds = [later - earlier for earlier, later in itertools.pairwise(seconds)]
    return {
        "size": size,
        "seconds": min(rounds),
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "features": result.history[-1].get("features"),
    }


def problem(what, size):
    """SLCP, or a location model."""
    import jax
    import numpy as np
    import numpyro.distributions as dist

    import pliant

    if what != "dimensions":
        n_obs = size if what == "observations" else 100
        return pliant.tasks.get("slcp").problem(n_obs=n_obs)
    prior = dist.Normal(0, 1).expand([size]).to_event(1)
    observed = np.random.default_rng(0).normal(size=(100, size))
    return pliant.Problem(
        prior, lambda key, mean: mean + jax.random.normal(key, (size,)), observed, scale=None
    )


def write(cases):
    """The page and its picture."""
    RESULTS.mkdir(exist_ok=True)
    lines = [HEAD.format(rounds=ROUNDS)]
    for what, rows in cases.items():
        lines += [f"\n## {what.capitalize()}\n", f"| {what} | seconds | growth | GiB | features |"]
        lines += ["|---:|---:|---:|---:|---|"]
        for last, row in itertools.pairwise([None, *rows]):
            features = "" if row["features"] is None else f"{row['features']:.0f}"
            lines.append(
                f"| {row['size']:,} | {row['seconds']:.2f} | {growth(last, row)} "
                f"| {row['gib']:.2f} | {features} |"
            )
    (RESULTS / "scaling.md").write_text("\n".join(lines) + "\n")
    draw(cases)


def growth(last, row):
    """The exponent of the time between two sizes."""
    if last is None:
        return ""
    exponent = math.log(row["seconds"] / last["seconds"]) / math.log(row["size"] / last["size"])
    return f"{exponent:.2f}"


def draw(cases):
    """Time above, memory below, with a line of slope one."""
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    figure, axes = plt.subplots(
        2, len(cases), figsize=(3.6 * len(cases), 5.4), squeeze=False, layout="constrained"
    )
    for column, (what, rows) in zip(axes.T, cases.items(), strict=True):
        sizes, seconds, gib = (np.array([r[k] for r in rows]) for k in ("size", "seconds", "gib"))
        column[0].loglog(sizes, seconds, "o-", color="#0072b2", label="measured")
        column[0].loglog(sizes, seconds[-1] * sizes / sizes[-1], "--", color="0.5", label="linear")
        column[1].semilogx(sizes, gib, "o-", color="#d55e00")
        column[1].set(xlabel=what, ylim=(0, 1.2 * gib.max()))
        for axis in (column[0].xaxis, column[1].xaxis):
            axis.set_major_locator(FixedLocator(sizes))
            axis.set_major_formatter("{x:,.0f}")
            axis.set_minor_locator(NullLocator())
        column[0].yaxis.set_major_formatter("{x:g}")
        column[0].yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("seconds a round")
    axes[1, 0].set_ylabel("peak memory, GiB")
    axes[0, 0].legend(frameon=False)
    figure.savefig(RESULTS / "scaling.png", dpi=150)


if __name__ == "__main__":
    main()
