"""One HTML file with everything in it: style, script, charting library and data.

Nothing is loaded from a network, and the page's own policy forbids it. It also names the scripts
that may run, by their digests: one that came in with a text would not be executed.
"""

import base64
import contextlib
import functools
import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pliant._files import cache_folder, replacing
from pliant.problem.markup import Html
from pliant.reporting.charts import charts_of, pair_templates
from pliant.reporting.check_charts import check_charts_of
from pliant.reporting.elements import element, joined
from pliant.reporting.sections import sections_of

GENERATOR = "pliant-report"
"""The mark by which a page of Pliant is known."""

_TITLES = {
    "verdict": "Verdict",
    "problem": "Problem",
    "posterior": "Posterior",
    "pairs": "Pair plot",
    "prior": "Prior",
    "history": "History",
    "predictive": "Predictive checks",
    "observations": "Observations",
    "calibration": "Calibration",
    "reproduce": "Reproduce it",
}
_PERIOD = 1500  # milliseconds between two questions of a live page
_KINDS = ("prior", "reference", "posterior")  # in the order of a marginal's layers


def state_of(content: dict[str, Any], *, told: str = "", live: bool = False) -> dict[str, Any]:
    """What the script of a page knows: charts, draws, and whether to ask for more.

    Args:
        content: Every number of the page.
        told: What stands in the page's head while a run goes on.
        live: Whether a server has newer states.
    """
    state = {
        "live": live,
        "period": _PERIOD,
        "told": told,
        "charts": {**charts_of(content), **check_charts_of(content["checks"])},
        "pairs": _pairs(content["posterior"]),
    }
    shown = {"content": content, "state": state}
    return {"version": hashlib.sha256(as_json(shown).encode()).hexdigest()[:16], **state}


def live_state(content: dict[str, Any], *, told: str, live: bool) -> dict[str, Any]:
    """The same with the HTML of all sections, by which an open page replaces its own."""
    sections = {name: section.code for name, section in sections_of(content).items()}
    return {**state_of(content, told=told, live=live), "sections": sections}


def report_page(content: dict[str, Any], *, told: str = "", live: bool = False) -> str:
    """The page of a run.

    Args:
        content: What ``content_of`` returned.
        told: A line about a run that goes on.
        live: Whether a server has newer states.

    Raises:
        ImportError: If the charting library is not installed.
    """
    links = element(
        "nav",
        element(
            "ul",
            *(element("li", element("a", text, href=f"#{name}")) for name, text in _TITLES.items()),
        ),
        aria_label="Sections",
    )
    body = [links, element("main", *sections_of(content).values(), id="main")]
    return document(
        f"Report: {content['title']}",
        body,
        state_of(content, told=told, live=live),
        script=(charting_library(), asset("page.js")),
        told=told,
        live=live,
    )


def document(
    title: str,
    body: list[Html],
    state: Mapping[str, Any],
    *,
    script: tuple[str, ...],
    told: str = "",
    live: bool = False,
) -> str:
    """A page with its policy, its style, its data and its scripts."""
    connected = "'self'" if live else "'none'"
    allowed = " ".join(f"'sha256-{_digest(code)}'" for code in script)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        f"connect-src {connected}; base-uri 'none'; form-action 'none'"
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=GENERATOR),
        element("meta", name="referrer", content="no-referrer"),
        Html('<link rel="icon" href="data:,">'),
        element("title", title),
        Html(f"<style>{asset('page.css')}</style>"),
    ]
    header = element(
        "header",
        element("h1", title),
        element("p", told, id="live", role="status"),
        element("button", "Light or dark", type="button", id="theme", aria_pressed="false"),
    )
    scripts = [
        Html(f'<script type="application/json" id="state">{as_json(state)}</script>'),
        *(Html(f"<script>{code}</script>") for code in script),
    ]
    without = element("p", "The charts need JavaScript. All numbers are in the tables.")
    parts = [
        element("a", "Skip to the content", href="#main", class_="skip"),
        header,
        element("noscript", without),
        *body,
        element("footer", element("p", "Made by Pliant. This page loads nothing from a network.")),
        *scripts,
    ]
    whole = joined([element("head", *head), element("body", *parts)])
    return f'<!doctype html>\n<html lang="en" data-made-by="{GENERATOR}">{whole.code}</html>\n'


def as_json(data: Any) -> str:
    """JSON that can stand in an element ``script``, whatever texts it holds."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII: no U+2028 either
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str) -> str:
    """The style sheet or the script of the page."""
    return files("pliant.reporting").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def charting_library() -> str:
    """Vega with Vega-Lite and vega-embed as one script, from the installed package.

    A user's cache keeps it for the next page.

    Raises:
        ImportError: If vl-convert-python is not installed.
    """
    try:
        import vl_convert
    except ImportError as error:
        text = "Reports need vl-convert-python: pip install 'pliant[report]'."
        raise ImportError(text) from error
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    code = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in code.lower() or "<!--" in code:
        raise ImportError("The script of this version of vl-convert-python cannot be inlined.")
    with contextlib.suppress(OSError):  # making it takes seconds
        kept.parent.mkdir(parents=True, exist_ok=True)
        with replacing(kept) as file:
            file.write(code.encode())
    return code


def _digest(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _pairs(posterior: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the pair plot is made of."""
    if posterior is None:
        return None
    marginals = posterior["marginals"]
    truths = [marginal["truth"] for marginal in marginals]
    return {
        "names": posterior["names"],
        "draws": posterior["draws"],
        "labels": posterior["labels"],
        "several": len(posterior["modes"]) > 1,
        "truth": truths,
        "kinds": [
            [*(kind for kind in _KINDS if kind in marginal["kinds"]), "truth"]
            for marginal in marginals
        ],
        "templates": pair_templates(),
    }
