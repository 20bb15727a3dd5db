"""The pages' own code is run, word for word, with smaller budgets."""

import dataclasses
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


@pytest.fixture
def small_budgets(monkeypatch):
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

    monkeypatch.setattr(pliant, "infer", smaller)


@pytest.mark.parametrize("page", ["README.md", "docs/howto.md", "docs/extending.md"])
@pytest.mark.usefixtures("small_budgets")
def test_every_block_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(block, names)
    draws = names["result"].posterior.sample(100)
    assert all(np.all(np.isfinite(leaf)) for leaf in draws.values())


def table(page, head):
    """The rows of a page's table, by its head."""
    after = (ROOT / page).read_text().partition(f"{head}\n")[2]
    lines = [line for line in after.partition("\n\n")[0].splitlines() if "---" not in line]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def test_the_page_lists_every_status_with_its_message_and_remedy():
    expected = [(f"`{status}`", status.message, status.remedy) for status in pliant.Status]
    assert table("docs/howto.md", "| status | what happened | what to do |") == expected


def test_the_page_lists_every_column_of_the_history():
    expected = [(f"`{name}`", column.meaning) for name, column in COLUMNS.items()]
    assert table("docs/howto.md", "| column | meaning |") == expected


def test_pages_link_to_files_that_exist():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
