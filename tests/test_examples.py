"""The examples, with smaller budgets."""

import importlib.util
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import pliant

pytestmark = [
    pytest.mark.user_code,
    pytest.mark.filterwarnings("ignore::pliant.PliantWarning"),  # small budgets end runs too early
]

EXAMPLES = Path(__file__).parent.parent / "examples"
BUDGETS = {
    "epidemic": ({"rounds": 5, "n_particles": 40, "n_draws": 20}, 0.4),
    "pendulum": ({"rounds": 6, "n_particles": 40, "n_draws": 20}, 0.1),
    "bakery": ({"rounds": 2, "n_particles": 15, "n_draws": 3}, 1.0),
}


@pytest.fixture(params=BUDGETS)
def example(request):
    """The module of an example, as ``python FILE`` would run it."""
    path = EXAMPLES / f"{request.param}.py"
    spec = importlib.util.spec_from_file_location(f"example_{request.param}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # as those of __main__
    yield module
    cloudpickle.unregister_pickle_by_value(module)
    del sys.modules[spec.name]


def test_an_example_finds_its_truth(example, monkeypatch, capsys):
    """The first parameter's posterior is near the truth, on the scale that the budget allows."""
    options, near = BUDGETS[example.__name__.removeprefix("example_")]
    results = []

    def smaller(problem, method, **budget):
        assert isinstance(method.family, pliant.Gaussian)
        small = pliant.PLI(
            family=method.family, discrepancy=pliant.Euclidean(), noise_limit=None, **options
        )
        results.append(pliant.infer(problem, small))
        return results[-1]

    monkeypatch.setattr(example, "pliant", type("Small", (), {"infer": staticmethod(smaller)}))
    example.main()
    assert results[0].status in ("finished", "cut_short")
    assert "truth" in capsys.readouterr().out
    name, truth = next(iter(example.TRUTH.items()))
    found = results[0].posterior.sample(500)[name]
    assert abs(np.log(np.median(found) / truth)) < near
