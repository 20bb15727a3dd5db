"""The pages' own code is run, word for word, with smaller budgets; the site's structure is checked.

Tutorials are executed when the site is built (``make docs``), with their own budgets. Here they are
only compiled.
"""

import ast
import dataclasses
import os
import re
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.run.history import COLUMNS

pytestmark = [
    pytest.mark.user_code,
    pytest.mark.filterwarnings("ignore::pliant.PliantWarning"),  # small budgets end runs too early
]

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {path.relative_to(ROOT).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
PAGES["README.md"] = ROOT / "README.md"
TEXTS = {name: path.read_text() for name, path in PAGES.items()}
TUTORIALS = [name for name, text in TEXTS.items() if "```{code-cell}" in text]
EXECUTED = [name for name, text in TEXTS.items() if "```python" in text]
CONTINUES = re.compile(r"^The code continues that of \[[^\]]+\]\(([^)]+)\)\.$", re.MULTILINE)


@pytest.fixture(scope="module")
def small_budgets():
    """Runs with few parameters, draws and rounds, whatever a page asks for."""
    real = pliant.infer
    training = pliant.Training(steps=50)
    small = {
        "rounds": 2,
        "n_particles": 150,
        "n_draws": 20,
        "noise_limit": None,
        "training": training,
    }
    small |= {"layers": 1, "bins": 4, "width": 8}  # of networks, which take long to compile

    learned = pliant.RatioKL(width=8, training=training, n_evaluated=500, approach=None)

    def smaller(problem, method=None, **options):
        method = pliant.PLI() if method is None else method
        names = {field.name for field in dataclasses.fields(method)}
        fewer = {name: value for name, value in small.items() if name in names}
        if "discrepancy" in names and method.discrepancy is None:
            fewer["discrepancy"] = pliant.MMD()
        elif "discrepancy" in names and not method.discrepancy.is_noisy:
            fewer["discrepancy"] = learned
        if "embedding" in names:
            fewer["embedding"] = pliant.DeepSet(features=4, width=8)
        if isinstance(getattr(method, "family", None), pliant.SplineFlow):
            fewer["family"] = pliant.Gaussian()
        return real(problem, dataclasses.replace(method, **fewer), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pliant, "infer", smaller)
        yield


@pytest.fixture(scope="module")
def names_after(small_budgets, tmp_path_factory):
    """The names that a page has defined, after those of the page that it continues."""
    known, folder, before = {}, tmp_path_factory.mktemp("pages"), Path.cwd()
    os.chdir(folder)

    def run(page):
        if page not in known:
            first = CONTINUES.search(TEXTS[page])
            names = dict(run(linked(page, first[1]))) if first else {}
            for block in blocks(page):
                exec(compile(block, page, "exec"), names)
            known[page] = names
        return known[page]

    yield run
    os.chdir(before)


def blocks(page):
    return re.findall(r"```python\n(.*?)```", TEXTS[page], re.DOTALL)


def linked(page, link):
    """The name of a page that another one links to."""
    return (PAGES[page].parent / link).resolve().relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", EXECUTED)
def test_every_block_runs(page, names_after):
    names = names_after(page)
    assert blocks(page)
    if "result" in names:
        draws = names["result"].posterior.sample(100)
        assert all(np.all(np.isfinite(leaf)) for leaf in draws.values())


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_is_a_page_that_the_site_executes(page):
    text = TEXTS[page]
    assert text.startswith("---\nfile_format: mystnb\n")
    assert "```python" not in text  # which nothing would execute
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", text, re.DOTALL)
    assert len(cells) == text.count("```{code-cell}") >= 4
    for cell in cells:
        ast.parse(cell)


def test_no_block_of_python_is_left_out():
    assert len(TUTORIALS) == 8
    for name, text in TEXTS.items():
        heads = set(re.findall(r"^```(\S+)", text, re.MULTILINE))
        known = {"python", "sh", "toml", "{code-cell}", "{toctree}", "{eval-rst}", "{include}"}
        assert heads <= known, name


def test_every_public_name_is_in_the_reference_with_an_example():
    reference = [name for name in PAGES if name.startswith("docs/reference/")]
    described = " ".join(
        re.findall(r"^\.\. auto\w+:: (\S+)", "\n".join(map(TEXTS.get, reference)), re.M)
    )
    code = "\n".join(block for page in reference for block in blocks(page))
    for name in pliant.__all__:
        assert re.search(rf"\bpliant\.{name}\b", described), f"{name} is not described"
        assert re.search(rf"\bpliant\.{name}\b", code), f"{name} has no example"


def test_every_page_is_in_the_table_of_contents():
    def reached(page):
        trees = re.findall(r"```\{toctree\}\n(.*?)```", TEXTS[page], re.DOTALL)
        entries = [e for tree in trees for e in tree.split("\n") if e and not e.startswith(":")]
        below = [linked(page, f"{entry}.md") for entry in entries]
        return {page}.union(*map(reached, below))

    assert reached("docs/index.md") == set(PAGES) - {"README.md"}


def table(page, head):
    """The rows of a page's table, by its head."""
    after = TEXTS[page].partition(f"{head}\n")[2]
    lines = [line for line in after.partition("\n\n")[0].splitlines() if "---" not in line]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def test_the_page_lists_every_status_with_its_message_and_remedy():
    expected = [(f"`{status}`", status.message, status.remedy) for status in pliant.Status]
    assert table("docs/howto/statuses.md", "| status | what happened | what to do |") == expected


def test_the_page_lists_every_column_of_the_history():
    expected = [(f"`{name}`", column.meaning) for name, column in COLUMNS.items()]
    assert table("docs/reference/history.md", "| column | meaning |") == expected


def anchors(path):
    """The anchors of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_exist(page):
    for link, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", TEXTS[page]):
        target = PAGES[page].parent / link if link else PAGES[page]
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"
