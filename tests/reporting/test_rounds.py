"""Panels and the table of a history."""

import pliant
from pliant.reporting.rounds import PANELS, history_panels, history_table
from pliant.run.history import COLUMNS, History

ROWS = [
    {"round": 1, "bandwidth": 4.0, "eta": 1.0, "kl": 1.0, "distance_median": 2.0},
    {"round": 2, "bandwidth": 2.0, "eta": 0.0, "kl": None, "distance_median": 1.0},
]


def test_a_panel_has_lines_limits_and_errors():
    rows = [{**row, "distance_se": 0.1, "distance_min": -0.1} for row in ROWS]
    method = pliant.PLI(schedule=pliant.TrustRegion(epsilon=0.5))
    panels = {p["name"]: p for p in history_panels(History(rows), method)}
    assert list(panels) == ["bandwidth", "kl", "distance"]
    assert panels["bandwidth"]["limit"] == 2.0
    assert panels["kl"]["limit"] == 0.5
    assert panels["kl"]["lines"][0]["values"] == [1.0, None]
    assert panels["distance"]["error"] == [0.1, 0.1]
    assert [line["column"] for line in panels["distance"]["lines"]] == [
        "distance_median",
        "distance_min",
    ]
    assert not panels["distance"]["positive"]
    assert panels["bandwidth"]["positive"]


def test_columns_of_a_method_of_ones_own_are_in_the_table():
    table = history_table(History([{"round": 1, "mood": "good"}]))
    assert table["heads"] == ["round", "mood"]
    assert table["cells"] == [["1", "good"]]
    assert history_panels(History([{"round": 1, "bandwidth": "wide"}]), None) == []


def test_every_panel_shows_columns_of_the_history():
    for panel in PANELS.values():
        assert set(panel.columns) <= set(COLUMNS)
        assert panel.error in ("", *COLUMNS)


def test_no_rounds_are_no_panels():
    assert history_panels(History(), None) == []
