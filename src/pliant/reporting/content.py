"""Every number on the page of a run, as plain data: what ``json`` can write."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.problem.describe import described
from pliant.problem.samples import as_row, thinned
from pliant.reporting.checks import checks_of
from pliant.reporting.marginals import (
    MOST_PLOTTED,
    DrawTable,
    effective_draws,
    marginals,
    mode_labels,
    mode_rows,
    n_plotted,
    plotted,
    posterior_rows,
    prior_draws,
    table_of,
)
from pliant.reporting.reproduce import reproduction, versions_of
from pliant.reporting.rounds import history_panels, history_table
from pliant.reporting.subject import Subject
from pliant.run.show import counted


def content_of(subject: Subject) -> dict[str, Any]:
    """The numbers and texts of a page, by section."""
    return {
        "title": _title(subject),
        "run": _run(subject),
        "checks": None if subject.diagnosis is None else checks_of(subject.diagnosis),
        "problem": _problem(subject),
        "posterior": posterior_content(subject),
        "history": {
            **history_table(subject.history),
            "panels": history_panels(subject.history, subject.method),
        },
        "reproduce": reproduction(subject),
    }


def _title(subject: Subject) -> str:
    target = subject.known.config.get("target")
    return target if isinstance(target, str) else "a run of Pliant"


def _run(subject: Subject) -> dict[str, Any]:
    """How the run ended, or how far it is."""
    status, history = subject.status, subject.history
    last = history[-1] if len(history) else {}
    if status is None:
        kind, text = ("running", "running") if subject.alive else ("ended", "not finished")
    else:
        kind = "error" if status.is_error else "success" if status.is_success else "ended"
        text = str(status)
    return {
        "kind": kind,
        "status": text,
        "message": subject.message,
        "remedy": "" if status is None or status.is_success else status.remedy,
        "check": subject.check or "",
        "reason": subject.reason,
        "rounds": len(history),
        "most_rounds": getattr(subject.method, "rounds", None),
        "simulations": int(last.get("simulations") or 0),
        "seconds": float(last.get("seconds") or 0.0),
        "seed": subject.seed,
        "method": "" if subject.method is None else type(subject.method).__name__,
        "failures": [str(failure) for failure in subject.failures],
    }


def _problem(subject: Subject) -> list[list[str]]:
    """Labels with texts: the problem, what the run cost, and the versions."""
    problem, run = subject.known.problem, _run(subject)
    rows = [] if problem is None else [[label, text] for label, text in described(problem)]
    n_obs = subject.known.config.get("n_obs")
    if problem is None and isinstance(n_obs, int):
        rows.append(["observed", counted(n_obs, "observation")])
    versions = versions_of(subject.known.config)
    return [
        *rows,
        ["method", run["method"]],
        ["seed", str(run["seed"])],
        ["rounds", str(run["rounds"])],
        ["simulations", f"{run['simulations']:,}"],
        ["seconds", f"{run['seconds']:.1f}"],
        *(["failed draws", text] for text in run["failures"] or ["none"]),
        ["versions", ", ".join(f"{name} {text}" for name, text in versions.items())],
    ]


def posterior_content(subject: Subject) -> dict[str, Any] | None:
    """Table, marginals, draws and modes; None before the first round."""
    posterior, samples, known = subject.posterior, subject.samples, subject.known
    if posterior is None or samples is None:
        return None
    space = posterior.space
    draws = table_of(samples, space)
    prior = None if known.problem is None else prior_draws(known.problem)
    truth = known_row(known.truth, draws, space.names)
    effective = effective_draws(posterior.density, len(draws.values))
    kinds = {"posterior": draws}
    if prior is not None and not posterior.is_prior:
        kinds["prior"] = prior
    if known.reference is not None:
        kinds["reference"] = table_of(known.reference, space)
    labels = mode_labels(samples, space)
    some = thinned(draws.values, len(labels))
    shown = thinned(labels[:, None], n_plotted(len(draws.names)))[:, 0]
    return {
        "is_prior": posterior.is_prior,
        "n": len(draws.values),
        "effective": effective,
        "rows": posterior_rows(draws, effective=effective, prior=prior, truth=truth),
        "names": draws.names[:MOST_PLOTTED],
        "marginals": marginals(kinds, truth),
        "draws": {kind: plotted(own) for kind, own in kinds.items()},
        "labels": shown.tolist(),
        "modes": [] if posterior.is_prior else mode_rows(labels, some, draws.names),
    }


def known_row(truth: Mapping[str, Any] | None, draws: DrawTable, names: Any) -> "np.ndarray | None":
    """The truth in the order of the columns; None if it is unknown or of other parameters."""
    if not truth:
        return None
    try:
        row = as_row(truth, names)
    except (TypeError, ValueError):
        return None
    return row if row.shape == (len(draws.names),) and np.all(np.isfinite(row)) else None
