import io

import pytest

from pliant.bench.drawings.style import (
    WIDTH,
    evenly_spaced,
    legend_above,
    line_style,
    method_handles,
    ordered_methods,
    ordered_tasks,
    region_handles,
    symbol,
    width_of,
)
from pliant.plots.style import BLUE, new_figure


def test_colours_of_methods_that_pliant_does_not_know_differ():
    mine = ["mine", "PLI-MMD", "yours"]
    assert len({line_style(method, mine)["color"] for method in mine}) == 3


def test_known_methods_keep_their_style_whoever_they_are_compared_with():
    assert line_style("APT", ["mine", "APT"]) == line_style("APT", ["APT"])
    many = [f"mine {index}" for index in range(4)]
    assert line_style(many[3], many) == line_style(many[0], many)  # three spare styles


def test_a_legend_has_every_method_once_in_its_colour():
    handles = method_handles(["PLI-MMD", "mine"], marker="")
    assert [handle.get_label() for handle in handles] == ["PLI-MMD", "mine"]
    assert handles[0].get_color() == line_style("PLI-MMD", [])["color"]
    assert all(handle.get_marker() == "" for handle in handles)


def test_the_six_methods_of_the_grids_have_six_colours_and_markers():
    six = ["PLI-MMD", "PLI-W", "PMC-ABC-MMD", "PMC-ABC-W", "APT", "PLI"]
    for part in ("color", "marker"):
        assert len({line_style(method, ["mine", *six])[part] for method in ["mine", *six]}) == 7
    assert line_style("PLI", ["mine", "PLI"]) == line_style("PLI", ["PLI"])
    assert ordered_methods(["PLI", *six[:5]]) == six
    assert [handle.get_label() for handle in method_handles(six)] == [*six[:5], "PLI (default)"]


def test_tasks_and_methods_stand_in_the_papers_order():
    some = ["furuta", "mine", "slcp", "gaussian_location", "slcp", "yours"]
    assert ordered_tasks(some) == ["gaussian_location", "slcp", "furuta", "mine", "yours"]
    assert ordered_methods(["mine", "APT", "PLI-MMD"]) == ["PLI-MMD", "APT", "mine"]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("theta[2]", r"$\theta_{3}$"),
        ("theta", r"$\theta$"),
        ("m_p", "$m_{p}$"),
        ("g", "$g$"),
        ("rate[0,1]", r"$\mathrm{rate}_{1,2}$"),
        ("a$b", r"a\$b"),
        ("100 %", "100 %"),
    ],
)
def test_columns_are_written_as_in_the_paper(label, text):
    assert symbol(label) == text


def test_rounds_are_spread_out_from_the_first_to_the_last():
    assert evenly_spaced(range(1, 21), 4) == [1, 7, 14, 20]
    assert evenly_spaced([2, 5], 4) == [2, 5]
    assert evenly_spaced([7], 3) == [7]


@pytest.mark.parametrize(("n", "columns"), [(5, 5), (7, 7), (8, 4)])
def test_a_long_legend_takes_two_lines(n, columns):
    figure = new_figure(WIDTH, 2)
    legend_above(figure, method_handles([f"m{i}" for i in range(n)]), "title")
    assert figure.legends[0]._ncols == columns  # pyright: ignore[reportAttributeAccessIssue]
    assert figure.legends[0].get_title().get_text() == "title"


def test_a_label_of_any_characters_can_be_drawn():
    figure = new_figure(WIDTH, 2)
    legend_above(figure, method_handles([r"$\foo$", "a_b$c", "<script>"]))
    figure.savefig(io.BytesIO())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *(r"\$\foo\$", r"a_b\$c", "<script>")
    ]


def test_regions_are_named_once():
    labels = [handle.get_label() for handle in region_handles(BLUE, "PLI")]
    assert labels == ["PLI: 50 %", "90 %"]


def test_a_figure_is_no_wider_than_the_text():
    assert width_of(1) < width_of(4) == 1.2 + 1.4 * 4
    assert width_of(5) == width_of(9) == WIDTH
