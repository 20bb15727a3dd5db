import sys

import numpy as np
import pytest

from pliant.run.history import COLUMNS, History

ROWS = [
    {"round": 1, "ess": 10.4, "kl": 0.5, "simulations": 1000, "eta": None},
    {"round": 2, "ess": float("nan"), "simulations": 2000, "eta": None, "extra": 1e-9},
]


def test_rows_columns_and_slices():
    history = History(ROWS)
    assert len(history) == 2
    assert history[-1]["round"] == 2
    assert [row["round"] for row in history] == [1, 2]
    assert history.columns == ("round", "ess", "kl", "simulations", "eta", "extra")
    assert history[1:][0] == history[1]
    assert len(history[:0]) == 0
    np.testing.assert_array_equal(history["simulations"], [1000, 2000])
    assert history["simulations"].dtype.kind == "i"


def test_what_is_missing_is_nan_in_a_column():
    history = History(ROWS)
    np.testing.assert_array_equal(history["kl"], [0.5, np.nan])
    np.testing.assert_array_equal(history["eta"], [np.nan, np.nan])
    np.testing.assert_array_equal(history["extra"], [np.nan, 1e-9])
    assert history["eta"].dtype.kind == "f"


def test_an_unknown_column_names_the_known_ones():
    with pytest.raises(KeyError, match=r"expected one of \['round', .*\], got 'essence'"):
        History(ROWS)["essence"]
    with pytest.raises(IndexError):
        History(ROWS)[2]


def test_a_history_keeps_its_own_rows():
    rows = [dict(ROWS[0])]
    history = History(rows)
    rows[0]["round"] = 99
    rows.append({})
    row = {"round": 2}
    history.append(row)
    row["round"] = 98
    np.testing.assert_array_equal(history["round"], [1, 2])


def test_the_table_in_text():
    lines = str(History(ROWS)).splitlines()
    assert [line.split() for line in lines] == [
        ["round", "ess", "kl", "simulations", "extra"],  # eta has no value in any round
        ["1", "10", "0.500", "1,000", "-"],
        ["2", "-", "-", "2,000", "1e-09"],
    ]
    assert len({len(line) for line in lines}) == 1
    assert repr(History(ROWS)) == "History(2 rounds of round, ess, kl, simulations, eta, extra)"
    assert repr(History()) == "History(0 rounds of nothing)"
    assert str(History()) == ""


def test_every_column_is_described():
    for name, column in COLUMNS.items():
        assert column.label
        assert f"``{name}``: {column.meaning}." in (History.__doc__ or "")
        assert column.format(2) not in ("", "-")
        assert column.format(None) == column.format(float("nan")) == "-"


def test_the_table_in_pandas(monkeypatch):
    frame = History(ROWS).to_pandas()
    assert list(frame.index) == [1, 2]
    assert list(frame.columns) == ["ess", "kl", "simulations", "eta", "extra"]
    assert frame["simulations"].tolist() == [1000, 2000]
    assert frame["ess"].isna().tolist() == [False, True]
    assert len(History().to_pandas()) == 0
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        History(ROWS).to_pandas()
