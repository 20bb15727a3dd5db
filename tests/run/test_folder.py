import pytest

from pliant.run import folder as layout


def test_files_of_rounds_are_found_by_their_numbers(tmp_path):
    paths = [layout.round_file(tmp_path, index) for index in (2, 10, 1000)]
    paths[0].parent.mkdir()
    for path in (*paths, paths[0].with_name(".003.npz.unfinished-1"), paths[0].with_name("a.npz")):
        path.touch()
    found = layout.numbered(tmp_path / layout.ROUNDS)
    assert list(found.items()) == list(zip((2, 10, 1000), paths, strict=True))
    assert layout.numbered(tmp_path / "absent") == {}


@pytest.mark.parametrize("data", [{}, {"format": 1}, {"format": "2"}, {"format": None}])
def test_another_format_is_refused(data, tmp_path):
    layout.check_format(tmp_path / "run.json", {"format": layout.FORMAT})
    with pytest.raises(ValueError, match=r"run\.json: its format is .*Read it with the .*version"):
        layout.check_format(tmp_path / "run.json", data)
