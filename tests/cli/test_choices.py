"""Names on the command line become the objects that they name."""

from pkgutil import resolve_name

import pytest

import pliant
from pliant.cli.choices import DISCREPANCIES, FAMILIES, METHODS, PARTS, closest
from shell import ABC, method_of


@pytest.mark.parametrize("name", DISCREPANCIES)
def test_every_discrepancy_can_be_chosen(name):
    chosen = method_of(discrepancy=name).discrepancy
    assert type(chosen).__name__.lower() == name.replace("-", "")


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_chosen(name):
    chosen = method_of(family=name).family
    assert type(chosen).__name__.lower() == name.replace("-", "")


def test_options_reach_the_method():
    method = method_of(epsilon=0.25, rounds=3, n_particles=50, n_draws=7, beta=0.01)
    assert method.schedule == pliant.TrustRegion(epsilon=0.25, path="corrected")
    assert (method.rounds, method.n_particles, method.n_draws, method.beta) == (3, 50, 7, 0.01)
    assert method_of() == pliant.PLI()
    assert method_of("pli-paper", rounds=3) == pliant.PLI.paper(10, rounds=3)
    assert method_of("pli-mmd", rounds=3) == pliant.PLI(discrepancy=pliant.MMD(), rounds=3)
    assert method_of("pli-wasserstein") == pliant.PLI(discrepancy=pliant.Wasserstein())
    assert method_of("apt", rounds=3) == pliant.APT(rounds=3)
    assert method_of("apt-paper") == pliant.APT.paper()
    assert method_of("pmc-abc-paper", rounds=3) == pliant.PMCABC.paper(rounds=3)
    papers = {"pli-paper", "pmc-abc-paper", "apt-paper"}
    assert set(METHODS) == {"pli", "pli-mmd", "pli-wasserstein", *ABC, "apt", *papers}


def test_options_are_checked_together():
    """Also where the method's own part would not go with the others."""
    calibrated = method_of("pli-wasserstein", discrepancy="energy", beta="calibrated")
    assert calibrated == pliant.PLI(discrepancy=pliant.Energy(), beta="calibrated")


def test_a_former_name_leads_to_the_new_one():
    assert closest("pli-accurate", METHODS) == " 'pli-accurate' is now 'pli'."
    assert closest("pli-accurate", ["slcp"]) == ""


@pytest.mark.parametrize("names", PARTS.values())
def test_every_name_is_that_of_its_class(names):
    for name, path in names.items():
        kind = resolve_name(path).__name__.lower().removesuffix("kernel")
        assert kind == name.replace("-", "")


@pytest.mark.parametrize(("name", "kind"), ABC.items())
def test_every_sampler_can_be_chosen(name, kind):
    method = method_of(name, rounds=50, n_particles=60, n_draws=7, discrepancy="energy")
    assert type(method).__name__ == kind
    assert (method.rounds, method.n_particles, method.n_draws) == (50, 60, 7)
    assert method.discrepancy == pliant.Energy()
