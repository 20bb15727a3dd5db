"""The shape of the package: rooms in one order, small files, one name for one class."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import pliant

ROOT = Path(pliant.__file__).parent
LEVELS = (
    {"densities"},
    {"simulators"},
    {"problem"},
    {"discrepancies"},
    {"weighting"},
    {"methods"},
    {"run"},
    {"tasks"},
    {"metrics", "plots"},
    {"diagnosis"},
    {"reporting"},
    {"bench"},
    {"cli"},
)
ROOMS = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
MOST_FLAT, MOST_LINES, MOST_FUNCTION_LINES = 5, 350, 70

UPWARD = {  # figures as methods of what they show: the plots are loaded when they are called
    "run/figures.py imports pliant.plots.pairs",
    "run/figures.py imports pliant.plots.history",
}
LONG_FILES = set()
SHARED_CLASS_NAMES = set()
WITHOUT_READING_ORDER = set()

FILES = {path.relative_to(ROOT).as_posix(): path for path in sorted(ROOT.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}
PACKAGES = sorted(Path(name).parent.as_posix() for name in FILES if name.endswith("/__init__.py"))


def imported(tree):
    """Absolute names of all imported modules, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room"
            if node.module == "pliant":
                yield from (f"pliant.{alias.name}" for alias in node.names)
            else:
                yield node.module


def room_and_level(name):
    """The room of a module and its level: private modules are below all rooms.

    The package itself loads names from all rooms, so only the command line may import it.
    """
    room = name.split(".")[1] if "." in name else ""
    if room.startswith("_"):
        return "_", -1
    return (room, ROOMS[room]) if room in ROOMS else ("", ROOMS["cli"])


def is_upward(importer, module):
    room, level = room_and_level("pliant." + importer.replace("/", "."))
    other, other_level = room_and_level(module)
    return other != room and other_level >= level and not (room == "cli" and other == "")


def test_imports_go_downwards():
    upward = {
        f"{name} imports {module}"
        for name, tree in TREES.items()
        if name != "__init__.py"
        for module in imported(tree)
        if module.split(".")[0] == "pliant" and is_upward(name, module)
    }
    assert upward - UPWARD == set()


@pytest.mark.parametrize(
    ("importer", "module", "upward"),
    [
        ("bench/run.py", "pliant.cli.errors", True),
        ("metrics/table.py", "pliant.plots.pairs", True),
        ("run/infer.py", "pliant", True),
        ("_files.py", "pliant.problem.space", True),
        ("bench/run.py", "pliant.bench.plan", False),
        ("bench/run.py", "pliant.metrics.table", False),
        ("cli/app.py", "pliant", False),
        ("densities/base.py", "pliant._checks", False),
    ],
)
def test_the_direction_of_an_import_is_recognised(importer, module, upward):
    assert is_upward(importer, module) == upward


def test_imports_are_found_wherever_they_stand():
    code = "if TYPE_CHECKING:\n from pliant import tasks\ndef f():\n import pliant.cli.app\n"
    assert set(imported(ast.parse(code))) == {"pliant.tasks", "pliant.cli.app"}


def test_every_module_lies_in_a_room():
    flat = [name for name in FILES if "/" not in name and name != "__init__.py"]
    assert len(flat) <= MOST_FLAT
    assert all(name.startswith("_") for name in flat)
    assert {name.split("/")[0] for name in FILES if "/" in name} <= set(ROOMS)
    folders = {Path(name).parent.as_posix() for name in FILES}
    assert folders - {"."} == set(PACKAGES)


def test_files_and_functions_are_short():
    long_files = {name for name, path in FILES.items() if lines(path) > MOST_LINES}
    assert long_files - LONG_FILES == set()
    functions = {
        f"{name}:{node.name}": node.end_lineno - node.lineno + 1
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {where: n for where, n in functions.items() if n > MOST_FUNCTION_LINES} == {}


@pytest.mark.parametrize("package", [p for p in PACKAGES if p not in WITHOUT_READING_ORDER])
def test_a_room_says_in_which_order_to_read_it(package):
    text = ast.get_docstring(TREES[f"{package}/__init__.py"])
    inside = {path for path in (ROOT / package).iterdir() if path.name != "__init__.py"}
    modules = {path.stem for path in inside if path.suffix == ".py"}
    modules |= {path.name for path in inside if (path / "__init__.py").is_file()}
    assert {module for module in modules if not re.search(rf"\b{module}\b", text)} == set()


def test_no_two_classes_have_one_name():
    found = defaultdict(list)
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(name)
    shared = {name: files for name, files in found.items() if len(files) > 1}
    assert set(shared) - SHARED_CLASS_NAMES == set(), shared


def lines(path):
    return len(path.read_text().splitlines())


def test_every_module_has_its_own_test_file():
    tests = ROOT.parent.parent / "tests"
    modules = [Path(name) for name in FILES if not Path(name).name.startswith("__")]
    files = [m.with_name(f"test_{m.stem.lstrip('_')}.py").as_posix() for m in modules]
    assert [name for name in files if not (tests / name).is_file()] == []


FOUND_BY = {  # a thing that people look for, and a word that stands where it is
    "the trust region's dual": "dual",
    "the U-statistic": "u_statistic",
    "how a worker that died is replaced": "_check_replaceable",
    "how a round is written to disk": "round_file",
    "the default bandwidth": "default_beta",
    "the text of an error about a bad prior": "prior",
}


def test_the_page_says_where_things_are():
    page = (ROOT.parent.parent / "docs" / "architecture.md").read_text()
    rows = dict(re.findall(r"^\| ([^|`]+) \| (`.*) \|$", page, re.MULTILINE))
    for thing, places in rows.items():
        files = re.findall(r"`([\w/]+\.py)`", places)
        assert files, thing
        assert {name for name in files if name not in FILES} == set()
        assert FOUND_BY.get(thing, "") in FILES[files[0]].read_text(), thing
    assert set(FOUND_BY) <= set(rows)
