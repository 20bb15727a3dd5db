"""A result in a folder: the same bits come back, and nothing but data is read."""

import json

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.history import History
from pliant.posterior import Posterior
from pliant.prior import read_prior
from pliant.result import Result

PRIORS = {
    "dict": {
        "z": dist.Uniform(-3, 3).expand([2]),
        "a": dist.LogNormal(0, 1),
        "t": dist.TruncatedNormal(0, 1, low=-1.0),
    },
    "single": dist.Dirichlet(np.ones(4, np.float32)),
}
FAMILIES = {
    "gaussian": pliant.Gaussian(),
    "mixture": pliant.GaussianMixture(components=2),
    "flow": pliant.SplineFlow(layers=2, width=8, training=pliant.Training(steps=50)),
}


def make(prior="dict", family="gaussian"):
    read = read_prior(PRIORS[prior])
    z = read.sample(jax.random.key(0), 300)
    density, _ = FAMILIES[family].fit(jax.random.key(1), z, z[:, 0], None)
    return Result(
        posterior=Posterior(read.space, density),
        history=History([{"round": 1, "kl": 0.5, "distance_se": float("nan")}]),
        status="finished",
        message="Finished after 1 round.",
        method=pliant.PLI(family=FAMILIES[family], discrepancy=pliant.MMD(lengthscales=(1.0, 2.0))),
        seed=7,
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prior", PRIORS)
def test_the_same_bits_come_back(tmp_path, prior, family):
    result = make(prior, family)
    loaded = pliant.load(result.save(tmp_path / "run"))
    before, after = (r.posterior.sample(200, seed=3) for r in (result, loaded))
    jax.tree.map(np.testing.assert_array_equal, before, after)
    np.testing.assert_array_equal(
        result.posterior.log_prob(before), loaded.posterior.log_prob(before)
    )
    assert loaded.method == result.method
    assert (loaded.status, loaded.message, loaded.seed) == ("finished", result.message, 7)
    assert loaded.history[0]["kl"] == 0.5
    assert np.isnan(loaded.history["distance_se"][0])
    assert not list((tmp_path / "run").glob(".*"))


def test_nothing_is_replaced_silently(tmp_path):
    result = make()
    result.save(tmp_path)
    with pytest.raises(FileExistsError, match="overwrite"):
        result.save(tmp_path)
    result.save(tmp_path, overwrite=True)


def test_without_a_round_there_is_nothing_to_save(tmp_path):
    result = make()
    prior = read_prior(PRIORS["dict"])
    empty = Result(Posterior(prior.space, prior), History(), "failed", "", result.method, 0)
    with pytest.raises(ValueError, match="No round"):
        empty.save(tmp_path)


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"result\.json"):
        pliant.load(tmp_path)
    make().save(tmp_path)
    whole = (tmp_path / "posterior.npz").read_bytes()
    (tmp_path / "posterior.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"posterior\.npz"):
        pliant.load(tmp_path)
    make().save(tmp_path, overwrite=True)
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(ValueError, match=r"result\.json"):
        pliant.load(tmp_path)


def test_only_plain_data_of_plain_classes_is_read(tmp_path):
    make().save(tmp_path)
    path = tmp_path / "result.json"
    data = json.loads(path.read_text())
    data["method"]["family"]["class"] = "Popen"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="Popen"):
        pliant.load(tmp_path)

    make().save(tmp_path, overwrite=True)
    with np.load(tmp_path / "posterior.npz") as file:
        arrays = dict(file)
    arrays["loc"] = np.array([print], dtype=object)
    np.savez(tmp_path / "posterior.npz", **arrays)
    with pytest.raises(ValueError, match=r"pickle|posterior"):
        pliant.load(tmp_path)


def test_history_columns_and_rows():
    history = History([{"round": 1, "kl": 0.5}, {"round": 2, "kl": None, "spearman": 0.9}])
    assert history.columns == ("round", "kl", "spearman")
    assert list(history["round"]) == [1, 2]
    assert np.isnan(history["kl"][1])
    assert np.isnan(history["spearman"][0])
    assert len(history[:1]) == 1
    assert "spearman" in str(history)
    with pytest.raises(KeyError, match="round"):
        history["rounds"]
