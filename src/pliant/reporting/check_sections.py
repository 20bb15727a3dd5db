"""The sections of a diagnosis: the verdict with its findings, and the tables of the checks."""

from typing import Any

from pliant.problem.markup import Html
from pliant.reporting.checks import MOST_OBSERVATIONS, MOST_STATISTICS
from pliant.reporting.elements import element, figure, shown, table
from pliant.run.show import counted

_NONE = "There is no diagnosis yet."
_NOT_APPLICABLE = "This check does not apply to the run, or could not be made. See the verdict."


def verdict_parts(checks: dict[str, Any] | None) -> list[Html]:
    """The verdict, and each check with what it found and what to do about it."""
    if checks is None:
        return [element("p", f"{_NONE} pliant diagnose, or pliant report, makes one.")]
    verdict = element(
        "strong", checks["verdict"], class_=f"badge {checks['verdict']}", id="verdict-badge"
    )
    rows = []
    for finding in checks["findings"]:
        told: list[Html | str] = [element("p", finding["text"])]
        if finding["remedy"] and finding["level"] not in ("ok", "skipped"):
            told.append(element("p", "→ ", finding["remedy"], class_="remedy"))
        rows.append(
            [
                finding["check"],
                element("span", finding["level"], class_=f"badge {finding['level']}"),
                element("div", *told),
                shown(finding["number"], ".3g"),
                shown(finding["limit"], ".3g"),
            ]
        )
    heads = ["check", "outcome", "what was found", "number", "limit"]
    return [
        element("p", "The posterior: ", verdict, f" {checks['meaning']}", class_="status"),
        table("Checks of the posterior", heads, rows, texts=(0, 1, 2), id="findings"),
    ]


def predictive_section(checks: dict[str, Any] | None) -> list[Html]:
    """Statistics of the observed set beside those of simulated ones, and coverage of features."""
    if checks is None or checks["predictive"] is None:
        return [element("p", _NONE if checks is None else _NOT_APPLICABLE)]
    found = checks["predictive"]
    rows = [
        [
            row["name"],
            *(shown(row[key]) for key in ("observed", "low", "high")),
            shown(row["deviation"], ".3g"),
        ]
        for row in found["rows"]
    ]
    values = [
        [row["name"], *(row[key] for key in ("observed", "low", "high", "deviation"))]
        for row in found["rows"]
    ]
    heads = ["statistic", "observed", "2.5 % of simulated", "97.5 %", "deviations"]
    covered = [
        [row["feature"], shown(row["half"], ".1%"), shown(row["most"], ".1%")]
        for row in found["covered"]
    ]
    worst = found["rows"][0] if found["rows"] else None
    told = (
        f"p = {shown(found['p_value'], '.2g')} for all {counted(found['n'], 'statistic')} together."
    )
    if worst is not None:
        told += f" Farthest off: {worst['name']}, {shown(worst['deviation'], '.3g')} deviations."
    caption = f"Statistics of the observed set, the {MOST_STATISTICS} farthest off at most"
    return [
        element("p", told, id="predictive-p"),
        figure(
            "statistics", "Statistics of the observed set beside simulated sets", told, wide=True
        ),
        table(caption, heads, rows, values=values, id="statistics-table"),
        element("h3", "Observations within predictive intervals"),
        table(
            "Share of the observations within the central intervals of simulated ones",
            ["feature", "50 % interval", "90 % interval"],
            covered,
            id="covered",
        ),
    ]


def observations_section(checks: dict[str, Any] | None) -> list[Html]:
    """The observations that the model explains least, ranked."""
    if checks is None or checks["observations"] is None:
        return [element("p", _NONE if checks is None else _NOT_APPLICABLE)]
    found = checks["observations"]
    told = (
        f"The model does not explain {found['accused']} of {counted(found['n'], 'observation')} "
        "(adjusted p below 0.01)."
    )
    keys = ("index", "p_value", "adjusted", "influence")
    rows = [
        [
            str(row["index"]),
            *(shown(row[key], ".2g") for key in keys[1:]),
            row["parameter"],
        ]
        for row in found["rows"]
    ]
    values = [[*(row[key] for key in keys), row["parameter"]] for row in found["rows"]]
    heads = ["observation", "p-value", "adjusted", "influence", "moves most"]
    text = f"{told} Points on the dashed line are what a right model gives."
    influence = (
        "Influence: by how many standard deviations the mean of a parameter moves without the "
        "observation."
    )
    caption = f"The least likely observations, {MOST_OBSERVATIONS} at most"
    return [
        element("p", told, id="accused"),
        figure("observations", "P-values of single observations", text, wide=True),
        table(caption, heads, rows, values=values, texts=(0, 4), id="observations-table"),
        element("p", influence, class_="muted"),
    ]


def calibration_section(checks: dict[str, Any] | None) -> list[Html]:
    """Ranks of true parameters, and coverage of intervals."""
    if checks is None or checks["calibration"] is None:
        return [element("p", _NONE if checks is None else _NOT_APPLICABLE)]
    found = checks["calibration"]
    levels = [f"{level:.0%} interval" for level in found["levels"]]
    rows = [
        [
            row["name"],
            shown(row["shift"], "+.2f"),
            shown(row["width"], ".2f"),
            *(_coverage(cell) for cell in row["coverage"]),
        ]
        for row in found["rows"]
    ]
    out = [row["name"] for row in found["rows"] if row["outside"]]
    text = f"Ranks in {counted(found['n'], 'simulated set')}. " + (
        f"Outside of the band: {', '.join(out)}." if out else "All lines stay within the band."
    )
    heads = ["parameter", "should move by (sd)", "should be as wide (times)", *levels]
    return [
        element("p", text, id="calibration-text"),
        element(
            "div",
            figure("ranks", "Ranks of true parameters", text),
            figure("coverage", "Coverage of central intervals", "The table below has the numbers."),
            class_="figures",
        ),
        table("Calibration of each parameter", heads, rows, id="calibration-table"),
    ]


def _coverage(cell: list[float | None]) -> str:
    """A share with its 95 % interval."""
    share, low, high = (shown(x, ".0%") for x in cell)
    return f"{share} ({low} to {high})"
