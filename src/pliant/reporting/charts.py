"""Charts of the posterior and of the rounds: numbers as specifications of Vega-Lite.

Names of a user's stand in titles and in data only. Fields have neutral names, since Vega reads dots
and brackets in the name of a field as a path. Colours are variables of the page's style sheet.
"""

from typing import Any

Spec = dict[str, Any]

_HEIGHT = 170
_MODES = 6  # that have a colour of their own
_NUMBER = ".4~g"
_KINDS = {"prior": "prior", "reference": "exact posterior", "posterior": "posterior"}


def charts_of(content: dict[str, Any]) -> dict[str, Spec]:
    """All charts of the posterior and the rounds, by name."""
    charts: dict[str, Spec] = {}
    for panel in content["history"]["panels"]:
        charts[f"history-{panel['name']}"] = panel_chart(panel)
    posterior = content["posterior"]
    if posterior is not None:
        for i, marginal in enumerate(posterior["marginals"]):
            charts[f"marginal-{i}"] = marginal_chart(marginal)
    return charts


def base(height: int = _HEIGHT, **parts: Any) -> Spec:
    """A chart as wide as its place."""
    return {"width": "container", "height": height, **parts}


def colour(name: str) -> str:
    """A colour of the page, light or dark."""
    return f"var(--{name})"


def quantitative(field: str, title: str | None = None, **more: Any) -> Spec:
    """The encoding of a number, whose axis need not start at zero."""
    scale = more.pop("scale", {})
    scale = scale if scale.get("type") == "log" else {"zero": False, **scale}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, **more}


def log_axis(**more: Any) -> Spec:
    """An axis whose lines between powers of ten are faint: there may be dozens."""
    exponent = "log(datum.value) / LN10"
    whole = f"abs({exponent} - round({exponent})) < 1e-6"
    return {"gridOpacity": {"condition": {"test": whole, "value": 1}, "value": 0.3}, **more}


def tip(field: str, title: str, kind: str = "quantitative") -> Spec:
    """An entry of what is shown beside the pointer."""
    entry = {"field": field, "type": kind, "title": title}
    return {**entry, "format": _NUMBER} if kind == "quantitative" else entry


def panel_chart(panel: dict[str, Any]) -> Spec:
    """Lines by round, with a band of their error and a limit."""
    rows = [
        {"round": number, "value": value, "line": line["label"]}
        for line in panel["lines"]
        for number, value in zip(panel["rounds"], line["values"], strict=True)
        if value is not None
    ]
    several = len(panel["lines"]) > 1
    logarithmic = panel["positive"] and panel["name"] in _LOGARITHMIC
    scale = {"type": "log"} if logarithmic else {"zero": panel["name"] in _FROM_ZERO}
    ticks = {"values": round_ticks(panel["rounds"]), "format": "d", "grid": False}
    x = quantitative("round", "round", axis=ticks)
    marks = log_axis(tickCount=5) if logarithmic else {"tickCount": 5}
    y = quantitative("value", None, scale=scale, axis=marks)
    hues: Spec = {
        "field": "line",
        "type": "nominal",
        "scale": {
            "domain": [line["label"] for line in panel["lines"]],
            "range": [colour("posterior"), colour("truth")],
        },
        "legend": {"title": None, "orient": "top"} if several else None,
    }
    lines = {
        "data": {"values": rows},
        "mark": {"type": "line", "point": {"size": 30, "filled": True}, "strokeWidth": 1.6},
        "encoding": {
            "x": x,
            "y": y,
            "color": hues,
            "tooltip": [
                tip("round", "round"),
                *([tip("line", "quantity", "nominal")] if several else []),
                tip("value", panel["title"]),
            ],
        },
    }
    return base(layer=[*_band(panel, x, y), lines, *_limit_line(panel, y)])


_LOGARITHMIC = {"bandwidth", "distance", "error"}
_FROM_ZERO = {"kl", "ess", "acceptance", "noise", "level", "usable"}
_TICKS = 8


def round_ticks(rounds: list[int]) -> list[int]:
    """Some rounds at equal steps, the first one included."""
    return rounds[:: max(1, -(-len(rounds) // _TICKS))]


def _band(panel: dict[str, Any], x: Spec, y: Spec) -> list[Spec]:
    """The median plus and minus the error of a distance; only what a logarithm can show."""
    if panel["error"] is None:
        return []
    rows = [
        {"round": number, "low": value - error, "high": value + error}
        for number, value, error in zip(
            panel["rounds"], panel["lines"][0]["values"], panel["error"], strict=True
        )
        if value is not None and error is not None and (value > error or not panel["positive"])
    ]
    encoding = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    mark = {"type": "area", "color": colour("prior"), "opacity": 0.3, "aria": False}
    return [{"data": {"values": rows}, "mark": mark, "encoding": encoding}] if rows else []


def _limit_line(panel: dict[str, Any], y: Spec) -> list[Spec]:
    if panel["limit"] is None:
        return []
    mark = {"type": "rule", "strokeDash": [5, 3], "color": colour("ink")}
    rows = [{"value": panel["limit"], "line": panel["limit_label"]}]
    encoding = {"y": y, "tooltip": [tip("value", panel["limit_label"])]}
    return [{"data": {"values": rows}, "mark": mark, "encoding": encoding}]


def marginal_chart(marginal: dict[str, Any]) -> Spec:
    """Histograms of prior, exact posterior and posterior, each as high as the others."""
    layers = [
        _outline(kind, marginal["kinds"][kind]) for kind in _KINDS if kind in marginal["kinds"]
    ]
    if marginal["truth"] is not None:
        layers.append(_truth_rule(marginal["truth"]))
    return base(130, layer=layers)


def _outline(kind: str, bins: dict[str, list[float]]) -> Spec:
    """A histogram: filled for the posterior, a line for the others."""
    edges, heights = bins["edges"], bins["heights"]
    rows = [
        {"left": left, "right": right, "height": height}
        for left, right, height in zip(edges, edges[1:], heights, strict=False)
    ]
    x = quantitative("left", None, axis={"grid": False, "tickCount": 4})
    if kind == "posterior":
        mark: Spec = {"type": "bar", "color": colour("posterior"), "opacity": 0.55, "binSpacing": 0}
        encoding = {"x": {**x, "bin": "binned"}, "x2": {"field": "right"}}
    else:
        dash = {"strokeDash": [4, 2]} if kind == "reference" else {}
        mark = {"type": "line", "interpolate": "step-after", "color": colour(kind), **dash}
        rows.append({"left": edges[-1], "right": edges[-1], "height": 0.0})
        rows.insert(0, {"left": edges[0], "right": edges[0], "height": 0.0})
        encoding = {"x": x}
    y = quantitative("height", None, axis=None, scale={"zero": True})
    tips = [tip("left", f"{_KINDS[kind]} from"), tip("right", "to"), tip("height", "height")]
    return {
        "data": {"values": rows},
        "mark": mark,
        "encoding": {**encoding, "y": y, "tooltip": tips},
    }


def _truth_rule(value: float) -> Spec:
    return {
        "data": {"values": [{"left": value}]},
        "mark": {"type": "rule", "color": colour("truth"), "strokeWidth": 2},
        "encoding": {"x": quantitative("left"), "tooltip": [tip("left", "truth")]},
    }


def pair_templates() -> dict[str, Any]:
    """Layers of the cells of a pair plot, for any two parameters.

    ``@x`` and ``@y`` stand for fields, ``@x-title`` and ``@y-title`` for names, ``@marginal`` for
    the number of a parameter. The page fills them in and puts cells side by side.
    """
    x = quantitative("@x", "@x-title", axis={"tickCount": 4})
    y = quantitative("@y", "@y-title", axis={"tickCount": 4})
    modes = [colour(f"mode-{i + 1}") for i in range(_MODES)]
    hues = {
        "field": "mode",
        "type": "ordinal",
        "scale": {"domain": [*range(1, _MODES + 1), 0], "range": [*modes, colour("prior")]},
        "legend": None,
    }
    point = {"type": "point", "filled": True, "aria": False}

    def scatter(kind: str, **mark: Any) -> Spec:
        place = {"x": x, "y": y, "tooltip": "@tips"}
        return {"data": {"name": kind}, "mark": {**point, **mark}, "encoding": place}

    posterior = scatter("posterior", size=8, opacity=0.5)
    posterior["encoding"]["color"] = hues
    cross = {"type": "point", "shape": "cross", "size": 120, "filled": True, "aria": False}
    truth = {"color": colour("truth"), "stroke": colour("paper"), "strokeWidth": 1}
    return {
        "scatter": {
            "prior": scatter("prior", size=5, opacity=0.4, color=colour("prior")),
            "posterior": posterior,
            "reference": scatter("reference", size=5, opacity=0.5, color=colour("reference")),
            "truth": {
                "data": {"name": "truth"},
                "mark": {**cross, **truth},
                "encoding": {"x": x, "y": y, "tooltip": "@tips"},
            },
        },
    }
