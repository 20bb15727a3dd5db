"""What every task promises, driven by one table: a new task costs one line."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant import tasks
from pliant.tasks.base import AbstractTask, exact_samples

EVENTS = {
    "gaussian_location": (10,),
    "gaussian_mixture": (2,),
    "slcp": (8,),
    "sir": (10,),
    "furuta": (100, 6),
    "two_moons": (2,),
    "lotka_volterra": (20,),
    "regression": (),
    "ddm": (2,),
    "ornstein_uhlenbeck": (50,),
    "blob": (28, 28),
}
ADDED = {"two_moons", "lotka_volterra", "regression", "ddm", "ornstein_uhlenbeck", "blob"}
WITH_REFERENCE = [name for name in EVENTS if name != "furuta"]


def flat(observed):
    """Observations of any structure as rows."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(observed)]
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)


def test_table_names_every_task():
    assert tasks.names() == tuple(EVENTS)


@pytest.fixture(params=EVENTS)
def task(request) -> AbstractTask:
    return tasks.get(request.param)


def test_truth_lies_inside_the_support(task):
    space = task.problem(1).prior.space
    assert space.contains(task.truth)
    z = space.unconstrain(task.truth)
    back = space.constrain(z)
    for name, leaf in task.truth.items():
        np.testing.assert_allclose(back[name], leaf, rtol=1e-4)  # float32 through a sigmoid


def test_shapes_and_name(task):
    event = EVENTS[task.name]
    problem = task.problem(n_obs=3, seed=1)
    assert problem.n_obs == 3
    assert problem.event_shape == event
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(task.observed(3, 1)))
    assert isinstance(task.summary, str)
    assert "\n" not in task.summary
    np.testing.assert_array_equal(problem.observed.reshape(3, -1), flat(task.observed(3, 1)))


def test_the_paper_s_tasks_are_in_their_own_units(task):
    assert task.problem(2).scale == ("auto" if task.name in ADDED else None)


def test_observations_are_prefixes_and_follow_the_seed(task):
    large = flat(task.observed(250, 3))
    for n_obs in (1, 7, 100, 101):
        np.testing.assert_array_equal(flat(task.observed(n_obs, 3)), large[:n_obs])
    np.testing.assert_array_equal(flat(task.observed(250, 3)), large)
    assert np.mean(flat(task.observed(250, 4)) == large) < 0.7  # many counts of SIR are 0
    assert len(np.unique(large, axis=0)) > 240  # counts may agree by chance


def test_observations_have_the_simulators_law(task):
    """Mean and variance of 4000 observations against a run's own draws at the truth."""
    problem = task.problem(4000)
    theta = jax.tree.map(lambda leaf: leaf[None], task.truth)
    under = () if problem.is_uniform else (jnp.arange(4000)[None],)
    other, ok = problem.simulator.simulate(jax.random.key(5)[None], theta, 4000, *under)
    assert np.all(ok)
    x, y = flat(task.observed(4000, 0)).astype(float), np.asarray(other[0], float).reshape(4000, -1)
    error = np.sqrt((x.var(axis=0) + y.var(axis=0)) / 4000)
    # 5 standard errors; the Furuta pendulum has 600 entries
    assert np.all(np.abs(x.mean(axis=0) - y.mean(axis=0)) <= 5 * error + 1e-6)
    centred = [(a - a.mean(axis=0)) ** 2 for a in (x, y)]
    error = np.sqrt(sum(c.var(axis=0) for c in centred) / 4000)
    assert np.all(np.abs(centred[0].mean(0) - centred[1].mean(0)) <= 5 * error + 1e-6)


def test_a_second_problem_is_compiled_with_the_first(task):
    """jit compares functions by hash and equality, and a bound method is made anew each time."""
    first, second = (task.problem(2, seed).simulator.function for seed in (0, 1))
    assert first is not second
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"n_obs": 0}, ValueError, "n_obs"),
        ({"n_obs": 2.0}, TypeError, "n_obs"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": 2**32}, ValueError, "seed"),
        ({"seed": None}, TypeError, "seed"),
    ],
)
def test_bad_requests_name_the_argument(task, arguments, error, match):
    for call in (task.observed, task.problem, task.reference):
        with pytest.raises(error, match=match):
            call(**arguments)


@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_reference_has_the_form_of_posterior_samples(name):
    task = tasks.get(name)
    for n_obs in (1, 100 if name == "ddm" else 1000):
        samples = task.reference(n_obs, seed=2, n=50)
        assert set(samples) == set(task.truth)
        for key, leaf in task.truth.items():
            assert samples[key].shape == (50, *leaf.shape)
            assert samples[key].dtype == jnp.float32
        assert task.problem(1).prior.space.contains(samples)
        again = task.reference(n_obs, seed=2, n=50)
        for key in samples:
            np.testing.assert_array_equal(samples[key], again[key])
    given = task.observed(n_obs, 2), task.conditions(n_obs, 2)
    fresh = exact_samples(task, *given, seed=2, n=50)
    for key in samples:
        np.testing.assert_array_equal(samples[key], fresh[key].astype(np.float32))


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_reference_refuses_bad_requests(name):
    task = tasks.get(name)
    with pytest.raises(ValueError, match=r"^n: "):
        task.reference(1, n=0)
    with pytest.raises(TypeError, match=r"^n: "):
        task.reference(1, n=1e4)
    with pytest.raises(ValueError, match="observed"):
        task.posterior_samples(np.zeros((3, 99)))
    with pytest.raises(ValueError, match="observed"):
        task.posterior_samples(np.zeros((0, *EVENTS[name])))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("slpc", "'slcp'"),
        ("Gaussian-Location", "'gaussian_location'"),
        ("gauss_mix", "'gaussian_mixture'"),
        ("pendulum", "furuta"),
    ],
)
def test_unknown_names_list_the_known_ones(name, hint):
    with pytest.raises(ValueError, match="gaussian_location, gaussian_mixture, slcp") as caught:
        tasks.get(name)
    assert hint in str(caught.value)


@pytest.mark.wrong_types
def test_a_name_is_a_string():
    with pytest.raises(TypeError, match="name"):
        tasks.get(3)  # pyright: ignore[reportArgumentType]


def test_get_passes_options_on():
    assert tasks.get("sir") == tasks.get("sir", times=10, truncated=False)
    task = tasks.get("sir", times=20, truncated=True)
    assert (task.times, task.truncated) == (20, True)  # pyright: ignore
    assert tasks.get("furuta", back_emf=True).back_emf  # pyright: ignore
    with pytest.raises(ValueError, match="times: expected 10 or 20, got 7"):
        tasks.get("sir", times=7)


@pytest.mark.parametrize(
    ("name", "option", "says"),
    [
        ("sir", "time", "options are times, truncated. Did you mean 'times'?"),
        ("furuta", "times", "options are back_emf."),
        ("slcp", "times", "It has none."),
    ],
)
def test_unknown_options_list_the_known_ones(name, option, says):
    with pytest.raises(TypeError, match=f"^{option}: the task {name} has no such option") as caught:
        tasks.get(name, **{option: 20})
    assert says in str(caught.value)
