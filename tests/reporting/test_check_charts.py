"""Charts of a diagnosis."""

import json

import pytest
import vl_convert

from pliant.reporting.check_charts import (
    check_charts_of,
    coverage_chart,
    observations_chart,
    ranks_chart,
    statistics_chart,
)
from pliant.reporting.content import content_of


def test_far_statistics_stand_at_the_edge():
    rows = [
        {"name": "<b>", "observed": 1.0, "low": 0.0, "high": 0.5, "deviation": 40.0},
        {"name": "mean", "observed": 1.0, "low": 0.0, "high": 2.0, "deviation": 0.1},
        {"name": "none", "observed": None, "low": None, "high": None, "deviation": None},
    ]
    values = statistics_chart({"rows": rows})["layer"][1]["data"]["values"]
    assert [(v["drawn"], v["far"]) for v in values] == [(12.0, True), (0.1, False)]


def test_p_values_of_zero_can_be_drawn():
    points = [
        {"index": 3, "expected": 0.1, "p_value": 0.0, "accused": True},
        {"index": 1, "expected": 0.9, "p_value": 0.8, "accused": False},
    ]
    values = observations_chart({"points": points})["layer"][1]["data"]["values"]
    assert [(v["drawn"], v["told"]) for v in values] == [(1e-12, True), (0.8, False)]


CALIBRATION = {
    "grid": [0.0, 0.5, 1.0],
    "band": [[0.0, -0.1, 0.0], [0.0, 0.1, 0.0]],
    "lines": [{"name": "a", "outside": True, "values": [0.0, 0.2, 0.0]}],
    "levels": [0.5, 0.9],
    "rows": [{"name": "a", "coverage": [[0.4, 0.3, 0.5], [None, 0.8, 1.0]]}],
}


def test_ranks_and_coverage():
    band, lines = ranks_chart(CALIBRATION)["layer"]
    assert band["data"]["values"][1] == {"rank": 0.5, "low": -0.1, "high": 0.1}
    assert [row["value"] for row in lines["data"]["values"]] == [0.0, 0.2, 0.0]
    wanted, _, points = coverage_chart(CALIBRATION)["layer"]
    assert [row["share"] for row in wanted["data"]["values"]] == [0.5, 0.9]
    assert [row["share"] for row in points["data"]["values"]] == [0.4]


@pytest.mark.training
def test_vega_lite_compiles_every_chart(run):
    charts = check_charts_of(content_of(run.subject)["checks"])
    compared = {"statistics", "observations"} if run.kind != "failed" else set()
    learned = {"ranks", "coverage"} if run.kind in ("converged", "multimodal") else set()
    assert set(charts) == compared | learned
    for spec in charts.values():
        assert vl_convert.vegalite_to_vega(json.dumps(spec))["marks"]


def test_without_a_diagnosis_there_are_none():
    assert check_charts_of(None) == {}
