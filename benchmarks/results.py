"""The numbers and figures of docs/results.md: ``python benchmarks/results.py bench/replication``.

Collects the finished runs of ``pliant bench run replication``, draws the figures, and copies both
to ``docs/results``. A table of the page stands between the comments ``<!-- NAME -->`` and
``<!-- end -->`` and is replaced. Beside the metrics there is ``shape.csv``: for each run with an
exact posterior, how wide it is, how far its means are off, and the shares of SLCP's four modes.
Rows of runs that ``docs/results`` has from elsewhere (``pliant bench run --known``) are kept.
"""

import argparse
import csv
import re
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np

from pliant.bench.collect import write_tables
from pliant.bench.figures import draw_figures
from pliant.bench.results import GridResults
from pliant.cli.grid import read_grid_of
from pliant.problem.samples import as_table
from pliant.tasks import get

DOCS = Path(__file__).parents[1] / "docs"
METHODS = ("PLI-MMD", "PLI-W", "PMC-ABC-MMD", "PMC-ABC-W", "APT", "PLI")
HEADS = (*METHODS[:-1], "PLI (default)")
TASKS = {
    "gaussian_location": "Gaussian location",
    "gaussian_mixture": "Gaussian mixture",
    "slcp": "SLCP",
    "sir": "SIR",
    "furuta": "pendulum",
}
MODES = ("mode 1", "mode 2", "mode 3", "mode 4")
SHAPE = ("run", "experiment", "task", "method", "n_obs", "seed", "width", "off", *MODES)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the grid was run")
    folder = parser.parse_args().folder
    grid = read_grid_of(folder)
    results = GridResults(folder, grid)
    write_tables(folder, results.rows)
    figures = [outcome for outcome in draw_figures(folder, grid) if outcome.wanted is None]
    target = DOCS / "results"
    target.mkdir(exist_ok=True)
    for name in ("table.csv", "summary.csv", "times.csv"):
        shutil.copy(folder / name, target / name)
    for figure in figures:
        shutil.copy(folder / "figures" / f"{figure.name}.png", target)
    here = [shape(results, run) for run in results.runs if get(run.task).has_reference]
    shapes = here + shapes_from_elsewhere(target / "shape.csv", results, here)
    with (target / "shape.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, SHAPE, lineterminator="\n")
        writer.writeheader()
        writer.writerows(shapes)
    tables = {
        "runs": counts(results, grid),
        "mmd": by_task(results, "MMD^2"),
        "wasserstein": by_task(results, "Wasserstein^2"),
        "truth": by_task(results, "log density of truth"),
        "pendulum": by_task(results, "rollout error", floor=False),
        "shape": shape_table(shapes),
        "modes": mode_table(shapes),
        "second_look": second_look(results),
        "times": time_table(results),
    }
    page = DOCS / "results.md"
    text = page.read_text()
    for name, table in tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, t=table: f"{m[1]}\n{t}\n{m[2]}", text, flags=re.S)
    page.write_text(text)


def shape(results, run):
    """Mean ratio of widths, root mean square offset in exact deviations, shares of SLCP's modes."""
    exact = get(run.task).reference(n_obs=run.n_obs, seed=run.seed, n=10_000)
    reference = as_table(exact)[1]
    drawn = as_table(results.samples(run), list(exact))[1]
    spread = reference.std(axis=0)
    offsets = (drawn.mean(axis=0) - reference.mean(axis=0)) / spread
    row = {key: getattr(run, key) for key in ("experiment", "task", "method", "n_obs", "seed")}
    row |= {"run": run.name, "width": f"{np.mean(drawn.std(axis=0) / spread):.4g}"}
    row |= {"off": f"{np.sqrt(np.mean(offsets**2)):.4g}"}
    if run.task == "slcp":
        quadrant = 2 * (drawn[:, 2] > 0) + (drawn[:, 3] > 0)
        shares = np.bincount(quadrant, minlength=4) / len(drawn)
        row |= dict(zip(MODES, (f"{share:.4f}" for share in shares), strict=True))
    return row


def shapes_from_elsewhere(path, results, here):
    """Rows of finished runs whose samples are not here, as an earlier call wrote them."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        earlier = [row | {"n_obs": int(row["n_obs"])} for row in csv.DictReader(file)]
    finished = {row["run"] for row in results.rows} - {row["run"] for row in here}
    return [row for row in earlier if row["run"] in finished]


def counts(results, grid):
    """How many runs of each experiment are finished."""
    rows, finished = [], {row["run"] for row in results.rows}
    for experiment in dict.fromkeys(run.experiment for run in grid.runs):
        planned = [run for run in grid.runs if run.experiment == experiment]
        done = [run for run in planned if run.name in finished]
        rows.append([experiment, str(len(done)), str(len(planned))])
    return markdown(["experiment", "runs finished", "runs planned"], rows)


def by_task(results, metric, *, floor=True):
    """Means over seeds, one row per task and N, the best one bold."""
    means = {
        (row["task"], row["n_obs"], row["method"]): row
        for row in results.summary
        if (row["experiment"], row["metric"]) == ("accuracy", metric)
    }
    higher = metric == "log density of truth"
    rows = []
    for task in TASKS:
        for n_obs in sorted({n for name, n, _ in means if name == task}):
            found = {method: means.get((task, n_obs, method)) for method in METHODS}
            known = {m: row["mean"] for m, row in found.items() if row and row["mean"] is not None}
            best = (max if higher else min)(known, key=lambda m, k=known: k[m], default=None)
            cells = [_cell(known.get(method), bold=method == best) for method in METHODS]
            seeds = {str(row["seeds"]) for row in found.values() if row}
            floors = [row["floor"] for row in found.values() if row and row["floor"] is not None]
            end = [_cell(np.mean(floors)) if floors else "-"] if floor and not higher else []
            rows.append([TASKS[task], str(n_obs), *cells, *end, " to ".join(sorted(seeds))])
    heads = ["task", "N", *HEADS, *(["floor"] if floor and not higher else []), "seeds"]
    return markdown(heads, rows)


def shape_table(shapes):
    """Width and offset, means over seeds."""
    groups = defaultdict(list)
    for row in shapes:
        if row["experiment"] == "accuracy":
            pair = (float(row["width"]), float(row["off"]))
            groups[row["task"], row["n_obs"], row["method"]].append(pair)
    rows = []
    for task in TASKS:
        for n_obs in sorted({n for name, n, _ in groups if name == task}):
            pairs = [groups.get((task, n_obs, method)) for method in METHODS]
            cells = ["-" if not p else "{:.2g} / {:.2g}".format(*np.mean(p, axis=0)) for p in pairs]
            rows.append([TASKS[task], str(n_obs), *cells])
    return markdown(["task", "N", *HEADS], rows)


def mode_table(shapes):
    """The smallest and the largest share of SLCP's four modes, over the seeds."""
    groups = defaultdict(list)
    for row in shapes:
        if (row["task"], row["experiment"]) == ("slcp", "accuracy"):
            shares = [float(row[mode]) for mode in MODES]
            groups[row["n_obs"], row["method"]].append((min(shares), max(shares)))
    rows = []
    for n_obs in sorted({n for n, _ in groups}):
        found = [groups.get((n_obs, method)) for method in METHODS]
        ends = [(min(p[0] for p in f), max(p[1] for p in f)) if f else None for f in found]
        rows.append(
            [str(n_obs), *("-" if e is None else "{:.2f} to {:.2f}".format(*e) for e in ends)]
        )
    return markdown(["N", *HEADS], rows)


def second_look(results):
    """Distances to the exact posterior with other numbers of draws and bandwidths."""
    rows = [
        [TASKS[row["task"]], str(row["n_obs"]), row["options"].strip("{}"), _cell(row["mean"])]
        for row in results.summary
        if (row["experiment"], row["metric"]) == ("second_look", "MMD^2")
    ]
    return markdown(["task", "N", "options", "MMD²"], rows)


def time_table(results):
    """Median seconds of a run, over tasks and seeds, by method and N."""
    seconds = {}
    for row in results.rows:
        if row["experiment"] == "accuracy":
            seconds.setdefault((row["task"], row["method"], row["n_obs"]), {})[row["run"]] = row
    rows = []
    for task in TASKS:
        numbers = sorted({n for name, _, n in seconds if name == task})
        for n_obs in numbers:
            runs = [seconds.get((task, method, n_obs), {}).values() for method in METHODS]
            medians = [
                np.median([r["seconds"] for r in group]) if group else None for group in runs
            ]
            rows.append([TASKS[task], str(n_obs), *(_cell(value) for value in medians)])
    return markdown(["task", "N", *HEADS], rows)


def _cell(value, *, bold=False):
    if value is None:
        return "-"
    text = f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
    return f"**{text}**" if bold else text


def markdown(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
