"""What holds for every discrepancy: a new class costs one line in the table."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant.discrepancies.energy import Energy
from pliant.discrepancies.euclidean import Euclidean
from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.random_features import RandomFeatureMMD
from pliant.discrepancies.sliced_wasserstein import SlicedWasserstein
from pliant.discrepancies.wasserstein import Wasserstein

DISCREPANCIES = {
    "mmd": MMD(),
    "mmd-median": MMD(lengthscales="median"),
    "features": RandomFeatureMMD(n_features=44),
    "wasserstein": Wasserstein(),
    "sliced": SlicedWasserstein(n_projections=20),
    "energy": Energy(),
    "euclidean": Euclidean(),
}
KEY = jax.random.key(0)

# The tolerance between two orders of summation in float32, for distances of order one to ten.
ROUNDING = {"rtol": 1e-5, "atol": 2e-6}


@pytest.fixture(params=DISCREPANCIES)
def discrepancy(request):
    return DISCREPANCIES[request.param]


def sets(K=5, M=12, N=9, event=(3,), *, usable=1.0):
    """Simulated sets that lie at different places, the mask of usable draws, an observed set.

    Tests share the default sizes, and with them what was compiled.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(K, M, *event)) + rng.normal(size=(K, 1, *event))
    ok = rng.random((K, M)) < usable
    return (
        jnp.asarray(x, jnp.float32),
        jnp.asarray(ok),
        jnp.asarray(rng.normal(size=(N, *event)), jnp.float32),
    )


def measure(discrepancy, observed, x, ok):
    distances, _ = discrepancy.measure(discrepancy.prepare(observed), x, ok)
    return np.asarray(distances)


@pytest.mark.default_flags
@pytest.mark.parametrize(("K", "d", "batches"), [(5000, 3, (5,)), (300, 40, (64,))])
def test_a_distance_does_not_depend_on_its_batch(discrepancy, K, d, batches):
    x, ok, observed = sets(K, event=(d,), usable=0.9)
    state = discrepancy.prepare(observed)

    def distances(x, ok):
        return np.asarray(discrepancy.measure(state, x, ok)[0])

    together = distances(x, ok)
    assert together.shape == (K,)
    for k in batches:
        for start in (0, 13, K - k):
            part = slice(start, start + k)
            np.testing.assert_array_equal(distances(x[part], ok[part]), together[part])


@pytest.mark.parametrize("d", [3, 40])
def test_unusable_draws_count_for_nothing(discrepancy, d):
    x, _, observed = sets(M=24, event=(d,))
    smaller = measure(discrepancy, observed, x[:, ::2], jnp.ones((5, 12), bool))
    ok = jnp.arange(24) % 2 == 0
    broken = jnp.where(ok[:, None], x, jnp.nan)
    masked = measure(discrepancy, observed, broken, jnp.broadcast_to(ok, (5, 24)))
    np.testing.assert_allclose(masked, smaller, **ROUNDING)


def test_the_order_of_draws_and_observations_does_not_matter(discrepancy):
    x, ok, observed = sets(usable=0.8)
    rng = np.random.default_rng(1)
    i, j = rng.permutation(12), rng.permutation(9)
    np.testing.assert_allclose(
        measure(discrepancy, observed[j], x[:, i], ok[:, i]),
        measure(discrepancy, observed, x, ok),
        **ROUNDING,
    )


def test_equal_distributions_are_near_and_shifted_ones_are_far(discrepancy):
    rng = np.random.default_rng(2)
    observed = jnp.asarray(rng.normal(size=(300, 2)), jnp.float32)
    shifts = np.array([0.0, 1.0, 2.0])
    x = jnp.asarray(rng.normal(size=(3, 200, 2)) + shifts[:, None, None], jnp.float32)
    same, shifted, far = measure(discrepancy, observed, x, jnp.ones((3, 200), bool))
    # Sampling moves a distance by a few per cent of that of a shift by one. The regularisation of
    # Wasserstein, 0.2 here, adds a tenth of the 2 that such a shift costs.
    assert abs(same) < 0.2 * shifted < 0.2 * far


def test_too_few_usable_draws_are_infinitely_far(discrepancy):
    x, _, observed = sets()
    few = discrepancy.min_draws
    ok = jnp.arange(12)[None] < jnp.array([0, few - 1, few, few + 1, 12])[:, None]
    distances = measure(discrepancy, observed, jnp.where(ok[..., None], x, jnp.nan), ok)
    assert np.isposinf(distances[:2]).all()
    assert np.isfinite(distances[2:]).all()


def test_sets_of_one_draw_are_infinitely_far_where_two_are_needed(discrepancy):
    x, ok, observed = sets(M=1)
    distances = measure(discrepancy, observed, x, ok)
    assert (np.isposinf(distances) if discrepancy.min_draws > 1 else np.isfinite(distances)).all()


def test_one_observation_is_enough(discrepancy):
    if discrepancy == DISCREPANCIES["mmd-median"]:
        pytest.skip("has no distances between observations; its error is tested with MMD")
    x, ok, observed = sets(K=2, N=1)
    x = jnp.stack([observed + 1e-3 * x[0], observed + x[1]])
    near, away = measure(discrepancy, observed, x, ok)
    assert near == pytest.approx(0, abs=1e-2)
    assert away > 0.05


def test_inside_jit_it_is_the_same(discrepancy):
    x, ok, observed = sets(usable=0.9)

    @eqx.filter_jit
    def both(discrepancy, observed, x, ok):
        return discrepancy.measure(discrepancy.prepare(observed), x, ok)[0]

    np.testing.assert_allclose(
        both(discrepancy, observed, x, ok), measure(discrepancy, observed, x, ok), **ROUNDING
    )


def test_it_maps_over_many_observed_sets(discrepancy):
    x, ok, _ = sets(usable=0.9)
    observed = jax.random.normal(jax.random.key(3), (4, 9, 3))

    def distances(observed):
        return discrepancy.measure(discrepancy.prepare(observed), x, ok)[0]

    mapped = eqx.filter_jit(jax.vmap(distances))(observed)
    one_by_one = [measure(discrepancy, y, x, ok) for y in observed]
    np.testing.assert_allclose(mapped, np.stack(one_by_one), **ROUNDING)


def test_measuring_again_does_not_trace_again(discrepancy):
    x, ok, observed = sets()
    others = x + 1
    state = discrepancy.prepare(observed)
    discrepancy.measure(state, x, ok)
    events = []

    def listen(event, *_, **__):
        events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        discrepancy.measure(state, others, ok)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert events == []


@pytest.mark.parametrize("event", [(), (1, 3)])
def test_events_of_any_shape_are_flattened(discrepancy, event):
    x, ok, observed = sets(event=event)
    flat = measure(discrepancy, observed.reshape(9, -1), x.reshape(5, 12, -1), ok)
    np.testing.assert_array_equal(measure(discrepancy, observed, x, ok), flat)


@pytest.mark.wrong_types
def test_whole_numbers_are_measured_like_floats(discrepancy):
    rng = np.random.default_rng(4)
    x, observed = jnp.asarray(rng.poisson(5, (5, 12, 3))), jnp.asarray(rng.poisson(5, (9, 3)))
    ok = jnp.ones((5, 12), bool)
    np.testing.assert_array_equal(
        measure(discrepancy, observed, x, ok),
        measure(discrepancy, observed.astype(float), x.astype(float), ok),
    )


def test_scale_divides_the_features(discrepancy):
    x, ok, observed = sets()
    divisors = jnp.array([0.5, 2.0, 10.0])
    scaled = discrepancy.with_scale(divisors)
    by_hand = measure(discrepancy, observed / divisors[None], x / divisors[None, None], ok)
    np.testing.assert_allclose(measure(scaled, observed, x, ok), by_hand, **ROUNDING)


def test_divisors_that_do_not_fit_the_event_are_an_error(discrepancy):
    _, _, observed = sets(event=(2, 2))
    with pytest.raises(ValueError, match=r"scale: expected 4 divisors.*got 3"):
        discrepancy.with_scale((1.0, 2.0, 3.0)).prepare(observed)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("scale", "error"),
    [
        ((1.0, 0.0), ValueError),
        ((1.0, -1.0), ValueError),
        ((1.0, float("nan")), ValueError),
        (2.0, ValueError),
        (("a", "b"), TypeError),
    ],
)
def test_divisors_that_make_no_sense_are_an_error(discrepancy, scale, error):
    with pytest.raises(error, match="scale: expected"):
        type(discrepancy)(scale=scale)


@pytest.mark.default_flags
@pytest.mark.parametrize("d", [3, 40])
def test_one_set_takes_no_more_memory_than_announced(discrepancy, d):
    M, N = 2**16 + 1, 9  # the worst for sorting, which pads M to a power of two
    state = discrepancy.prepare(sets(N=N, event=(d,))[2])
    x, ok = jax.ShapeDtypeStruct((1, M, d), jnp.float32), jax.ShapeDtypeStruct((1, M), bool)
    compiled = jax.jit(lambda x, ok: discrepancy.measure(state, x, ok)[0]).lower(x, ok).compile()
    announced = 4 * M * discrepancy.numbers_per_draw(d, N)
    used = compiled.memory_analysis().temp_size_in_bytes
    assert used <= 1.01 * announced + 2**16  # something small does not grow with M


def test_simulated_events_must_have_the_features_of_the_observed(discrepancy):
    x, ok, _ = sets()
    _, _, observed = sets(event=(2,))
    with pytest.raises(ValueError, match="x: expected events with 2 features"):
        measure(discrepancy, observed, x, ok)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("make", "options", "error"),
    [
        (MMD, {"lengthscales": "mean"}, ValueError),
        (MMD, {"most_partners": 0}, ValueError),
        (RandomFeatureMMD, {"n_features": 3}, ValueError),
        (Wasserstein, {"regularisation": 0}, ValueError),
        (Wasserstein, {"regularisation": "small"}, TypeError),
        (Wasserstein, {"tolerance": 0.0}, ValueError),
        (Wasserstein, {"max_iterations": 0}, ValueError),
        (Wasserstein, {"max_iterations": 1.5}, TypeError),
        (SlicedWasserstein, {"n_projections": 0}, ValueError),
        (SlicedWasserstein, {"seed": -1}, ValueError),
    ],
)
def test_errors_name_the_option(make, options, error):
    (name,) = options
    with pytest.raises(error, match=name):
        make(**options)
