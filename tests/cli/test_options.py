"""The help states the true defaults."""

import re
from types import SimpleNamespace

import pytest

import pliant
from shell import ABC, method_of, pliant_command


@pytest.mark.wrong_types
def test_help_states_the_defaults_that_the_method_has():
    text = " ".join(re.sub("[│\n]", " ", pliant_command("run", "--help").stdout).split())
    stated = dict(re.findall(r"(--[a-z-]+) (?:(?! --).)*?Default: (.*?)\.(?= |$)", text))
    usual = pliant.PLI()
    rounds = f"{usual.rounds}; with rejection-abc 100; with other -abc 200; with apt 10"
    assert stated["--rounds"] == rounds
    ten = SimpleNamespace(n_obs=10)
    n_particles = (
        f"{usual.resolved(ten).n_particles}; with -abc 1000; with a learned distance and apt 2000"
    )
    assert stated["--n-particles"] == n_particles
    apt, accurate = method_of("apt"), method_of("pli-accurate")
    assert (apt.rounds, apt.n_particles, accurate.resolved(ten).n_particles) == (10, 2000, 2000)
    for name in ABC:
        method = method_of(name)
        assert method.rounds == (100 if name == "rejection-abc" else 200)
        assert method.n_particles == 1000
        assert method.resolved(SimpleNamespace(n_obs=10)).n_draws == 10
    assert stated["--epsilon"] == "1.0; with pli-paper 0.5"
    assert isinstance(usual.schedule, pliant.TrustRegion)
    assert isinstance(paper := pliant.PLI.paper(10).schedule, pliant.TrustRegion)
    assert (usual.schedule.epsilon, paper.epsilon) == (1.0, 0.5)
    assert stated["--discrepancy"] == "mmd; with pli-accurate likelihood-kl"
    assert isinstance(accurate.discrepancy, pliant.LikelihoodKL)
    assert isinstance(usual.discrepancy, pliant.MMD)
    assert stated["--family"] == "spline-flow"
    assert isinstance(usual.family, pliant.SplineFlow)
    thousand = SimpleNamespace(n_obs=1000)
    n_draws = "the larger of N and 100; with a learned distance 20; with pli-paper and -abc N"
    assert stated["--n-draws"] == n_draws
    assert method_of(discrepancy="ratio-kl").resolved(ten).n_draws == 20
    assert (usual.resolved(ten).n_draws, usual.resolved(thousand).n_draws) == (100, 1000)
    assert pliant.PLI.paper(10).resolved(ten).n_draws == 10
    beta = "0.05 / N; with a learned distance 0.5 / N; with pli-paper 5e-4"
    assert stated["--beta"] == beta
    assert accurate.resolved(ten).beta == pytest.approx(0.5 / 10)
    assert usual.resolved(ten).beta == pytest.approx(0.05 / 10)
    assert pliant.PLI.paper(10).resolved(ten).beta == 5e-4
