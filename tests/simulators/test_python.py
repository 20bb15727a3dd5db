import os
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import cloudpickle
import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant.simulators.dispatch import SimulatorError
from pliant.simulators.external import SimulationError
from pliant.simulators.worker import seed_words

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import JAX
K, M = 24, 3
KEYS = jax.random.split(jax.random.key(3), K)
THETAS = {"mu": np.linspace(-1, 1, K), "scale": np.full((K, 2), 0.5)}


def model(rng, theta):
    return theta["mu"] + theta["scale"] * rng.normal(size=2)


def faulty(rng, theta):
    """Three kinds of failure, by the parameter."""
    if theta["mu"] < -0.9:
        raise ValueError("too cold")
    if theta["mu"] > 0.9:
        return np.array([np.inf, 0.0])
    return np.zeros(3) if 0 < theta["mu"] < 0.1 else model(rng, theta)


def draws(function=model, n=M, keys=KEYS, thetas=THETAS, **options):
    simulator = pliant.PythonSimulator(function, event=(2,), **options)
    x, ok = simulator.simulate(keys, thetas, n)
    return np.asarray(x), np.asarray(ok)


@pytest.fixture(scope="module")
def serial():
    return draws()


def test_draws_follow_from_parameter_and_number_alone(serial):
    x, ok = serial
    assert x.shape == (K, M, 2)
    assert ok.all()
    some = slice(5, 9)
    part = {name: value[some] for name, value in THETAS.items()}
    np.testing.assert_array_equal(draws(n=2, keys=KEYS[some], thetas=part)[0], x[some, :2])
    assert len(np.unique(x - THETAS["mu"][:, None, None])) == x.size  # no two draws are alike
    standard = (x - THETAS["mu"][:, None, None]) / 0.5
    assert abs(standard.mean()) < 4 / np.sqrt(x.size)
    assert abs(standard.var() - 1) < 4 * np.sqrt(2 / x.size)


def test_seeds_are_uniform_and_differ():
    keys = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(0), 500)))
    words = seed_words(np.repeat(keys, 20, axis=0), np.tile(np.arange(20), 500))
    assert len(np.unique(words)) == words.size
    bits = np.unpackbits(words.view(np.uint8).reshape(len(words), -1), axis=1)
    # 256 shares of ones among 10,000: the largest deviation of exact coins is below 5 sd
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(len(words))


@pytest.mark.parametrize(
    "executor",
    [
        pytest.param(lambda: ThreadPoolExecutor(2), id="threads"),
        pytest.param(lambda: ProcessPoolExecutor(2, get_context("spawn")), id="processes"),
    ],
)
@pytest.mark.default_flags
def test_any_executor_gives_the_same_bits(executor, serial):
    with executor() as pool:
        np.testing.assert_array_equal(draws(executor=pool)[0], serial[0])


def test_loky_runs_functions_of_notebooks(serial):
    scope = {}
    exec("def f(rng, t):\n    return t['mu'] + t['scale'] * rng.normal(size=2)", scope)
    np.testing.assert_array_equal(draws(scope["f"], workers=2)[0], serial[0])
    np.testing.assert_array_equal(draws(lambda *a: scope["f"](*a), workers=2)[0], serial[0])


def test_sets_at_once():
    def sets(rng, theta, n):
        return theta["mu"] + theta["scale"] * rng.normal(size=(n, 2))

    x, ok = draws(sets, vectorised=True)
    assert ok.all()
    np.testing.assert_array_equal(draws(sets, vectorised=True, workers=2)[0], x)
    assert abs(((x - THETAS["mu"][:, None, None]) / 0.5).mean()) < 4 / np.sqrt(x.size)
    assert not draws(lambda rng, theta, n: np.zeros((n + 1, 2)), vectorised=True)[1].any()


def test_failures_are_left_out_and_the_others_kept(serial):
    x, ok = draws(faulty)
    mu = THETAS["mu"]
    bad = (mu < -0.9) | (mu > 0.9) | ((mu > 0) & (mu < 0.1))
    np.testing.assert_array_equal(ok, np.repeat(~bad[:, None], M, axis=1))
    np.testing.assert_array_equal(x[~bad], serial[0][~bad])
    assert not x[bad].any()


def test_a_parameter_cannot_be_changed_by_the_function(serial):
    def careless(rng, theta):
        theta["mu"] = theta["mu"] + 1.0
        return model(rng, theta) - 1.0

    np.testing.assert_allclose(draws(careless)[0], serial[0], atol=1e-6)

    def worse(rng, theta):
        theta["scale"][0] = 0.0

    assert not draws(worse)[1].any()


def test_raising_shows_the_draw():
    with pytest.raises(SimulationError, match=r"exception in draw 0 .*-1\.0.*too cold"):
        draws(faulty, on_failure="raise")


@pytest.mark.parametrize("where", ["main thread", "other thread"])
def test_a_draw_that_hangs_is_given_up(where, serial):
    def hangs(rng, theta):
        if theta["mu"] == -1.0:
            time.sleep(30)
        return model(rng, theta)

    start = time.monotonic()
    if where == "main thread":
        x, ok = draws(hangs, timeout=0.05)
    else:
        with ThreadPoolExecutor(1) as pool:
            x, ok = draws(hangs, timeout=0.05, executor=pool)
    assert time.monotonic() - start < 10
    assert not ok[0].any()
    assert ok[1:].all()
    np.testing.assert_array_equal(x[1:], serial[0][1:])


def test_a_worker_that_dies_is_replaced_and_its_draws_are_made_again(serial, tmp_path):
    def dies_once(rng, theta):
        if theta["mu"] == 1.0 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), 9)
        return model(rng, theta)

    x, ok = draws(dies_once, workers=2)
    assert ok.all()
    np.testing.assert_array_equal(x, serial[0])


def test_a_draw_that_ends_every_worker_fails_alone(serial):
    def segfault(rng, theta):
        if theta["mu"] == 1.0:
            os._exit(11)
        return model(rng, theta)

    x, ok = draws(segfault, n=1, workers=2)
    np.testing.assert_array_equal(ok[:, 0], THETAS["mu"] != 1.0)
    np.testing.assert_array_equal(x[:-1, 0], serial[0][:-1, 0])


def test_an_executor_of_the_user_that_breaks_says_so():
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(SimulatorError, match="workers="),
    ):
        draws(_exits, executor=pool)


def test_what_cannot_be_sent_to_workers_is_named():
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"simulator: .*<lambda> .*the variable 'lock'"):
        draws(lambda rng, theta: lock, workers=2)


def _exits(rng, theta):
    os._exit(1)


def test_a_simulator_that_fails_everywhere_ends_the_run_soon():
    calls = []

    def broken(rng, theta):
        calls.append(theta)
        raise RuntimeError("no licence")

    problem = pliant.Problem(
        {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)},
        pliant.PythonSimulator(broken),
        np.random.default_rng(0).normal(size=(30, 2)),
    )
    method = pliant.PLI(
        rounds=2, n_particles=150, n_draws=10, discrepancy=pliant.MMD(), family=pliant.Gaussian()
    )
    with pytest.warns(pliant.PliantWarning, match="failed"):
        result = pliant.infer(problem, method)
    assert result.status == "failed"
    assert "no licence" in result.message
    assert len(calls) < 1500
    assert result.failures[0].kind == "exception"
    assert set(result.failures[0].parameters) == {"mu", "sigma"}


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"function": 3}, "function"),
        ({"workers": 0}, "workers"),
        ({"workers": True}, "workers"),
        ({"executor": 2}, "executor"),
        ({"vectorised": 1}, "vectorised"),
        ({"timeout": 0}, "timeout"),
        ({"on_failure": "ignore"}, "on_failure"),
        ({"event": 3}, "event"),
        ({"event": (0,)}, "event"),
    ],
)
def test_wrong_options_are_named(options, name):
    with pytest.raises((TypeError, ValueError), match=f"^{name}"):
        pliant.PythonSimulator(**{"function": model, **options})
