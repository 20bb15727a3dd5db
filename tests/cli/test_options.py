"""The help states the true defaults."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

import pliant
from shell import ABC, method_of, pliant_command


@pytest.mark.wrong_types
def test_help_states_the_defaults_that_the_method_has():
    text = " ".join(re.sub("[│\n]", " ", pliant_command("run", "--help").stdout).split())
    stated = dict(re.findall(r"(--[a-z-]+) (?:(?! --).)*?Default: (.*?)\.(?= |$)", text))
    usual, metric, apt = method_of("pli"), method_of("pli-mmd"), method_of("apt")
    assert usual == pliant.PLI()
    rounds = f"{usual.rounds}; with rejection-abc 100; with other -abc 200; with apt 10"
    assert stated["--rounds"] == rounds
    assert apt.rounds == 10
    ten, thousand = problem_of(10), problem_of(1000)
    n_particles = "2000; with a distance between sets 5000; with -abc 1000"
    assert stated["--n-particles"] == n_particles
    assert usual.resolved(ten).n_particles == apt.n_particles == 2000
    assert metric.resolved(ten).n_particles == 5000
    for name in ABC:
        method = method_of(name)
        assert method.rounds == (100 if name == "rejection-abc" else 200)
        assert method.n_particles == 1000
        assert method.resolved(ten).n_draws == 10
    assert stated["--epsilon"] == "1.0; with pli-paper 0.5"
    assert isinstance(usual.schedule, pliant.TrustRegion)
    assert isinstance(paper := pliant.PLI.paper(10).schedule, pliant.TrustRegion)
    assert (usual.schedule.epsilon, paper.epsilon) == (1.0, 0.5)
    assert stated["--discrepancy"] == (
        "with pli likelihood-kl, of learned statistics if observations have more than 30 numbers; "
        "with others mmd"
    )
    assert isinstance(usual.resolved(problem_of(10, 30)).discrepancy, pliant.LikelihoodKL)
    longer: Any = usual.resolved(problem_of(10, 31)).discrepancy
    assert longer.embedding == pliant.SeriesEmbedding()
    assert isinstance(method_of("pmc-abc").discrepancy, pliant.MMD)
    assert stated["--family"] == "spline-flow"
    assert isinstance(usual.family, pliant.SplineFlow)
    assert stated["--n-draws"] == (
        "20, or up to 200 with a JAX simulator; with a distance between sets the larger of N and "
        "100; with pli-paper and -abc N"
    )
    assert usual.resolved(ten).n_draws == usual.resolved(thousand).n_draws == 200
    assert usual.resolved(problem_of(1000, compiled=False)).n_draws == 20
    assert method_of(discrepancy="ratio-kl").resolved(ten).n_draws == 200
    assert (metric.resolved(ten).n_draws, metric.resolved(thousand).n_draws) == (100, 1000)
    assert pliant.PLI.paper(10).resolved(ten).n_draws == 10
    beta = "0.5 / N; with a distance between sets 0.05 / N; with pli-paper 5e-4"
    assert stated["--beta"] == beta
    assert usual.resolved(ten).beta == pytest.approx(0.5 / 10)
    assert metric.resolved(ten).beta == pytest.approx(0.05 / 10)
    assert pliant.PLI.paper(10).resolved(ten).beta == 5e-4


def problem_of(n_obs, numbers=8, *, compiled=True):
    """What a method has to know of a problem for its defaults."""
    simulator = SimpleNamespace(compiled=compiled)
    event = (numbers,)
    return SimpleNamespace(n_obs=n_obs, event_shape=event, simulator=simulator, is_uniform=True)
