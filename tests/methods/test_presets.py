"""The presets of the paper, value by value.

The tables are written from the paper: Table C.3 of its appendix unless a comment says otherwise.
Each lists every option of the preset, so that a new option cannot slip in unnoticed.
"""

import dataclasses

import equinox as eqx
import pytest

import pliant

CODE = "the authors' code"  # where the paper is silent or contradicts its code

MMD_TABLE = {  # appendix C.1
    "lengthscales": (1, 10, 20, 40, 80, 100, 130, 200, 400, 800, 1000),
    "most_partners": None,  # never replaced by random features
    "scale": None,  # data are compared in their own units
}
TRAINING_TABLE = {  # plain Adam
    "decay": 1.0,
    "clip": None,
    "averaging": 1.0,
    "selection": False,
    "every": 1000,  # without selection these two have no effect
    "patience": 3,
}
PLI_TABLE = {
    "rounds": 20,  # "Epochs"
    "n_particles": 5000,  # "Train samples per iteration"
    "n_draws": 50,  # section 4: N = M
    "beta": 5e-4,  # CODE: exp(-D / 1e-3)
    "kernel": "ExponentialKernel",
    "schedule": {"type": "TrustRegion", "epsilon": 0.5, "path": "paper"},
    "discrepancy": {"type": "MMD", **MMD_TABLE},
    "projection": "m",  # section 3.3
    "partition": None,  # section 3.3: a constant
    "noise_limit": None,
    "reuse": 0,
    "chunk_size": None,
    "family": {
        "type": "SplineFlow",
        "layers": 5,  # "Bijectors"
        "bins": 10,
        "width": 50,  # "Conditioning MLP: input dim / 50 / 50 / 50 / D"
        "depth": 3,
        "batch_size": 125,
        "warm_start": False,  # CODE: refitted from scratch
        "whitening": "diagonal",  # CODE: z-scored inputs
        "split": False,
        "training": {
            "type": "Training",
            "steps": 5000 * 5000 // 125,  # CODE: 5000 passes over 5000 samples
            "rate": 1e-4,  # CODE; the table has 1e-5
            **TRAINING_TABLE,
        },
        "reverse_training": pliant.SplineFlow().reverse_training,  # not used by the m-projection
    },
}
PMC_TABLE = {
    "rounds": 200,
    "n_particles": 1000,
    "n_draws": None,  # section 4: N = M
    "alpha": 0.1,
    "discrepancy": {"type": "MMD", **MMD_TABLE},
    "perturbation": {
        "type": "GaussianMixture",
        "components": 5,
        "starts": 1,
        "iterations": 200,
        "reverse_training": pliant.GaussianMixture().reverse_training,  # not used
    },
    "weights": "round",  # Algorithm 3, line 13
    "tolerance": None,
    "min_acceptance": None,  # Algorithm 3 makes all of its rounds
    "chunk_size": None,
}
APT_TABLE = {
    "rounds": 20,
    "n_particles": 5000,
    "embedding": {"type": "Concatenation", "features": 32, "width": 64},  # not in the paper
    "atoms": 10,
    "layers": 5,
    "bins": 10,
    "width": 32,  # "Conditioning MLP: input dim / 32 / 32 / 32 / D"
    "depth": 3,
    "training": {
        "type": "Training",
        "steps": 1000 * 5000 // 500,  # CODE: 1000 passes over 5000 sets, in the table's batches
        "rate": 1e-5,
        **TRAINING_TABLE,
    },
    "batch_size": 500,
    "warm_start": False,  # CODE: trained anew each round
    "window": None,
}


def compare(module: eqx.Module, expected, place: str = ""):
    if not isinstance(expected, dict):
        named = type(module).__name__ if isinstance(expected, str) else module
        assert (module if isinstance(module, str) else named) == expected, place
        return
    expected = dict(expected)
    assert type(module).__name__ == expected.pop("type", type(module).__name__), place
    fields = [field.name for field in dataclasses.fields(module)]
    assert sorted(fields) == sorted(expected), place
    for name in fields:
        compare(getattr(module, name), expected[name], f"{place}.{name}")


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (lambda: pliant.PLI.paper(50), PLI_TABLE),
        (lambda: pliant.PMCABC.paper(), PMC_TABLE),
        (lambda: pliant.APT.paper(), APT_TABLE),
    ],
    ids=["PLI", "PMC-ABC", "APT"],
)
def test_a_preset_has_the_papers_values(preset, expected):
    compare(preset(), expected)


@pytest.mark.parametrize("n_obs", [2, 1000])
def test_the_papers_mmd_is_exact_for_every_number_of_observations(n_obs):
    discrepancy = pliant.PLI.paper(n_obs).discrepancy
    assert isinstance(discrepancy, pliant.MMD)
    assert discrepancy.for_sizes(n_obs, n_obs) is discrepancy


def test_one_observation_is_compared_by_squared_error():
    assert pliant.PLI.paper(1).discrepancy == pliant.Euclidean()


@pytest.mark.parametrize("preset", [pliant.PMCABC.paper, pliant.APT.paper])
def test_options_replace_the_papers(preset):
    assert preset(rounds=7).rounds == 7
    assert pliant.PLI.paper(5, rounds=7).rounds == 7
