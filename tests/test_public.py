"""The public names of the package, and its version."""

import ast
import importlib.metadata
import inspect
from pathlib import Path

import pytest

import pliant
from shell import python

STUB = ast.parse(Path(pliant.__file__).with_suffix(".pyi").read_text())
NAMES = {
    alias.name for node in STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names
}


def test_the_stub_lists_the_public_names():
    assert NAMES == set(pliant.__all__) == set(dir(pliant))
    assert {"Problem", "infer", "PLI", "metrics", "plots", "tasks"} <= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_public_name_resolves_and_is_documented(name):
    value = getattr(pliant, name)
    assert inspect.getdoc(value)
    if not inspect.ismodule(value):
        assert value.__name__ == name


@pytest.mark.parametrize(
    "kind", ["Discrepancy", "Family", "Schedule", "Simulator", "Method", "Task"]
)
def test_users_can_extend_what_is_abstract(kind):
    abstract = getattr(pliant, f"Abstract{kind}")
    assert inspect.isabstract(abstract)
    with pytest.raises(TypeError, match="abstract"):
        abstract()


def test_metrics_and_plots_have_their_functions():
    assert callable(pliant.metrics.evaluate)
    assert callable(pliant.plots.plot_pairs)
    assert callable(pliant.plots.plot_history)


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, pliant; print(*sorted({'jax', 'numpy', 'matplotlib'} & set(sys.modules)))"
    done = python(code)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_the_installed_version_is_that_of_the_package():
    assert importlib.metadata.version("pliant") == pliant.__version__


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(pliant, "no_such_name")  # noqa: B009


def test_importing_starts_no_threads_of_jax():
    """A process that has imported Pliant can be forked, and devices can still be configured."""
    done = python(
        "import pliant, pliant.methods.pli, pliant.run.infer, pliant.discrepancies.ratio_kl\n"
        "from jax._src import xla_bridge\n"
        "assert not xla_bridge._backends"
    )
    assert done.returncode == 0, done.stderr
