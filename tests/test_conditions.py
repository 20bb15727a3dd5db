"""Observations of every kind through whole runs: the same bits everywhere, and clear refusals."""

import sys

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.run.folder import ledger_folder

pytestmark = pytest.mark.filterwarnings("ignore::pliant.PliantWarning")  # runs are cut short

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import JAX
PRIOR = {"level": dist.Normal(0, 2), "slope": dist.Normal(0, 2)}
RNG = np.random.default_rng(0)
DOSE = np.linspace(-1, 1, 12)
SITE = np.arange(12) % 3
CONDITIONS = {"dose": DOSE, "site": SITE}
OBSERVED = {
    "kind": RNG.integers(0, 2, 12),
    "value": np.where(RNG.random((12, 2)) < 0.2, np.nan, 1 + DOSE[:, None]),
}
OBSERVED["value"][0] = 0.3
QUICK = {"rounds": 2, "n_particles": 40, "family": pliant.Gaussian(), "noise_limit": None}


def in_numpy(rng, theta, condition):
    assert condition["site"].dtype.kind == "i"  # as it was given
    mean = theta["level"] + theta["slope"] * condition["dose"]
    return {"kind": rng.integers(0, 2), "value": mean + rng.normal(size=2)}


def in_jax(key, theta, condition):
    kind_key, value_key = jax.random.split(key)
    mean = theta["level"] + theta["slope"] * condition["dose"]
    value = mean + 0.5 * jax.random.normal(value_key, (2,))
    return {"kind": jax.random.bernoulli(kind_key), "value": value}


def problem(simulator, conditions=CONDITIONS):
    return pliant.Problem(PRIOR, simulator, OBSERVED, conditions=conditions, missing=True)


def samples(result):
    return result.posterior.sample(50, seed=1)


MEASURED = pliant.PLI(discrepancy=pliant.MMD(), n_draws=12, **QUICK)


@pytest.mark.training
def test_workers_and_a_resumed_run_give_the_same_bits(tmp_path):
    serial = pliant.infer(
        problem(pliant.PythonSimulator(in_numpy)), MEASURED, folder=tmp_path / "a"
    )
    several = pliant.infer(problem(pliant.PythonSimulator(in_numpy, workers=2)), MEASURED)
    np.testing.assert_equal(samples(several), samples(serial))

    def stop(row, posterior):
        raise KeyboardInterrupt

    given = problem(pliant.PythonSimulator(in_numpy))
    pliant.infer(given, MEASURED, folder=tmp_path / "b", callback=stop)
    resumed = pliant.resume(tmp_path / "b", given)
    np.testing.assert_equal(samples(resumed), samples(serial))
    assert ledger_folder(tmp_path / "b", 1).exists()


@pytest.mark.training
def test_a_cluster_gives_the_same_bits():
    from distributed import Client, LocalCluster

    serial = pliant.infer(problem(pliant.PythonSimulator(in_numpy)), MEASURED)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        simulator = pliant.PythonSimulator(in_numpy, executor=client.get_executor())
        np.testing.assert_equal(
            samples(pliant.infer(problem(simulator), MEASURED)), samples(serial)
        )


def test_a_run_is_not_resumed_with_other_conditions(tmp_path):
    given = problem(in_jax)
    pliant.infer(given, MEASURED, folder=tmp_path / "run", max_simulations=500)
    other = problem(in_jax, {**CONDITIONS, "dose": 2 * DOSE})
    with pytest.raises(ValueError, match="another conditions"):
        pliant.resume(tmp_path / "run", other)


@pytest.mark.training
@pytest.mark.parametrize(
    "method",
    [
        MEASURED,
        pliant.PLI(discrepancy=pliant.Energy(), n_draws=12, **QUICK),
        pliant.PLI(discrepancy=pliant.Wasserstein(), n_draws=12, **QUICK),
        pliant.PLI(
            discrepancy=pliant.LikelihoodKL(
                layers=1, width=8, networks=2, training=pliant.Training(steps=100), approach=None
            ),
            n_draws=5,
            **QUICK,
        ),
        pliant.PLI(
            discrepancy=pliant.RatioKL(
                width=8, networks=2, atoms=4, training=pliant.Training(steps=100), approach=None
            ),
            n_draws=5,
            **QUICK,
        ),
        pliant.APT(rounds=2, n_particles=60, training=pliant.Training(steps=50)),
        pliant.PMCABC(rounds=2, n_particles=100, alpha=0.5),
        pliant.SMCABC(rounds=2, n_particles=40),
        pliant.MHABC(rounds=2, n_particles=40),
        pliant.RejectionABC(rounds=2, n_particles=100, quantile=0.2),
    ],
    ids=lambda method: (
        f"{type(method).__name__}-{type(getattr(method, 'discrepancy', 0)).__name__}"
    ),
)
def test_every_method_takes_conditions_kinds_and_gaps(method, tmp_path):
    result = pliant.infer(problem(in_jax), method, folder=tmp_path / "run")
    assert not result.status.is_error, result.message
    draws = samples(result)
    assert np.all(np.isfinite([draws["level"], draws["slope"]]))
    again = pliant.load(tmp_path / "run")
    np.testing.assert_equal(samples(again), draws)


def test_the_partition_function_refuses_conditions():
    method = pliant.PLI(
        discrepancy=pliant.MMD(), partition=pliant.PartitionFunction(), n_draws=12, **QUICK
    )
    with pytest.raises(ValueError, match=r"partition: .* conditions or gaps"):
        pliant.infer(problem(in_jax), method)


def test_the_posterior_of_apt_can_be_given_other_observations_under_the_same_conditions():
    given = pliant.Problem(
        PRIOR,
        lambda key, theta, c: theta["level"] + theta["slope"] * c + jax.random.normal(key),
        DOSE,
        conditions=DOSE,
    )
    method = pliant.APT(rounds=1, n_particles=60, training=pliant.Training(steps=50))
    posterior = pliant.infer(given, method).posterior
    np.testing.assert_array_equal(
        posterior.given(DOSE).sample(20)["level"], posterior.sample(20)["level"]
    )
    assert np.any(posterior.given(DOSE + 5).sample(20)["level"] != posterior.sample(20)["level"])


def two(key, theta):
    return theta["level"] + jax.random.normal(key, (2,))


def three(key, theta, condition):
    return theta["level"] + condition + jax.random.normal(key, (2,))


PLAIN = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("simulator", "observed", "options", "words"),
    [
        (three, PLAIN, {}, r"conditions=\.\.\."),
        (two, PLAIN, {"conditions": np.zeros(4)}, r"simulator\(key, theta, condition\)"),
        (three, PLAIN, {"conditions": np.zeros(3)}, r"conditions: .* \(4, \.\.\.\)"),
        (three, PLAIN, {"conditions": {"a": np.zeros(4)}}, "could not trace"),
        (two, {"x": PLAIN}, {}, "expected a dict with 'x'"),
        (lambda key, theta: {"x": two(key, theta)}, PLAIN, {}, "got a dict with 'x'"),
        (lambda key, theta: {"y": two(key, theta)}, {"x": PLAIN}, {}, "got a dict with 'y'"),
        (lambda key, theta: {"x": two(key, theta)}, {"x": PLAIN[:, 0]}, {}, "'x' of the shape"),
        (two, np.where(PLAIN == 0, np.nan, 1), {"missing": True}, "nothing of observation 0"),
        (two, PLAIN, {"missing": "maybe"}, "missing: expected"),
        (two, PLAIN, {"missing": None}, "missing: expected"),
        (
            pliant.PythonSimulator(lambda rng, theta: 0),
            PLAIN,
            {"conditions": np.zeros(4)},
            r"function\(rng, theta, condition\)",
        ),
        (pliant.PythonSimulator(lambda rng, theta, c: 0), PLAIN, {}, r"conditions=\.\.\."),
        (
            pliant.PythonSimulator(lambda rng, theta: 0, vectorised=True),
            PLAIN,
            {},
            r"function\(rng, theta, n\)",
        ),
        (
            pliant.CommandSimulator(["echo", "{dose}"]),
            PLAIN,
            {"conditions": {"rate": np.zeros(4)}},
            "neither a parameter nor a condition",
        ),
        (
            pliant.CommandSimulator(["echo", "{level}"]),
            PLAIN,
            {"conditions": {"level": np.zeros(4)}},
            "a parameter has the same name",
        ),
        (
            pliant.CommandSimulator(["echo"]),
            PLAIN,
            {"conditions": {"seed": np.zeros(4)}},
            r"conditions\['seed'\]",
        ),
    ],
)
def test_problems_that_do_not_fit_together_are_refused(simulator, observed, options, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        pliant.Problem(PRIOR, simulator, observed, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.training
def test_programs_see_their_condition(tmp_path):
    """By name on the command line and in parameters.json, and their output by name."""
    program = tmp_path / "model.py"
    program.write_text(
        "import json, random, sys\n"
        "given = json.load(open('parameters.json'))\n"
        "assert float(sys.argv[1]) == given['dose'] and given['site'] in (0, 1, 2)\n"
        "random.seed(given['seed'])\n"
        "mean = given['level'] + given['slope'] * given['dose']\n"
        "print(json.dumps({'value': [mean + random.gauss(0, 1), mean], 'kind': 1}))\n"
    )
    simulator = pliant.CommandSimulator([sys.executable, str(program), "{dose}"], workers=2)
    given = problem(simulator)
    keys = jax.random.split(jax.random.key(0), 2)
    thetas = {"level": jnp.zeros(2), "slope": jnp.ones(2)}
    under = jnp.array([[0, 11, 5], [1, 2, 3]])
    x, ok = given.simulator.simulate(keys, thetas, 3, under)
    assert np.all(ok)
    np.testing.assert_allclose(x[..., 2], DOSE[np.asarray(under)], rtol=1e-6)
    np.testing.assert_array_equal(x[..., 0], 1)


@pytest.mark.training
def test_a_vectorised_function_gets_the_conditions_of_its_set():
    def whole(rng, theta, conditions):
        assert conditions["dose"].shape == (3,)
        return {"kind": np.zeros(3), "value": np.stack([conditions["dose"]] * 2, axis=1)}

    given = problem(pliant.PythonSimulator(whole, vectorised=True))
    keys = jax.random.split(jax.random.key(0), 2)
    thetas = {"level": jnp.zeros(2), "slope": jnp.ones(2)}
    under = jnp.array([[0, 11, 5], [1, 2, 3]])
    x, ok = given.simulator.simulate(keys, thetas, 3, under)
    assert np.all(ok)
    np.testing.assert_allclose(x[..., 1], DOSE[np.asarray(under)], rtol=1e-6)
