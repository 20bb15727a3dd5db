import numpy as np
import pytest

from pliant.problem.observations import read_conditions, read_observations

NAN = np.nan


def test_a_dict_of_arrays_becomes_one_array():
    found = read_observations({"choice": np.array([True, False]), "rt": [[0.5], [1.5]]}, False)
    np.testing.assert_array_equal(found.x, [[1.0, 0.5], [0.0, 1.5]])
    assert found.layout.names == ("choice", "rt")
    assert found.seen is None


def test_gaps_are_filled_with_the_mean_of_the_others():
    found = read_observations([[1.0, NAN], [3.0, 5.0], [NAN, 7.0]], True)
    np.testing.assert_array_equal(found.seen, [[True, False], [True, True], [False, True]])
    np.testing.assert_array_equal(found.x, [[1.0, 6.0], [3.0, 5.0], [2.0, 7.0]])


def test_sequences_of_unequal_lengths_are_padded():
    found = read_observations([[1.0, 2.0, 3.0], [4.0]], True)
    np.testing.assert_array_equal(found.seen, [[True, True, True], [True, False, False]])
    assert found.x.shape == (2, 3)
    points = read_observations([np.ones((2, 2)), np.zeros((1, 2))], True)
    assert points.x.shape == (2, 2, 2)
    np.testing.assert_array_equal(points.seen[1], [[True, True], [False, False]])


def test_a_simulator_may_leave_whole_observations_out():
    found = read_observations([[NAN], [1.0]], "simulated")
    np.testing.assert_array_equal(found.seen, [[False], [True]])
    np.testing.assert_array_equal(found.x, [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("observed", "missing", "words"),
    [
        ([1.0, NAN], False, "number 1"),
        ([1.0, NAN], False, "missing=True"),
        ([[1.0, np.inf]], True, "not finite"),
        ([[NAN, NAN], [1.0, 2.0]], True, "observation 0"),
        ([[NAN, NAN], [1.0, 2.0]], True, "simulated"),
        ([[NAN, 1.0], [NAN, 2.0]], True, "feature 0"),
        ([1.0], "yes", "missing: expected False, True"),
        ({}, False, "empty dict"),
        ({"a": [1.0, 2.0], "b": [1.0]}, False, "2 of 'a', 1 of 'b'"),
        ({"a": 1.0}, False, r"observed\['a'\]: .* single number"),
        ({"a": []}, False, "at least one observation"),
        ({1: [1.0]}, False, "names that are strings"),
        ({"a": ["x"]}, False, r"observed\['a'\]: expected real numbers"),
        ([[1.0, 2.0], [3.0]], False, "ragged"),
        ([[[1.0, 2.0]], [[3.0]]], True, "same shape"),
        ([1.0, [2.0, 3.0]], True, "same shape"),
    ],
)
def test_bad_observations_get_one_clear_line(observed, missing, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        read_observations(observed, missing)
    assert "\n" not in str(caught.value)


def test_conditions_are_standardised_and_kept_as_they_are():
    given = {"dose": np.array([1, 2, 3]), "start": np.zeros((3, 2))}
    found = read_conditions(given, 3)
    assert found is not None
    assert found.values["dose"].dtype.kind == "i"
    np.testing.assert_allclose(found.rows[:, 0], np.array([-1, 0, 1]) * 1.5**0.5, rtol=1e-6)
    np.testing.assert_array_equal(found.rows[:, 1:], 0.0)  # constant
    assert read_conditions(None, 3) is None


def test_large_conditions_keep_their_differences():
    """Seconds since 1970 differ by less than single precision can tell."""
    found = read_conditions(1.7e9 + np.arange(4.0), 4)
    assert found is not None
    assert len(np.unique(found.rows)) == 4


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (np.zeros(3), "shape .4, ...."),
        (1.0, "shape .4, ...."),
        ([1.0, NAN, 2.0, 3.0], "nan in row 1"),
        ([1.0, 2.0, np.inf, 3.0], "inf in row 2"),
        ({"dose": np.zeros(3)}, r"conditions\['dose'\]"),
        ({}, "empty dict"),
        ({2: np.zeros(4)}, "names that are strings"),
        (["a", "b", "c", "d"], "real numbers"),
        (np.zeros((4, 0)), "finite numbers"),
    ],
)
def test_bad_conditions_get_one_clear_line(conditions, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        read_conditions(conditions, 4)
    assert "\n" not in str(caught.value)
