"""The pages' own code is run, word for word, with smaller budgets."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import pliant

pytestmark = pytest.mark.user_code

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

    def smaller(problem, method, **options):
        names = {field.name for field in dataclasses.fields(method)}
        fewer = {name: value for name, value in small.items() if name in names}
        if getattr(method, "learns", False):
            fewer["discrepancy"] = pliant.RatioKL(width=8, training=training, n_evaluated=500)
        if "embedding" in names:
            fewer["embedding"] = pliant.DeepSet(features=4, width=8)
        if isinstance(getattr(method, "family", None), pliant.SplineFlow):
            fewer["family"] = pliant.Gaussian()
        return real(problem, dataclasses.replace(method, **fewer), **options)

    monkeypatch.setattr(pliant, "infer", smaller)


@pytest.mark.parametrize("page", ["README.md", "docs/howto.md"])
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


def test_every_public_name_is_there_and_documented():
    for name in pliant.__all__:
        assert getattr(pliant, name).__doc__, name
    assert set(pliant.__all__) <= set(dir(pliant))


def test_pages_link_to_files_that_exist():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
