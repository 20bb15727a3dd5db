import json

import pytest

from pliant.bench.folders import ERROR, METRICS, read_error, state, write_error


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], "waiting"),
        (["run.json"], "begun"),
        (["run.json", ERROR], "failed"),
        (["run.json", ERROR, METRICS], "finished"),
    ],
)
def test_files_tell_the_state_of_a_run(tmp_path, files, expected):
    for name in files:
        (tmp_path / name).write_text("{}")
    assert state(tmp_path) == expected


def test_an_error_is_read_back_in_one_line(tmp_path):
    write_error(tmp_path / "run", "ValueError: no\nluck", "Traceback ...")
    assert read_error(tmp_path / "run") == "ValueError: no luck"
    assert json.loads((tmp_path / "run" / ERROR).read_text())["traceback"] == "Traceback ..."
