import numpy as np
import pytest

from pliant.plots.style import NUMBERS, new_figure, short_ticks


@pytest.mark.parametrize(
    "limits",
    [
        (-1.1, 1.1),
        (0.5824, 0.6177),
        (1.39, 1.63),
        (1.1e-7, 1.3e-7),
        (-2e6, 5e6),
        (1000.001, 1000.01),
    ],
)
@pytest.mark.parametrize("most", [3, 7])
def test_tick_labels_are_the_numbers_they_stand_at(limits, most):
    ticks, labels = short_ticks(*limits, most=most)
    assert 2 <= len(ticks) <= 9
    read = [float(label.replace("\N{MINUS SIGN}", "-")) for label in labels]
    np.testing.assert_allclose(read, ticks, rtol=1e-9, atol=1e-9 * (limits[1] - limits[0]))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (0.03, "0.03"),
        (0.001, "0.001"),
        (-2000.0, "\N{MINUS SIGN}2000"),
        (1e4, "$10^{4}$"),
        (1e-5, "$10^{-5}$"),
        (3e-4, r"$3\cdot10^{-4}$"),
        (-5e-6, "\N{MINUS SIGN}" + r"$5\cdot10^{-6}$"),
    ],
)
def test_far_numbers_are_powers_of_ten(number, text):
    assert NUMBERS(number) == text


def test_a_notebook_shows_a_figure_without_pyplot():
    png = new_figure(1.0, 1.0)._repr_png_()  # pyright: ignore[reportAttributeAccessIssue]
    assert png.startswith(b"\x89PNG")
