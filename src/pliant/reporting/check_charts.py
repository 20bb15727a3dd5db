"""Charts of the diagnosis: statistics, observations, and ranks."""

from typing import Any

from pliant.reporting.charts import Spec, base, colour, log_axis, quantitative, tip

_SHOWN = 12  # statistics
_FARTHEST = 12.0  # deviations, beyond which a point stands at the edge
_SIGNIFICANT = 3.0
_LEAST = 1e-12  # p-value that is drawn


def check_charts_of(checks: dict[str, Any] | None) -> dict[str, Spec]:
    """The charts of a diagnosis that has numbers for them, by name."""
    charts: dict[str, Spec] = {}
    if checks is None:
        return charts
    if checks["predictive"] is not None and checks["predictive"]["rows"]:
        charts["statistics"] = statistics_chart(checks["predictive"])
    if checks["observations"] is not None and checks["observations"]["points"]:
        charts["observations"] = observations_chart(checks["observations"])
    if checks["calibration"] is not None:
        charts["ranks"] = ranks_chart(checks["calibration"])
        charts["coverage"] = coverage_chart(checks["calibration"])
    return charts


def _two_colours(field: str) -> Spec:
    """One colour for what is as it should be, and one for what is not."""
    hues = {"domain": [False, True], "range": [colour("posterior"), colour("truth")]}
    return {"field": field, "type": "nominal", "scale": hues, "legend": None}


def statistics_chart(predictive: dict[str, Any]) -> Spec:
    """The statistics that deviate most, in standard deviations of simulated sets."""
    rows = [
        {
            "number": i,
            "name": row["name"],
            "deviation": row["deviation"],
            "drawn": max(-_FARTHEST, min(_FARTHEST, row["deviation"])),
            "observed": row["observed"],
            "low": row["low"],
            "high": row["high"],
            "far": abs(row["deviation"]) > _SIGNIFICANT,
        }
        for i, row in enumerate(predictive["rows"][:_SHOWN])
        if row["deviation"] is not None
    ]
    y = {
        "field": "name",
        "type": "nominal",
        "sort": {"field": "number"},
        "title": None,
        "axis": {"labelLimit": 260},
    }
    edge = max([4.0, *(1.1 * abs(row["drawn"]) for row in rows)])
    title = "standard deviations from simulated sets"
    below = {"titleAnchor": "end"}  # where a narrow plot leaves room: below the names
    x = quantitative("drawn", title, scale={"domain": [-edge, edge]}, axis=below)
    band = {
        "data": {"values": [{"drawn": -2.0, "to": 2.0}]},
        "mark": {"type": "rect", "color": colour("prior"), "opacity": 0.18, "aria": False},
        "encoding": {"x": x, "x2": {"field": "to"}},
    }
    points = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 60},
        "encoding": {
            "x": x,
            "y": y,
            "color": _two_colours("far"),
            "tooltip": [
                tip("name", "statistic", "nominal"),
                tip("observed", "observed"),
                tip("low", "2.5 % of simulated"),
                tip("high", "97.5 % of simulated"),
                tip("deviation", "standard deviations"),
            ],
        },
    }
    return base(24 * max(len(rows), 2), layer=[band, points])


def observations_chart(observations: dict[str, Any]) -> Spec:
    """P-values of the observations in order, beside those of a model that is right."""
    rows = [
        {
            **point,
            "drawn": max(point["p_value"], _LEAST),
            "told": point["accused"],
        }
        for point in observations["points"]
        if point["p_value"] is not None
    ]
    logarithmic: Spec = {"scale": {"type": "log"}, "axis": log_axis()}
    x = quantitative("expected", "p-value expected of a right model", **logarithmic)
    y = quantitative("drawn", "p-value", **logarithmic)
    ends = [rows[0]["expected"], rows[-1]["expected"]] if rows else []
    line = {
        "data": {"values": [{"expected": end, "drawn": end} for end in ends]},
        "mark": {"type": "line", "color": colour("prior"), "strokeDash": [5, 3], "aria": False},
        "encoding": {"x": x, "y": y},
    }
    points = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 30},
        "encoding": {
            "x": x,
            "y": y,
            "color": _two_colours("told"),
            "tooltip": [tip("index", "observation"), tip("p_value", "p-value")],
        },
    }
    return base(220, layer=[line, points])


def ranks_chart(calibration: dict[str, Any]) -> Spec:
    """The ECDF of the ranks minus that of uniform ones, with its 99 % band for all ranks."""
    grid, (low, high) = calibration["grid"], calibration["band"]
    edges = [
        {"rank": rank, "low": a, "high": b} for rank, a, b in zip(grid, low, high, strict=True)
    ]
    lines = [
        {"rank": rank, "value": value, "line": i, "name": line["name"], "out": line["outside"]}
        for i, line in enumerate(calibration["lines"])
        for rank, value in zip(grid, line["values"], strict=True)
    ]
    x = quantitative("rank", "rank of the true parameter", axis={"grid": False})
    y = quantitative("value", "difference to uniform ranks")
    tips = [tip("name", "parameter", "nominal"), tip("rank", "rank"), tip("value", "difference")]
    return base(
        220,
        layer=[
            {
                "data": {"values": edges},
                "mark": {"type": "area", "color": colour("prior"), "opacity": 0.25, "aria": False},
                "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {
                "data": {"values": lines},
                "mark": {"type": "line", "strokeWidth": 1.4},
                "encoding": {
                    "x": x,
                    "y": y,
                    "detail": {"field": "line", "type": "nominal"},
                    "color": _two_colours("out"),
                    "tooltip": tips,
                },
            },
        ],
    )


def coverage_chart(calibration: dict[str, Any]) -> Spec:
    """How often central intervals hold the truth, with 95 % intervals, beside the nominal level."""
    rows = [
        {"level": level, "share": share, "low": low, "high": high, "name": row["name"]}
        for row in calibration["rows"][:_SHOWN]
        for level, (share, low, high) in zip(calibration["levels"], row["coverage"], strict=True)
        if None not in (share, low, high)
    ]
    x = {
        "field": "level",
        "type": "ordinal",
        "title": "level of the interval",
        "axis": {"format": ".0%", "labelAngle": 0},
    }
    y = quantitative("share", "share that holds the truth", axis={"format": ".0%"})
    across = {"xOffset": {"field": "name", "type": "nominal"}}
    tips = [
        tip("name", "parameter", "nominal"),
        tip("level", "level"),
        tip("share", "held"),
        tip("low", "from"),
        tip("high", "to"),
    ]
    wanted = [{"level": level, "share": level} for level in calibration["levels"]]
    tick = {"type": "tick", "color": colour("ink"), "thickness": 2, "bandSize": 60, "aria": False}
    rule = {"type": "rule", "color": colour("posterior"), "aria": False}
    return base(
        220,
        layer=[
            {"data": {"values": wanted}, "mark": tick, "encoding": {"x": x, "y": y}},
            {
                "data": {"values": rows},
                "mark": rule,
                "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **across},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "point", "filled": True, "color": colour("posterior"), "size": 30},
                "encoding": {"x": x, "y": y, "tooltip": tips, **across},
            },
        ],
    )
