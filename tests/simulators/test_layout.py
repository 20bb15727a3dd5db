import jax.numpy as jnp
import numpy as np
import pytest

from pliant.simulators.layout import Layout, LayoutError, layout_of

PAIR = Layout(("choice", "rt"), ((), (2,)))


def test_a_single_array_keeps_its_shape():
    layout = layout_of(np.zeros((5, 3, 2)), lead=1)
    assert layout == Layout(None, ((3, 2),))
    assert layout.event == (3, 2)
    x = np.arange(6.0).reshape(3, 2)
    assert layout.joined(x) is not None
    np.testing.assert_array_equal(layout.joined(x), x)
    np.testing.assert_array_equal(layout.split(x), x)


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_entries_follow_each_other_in_the_order_of_their_names(xp):
    value = {"rt": xp.asarray([[1.0, 2.0], [3.0, 4.0]]), "choice": xp.asarray([7, 8])}
    assert layout_of({"choice": value["choice"], "rt": value["rt"]}, lead=1) == PAIR
    joined = PAIR.joined(value, lead=1, xp=xp)
    np.testing.assert_array_equal(joined, [[7, 1, 2], [8, 3, 4]])
    split = PAIR.split(joined, lead=1)
    assert list(split) == ["choice", "rt"]
    for name in value:
        np.testing.assert_array_equal(split[name], value[name])


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (np.zeros(3), "got ndarray"),
        ({"choice": 1}, "got a dict with 'choice'"),
        ({"choice": 1, "rt": np.zeros(2), "more": 1}, "'more'"),
        ({"choice": 1, "rt": np.zeros(3)}, "'rt' of the shape (3,)"),
        ({}, "no entries"),
    ],
)
def test_another_structure_is_refused_with_both_shown(value, got):
    with pytest.raises(LayoutError) as caught:
        PAIR.joined(value)
    assert "'rt' of the shape (2,)" in str(caught.value)
    assert got in str(caught.value)


def test_a_dict_is_no_single_array():
    with pytest.raises(LayoutError, match="an array of the shape"):
        Layout(None, ((2,),)).joined({"a": np.zeros(2)})
