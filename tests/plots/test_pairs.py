import io

import numpy as np
import pytest
from matplotlib.colors import to_hex

from pliant.plots.pairs import plot_pairs
from pliant.plots.style import BLUE, VERMILLION

N = 4000


def gaussian(columns, *, mean=0.0, sd=1.0, seed=0):
    return mean + sd * np.random.default_rng(seed).standard_normal((N, columns))


def panel(figure, row, column):
    """The axes of a corner plot are created row by row, up to the diagonal."""
    return figure.axes[row * (row + 1) // 2 + column]


def test_corner_has_labels_at_its_edges_and_one_column_an_entry():
    figure = plot_pairs({"mu": gaussian(1)[:, 0], "theta": gaussian(2)})
    assert len(figure.axes) == 6
    assert [panel(figure, 2, c).get_xlabel() for c in range(3)] == ["mu", "theta[0]", "theta[1]"]
    assert [panel(figure, r, 0).get_ylabel() for r in (1, 2)] == ["theta[0]", "theta[1]"]
    assert panel(figure, 1, 1).get_ylabel() == ""
    assert panel(figure, 1, 0).get_xlabel() == ""


NAMES = {
    r"$\foo$": r"\$\foo\$",
    "a_b$c": r"a_b\$c",
    "$a_b": r"\$a_b",
    "$^{$": r"\$^{\$",
    r"$\sigma^2$": r"$\sigma^2$",
    "$$": r"\$\$",
    "<script>": "<script>",
    r"\alpha_{": r"\alpha_{",
    "long" * 50: "long" * 5 + "lon…",
    "$" * 200: r"\$" * 23 + "…",
}


def test_names_of_any_characters_can_be_drawn():
    table = gaussian(len(NAMES))
    figure = plot_pairs(dict(zip(NAMES, table.T, strict=True)), title=r"$\bar")
    figure.savefig(io.BytesIO())  # matplotlib reads formulas when it draws
    last = len(NAMES) - 1
    shown = [panel(figure, last, column).get_xlabel() for column in range(len(NAMES))]
    assert shown == list(NAMES.values())


def test_limits_hold_99_percent_of_both_and_the_truth():
    posterior, reference = gaussian(2), gaussian(2, mean=3.0, sd=0.1, seed=1)
    figure = plot_pairs(
        {"theta": posterior}, reference={"theta": reference}, truth={"theta": [9.0, 0.0]}
    )
    low, high = panel(figure, 1, 0).get_xlim()
    assert low < np.quantile(posterior[:, 0], 0.005) < np.quantile(reference[:, 0], 0.995)
    assert 9.0 < high < 11.0
    low, high = panel(figure, 1, 0).get_ylim()
    assert low < -2.4  # 0.5 % of a standard normal is at -2.58
    assert 3.2 < high < 4.0  # 99.5 % of N(3, 0.1) is 3.26, and then the margin
    assert panel(figure, 0, 0).get_xlim() == panel(figure, 1, 0).get_xlim()
    marker = panel(figure, 1, 0).lines[0]
    assert (marker.get_xdata()[0], marker.get_ydata()[0]) == (9.0, 0.0)


def test_the_far_outlier_does_not_set_the_range():
    samples = gaussian(1)
    samples[0] = 1e6
    assert panel(plot_pairs({"x": samples}), 0, 0).get_xlim()[1] < 5


def test_names_choose_and_order_the_parameters():
    samples = {"a": gaussian(1)[:, 0], "b": gaussian(1)[:, 0], "c": gaussian(1)[:, 0]}
    figure = plot_pairs(samples, truth={"a": 1.0, "b": 0.0, "c": 2.0}, names=["c", "a"])
    assert [panel(figure, 1, c).get_xlabel() for c in range(2)] == ["c", "a"]
    assert panel(figure, 1, 1).lines[-1].get_xdata()[0] == 1.0


def test_reference_may_have_its_names_in_another_order():
    samples = {"a": gaussian(1)[:, 0], "b": gaussian(1, mean=50)[:, 0]}
    figure = plot_pairs(samples, reference={"b": samples["b"], "a": samples["a"]})
    assert panel(figure, 1, 0).get_xlim()[1] < 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": {"b": np.zeros((5, 2))}}, r"reference: expected the parameters \['a'\]"),
        ({"reference": {"a": np.zeros((5, 3))}}, r"reference: expected the columns"),
        ({"truth": {"a": [1.0]}}, r"truth: expected the columns"),
        ({"names": ["z"]}, r"samples: expected the parameters \['z'\], got \['a'\]"),
        ({"names": []}, r"samples: expected the parameters"),
    ],
)
def test_mismatched_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        plot_pairs({"a": gaussian(2)}, **options)


def test_twelve_columns_are_drawn_and_the_title_says_so():
    figure = plot_pairs({"theta": gaussian(15)[:300]}, title="wide")
    assert len(figure.axes) == 12 * 13 // 2
    assert figure.get_suptitle() == "wide; the first 12 of 15 parameters"


def test_samples_that_are_not_finite_are_left_out_and_counted():
    samples = gaussian(2)
    samples[:3, 0] = np.inf
    figure = plot_pairs({"x": samples})
    assert figure.get_suptitle() == "3 of 4,000 samples are not finite and left out"
    with pytest.raises(ValueError, match="none of them is finite"):
        plot_pairs({"x": np.full(5, np.nan)})


def test_one_parameter_is_one_panel_with_a_legend():
    exact = {"reference": {"mu": gaussian(1, seed=1)[:, 0]}, "reference_name": "exact"}
    figure = plot_pairs({"mu": gaussian(1)[:, 0]}, truth={"mu": 0.5}, **exact)
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["posterior", "exact", "truth"]
    colours = [to_hex(line.get_color()).upper() for line in axes.lines[:2]]
    assert colours == [BLUE, VERMILLION]


def test_a_peak_that_towers_over_the_other_is_cut():
    wide, narrow = gaussian(1), gaussian(1, sd=0.01, seed=1)
    for samples, reference in [(wide, narrow), (narrow, wide)]:
        figure = plot_pairs({"x": samples}, reference={"x": reference})
        top = panel(figure, 0, 0).get_ylim()[1]
        assert top == pytest.approx(5 * 0.4 * 1.06, rel=0.1)  # N(0, 1) has its peak at 0.4


def test_a_parameter_that_never_moves_is_drawn():
    figure = plot_pairs({"x": np.full(100, 3.0), "y": gaussian(1)[:100, 0]})
    low, high = panel(figure, 0, 0).get_xlim()
    assert low < 3.0 < high
    figure.canvas.draw()


def test_figure_can_be_written(tmp_path):
    samples = {"theta": gaussian(5)}
    figure = plot_pairs(samples, reference=samples, truth={"theta": np.zeros(5)})
    figure.savefig(tmp_path / "pairs.png")
    assert (tmp_path / "pairs.png").read_bytes().startswith(b"\x89PNG")
