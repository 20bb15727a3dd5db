import json

import equinox as eqx
import jax
import numpy as np
import pytest

import pliant
from pliant.run.config import decode, encode

METHODS = {
    "default": lambda: pliant.PLI(),
    "paper": lambda: pliant.PLI.paper(100),
    "paper-one": lambda: pliant.PLI.paper(1),
    "all-options": lambda: pliant.PLI(
        rounds=3,
        n_particles=50,
        n_draws=7,
        discrepancy=pliant.MMD(lengthscales=[0.1, 2], scale=np.array([1.5, 0.1])),
        family=pliant.GaussianMixture(components=3, starts=1, iterations=9),
        schedule=pliant.Quantile(0.2),
        beta=0.125,
        projection="i",
        partition=pliant.PartitionFunction(5),
        noise_limit=None,
        chunk_size=11,
    ),
    "median": lambda: pliant.PLI(discrepancy=pliant.MMD(lengthscales="median")),
    "wasserstein": lambda: pliant.PLI(discrepancy=pliant.Wasserstein(regularisation=0.3)),
    "sliced": lambda: pliant.PLI(discrepancy=pliant.SlicedWasserstein(n_projections=3, seed=4)),
    "energy": lambda: pliant.PLI(discrepancy=pliant.Energy(scale=[2.0])),
    "euclidean": lambda: pliant.PLI(discrepancy=pliant.Euclidean(), schedule=pliant.Fixed()),
    "ess": lambda: pliant.PLI(schedule=pliant.EffectiveSampleSize(0.25)),
    "rejection": lambda: pliant.RejectionABC(kernel=pliant.GaussianKernel(), quantile=0.5),
    "smc": lambda: pliant.SMCABC(tolerance=0.5, kernel=pliant.EpanechnikovKernel()),
    "pmc": lambda: pliant.PMCABC(),
    "pmc-plain": lambda: pliant.PMCABC(alpha=0.25, perturbation=None),
    "mh": lambda: pliant.MHABC(hits=3, max_tries=20),
    "gaussian": lambda: pliant.PLI(family=pliant.Gaussian(pliant.Training(steps=60, rate=0.5))),
}


@pytest.mark.parametrize("name", METHODS)
def test_options_survive_json(name):
    method = METHODS[name]()
    read = decode(json.loads(json.dumps(encode(method))))
    assert bool(eqx.tree_equal(read, method))
    assert jax.tree.structure(read) == jax.tree.structure(method)  # and so nothing is recompiled
    assert encode(read) == encode(method)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "Path",
        "infer",  # a function
        "load",
        "tasks",  # a module
        "Result",  # no module of options
        "__version__",
        "_MODULES",
        "AbstractFamily",
        "",
        None,
        3,
        ["PLI"],
        {"class": "PLI"},
    ],
)
def test_only_classes_of_pliant_can_be_named(name):
    with pytest.raises(ValueError, match=r"class: .* is not a class of Pliant"):
        decode({"class": name})


def test_a_missing_class_is_refused():
    with pytest.raises(ValueError, match="class: None is not a class of Pliant"):
        decode({"rounds": 3})


@pytest.mark.wrong_types
def test_options_that_a_class_does_not_have_are_refused():
    with pytest.raises(TypeError, match="epsilons"):
        decode({"class": "TrustRegion", "epsilons": 0.5})


def test_options_are_checked_as_those_of_a_user():
    with pytest.raises(ValueError, match="epsilon: expected"):
        decode({"class": "TrustRegion", "epsilon": -1})
