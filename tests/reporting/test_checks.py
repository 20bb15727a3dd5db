"""The numbers of a diagnosis, and what is no diagnosis."""

import copy
import json

import numpy as np
import pytest

import pliant
from pliant.reporting.checks import MOST_OBSERVATIONS, checks_of


@pytest.fixture(scope="module")
def data(exact):
    found = pliant.diagnose(exact.result, exact.problem, progress=lambda text: None)
    return json.loads(json.dumps(found.as_dict()))


@pytest.fixture(scope="module")
def exact():
    from known_posteriors import known

    return known()


def test_statistics_are_ranked_by_their_deviation(data):
    rows = checks_of(data)["predictive"]["rows"]
    sizes = [abs(row["deviation"]) for row in rows]
    assert sizes == sorted(map(abs, data["predictive"]["deviation"]), reverse=True)[: len(rows)]
    names = data["predictive"]["names"]
    assert rows[0]["observed"] == data["predictive"]["observed"][names.index(rows[0]["name"])]
    covered = checks_of(data)["predictive"]["covered"]
    assert [[row["half"], row["most"]] for row in covered] == data["predictive"]["covered"]


def test_observations_are_ranked_and_say_what_they_move(data):
    found = checks_of(data)["observations"]
    rows, table = found["rows"], data["observations"]
    assert [row["index"] for row in rows] == table["index"]
    assert [row["p_value"] for row in rows] == table["p_value"]
    assert [row["influence"] for row in rows] == table["influence"]
    assert found["accused"] == sum(p < 0.01 for p in table["adjusted"])
    moved = {name: abs(column[0]) for name, column in table["moved"].items()}
    assert rows[0]["parameter"] == max(moved, key=moved.get)
    assert found["points"][-1]["expected"] == pytest.approx(1 - 0.5 / len(rows))


def test_ranks_become_differences_of_ecdfs(data):
    found, table = checks_of(data)["calibration"], data["calibration"]
    ranks = np.array(table["ranks"])
    line = found["lines"][0]
    column = ranks[:, table["names"].index(line["name"])]
    expected = [np.mean(column <= x) - x for x in found["grid"]]
    np.testing.assert_allclose(line["values"], expected, atol=1e-5)
    for row, shift, width in zip(found["rows"], table["shift"], table["width"], strict=True):
        assert (row["shift"], row["width"]) == (shift, width)
    np.testing.assert_allclose([row["coverage"] for row in found["rows"]], table["coverage"])


def test_many_observations_are_cut(data):
    many = copy.deepcopy(data)
    n = 5000
    many["observations"] = {
        "index": list(range(n)),
        **{name: [0.5] * n for name in ("p_value", "adjusted", "influence")},
        "moved": {"mu": [None] * n},
    }
    found = checks_of(many)["observations"]
    assert (found["n"], len(found["rows"])) == (n, MOST_OBSERVATIONS)
    assert len(found["points"]) <= 400
    assert found["rows"][0]["parameter"] == ""


def damaged(data, *path, value):
    wrong = copy.deepcopy(data)
    part = wrong
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return wrong


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "fine"),
        (("findings",), "none"),
        (("findings", 0, "text"), 3),
        (("findings", 0, "level"), "<script>"),
        (("findings", 0, "number"), "1"),
        (("predictive", "names", 0), None),
        (("predictive", "observed"), [1.0]),
        (("predictive", "low", 0), "0"),
        (("observations", "p_value"), [[0.5]]),
        (("observations", "index", 0), "x"),
        (("observations", "moved"), []),
        (("calibration", "ranks"), [[0.5], [0.5, 0.1]]),
        (("calibration", "coverage"), 1),
    ],
)
def test_what_is_no_diagnosis_is_refused(data, path, value):
    with pytest.raises(ValueError, match="expected that of pliant"):
        checks_of(damaged(data, *path, value=value))


def test_a_diagnosis_without_tables_has_findings_only():
    bare = {"verdict": "unsound", "findings": [], "observations": None}
    found = checks_of({**bare, "calibration": None, "predictive": None})
    assert found["observations"] is found["calibration"] is found["predictive"] is None
    assert found["meaning"] == "This posterior should not be used as it is."
