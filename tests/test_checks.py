from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant._checks import (
    check_instance,
    check_integer,
    check_numbers,
    check_real,
    check_seed,
    error_text,
    shape_text,
)


@pytest.mark.parametrize("value", [1, 7, np.int32(5), np.uint8(200), 2**70])
def test_integers_are_returned_as_int(value):
    found = check_integer("n", value, at_least=1)
    assert found == value
    assert type(found) is int


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "n: expected an integer of at least 1, got 0."),
        (np.int64(-3), ValueError, "n: expected an integer of at least 1, got -3."),
        (1.0, TypeError, "n: expected an integer, got 1.0 (float)."),
        (True, TypeError, "n: expected an integer, got True (bool)."),
        (np.True_, TypeError, "n: expected an integer, got np.True_ (bool)."),
        ("1", TypeError, "n: expected an integer, got '1' (str)."),
        (None, TypeError, "n: expected an integer, got None (NoneType)."),
    ],
)
def test_what_is_no_such_integer_is_refused(value, error, message):
    with pytest.raises(error) as caught:
        check_integer("n", value, at_least=1)
    assert str(caught.value) == message


def test_seeds_that_jax_would_shorten_are_refused():
    assert check_seed("seed", 2**32 - 1) == 2**32 - 1
    # The reason for the check: without 64 bits, two seeds give one key.
    shortened = jax.random.key_data(jax.random.key(2**32 + 5))
    assert jnp.array_equal(shortened, jax.random.key_data(jax.random.key(5)))
    for seed in (-1, 2**32, 2**70):
        with pytest.raises(ValueError, match="seed: expected an integer"):
            check_seed("seed", seed)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2)])
def test_reals_are_returned_as_float(value):
    found = check_real("beta", value, above=0, below=1)
    assert found == 0.5
    assert type(found) is float


@pytest.mark.parametrize("value", [0, 0.0, 1, 1.5, -1, np.nan, np.inf, -np.inf, 10**400])
def test_reals_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="beta: expected a finite number and above 0 and below 1"):
        check_real("beta", value, above=0, below=1)


@pytest.mark.parametrize("value", ["0.5", None, 0.5j, [0.5], True, np.array([0.5])])
def test_what_is_no_real_is_refused(value):
    with pytest.raises(TypeError, match="beta: expected a number, got"):
        check_real("beta", value)


@pytest.mark.parametrize("value", [3, 1.5, True, [1, 2], np.zeros((2, 0)), jnp.ones(3), np.nan])
def test_numbers_are_returned_as_an_array(value):
    np.testing.assert_array_equal(check_numbers("x", value), np.asarray(value))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("1", TypeError, "x: expected real numbers, got the type <U1"),
        (None, TypeError, "x: expected real numbers, got the type object"),
        ([1j], TypeError, "x: expected real numbers, got the type complex128"),
        ([1, "a"], TypeError, "x: expected real numbers"),
        (np.array([1.0], dtype=object), TypeError, "x: expected real numbers, got the type object"),
        (np.array("2020", dtype="datetime64"), TypeError, "x: expected real numbers"),
        (jax.random.key(0), TypeError, "x: expected real numbers"),
        ([[1, 2], [3]], ValueError, "x: expected an array, got a ragged sequence"),
        (np.ma.masked_array([1.0, 2.0], mask=[0, 1]), ValueError, "x: .* masked .*impute"),
    ],
)
def test_what_is_not_numbers_is_refused(value, error, message):
    with pytest.raises(error, match=message):
        check_numbers("x", value)


def test_instances_and_classes_are_told_apart():
    check_instance("kind", 3, int, "3")
    with pytest.raises(TypeError, match="kind: expected something like 3, got 'three'"):
        check_instance("kind", "three", int, "3")
    with pytest.raises(TypeError, match="kind: expected something like 3, got the class float"):
        check_instance("kind", float, int, "3")


@pytest.mark.parametrize(("event", "text"), [((), "(N,)"), ((2,), "(N, 2)"), ((2, 3), "(N, 2, 3)")])
def test_the_shape_of_many_events(event, text):
    assert shape_text("N", event) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no\nmore"), "ValueError: no"),
        (ValueError("\n  no"), "ValueError: no"),
        (AssertionError(), "AssertionError"),
        (KeyError("mu"), "KeyError: 'mu'"),
    ],
)
def test_an_error_without_a_message_is_its_kind(error, text):
    assert error_text(error) == text
