"""The sections of a page, in their order, from its content: HTML without any script."""

from typing import Any

from pliant.problem.markup import Html
from pliant.reporting.check_sections import (
    calibration_section,
    observations_section,
    predictive_section,
    verdict_parts,
)
from pliant.reporting.elements import element, figure, folded, joined, listing, shown, table
from pliant.reporting.marginals import MOST_PLOTTED
from pliant.run.show import counted

_INTERVALS = {"q025": "2.5 %", "q05": "5 %", "q50": "50 %", "q95": "95 %", "q975": "97.5 %"}
_KINDS = {"prior": "prior", "reference": "exact posterior", "truth": "truth"}
_CHOSEN = 4  # parameters of the pair plot, at first
_NO_POSTERIOR = "No round has given a posterior."


def sections_of(content: dict[str, Any]) -> dict[str, Html]:
    """The sections by their anchors, in the order in which they are read."""
    parts = {
        "verdict": ("Verdict", [*run_parts(content["run"]), *verdict_parts(content["checks"])]),
        "problem": ("Problem", [listing(content["problem"])]),
        "posterior": ("Posterior", posterior_section(content["posterior"])),
        "pairs": ("Pair plot", pairs_section(content["posterior"])),
        "prior": ("Posterior against prior", marginals_section(content["posterior"])),
        "history": ("History", history_section(content["history"])),
        "predictive": ("Predictive checks", predictive_section(content["checks"])),
        "observations": ("Single observations", observations_section(content["checks"])),
        "calibration": ("Calibration", calibration_section(content["checks"])),
        "reproduce": ("Reproduce it", reproduce_section(content["reproduce"])),
    }
    return {
        name: element(
            "section",
            element("h2", title, id=f"{name}-title"),
            *inner,
            id=name,
            aria_labelledby=f"{name}-title",
        )
        for name, (title, inner) in parts.items()
    }


def run_parts(run: dict[str, Any]) -> list[Html]:
    """How the run ended, or how far it is."""
    rounds = (
        f"{run['rounds']} of {run['most_rounds']}" if run["most_rounds"] else str(run["rounds"])
    )
    word = "round" if rounds == "1" else "rounds"
    done = f"{rounds} {word}, {counted(run['simulations'], 'simulation')}, {run['seconds']:.1f} s"
    badge = element("strong", run["status"], class_=f"badge {run['kind']}")
    parts = [
        element("p", "The run: ", badge, f" {run['message']}", class_="status"),
        element("p", done, class_="muted"),
    ]
    parts += [element("p", run["remedy"], class_="remedy")] * bool(run["remedy"])
    parts += [element("p", text) for text in (run["check"], run["reason"]) if text]
    return parts


def posterior_section(posterior: dict[str, Any] | None) -> list[Html]:
    """The table of all parameters."""
    if posterior is None:
        return [element("p", _NO_POSTERIOR)]
    rows = posterior["rows"]
    keys = ["mean", "sd", *_INTERVALS, "mcse"]
    heads = ["parameter", "mean", "sd", *_INTERVALS.values(), "MCSE"]
    titles = [
        "name of the parameter",
        "mean of the posterior",
        "standard deviation of the posterior",
        *(f"{name} quantile" for name in _INTERVALS.values()),
        "Monte Carlo standard error of the mean",
    ]
    if "contraction" in rows[0]:
        keys, heads = [*keys, "contraction"], [*heads, "contraction"]
        titles.append("1 - (width / width of the prior)^2, by quartiles: 100 % is known exactly")
    if "truth" in rows[0]:
        keys, heads, titles = [*keys, "truth"], [*heads, "truth"], [*titles, "the true value"]
    forms = {"mcse": ".2g", "contraction": ".1%"}
    cells = [[row["name"], *(shown(row[k], forms.get(k, ".4g")) for k in keys)] for row in rows]
    values = [[row["name"], *(row[k] for k in keys)] for row in rows]
    what = "the prior: no round gave a posterior" if posterior["is_prior"] else "the posterior"
    caption = f"{counted(posterior['n'], 'draw')} of {what}"
    told = (
        f"From {counted(posterior['n'], 'draw')}, worth {posterior['effective']:,.0f} independent "
        "ones. The intervals from 5 % to 95 % and from 2.5 % to 97.5 % hold 90 % and 95 % of the "
        "posterior. The Monte Carlo error (MCSE) is that of drawing, not that of the method."
    )
    return [
        table(caption, heads, cells, values=values, titles=titles, id="posterior-table"),
        element("p", told, class_="muted"),
    ]


def pairs_section(posterior: dict[str, Any] | None) -> list[Html]:
    """The controls of the pair plot, its place, and the table of modes."""
    if posterior is None:
        return [element("p", _NO_POSTERIOR)]
    names = posterior["names"]
    boxes = [_box("parameter", str(i), name, checked=i < _CHOSEN) for i, name in enumerate(names)]
    kinds = [kind for kind in posterior["draws"] if kind != "posterior"]
    kinds += ["truth"] * (posterior["marginals"][0]["truth"] is not None)
    layers = [_box("layer", kind, _KINDS[kind], checked=kind != "prior") for kind in kinds]
    controls = [element("fieldset", element("legend", "Parameters"), *boxes)]
    controls += [element("fieldset", element("legend", "Show also"), *layers)] * bool(layers)
    shown_names = ", ".join(names[:_CHOSEN])
    text = (
        f"Draws of the posterior for each pair of {shown_names}; the table above has the numbers."
    )
    parts = [
        element("div", *controls, class_="controls", id="pair-controls"),
        figure("pairs", "Draws of each pair of parameters", text, wide=True),
        *modes_parts(posterior["modes"], names),
    ]
    if len(posterior["rows"]) > MOST_PLOTTED:
        parts.append(element("p", f"The first {MOST_PLOTTED} parameters can be chosen."))
    return parts


def _box(kind: str, value: str, text: str, *, checked: bool) -> Html:
    given = {"type": "checkbox", f"data_{kind}": value, "checked": checked, "autocomplete": "off"}
    return element("label", element("input", **given), f" {text}")


def modes_parts(modes: list[dict[str, Any]], names: list[str]) -> list[Html]:
    """The share and the centre of each mode."""
    if not modes:
        return [element("p", "The draws form one group: no second mode stands apart.")]
    columns = [name for name in names if name in modes[0]["centre"]]
    rows = [
        [
            joined([_dot(f"mode-{mode['mode']}"), f" {mode['mode']}"]),
            shown(mode["share"], ".1%"),
            *(shown(mode["centre"][name]) for name in columns),
        ]
        for mode in modes
    ]
    return [
        element("h3", "Modes"),
        table(
            "Modes: share of the draws, and medians", ["mode", "share", *columns], rows, id="modes"
        ),
    ]


def _dot(kind: str) -> Html:
    return element("span", "●", class_=kind, aria_hidden="true")


def marginals_section(posterior: dict[str, Any] | None) -> list[Html]:
    """One figure per parameter."""
    if posterior is None:
        return [element("p", _NO_POSTERIOR)]
    kinds = posterior["marginals"][0]["kinds"]
    key = [
        ("posterior", "posterior"),
        *((k, _KINDS[k]) for k in ("prior", "reference") if k in kinds),
    ]
    key += [("truth", "truth")] * (posterior["marginals"][0]["truth"] is not None)
    legend = element(
        "p",
        *(element("span", _dot(f"key-{kind}"), f" {text}") for kind, text in key),
        class_="legend",
    )
    figures = [
        figure(
            f"marginal-{i}",
            marginal["name"],
            f"The posterior is around {shown(row['q50'])}, from {shown(row['q05'])} to "
            f"{shown(row['q95'])} (90 %)." + _contraction_text(row),
        )
        for i, (marginal, row) in enumerate(
            zip(posterior["marginals"], posterior["rows"], strict=False)
        )
    ]
    return [legend, element("div", *figures, class_="figures")]


def _contraction_text(row: dict[str, Any]) -> str:
    if "contraction" not in row:
        return ""
    return f" Contraction from the prior: {row['contraction']:.1%}."


def history_section(history: dict[str, Any]) -> list[Html]:
    """Figures of the rounds, and the table of all numbers, folded."""
    if not history["cells"]:
        return [element("p", "No round has been finished.")]
    figures = []
    for panel in history["panels"]:
        known = [x for x in panel["lines"][0]["values"] if x is not None]
        text = f"From {shown(known[0])} in the first round to {shown(known[-1])} in the last one."
        if panel["limit"] is not None:
            text += f" The dashed line is the {panel['limit_label']}, {shown(panel['limit'])}."
        figures.append(figure(f"history-{panel['name']}", panel["title"], text))
    rows = table(
        "All rounds",
        history["heads"],
        history["cells"],
        titles=history["meanings"],
        texts=(),
        id="history-table",
    )
    meanings = [
        [head, meaning]
        for head, meaning in zip(history["heads"], history["meanings"], strict=True)
        if meaning
    ]
    return [
        element("div", *figures, class_="figures"),
        folded("All numbers of all rounds", rows, listing(meanings)),
    ]


def reproduce_section(reproduce: dict[str, Any]) -> list[Html]:
    """The command, the configuration, and the lines of Python behind each figure."""
    parts = []
    if reproduce["command"]:
        parts += [element("h3", "Command"), code(reproduce["command"])]
    if reproduce["configuration"]:
        parts += [element("h3", "Configuration"), listing(reproduce["configuration"])]
    parts.append(element("h3", "The figures in Python"))
    for block in reproduce["code"]:
        parts += [element("h4", block["title"]), code(block["text"])]
    return parts


def code(text: str) -> Html:
    """A block of code, with a button that copies it."""
    button = element("button", "Copy", type="button", class_="copy")
    block = element("pre", element("code", text), tabindex="0", aria_label="code", role="region")
    return element("div", block, button, class_="code")
