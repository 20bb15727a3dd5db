"""The one serialiser: every class comes back bit for bit, and a forged file is refused."""

import dataclasses
import functools
import itertools
import json
from typing import Any, NamedTuple, get_type_hints

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from beartype import BeartypeConf
from beartype.door import is_bearable
from numpyro.distributions import constraints

import pliant
from pliant._files import write_arrays
from pliant.densities.affine import AffineDensity
from pliant.densities.amortised import AmortisedDensity
from pliant.densities.conditional_flow import ConditionalFlow
from pliant.densities.coupling import CouplingFlow
from pliant.densities.flow_mixture import FlowMixture
from pliant.densities.gaussian import GaussianDensity
from pliant.densities.mixture import MixtureDensity
from pliant.densities.particles import particle_density
from pliant.densities.spline_flow import FlowDensity
from pliant.densities.weights import perceptron
from pliant.discrepancies.approach import Approach
from pliant.discrepancies.draws import RoundDraws, Widths
from pliant.discrepancies.ensemble import Ensemble
from pliant.discrepancies.learned import LearnedState
from pliant.discrepancies.likelihood import learned_likelihood
from pliant.discrepancies.measured import MeasuredState
from pliant.discrepancies.memory import Memory
from pliant.discrepancies.mmd import MMD
from pliant.discrepancies.reading import Reading
from pliant.discrepancies.statistics import Statistics, Summaries
from pliant.methods.abc.population import Population
from pliant.methods.abc.rejection import Accepted
from pliant.methods.abc.sampler import ABCState
from pliant.methods.apt import APTState, Pairs
from pliant.methods.base import Stop
from pliant.methods.pli import PLIState
from pliant.problem.prior import read_prior
from pliant.problem.scale import Squash, Standardise
from pliant.run.classes import CLASSES, FUNCTIONS
from pliant.run.failures import Failure
from pliant.run.folder import FORMAT
from pliant.run.posterior import Posterior
from pliant.run.serialise import build, by_name, decode, encode, read_value, write_value
from pliant.weighting.final_check import FinalCheck
from pliant.weighting.weights import Tempering, full_tempering

NUMBERS = np.linspace(-1, 1, 12).reshape(6, 2)
GAUSSIAN = GaussianDensity(jnp.zeros(2), jnp.ones(2), jnp.eye(2))
SQUASH = Squash(jnp.zeros(2), jnp.ones(2))
SERIES = pliant.SeriesEmbedding(features=3, channels=2, width=4)
READING = Reading(np.arange(2), np.array([True, False]), np.zeros(0, int), None)
BY_KIND = Reading(np.array([1]), np.array([False]), np.array([0]), np.eye(2, dtype=np.float32))
OPTIONS = {
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
        partition=pliant.PartitionFunction(5, None, "appendix", "data"),
        noise_limit=None,
        chunk_size=11,
    ),
    "median": lambda: pliant.PLI(discrepancy=pliant.MMD(lengthscales="median")),
    "random": lambda: pliant.PLI(discrepancy=pliant.RandomFeatureMMD(), beta="calibrated"),
    "wasserstein": lambda: pliant.PLI(discrepancy=pliant.Wasserstein(regularisation=0.3)),
    "sliced": lambda: pliant.PLI(discrepancy=pliant.SlicedWasserstein(n_projections=3, seed=4)),
    "energy": lambda: pliant.PLI(discrepancy=pliant.Energy(scale=[2.0])),
    "euclidean": lambda: pliant.PLI(discrepancy=pliant.Euclidean(), schedule=pliant.Fixed()),
    "likelihood": lambda: pliant.PLI(
        discrepancy=pliant.LikelihoodKL(approach=None),
        schedule=pliant.EffectiveSampleSize(0.25),
    ),
    "ratio": lambda: pliant.PLI(discrepancy=pliant.RatioKL(embedding=pliant.Concatenation())),
    "series": lambda: pliant.PLI(discrepancy=pliant.LikelihoodKL(embedding=SERIES)),
    "images": lambda: pliant.PLI(discrepancy=pliant.RatioKL(embedding=pliant.ImageEmbedding())),
    "module": lambda: pliant.PLI(
        discrepancy=pliant.LikelihoodKL(
            embedding=pliant.ModuleEmbedding(eqx.nn.Linear(40, 2, key=KEY), features=2)
        )
    ),
    "rejection": lambda: pliant.RejectionABC(kernel=pliant.GaussianKernel(), quantile=0.5),
    "smc": lambda: pliant.SMCABC(tolerance=0.5, kernel=pliant.EpanechnikovKernel()),
    "pmc": lambda: pliant.PMCABC(alpha=0.25, perturbation=None),
    "mh": lambda: pliant.MHABC(hits=3, max_tries=20),
    "uniform": lambda: pliant.SMCABC(kernel=pliant.UniformKernel()),
    "gaussian": lambda: pliant.PLI(family=pliant.Gaussian(pliant.Training(steps=60, rate=0.5))),
    "apt": lambda: pliant.APT(embedding=pliant.DeepSet()),
}


def filled(network):
    """The network with other numbers, none of them zero."""
    arrays, static = eqx.partition(network, eqx.is_array)
    rng = np.random.default_rng(0)
    arrays = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape), a.dtype), arrays)
    return eqx.combine(arrays, static)


@functools.cache
def some_problem():
    prior = {"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)}
    return pliant.Problem(prior, lambda key, theta: jnp.ones(2), np.ones((5, 2)))


def flow():
    size = {"dim": 2, "layers": 2, "bins": 3, "width": 4}
    return FlowDensity(jnp.zeros(2), jnp.eye(2), filled(CouplingFlow(KEY, **size)))


KEY = jax.random.key(1)


def amortised(embedding):
    size = {"dim": 2, "layers": 2, "bins": 3, "width": 4}
    conditional = filled(ConditionalFlow(KEY, condition_dim=embedding.features, **size))
    network = filled(embedding.build(KEY, (5, 2)))
    return AmortisedDensity(conditional, network, SQUASH, jnp.ones((5, 2)))


def learned(discrepancy, reading=READING, summary=None):
    plain, d = reading is READING, len(reading.numbers)
    widths = Widths(d, 4, 0 if plain else 1, reading.n_kinds)
    network = filled(discrepancy.untrained(KEY, some_problem(), widths, None))
    draws = RoundDraws(
        features=np.ones((3, 4), np.float32),
        rows=np.ones((3, 4, d), np.float32),
        own=np.ones((3, 4, widths.own), np.float32),
        kind=None if plain else np.ones((3, 4), np.int32),
        seen=None if plain else np.ones((3, 4, d), bool),
        ok=np.ones((3, 4), bool),
    )
    ensemble = Ensemble(
        squash=SQUASH,
        theta_squash=SQUASH,
        reading=reading,
        summary=summary,
        standardise=Standardise(jnp.zeros(4), jnp.ones(4)),
        networks=(network, network),
        shares=np.array([0.7, 0.3]),
        relevance=np.array([1.0, 0.4]),
        n_draws=24,
    )
    memory = Memory(SQUASH, reading, (draws, draws))
    tempering, state = full_tempering(0.1, 0.1), LearnedState(memory, ensemble)
    return PLIState(state, None, 0.1, flow(), tempering, broader=GAUSSIAN, noisy=True)


def summarising():
    network, body = SERIES.build(KEY, (2, 1)), perceptron(KEY, 3, 2, 4, 1)
    statistics = Statistics(filled(network), filled(body), (2, 1))
    summary = Summaries(statistics, SQUASH, SQUASH, (np.ones((3, 4, 2), np.float32),) * 2)
    return learned(pliant.LikelihoodKL(embedding=SERIES), summary=summary)


def approaching():
    memory = Memory(SQUASH, READING, ())
    state = LearnedState(memory, approach=Approach(ready(MMD()), 0.1, rounds=2))
    return PLIState(state, None, 0.1, approaching=True)


def measured(discrepancy, **options):
    return PLIState(ready(discrepancy), None, 0.1, **options)


def ready(discrepancy):
    return MeasuredState(discrepancy, discrepancy.prepare(jnp.asarray(NUMBERS, float)))


def abc(population):
    return ABCState(population, ready(MMD(lengthscales="median", scale=jnp.ones(2))))


VALUES = {
    "gaussian": lambda: GAUSSIAN,
    "mixture": lambda: MixtureDensity(
        jnp.zeros(3),
        jax.vmap(GaussianDensity)(jnp.zeros((3, 2)), jnp.ones((3, 2)), jnp.ones((3, 2, 2))),
    ),
    "affine": lambda: AffineDensity(GAUSSIAN, jnp.zeros(2), jnp.ones(2), jnp.full(2, 0.5)),
    "flow": flow,
    "flows": lambda: FlowMixture(jnp.zeros(2), (flow(), flow())),
    "particles": lambda: particle_density(NUMBERS, np.zeros(6)),
    "posterior": lambda: Posterior(some_problem().prior.space, GAUSSIAN),
    "check": lambda: FinalCheck(NUMBERS, np.zeros(6), float("inf")),
    "apt": lambda: APTState(
        amortised(pliant.DeepSet()), (Pairs(NUMBERS, NUMBERS[:, None], NUMBERS[:, 0]),)
    ),
    "apt-concatenation": lambda: APTState(amortised(pliant.Concatenation()), ()),
    "likelihood": lambda: learned(pliant.LikelihoodKL()),
    "likelihood-kinds": lambda: learned(pliant.LikelihoodKL(), BY_KIND),
    "likelihood-statistics": summarising,
    "kept": lambda: learned_likelihood(pliant.LikelihoodKL(), summarising().discrepancy, 0.5),
    "approach": approaching,
    "ratio": lambda: learned(pliant.RatioKL(embedding=pliant.Concatenation())),
    "mmd": lambda: measured(MMD(), tempering=Tempering(0.5, float("inf"), level=0.0)),
    "random-features": lambda: measured(pliant.RandomFeatureMMD().for_sizes(5, 5)),
    "energy": lambda: measured(pliant.Energy()),
    "wasserstein": lambda: measured(pliant.Wasserstein()),
    "sliced": lambda: measured(pliant.SlicedWasserstein()),
    "euclidean": lambda: measured(pliant.Euclidean()),
    "smc": lambda: abc(
        Population(NUMBERS, NUMBERS[:, 0], NUMBERS[:, 1], NUMBERS[:, 0], float("inf"))
    ),
    "rejection": lambda: abc(Accepted(NUMBERS, NUMBERS[:, 0], 5, 0.1)),
    "abc-start": lambda: abc(None),
    "stop": lambda: (Stop(pliant.Status.FAILED, "no"), Failure("crash", 3, "x", {"mu": [1.0]})),
    "plain": lambda: {
        "key": jax.random.key(3),
        "numbers": [1, -0.0, float("nan"), np.float32(0.1), np.int64(7), np.bool_(True), 1e-300],
        "nested": ({"é": None}, (), [], True, np.zeros((0, 3)), jnp.arange(3)),
    },
}


def assert_same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)  # so nothing is recompiled
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert type(a) is type(b)
        if eqx.is_array(a) and jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        if eqx.is_array_like(a):
            assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_survive_json(name):
    method = OPTIONS[name]()
    data = encode(method)
    read = decode(json.loads(json.dumps(data, allow_nan=False)))
    assert bool(eqx.tree_equal(read, method))
    assert_same(read, method)
    assert encode(read) == data


@pytest.mark.parametrize("name", VALUES)
def test_states_and_densities_survive_a_file(name, tmp_path):
    value = VALUES[name]()
    write_value(tmp_path / "a.npz", value)
    assert_same(read_value(tmp_path / "a.npz"), value)
    assert_same(decode(json.loads(json.dumps(encode(value)))), value)


def classes_in(data):
    if isinstance(data, dict):
        own = {data["class"]} if isinstance(data.get("class"), str) else set()
        return own.union(*map(classes_in, data.values()))
    return set().union(*map(classes_in, data)) if isinstance(data, list) else set()


def test_these_tables_have_every_class_that_a_file_may_hold():
    made = [build() for table in (OPTIONS, VALUES) for build in table.values()]
    missing = set(CLASSES) - classes_in([encode(value) for value in made])
    assert missing <= {"PreparedPartition", "EarlierRound", "Particles"}  # see the next test


def test_a_partition_and_earlier_rounds_survive(tmp_path):
    """Classes whose numbers come from simulations: after a run that uses them."""
    prior = {"mu": dist.Normal(0, 1)}
    problem = pliant.Problem(prior, lambda key, t: t["mu"] + jax.random.normal(key, (2,)), NUMBERS)
    size = {"rounds": 2, "n_particles": 30, "n_draws": 5, "family": pliant.Gaussian()}
    size |= {"discrepancy": pliant.MMD()}
    for option in ({"partition": pliant.PartitionFunction(3)}, {"reuse": 1}):
        method = pliant.PLI(noise_limit=None, **size, **option)
        state, _ = method.init(jax.random.key(0), problem)
        state = method.step(jax.random.key(1), problem, state).state
        write_value(tmp_path / "a.npz", state)
        assert_same(read_value(tmp_path / "a.npz"), state)


# --- A user's own classes and functions ---------------------------------------------------------


class Own(eqx.Module):
    power: float
    activation: Any = jax.nn.silu

    def __check_init__(self):
        if self.power < 0:
            raise ValueError("power: expected a positive number.")


class OwnTuple(NamedTuple):
    first: int


@pytest.mark.wrong_types
def test_own_classes_come_by_classes():
    for value in (Own(2.0), OwnTuple(3)):
        data = encode(value)
        assert_same(decode(data, own=by_name([Own, OwnTuple])), value)
        with pytest.raises(ValueError, match=r"'Own\w*' is not a class of Pliant.*classes=\[Own"):
            decode(data)
    with pytest.raises(ValueError, match="power: expected"):
        decode({**encode(Own(2.0)), "power": -2.0}, own=by_name([Own]))
    with pytest.raises(TypeError, match="classes: expected a list of classes"):
        by_name([Own(2.0)])


UNWRITABLE = {
    "function": lambda x: x,
    "builtin": print,
    "partial": eqx.Partial(print, 1),
    "function-of-jax": jax.nn.softmax,
    "object": object(),
    "class": Own,
    "set": {1},
    "keys": {1: 2},
    "complex": 1j,
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_cannot_be_written_is_refused_with_its_field(name):
    with pytest.raises(TypeError, match=r"method\.activation.* cannot be written to a file"):
        encode(Own(1.0, (UNWRITABLE[name],)), "method")


def test_an_own_class_with_the_name_of_another_is_refused():
    same = type("MMD", (Own,), {"__annotations__": {}})
    with pytest.raises(TypeError, match="has the name of a class of Pliant"):
        encode(same(1.0))
    assert type(decode(encode(MMD()), own=by_name([same]))) is MMD


# --- Forged files -------------------------------------------------------------------------------

TRUST = {"class": "TrustRegion", "epsilon": 1.0, "path": "corrected"}
INTERVAL = {"support": "_Interval", "fields": {"dict": {"lower_bound": 0.0, "upper_bound": 1.0}}}
FORGED = {
    "extra-field": {**TRUST, "step": 1},
    "method-as-field": {**TRUST, "__check_init__": 1},
    "missing-field": {"class": "TrustRegion", "epsilon": 1.0},
    "out-of-range": {**TRUST, "epsilon": -1.0},
    "wrong-type": {**TRUST, "epsilon": "1"},
    "converted": {**encode(MMD()), "lengthscales": [-1.0]},
    "wrong-scale": {**encode(MMD()), "scale": "abc"},
    "other-class": {"class": "Popen", "args": ["true"]},
    "dotted-class": {"class": "subprocess.Popen"},
    "module-and-class": {"class": "os:system"},
    "function-as-class": {"class": "infer"},
    "result-as-class": {"class": "Result"},
    "abstract-class": {"class": "AbstractFamily"},
    "partial": {"class": "Partial", "func": {"function": "silu"}, "args": [], "keywords": {}},
    "no-class": {"epsilon": 1.0},
    "class-null": {"class": None},
    "class-number": {"class": 3},
    "class-list": {"class": ["PLI"]},
    "class-tree": {"class": {"class": "PLI"}},
    "function": {"function": "print"},
    "dotted-function": {"function": "jax.nn.silu"},
    "function-tree": {"function": {"function": "silu"}},
    "old-function": {"function": "os:system", "module": "os"},
    "reduce": {"reduce": "os:system"},
    "default": {"default": "equinox:MLP", "of": "final_activation"},
    "two-tags": {"list": [], "dict": {}},
    "empty": {},
    "float": {"float": "__import__('os')"},
    "float-number": {"float": 1.0},
    "list": {"list": "abc"},
    "dict": {"dict": [["a", 1]]},
    "status": {"status": "wonderful"},
    "array-missing": {"jax": "array_7"},
    "array-of-objects": {"numpy": {"dtype": "O", "shape": [1], "values": [1]}},
    "array-of-records": {"numpy": {"dtype": "i4,f4", "shape": [], "values": [1]}},
    "array-of-trees": {"numpy": {"dtype": "<f4", "shape": [1], "values": [{"class": "PLI"}]}},
    "array-shape": {"jax": {"dtype": "<f4", "shape": [3], "values": [1.0]}},
    "scalar-shape": {"scalar": {"dtype": "<f4", "shape": [1], "values": [1.0]}},
    "key-impl": {"key": encode(np.zeros(2, np.uint32)), "impl": "os.system"},
    "key-words": {"key": "abc", "impl": "fry"},
    "support": {"support": "Path", "fields": {"dict": {}}},
    "support-base": {"support": "Constraint", "fields": {"dict": {}}},
    "support-alias": {"support": "biject_to", "fields": {"dict": {}}},
    "support-field": {"support": "_Real", "fields": {"dict": {"event_dim": 3}}},
    "support-missing": {"support": "_Interval", "fields": {"dict": {"lower_bound": 0.0}}},
    "support-extra": {**INTERVAL, "settings": {}},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_is_refused(name, tmp_path):
    tree = {"format": FORMAT, "value": FORGED[name]}
    write_arrays(tmp_path / "a.npz", {"tree": np.array(json.dumps(tree))})
    with pytest.raises(ValueError, match=r"a\.npz: damaged, or not written by Pliant"):
        read_value(tmp_path / "a.npz")


WRONG = [
    *("abc", None, True, 3, -1.5, [], [1.0], {"list": [1]}, {"dict": {}}, {"float": "nan"}),
    *({"function": "silu"}, {"status": "finished"}, TRUST, encode(jnp.zeros((2, 2, 2, 2, 2)))),
    *(encode(np.zeros(2, int)), encode(np.array(1.0)), encode(jnp.array([True])), INTERVAL),
]


def objects(value):
    """Every object of a class inside a value."""
    if type(value).__name__ in CLASSES:
        yield value
        names = getattr(value, "_fields", None) or [f.name for f in dataclasses.fields(value)]
        value = [getattr(value, name) for name in names]
    for part in value if isinstance(value, list | tuple) else ():
        yield from objects(part)


def test_what_is_read_has_the_types_that_its_class_declares():
    """Every field of every class with every wrong value; beartype and jaxtyping are the oracle."""
    made = [make() for table in (OPTIONS, VALUES) for make in table.values()]
    one_of_each = {type(part).__name__: part for part in objects(made)}
    wrong_values = [decode(wrong) for wrong in WRONG]
    conf = BeartypeConf(is_pep484_tower=True)
    tried = accepted = 0
    for kind, hints in ((type(o), get_type_hints(type(o))) for o in one_of_each.values()):
        part = one_of_each[kind.__name__]
        names = getattr(kind, "_fields", None) or [f.name for f in dataclasses.fields(kind)]
        fields = {name: getattr(part, name) for name in names}
        build(kind, fields)
        for name, wrong in itertools.product(names, wrong_values):
            tried += 1
            try:
                value = getattr(build(kind, {**fields, name: wrong}), name)
            except Exception:  # ``reading`` names the file
                continue
            accepted += 1
            either = (
                [value, np.asarray(value), jnp.asarray(value)] if eqx.is_array(value) else [value]
            )
            assert any(is_bearable(v, hints[name], conf=conf) for v in either), (kind, name, wrong)
    assert len(one_of_each) > 60
    assert tried > 4000
    assert accepted < tried / 5


def test_what_the_forgeries_are_made_from_is_read():
    assert decode(TRUST) == pliant.TrustRegion(epsilon=1.0, path="corrected")
    assert decode(INTERVAL).upper_bound == 1.0
    assert decode({"function": "silu"}) is FUNCTIONS["silu"] is jax.nn.silu
    assert constraints.real.event_dim == 0  # the one instance of all


@pytest.mark.parametrize("tree", [{"value": 1}, {"format": 1, "value": 1}])
def test_another_format_is_named(tree, tmp_path):
    write_arrays(tmp_path / "a.npz", {"tree": np.array(json.dumps(tree))})
    with pytest.raises(ValueError, match=rf"a\.npz: its format is .* reads format {FORMAT}"):
        read_value(tmp_path / "a.npz")


def test_a_file_without_a_tree_or_checksum_is_refused(tmp_path):
    write_arrays(tmp_path / "a.npz", {"x": np.ones(2)})
    with pytest.raises(ValueError, match=r"a\.npz: damaged"):
        read_value(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", tree=np.array(json.dumps({"format": FORMAT, "value": 1})))
    with pytest.raises(ValueError, match=r"a\.npz: it has no checksum"):
        read_value(tmp_path / "a.npz")


def test_supports_of_a_prior_survive():
    prior = read_prior(
        {
            "a": dist.Uniform(np.array([1e6, -0.1], np.float32), np.array([1e6 + 9, 0.3])),
            "b": dist.Dirichlet(np.ones(4, np.float32)),
            "c": dist.TruncatedNormal(0, 1, low=-1.0),
        }
    )
    read = decode(json.loads(json.dumps(encode(prior.space))))
    assert_same(read, prior.space)
    assert [type(s) for s in read.supports] == [type(s) for s in prior.space.supports]
