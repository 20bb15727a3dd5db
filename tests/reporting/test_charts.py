"""Specifications of charts: what Vega-Lite compiles, with a user's names as texts only."""

import json

import pytest
import vl_convert

from pliant.reporting.charts import (
    charts_of,
    marginal_chart,
    pair_templates,
    panel_chart,
    round_ticks,
)
from pliant.reporting.content import content_of
from report_runs import EVIL

PANEL = {
    "name": "distance",
    "title": "Distances",
    "rounds": [1, 2, 3],
    "lines": [
        {"column": "distance_median", "label": "median D", "values": [3.0, 2.0, None]},
        {"column": "distance_min", "label": "min D", "values": [1.0, 0.5, 0.2]},
    ],
    "error": [0.1, 3.0, None],
    "limit": 0.25,
    "limit_label": "target",
    "positive": True,
}


def test_a_panel_has_band_lines_and_limit():
    band, lines, limit = panel_chart(PANEL)["layer"]
    assert band["data"]["values"] == [
        {"round": 1, "low": 2.9, "high": 3.1}
    ]  # the other is negative
    assert len(lines["data"]["values"]) == 5
    assert lines["encoding"]["y"]["scale"] == {"type": "log"}
    assert lines["encoding"]["y"]["axis"]["gridOpacity"]["value"] < 1  # between powers of ten
    assert limit["data"]["values"][0]["value"] == 0.25
    plain = panel_chart({**PANEL, "error": None, "limit": None, "positive": False, "name": "kl"})
    assert len(plain["layer"]) == 1
    assert plain["layer"][0]["encoding"]["y"]["scale"] == {"zero": True}


def test_ticks_stand_at_rounds():
    assert round_ticks([1, 2, 3]) == [1, 2, 3]
    assert round_ticks(list(range(1, 21))) == [1, 4, 7, 10, 13, 16, 19]


def test_a_marginal_shows_what_there_is():
    bins = {"edges": [0.0, 1.0, 2.0], "heights": [0.5, 1.0]}
    chart = marginal_chart({"kinds": {"posterior": bins}, "truth": None})
    assert len(chart["layer"]) == 1
    all_of_it = {"posterior": bins, "prior": bins, "reference": bins}
    layers = marginal_chart({"kinds": all_of_it, "truth": 1.5})["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["line", "line", "bar", "rule"]


@pytest.mark.training
def test_vega_lite_compiles_every_chart(run):
    charts = charts_of(content_of(run.subject))
    assert {"marginal-0", "history-bandwidth"} <= set(charts)
    for spec in charts.values():
        assert vl_convert.vegalite_to_vega(json.dumps(spec))["marks"]


@pytest.mark.training
def test_a_name_is_never_a_field(runs):
    """Names stand in titles of axes, which the page fills in, and not in the specifications."""
    text = json.dumps(charts_of(content_of(runs["cut_short"].subject)))
    assert json.dumps(EVIL)[1:-1] not in text


def test_templates_have_places_for_any_two_parameters():
    text = json.dumps(pair_templates())
    for place in ("@x", "@y", "@x-title", "@y-title", "@tips"):
        assert f'"{place}"' in text
