"""The checks of a grid file's values; ``test_grid.py`` has the messages of whole files."""

import pytest

from pliant.cli.grid_values import GridError, Place, boolean, each, integer, name_of, table

PLACE = Place("grid.toml") / "methods" / "PLI"


def test_a_place_is_the_file_and_the_keys():
    assert str(Place("grid.toml")) == "grid.toml"
    assert str(PLACE / "rounds") == "grid.toml: methods.PLI.rounds"
    assert str(PLACE) == "grid.toml: methods.PLI"  # unchanged
    error = PLACE.error("a table", [1], " Hint.")
    assert str(error) == "grid.toml: methods.PLI: expected a table, got [1]. Hint."


@pytest.mark.parametrize(
    ("check", "value"),
    [(integer(1), 0), (integer(0), True), (integer(0), 1.0), (boolean, 1), (name_of("ab"), "c")],
)
def test_other_values_are_refused(check, value):
    with pytest.raises(GridError, match=r"^grid\.toml: methods\.PLI: expected .* got "):
        check(PLACE, value)


def test_one_value_is_a_list_of_one():
    check = each(integer(1))
    assert check(PLACE, 3) == [3]
    assert check(PLACE, [3, 1]) == [3, 1]
    with pytest.raises(GridError, match="every value once"):
        check(PLACE, [3, 3])
    with pytest.raises(GridError, match="at least 1, got 0"):
        check(PLACE, [3, 0])


def test_a_table_has_the_needed_keys_and_only_checked_ones():
    checks = {"rounds": integer(1), "seeds": each(integer(0))}
    assert table(PLACE, {"seeds": 3}, checks, needed=["seeds"]) == {"seeds": [3]}
    assert table(PLACE, {"anything": 3}) == {"anything": 3}
    with pytest.raises(GridError, match="the key 'seeds' is missing"):
        table(PLACE, {"rounds": 3}, checks, needed=["seeds"])
    with pytest.raises(GridError, match=r"PLI\.round: .* rounds, seeds \(pli\).* mean 'rounds'"):
        table(PLACE, {"round": 3}, checks, of=" (pli)")
    with pytest.raises(GridError, match="expected a table, got 3"):
        table(PLACE, 3, checks)
