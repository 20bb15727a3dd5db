"""Do runs that were cut short say so? ``python benchmarks/endings.py``.

Cuts the default method by rounds, seconds and simulations on problems with exact posteriors, and
writes ``benchmarks/results/endings.md``: what each run says of itself, beside its true widths.
"""

import warnings
from pathlib import Path

from defaults import problem_and_reference, shape

import pliant
from pliant.problem.samples import as_table

PROBLEMS = {
    "readme": 50,
    "slcp": 10,
    "gaussian_mixture": 10,
    "heavy_tails": 20,
    "ten_parameters": 20,
}
CUTS = {
    "rounds=2": ({"rounds": 2}, {}),
    "rounds=7": ({"rounds": 7}, {}),
    "max_seconds=20": ({}, {"max_seconds": 20}),
    "max_simulations=20_000": ({}, {"max_simulations": 20_000}),
    "max_simulations=200_000": ({}, {"max_simulations": 200_000}),
}
OFF = 1.5  # a width that is off by this factor is wrong
PAGE = Path(__file__).parent / "results" / "endings.md"
HEAD = """# What runs that were cut short say of themselves

Written by `python benchmarks/endings.py`: `pliant.infer` with a limit, seed 0. A run calls itself
good if its status is a success and its final check, if there is one, finds that the posterior fits
its target. *Widths* are standard deviations divided by the exact ones, *off* is the largest
distance of a mean in exact standard deviations.

| problem | N | limit | status | final check | widths | off | calls itself good |
|---|---|---|---|---|---|---|---|
"""


def main():
    lines, wrong, false_alarms = [], 0, 0
    for name, n_obs in PROBLEMS.items():
        problem, exact = problem_and_reference(name, n_obs, 0)
        reference = as_table(exact)[1]
        for cut, (options, limits) in CUTS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pliant.PliantWarning)
                method = pliant.PLI(**options)
                result = pliant.infer(problem, method, seed=0, progress=False, **limits)
            drawn = as_table(result.posterior.sample(10_000, seed=0), list(exact))[1]
            found = shape(name, reference, drawn)
            check = "-" if result.check is None else result.check.message.split(":")[0]
            good = result.status.is_success and not ("misses" in check or "wider" in check)
            factor = max(found["widest"], 1 / max(found["narrowest"], 1e-9))
            wrong += good and factor > OFF
            false_alarms += result.status == "converged" and not good and factor < OFF
            widths = f"{found['narrowest']:.2f} to {found['widest']:.2f}"
            cells = [name, n_obs, cut, result.status, check, widths, f"{found['off']:.2f}"]
            lines.append(f"| {' | '.join(map(str, cells))} | {'yes' if good else 'no'} |")
            print(lines[-1], result.message, flush=True)
    end = (
        f"\nOf {len(lines)} runs, {wrong} call themselves good with a width that is off by more "
        f"than {OFF}, and {false_alarms} converged with right widths but are called bad.\n"
    )
    PAGE.write_text(HEAD + "\n".join(lines) + "\n" + end)
    print(end)


if __name__ == "__main__":
    main()
