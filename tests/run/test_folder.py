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


def test_only_what_a_run_wrote_is_removed(tmp_path):
    layout.round_file(tmp_path, 1).parent.mkdir()
    layout.ledger_folder(tmp_path, 1).mkdir(parents=True)
    layout.ledger_file(layout.ledger_folder(tmp_path, 1), 1).touch()
    for name in (layout.RUN, layout.RESULT, layout.POSTERIOR, layout.HISTORY, "notes.txt"):
        (tmp_path / name).touch()
    assert layout.holds_run(tmp_path)
    assert layout.holds_result(tmp_path)
    layout.remove_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("data", [{}, {"format": 1}, {"format": "2"}, {"format": None}])
def test_another_format_is_refused(data, tmp_path):
    layout.check_format(tmp_path / "run.json", {"format": layout.FORMAT})
    with pytest.raises(ValueError, match=r"run\.json: its format is .*Read it with the version"):
        layout.check_format(tmp_path / "run.json", data)
