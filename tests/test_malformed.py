"""Malformed input ends in a ``ValueError`` or ``TypeError`` that names the argument.

One table of calls, each with a strategy for values that are wrong: a new option costs one line.
"""

import contextlib
import inspect
import math
import traceback
from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pliant
import pliant.problem.problem
from pliant.densities.gaussian import GaussianDensity
from pliant.problem.prior import read_prior
from pliant.run.posterior import Posterior

pytestmark = [
    pytest.mark.wrong_types,
    pytest.mark.filterwarnings("ignore:A JAX array is being set as static"),  # and refused then
]

# --- Values that are wrong ---------------------------------------------------------------------

TEXT = st.text(max_size=5)
STRANGE = st.one_of(
    TEXT,
    st.complex_numbers(allow_nan=False),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(TEXT, st.integers(), max_size=1),
    st.sampled_from([object(), int, len, b"1", np.array("x"), np.datetime64("2020-01-01")]),
)
NOT_FINITE = st.sampled_from([math.nan, math.inf, -math.inf, np.float32("nan"), np.float64("inf")])
BOOLEANS = st.sampled_from([True, False, np.True_])
FRACTIONAL = st.one_of(st.floats(allow_nan=True), st.fractions(), st.just(np.float32(3)))


def not_integer(*, at_least):
    too_small = st.integers(max_value=at_least - 1)
    return STRANGE | BOOLEANS | FRACTIONAL | too_small | too_small.map(_as_int64)


def not_real(*, above=None, below=None):
    wrong = STRANGE | BOOLEANS | NOT_FINITE | st.just(10**400)
    if above is not None:
        wrong |= st.floats(max_value=above, allow_nan=False) | st.integers(max_value=above)
        wrong |= st.just(Fraction(above)) | st.just(np.float32(above))
    if below is not None:
        wrong |= st.floats(min_value=below, allow_nan=False) | st.integers(min_value=below)
    return wrong


def _as_int64(value):
    return np.int64(max(value, -(2**63)))


OBJECT = STRANGE | BOOLEANS | FRACTIONAL | st.integers() | st.none()
NOT_NONE = OBJECT.filter(lambda v: v is not None)
NOT_SEED = not_integer(at_least=0) | st.integers(min_value=2**32) | st.none()
NOT_FLAG = STRANGE | FRACTIONAL | st.integers() | st.none()
NOT_SCALE = st.one_of(
    TEXT.map(lambda text: text + "!"),
    st.complex_numbers(allow_nan=False),
    st.dictionaries(TEXT, st.integers(), max_size=1),
    st.sampled_from([object(), int, len, b"1", np.datetime64("2020-01-01")]),
    st.lists(st.floats(max_value=0) | NOT_FINITE, min_size=2, max_size=2),
    st.sampled_from([[1.0, 1e300], [1e-300, 1.0], np.ones((2, 2)), 1.0, [1.0, [2.0]], [None, 1]]),
)
NOT_OBSERVED = st.one_of(
    OBJECT,
    st.lists(st.lists(NOT_FINITE | st.just(1e300), min_size=2, max_size=2), min_size=1, max_size=3),
    st.lists(st.lists(st.floats(0, 1), max_size=1), max_size=3),
    st.lists(st.lists(st.complex_numbers() | TEXT, min_size=2, max_size=2), min_size=1, max_size=2),
    st.sampled_from(
        [
            [[1.0, 2.0], [1.0]],
            [[1.0, None]],
            np.zeros((0, 2)),
            np.zeros((3, 0)),
            np.zeros((3, 3)),
            np.zeros((3, 2, 1)),
            np.array([[1.0, 2.0]], dtype=object),
            np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"),
            np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]),
            jax.random.key(0),
        ]
    ),
)
NOT_CONDITIONS = st.one_of(
    NOT_NONE,
    st.lists(NOT_FINITE, min_size=3, max_size=3),
    st.dictionaries(TEXT.filter(bool), st.lists(st.floats(0, 1), max_size=2), max_size=2),
    st.dictionaries(st.integers(), st.just([1.0, 2.0, 3.0]), min_size=1, max_size=2),
    st.sampled_from([np.zeros((4, 3)), np.zeros((3, 0)), [1.0, 2.0, None], [1.0, 2.0, "3"]]),
)
DISTRIBUTIONS = st.sampled_from(
    [
        dist.Poisson(3.0),
        dist.Bernoulli(0.5),
        dist.Categorical(jnp.ones(3) / 3),
        dist.Delta(1.0),
        dist.Delta(jnp.zeros(2)).to_event(1),
        dist.ImproperUniform(dist.constraints.real, (), ()),
        dist.ProjectedNormal(jnp.array([1.0, 0.0])),
        dist.Normal(jnp.zeros(0), 1.0),
        dist.Dirichlet(jnp.ones(1)),
        dist.Normal(0, math.nan, validate_args=False),
        dist.Normal(0, -1.0, validate_args=False),
        dist.Normal(0, 0.0, validate_args=False),
        dist.Normal(math.inf, 1.0, validate_args=False),
        dist.Uniform(2.0, 1.0, validate_args=False),
        dist.Uniform(1.0, 1.0, validate_args=False),
        dist.Uniform(1e9, 1e9 + 1, validate_args=False),
        dist.Uniform(0.0, math.inf, validate_args=False),
        dist.Gamma(-1.0, 1.0, validate_args=False),
        dist.MultivariateNormal(
            jnp.zeros(2), jnp.array([[1.0, 2.0], [2.0, 1.0]]), validate_args=False
        ),
        dist.Normal,
        dist.Uniform,
    ]
)
NOT_PRIOR = st.one_of(
    OBJECT,
    DISTRIBUTIONS,
    st.dictionaries(TEXT.filter(bool), OBJECT | DISTRIBUTIONS, min_size=1, max_size=2),
    st.dictionaries(
        st.integers() | st.none() | st.just("") | st.tuples(TEXT),
        st.just(dist.Normal(0, 1)),
        min_size=1,
        max_size=2,
    ),
    st.lists(st.just(dist.Normal(0, 1)), max_size=2),
)
NOT_THETA = st.one_of(
    OBJECT,
    st.dictionaries(TEXT, st.floats(), max_size=2),
    st.fixed_dictionaries({"mu": st.floats(), "sigmas": st.floats()}),
    st.fixed_dictionaries(
        {"mu": STRANGE.filter(lambda v: not isinstance(v, list)), "sigma": st.just([1.0, 1.0])}
    ),
    st.fixed_dictionaries({"mu": st.floats(), "sigma": st.floats() | st.just([1.0, 1.0, 1.0])}),
    st.fixed_dictionaries(
        {
            "mu": st.lists(st.floats(), min_size=3, max_size=5),
            "sigma": st.sampled_from([np.ones((2, 2)), np.ones((1, 2)), [[1.0, 1.0], [1.0]]]),
        }
    ),
)
NOT_LENGTHSCALES = st.one_of(
    TEXT.filter(lambda v: v != "median"),
    st.just([]),
    st.lists(not_real(above=0), min_size=1, max_size=3),
    st.integers() | st.floats() | st.none() | BOOLEANS,
)


def simulators_that_fail():
    def numpy_code(key, theta):
        return np.asarray(theta["mu"]) + np.zeros(2)

    def branches(key, theta):
        return jnp.zeros(2) if theta["mu"] > 0 else jnp.ones(2)

    def misspelt(key, theta):
        return theta["nu"] + jnp.zeros(2)

    def raises(key, theta):
        raise RuntimeError

    shaped = [lambda k, t, s=s: jnp.zeros(s) for s in ((), (3,), (2, 1), (0,))]
    typed = [lambda k, t, d=d: jnp.zeros(2, d) for d in (complex, jnp.complex64)]
    others = [
        lambda theta: jnp.zeros(2),
        lambda key, theta, more: jnp.zeros(2),
        lambda: jnp.zeros(2),
        lambda k, t: (jnp.zeros(2), 1),
        lambda k, t: {"x": jnp.zeros(2)},
        lambda k, t: [0.0, 1.0],
        lambda k, t: "text",
        lambda k, t: None,
        lambda k, t: k,
        lambda k, t: jnp.zeros((2, 3)) @ jnp.zeros(2),
    ]
    return st.sampled_from([numpy_code, branches, misspelt, raises, *shaped, *typed, *others])


# --- The calls ---------------------------------------------------------------------------------

PRIOR = {"mu": dist.Normal(0, 1), "sigma": dist.LogNormal(jnp.zeros(2), 1)}
OBSERVED = np.array([[0.1, 0.2], [0.3, -0.4], [0.0, 1.0]])


def simulator(key, theta):
    return theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,))


def problem(**changes):
    return pliant.Problem(
        **{"prior": PRIOR, "simulator": simulator, "observed": OBSERVED, **changes}
    )


def pli(**changes):
    small = {"rounds": 1, "n_particles": 100, "n_draws": 10}
    small |= {"discrepancy": pliant.MMD(), "family": pliant.Gaussian()}
    return pliant.PLI(**{**small, **changes})


def infer(**changes):
    options = {"problem": PROBLEM, "method": pli(), "progress": False, **changes}
    return pliant.infer(options.pop("problem"), options.pop("method"), **options)


def option(make, name, **others):
    return lambda value: make(**{name: value}, **others)


def task(call, name):
    return lambda value: getattr(pliant.tasks.get("gaussian_location"), call)(**{name: value})


@pytest.fixture(autouse=True)
def _read_once(monkeypatch):
    """Problems with the prior above share what was read of it."""
    monkeypatch.setattr(
        pliant.problem.problem,
        "read_prior",
        lambda prior: READ if prior is PRIOR else read_prior(prior),
    )


READ = read_prior(PRIOR)
PROBLEM = problem()
POSTERIOR = Posterior(READ.space, GaussianDensity(jnp.zeros(3), jnp.zeros(3), jnp.zeros((3, 3))))

COUNT = not_integer(at_least=1)
POSITIVE = not_real(above=0)
SHARE = not_real(above=0, below=1)
NOT_KERNEL = OBJECT | st.sampled_from([pliant.Gaussian(), pliant.UniformKernel])
ABC = {
    "rounds": COUNT | st.none(),
    "n_particles": not_integer(at_least=10) | st.none(),
    "n_draws": COUNT,
    "discrepancy": OBJECT | st.sampled_from([pliant.Gaussian(), pliant.MMD]),
    "tolerance": POSITIVE,
    "chunk_size": COUNT,
}
SMC = {
    "alpha": SHARE | st.none(),
    "resample_below": POSITIVE | st.none(),
    "min_acceptance": SHARE | st.none(),
}
NOT_TRAINING = OBJECT | st.just(pliant.Training)
NOT_EMBEDDING = OBJECT | st.sampled_from([pliant.Gaussian(), pliant.DeepSet])
LEARNED = {
    "training": NOT_TRAINING,
    "batch_size": COUNT | st.none(),
    "window": COUNT | st.none(),
    "networks": COUNT | st.none(),
    "n_evaluated": not_integer(at_least=100),
    "defensive_share": SHARE,
    "approach": NOT_NONE | st.just(pliant.MMD),
}
FLOW = {"layers": COUNT | st.none(), "bins": COUNT | st.none(), "width": COUNT | st.none()}
EMBEDDING = {"features": COUNT | st.none(), "width": COUNT | st.none()}


def _is_given(value):
    return value is not None


def lazy(name, options):
    """Cases of a class of Pliant, which is looked up when a case runs."""
    return {
        f"{name}({argument})": (
            argument,
            lambda value, argument=argument: getattr(pliant, name)(**{argument: value}),
            wrong,
        )
        for argument, wrong in options.items()
    }


NOT_CALLABLE = OBJECT.filter(lambda v: not callable(v))
EXTERNAL = {
    "workers": COUNT,
    "executor": NOT_NONE,
    "timeout": POSITIVE,
    "on_failure": OBJECT,
    "event": NOT_NONE | st.sampled_from([(0,), (2.0,), (True,)]),
    "setting": OBJECT,
}


def external(name, first, usual, options):
    """Cases of a simulator outside of JAX."""
    make = getattr(pliant, name)
    return {
        f"{name}({first})": (first, lambda value: make(value), NOT_CALLABLE),
        **{
            f"{name}({argument})": (argument, option(partial(make, usual), argument), wrong)
            for argument, wrong in {**EXTERNAL, **options}.items()
        },
    }


CASES = {
    "Problem(prior)": ("prior", option(problem, "prior"), NOT_PRIOR),
    "Problem(simulator)": (
        "simulator",
        option(problem, "simulator"),
        OBJECT,
    ),
    "Problem(simulator that fails)": (
        "simulator",
        option(problem, "simulator"),
        simulators_that_fail(),
    ),
    "Problem(observed)": ("observed", option(problem, "observed"), NOT_OBSERVED),
    "Problem(conditions)": ("conditions", option(problem, "conditions"), NOT_CONDITIONS),
    "Problem(missing)": ("missing", option(problem, "missing"), NOT_FLAG),
    "Problem(scale)": ("scale", option(problem, "scale"), NOT_SCALE | BOOLEANS),
    **lazy(
        "PLI",
        {
            "rounds": COUNT | st.none(),
            "n_particles": not_integer(at_least=10),
            "n_draws": COUNT,
            "discrepancy": NOT_NONE | st.sampled_from([pliant.Gaussian(), pliant.Gaussian]),
            "family": OBJECT | st.sampled_from([pliant.TrustRegion(), pliant.SplineFlow]),
            "schedule": OBJECT | st.sampled_from([pliant.Gaussian(), pliant.TrustRegion]),
            "kernel": NOT_KERNEL,
            "beta": POSITIVE,
            "projection": OBJECT,
            "partition": NOT_NONE,
            "noise_limit": POSITIVE,
            "reuse": not_integer(at_least=0) | st.none(),
            "chunk_size": COUNT,
        },
    ),
    **external("PythonSimulator", "function", len, {"vectorised": NOT_FLAG}),
    **external("CommandSimulator", "command", ["cat"], {"read": NOT_CALLABLE}),
    **lazy("RejectionABC", {**ABC, "kernel": NOT_KERNEL, "quantile": SHARE | st.just(1e-6)}),
    **lazy("SMCABC", {**ABC, **SMC, "kernel": NOT_KERNEL}),
    **lazy(
        "PMCABC",
        {
            **ABC,
            "alpha": SHARE | st.none() | st.just(0.001),  # keeps one
            "perturbation": NOT_NONE | st.just(pliant.Gaussian()),
            "min_acceptance": SHARE,
            "weights": OBJECT,
        },
    ),
    **lazy("MHABC", {**ABC, **SMC, "hits": not_integer(at_least=2), "max_tries": COUNT}),
    **lazy(
        "APT",
        {
            **FLOW,
            "rounds": COUNT | st.none(),
            "n_particles": not_integer(at_least=40) | st.none(),
            "embedding": NOT_EMBEDDING,
            "atoms": not_integer(at_least=2) | st.none(),
            "training": NOT_TRAINING,
            "batch_size": not_integer(at_least=10) | st.none(),  # as many as atoms
            "depth": COUNT | st.none(),
            "warm_start": NOT_FLAG,
            "window": COUNT,
        },
    ),
    **lazy("Concatenation", EMBEDDING),
    **lazy("DeepSet", EMBEDDING),
    **lazy("SeriesEmbedding", {**EMBEDDING, "channels": COUNT | st.none()}),
    **lazy("ImageEmbedding", {**EMBEDDING, "channels": COUNT | st.none()}),
    "ModuleEmbedding(module)": (
        "module",
        option(pliant.ModuleEmbedding, "module", features=2),
        NOT_CALLABLE,
    ),
    "ModuleEmbedding(features)": (
        "features",
        option(pliant.ModuleEmbedding, "features", module=eqx.nn.Identity()),
        COUNT | st.none(),
    ),
    **lazy("LikelihoodKL", {**FLOW, **LEARNED, "embedding": NOT_EMBEDDING.filter(_is_given)}),
    **lazy(
        "RatioKL",
        {
            **LEARNED,
            "embedding": NOT_EMBEDDING.filter(_is_given),
            "atoms": not_integer(at_least=2) | st.none(),
            "width": COUNT | st.none(),
        },
    ),
    "PLI.paper(n_obs)": ("n_obs", lambda value: pliant.PLI.paper(value), COUNT | st.none()),
    **lazy("TrustRegion", {"epsilon": POSITIVE | st.none(), "path": OBJECT}),
    **lazy("Quantile", {"alpha": SHARE | st.none()}),
    **lazy("EffectiveSampleSize", {"fraction": SHARE | st.none()}),
    **lazy(
        "PartitionFunction",
        {
            "n_sets": COUNT | st.none(),
            "n_particles": COUNT,
            "exponent": OBJECT,
            "box": OBJECT,
        },
    ),
    **lazy(
        "Training",
        {
            "steps": COUNT | st.none(),
            "rate": POSITIVE | st.none(),
            "decay": POSITIVE | st.just(1.01) | st.none(),
            "clip": POSITIVE,
            "averaging": POSITIVE | st.just(1.01) | st.none(),
            "selection": NOT_FLAG,
            "every": COUNT | st.none(),
            "patience": COUNT | st.none(),
        },
    ),
    **lazy("Gaussian", {"reverse_training": NOT_TRAINING}),
    **lazy(
        "GaussianMixture",
        {
            "components": COUNT | st.none(),
            "starts": COUNT | st.none(),
            "iterations": COUNT | st.none(),
            "reverse_training": NOT_TRAINING,
        },
    ),
    **lazy(
        "SplineFlow",
        {
            "layers": COUNT | st.none(),
            "bins": COUNT | st.none(),
            "width": COUNT | st.none(),
            "depth": COUNT | st.none(),
            "training": NOT_TRAINING,
            "batch_size": COUNT | st.none(),
            "warm_start": NOT_FLAG,
            "split": NOT_FLAG,
            "whitening": OBJECT,
            "reverse_training": NOT_TRAINING,
        },
    ),
    **lazy("MMD", {"lengthscales": NOT_LENGTHSCALES, "scale": NOT_SCALE, "most_partners": COUNT}),
    **lazy(
        "RandomFeatureMMD",
        {
            "n_features": not_integer(at_least=11) | st.none(),
            "lengthscales": NOT_LENGTHSCALES,
            "seed": NOT_SEED,
            "scale": NOT_SCALE,
        },
    ),
    **lazy(
        "Wasserstein",
        {
            "regularisation": POSITIVE | st.none(),
            "tolerance": POSITIVE | st.none(),
            "max_iterations": COUNT | st.none(),
            "scale": NOT_SCALE,
        },
    ),
    **lazy(
        "SlicedWasserstein",
        {"n_projections": COUNT | st.none(), "seed": NOT_SEED, "scale": NOT_SCALE},
    ),
    **lazy("Energy", {"scale": NOT_SCALE}),
    **lazy("Euclidean", {"scale": NOT_SCALE}),
    "infer(problem)": ("problem", option(infer, "problem"), OBJECT | st.just(PRIOR)),
    "infer(method)": ("method", option(infer, "method"), NOT_NONE | st.just(pliant.PLI)),
    "infer(folder)": (
        "folder",
        option(infer, "folder"),
        OBJECT.filter(lambda v: v is not None and not isinstance(v, str)),
    ),
    "infer(seed)": ("seed", option(infer, "seed"), NOT_SEED),
    "infer(max_simulations)": (
        "max_simulations",
        option(infer, "max_simulations"),
        COUNT | st.integers(1, 999),  # one round makes 1000
    ),
    "infer(max_seconds)": ("max_seconds", option(infer, "max_seconds"), POSITIVE),
    "infer(callback)": (
        "callback",
        option(infer, "callback"),
        OBJECT.filter(lambda v: v is not None and not callable(v)),
    ),
    "infer(progress)": ("progress", lambda value: infer(progress=value), NOT_FLAG),
    "infer(n_draws of one)": (
        "n_draws",
        lambda value: infer(method=pli(n_draws=1, discrepancy=value)),
        st.sampled_from([pliant.MMD(), pliant.MMD(lengthscales=[1.0])]),
    ),
    "infer(scale of another event)": (
        "scale",
        lambda value: infer(method=pli(discrepancy=pliant.MMD(scale=value))),
        st.lists(st.floats(0.5, 2.0), max_size=5).filter(lambda v: len(v) != 2),
    ),
    "Posterior.sample(n)": ("n", lambda value: POSTERIOR.sample(value), COUNT | st.none()),
    "Posterior.sample(seed)": ("seed", lambda value: POSTERIOR.sample(3, seed=value), NOT_SEED),
    "Posterior.summary(n)": ("n", lambda value: POSTERIOR.summary(value), COUNT | st.none()),
    "Posterior.map(seed)": ("seed", lambda value: POSTERIOR.map(seed=value), NOT_SEED),
    "Posterior.log_prob(theta)": ("theta", POSTERIOR.log_prob, NOT_THETA),
    "tasks.get(name)": ("name", lambda value: pliant.tasks.get(value), OBJECT),
    "task.problem(n_obs)": ("n_obs", task("problem", "n_obs"), COUNT | st.none()),
    "task.problem(seed)": ("seed", task("problem", "seed"), NOT_SEED),
    "task.reference(n_obs)": ("n_obs", task("reference", "n_obs"), COUNT | st.none()),
    "task.reference(seed)": ("seed", task("reference", "seed"), NOT_SEED),
    "task.reference(n)": ("n", task("reference", "n"), COUNT | st.none()),
}


@pytest.mark.parametrize("case", CASES)
def test_malformed_input_is_named(case):
    argument, call, wrong = CASES[case]

    @settings(
        max_examples=15,  # times 110 cases: above a thousand inputs
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(wrong)
    def check(value):
        with pytest.raises((ValueError, TypeError)) as raised:
            call(value)
        origin = traceback.extract_tb(raised.value.__traceback__)[-1].filename
        assert type(raised.value) in (ValueError, TypeError)
        assert argument in str(raised.value), f"{case}, {value!r}"
        assert "/pliant/" in origin, f"from {origin}: {raised.value}"

    check()


def test_every_option_is_in_the_table():
    kinds = {name: getattr(pliant, name) for name in pliant.__all__}
    options = {
        f"{name}({argument})"
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, eqx.Module) and kind is not Posterior
        for argument in inspect.signature(kind).parameters
    }
    assert options - set(CASES) == set()


def broken_everywhere(key, theta):
    return jnp.full(2, jnp.nan)


def broken_at_times(key, theta):
    return jnp.where(jax.random.bernoulli(key, 0.5), simulator(key, theta), jnp.inf)


@pytest.mark.parametrize("function", [broken_everywhere, broken_at_times])
def test_draws_that_are_not_finite_never_reach_the_samples(function):
    fails = function is broken_everywhere
    with pytest.warns(pliant.PliantWarning) if fails else contextlib.nullcontext():
        result = infer(problem=problem(simulator=function))
    assert result.status.is_error == fails
    for leaf in jax.tree.leaves(result.posterior.sample(100)):
        assert np.all(np.isfinite(leaf))


@pytest.mark.parametrize("case", [case for case in CASES if case.endswith("(seed)")])
def test_seeds_that_jax_would_shorten_are_refused(case):
    for seed in (2**32, 2**64):
        with pytest.raises(ValueError, match=r"seed: expected an integer below 2\*\*32"):
            CASES[case][1](seed)
