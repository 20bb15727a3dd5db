from pliant.bench.drawings.style import WIDTH, line_style, method_handles, width_of


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


def test_a_figure_is_no_wider_than_the_text():
    assert width_of(1) < width_of(4) == 1.2 + 1.4 * 4
    assert width_of(5) == width_of(9) == WIDTH
