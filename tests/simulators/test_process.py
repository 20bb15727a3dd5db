"""One run of a program: its words, its output in each format, and its end."""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from pliant.simulators.process import CommandCall, CommandError, filled, placeholders
from pliant.simulators.worker import OutOfTimeError

WORDS = np.array([2**40, 2, 3, 4], np.uint64)


def python(code, read="json", timeout=None, event=(2,)):
    return CommandCall((sys.executable, "-c", code), read, timeout, event)


def test_words_are_filled_with_exact_numbers():
    values = {"mu": 0.1, "a": [1.0, 2.5], "seed": 7}
    assert filled("--mu={mu},{a};{seed}", values) == "--mu=0.1,1.0,2.5;7"
    assert filled("{other}", values) == "{other}"
    assert filled('{"a/b": {a/b}}', {"a/b": 2.0}) == '{"a/b": 2.0}'
    assert placeholders(("{mu}", "x{a}{mu}", "{}")) == {"mu", "a"}


WRITE = "import numpy; numpy.save('x.npy', numpy.ones(2))"


@pytest.mark.parametrize(
    ("code", "read", "expected"),
    [
        ("print('[1, 2.5]')", "json", [1, 2.5]),
        ("print('1;2.5')", "csv", [1, 2.5]),
        (WRITE, "x.npy", [1, 1]),
        ("print(3)", lambda folder: [float((folder / "stdout").read_text()), 0], [3, 0]),
    ],
)
def test_output_is_read_in_each_format(code, read, expected):
    np.testing.assert_array_equal(python(code, read)(WORDS, {"mu": 0.0}), expected)


def test_parameters_and_the_seed_lie_beside_the_program():
    code = "import json; p = json.load(open('parameters.json')); print([p['mu'], p['seed']])"
    assert python(code)(WORDS, {"mu": 0.25}).tolist() == [0.25, 2**40 >> 33]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('no root')", "(?s)ended with code 1.*no root"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("print('text')", "standard output could not be read"),
    ],
)
def test_a_failure_says_what_happened(code, message):
    with pytest.raises(CommandError, match=message):
        python(code)(WORDS, {"mu": 0.0})


def scratch():
    return {path.name for path in Path(tempfile.gettempdir()).glob("pliant-*")}


@pytest.mark.parametrize("detached", [False, True])
def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path, detached):
    mark = tmp_path / "alive"
    child = f"import time; time.sleep(3); open({json.dumps(str(mark))}, 'w')"
    options = f"start_new_session={detached}, cwd={'/' if detached else '.'!r}"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], {options})"
    with pytest.raises(OutOfTimeError, match="longer than 1 s"):
        python(code, timeout=1.0)(WORDS, {"mu": 0.0})
    time.sleep(4)
    assert not mark.exists()


def test_the_scratch_folder_is_removed():
    before = scratch()
    python("print('[1, 2]')")(WORDS, {"mu": 0.0})
    with pytest.raises(CommandError):
        python("raise SystemExit(3)")(WORDS, {"mu": 0.0})
    assert scratch() <= before
