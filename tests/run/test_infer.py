import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import pliant
from pliant._deadline import DeadlineError
from pliant.problem import sets
from pliant.run.history import COLUMNS


@pytest.fixture(scope="module")
def problem():
    return pliant.Problem(
        prior={"mu": dist.Normal(0, 5), "sigma": dist.LogNormal(0, 1)},
        simulator=lambda key, theta: theta["mu"] + theta["sigma"] * jax.random.normal(key, (2,)),
        observed=2 + jax.random.normal(jax.random.key(0), (30, 2)),
    )


METHOD = pliant.PLI(
    rounds=5, n_particles=100, n_draws=10, discrepancy=pliant.MMD(), family=pliant.Gaussian()
)


def test_callback_sees_every_round_and_can_end_the_run(problem):
    seen = []

    def callback(row, posterior):
        seen.append((row["round"], float(posterior.sample(1)["mu"][0])))
        return row["round"] == 3

    result = pliant.infer(problem, METHOD, callback=callback)
    assert [number for number, _ in seen] == [1, 2, 3]
    assert (result.status, len(result.history)) == ("stopped_by_callback", 3)


def test_max_simulations_is_never_exceeded(problem):
    result = pliant.infer(problem, METHOD, max_simulations=4100)
    assert result.status == "out_of_simulations"
    assert result.history[-1]["simulations"] == 4000
    assert set(result.history.columns) <= set(COLUMNS)
    with pytest.raises(ValueError, match="max_simulations"):
        pliant.infer(problem, METHOD, max_simulations=999)


def test_max_seconds(problem):
    with pytest.warns(pliant.PliantWarning, match=r"out_of_time: .*this is the prior\.$"):
        result = pliant.infer(problem, METHOD, max_seconds=1e-9)
    assert (result.status, len(result.history)) == ("out_of_time", 0)
    assert result.posterior.is_prior
    assert np.all(np.isfinite(result.posterior.sample(5)["mu"]))  # the prior's


def test_max_seconds_ends_a_round_and_keeps_its_draws(tmp_path, monkeypatch):
    """The time is over after fifty draws; resumed, the round is that of an undisturbed run."""
    made = []

    def simulator(rng, theta):
        made.append(theta)
        return theta["mu"] + rng.normal(size=1)

    def check_time():
        if len(made) >= 50:
            raise DeadlineError

    observed = np.random.default_rng(0).normal(size=(20, 1))
    problem = pliant.Problem({"mu": dist.Normal(0, 1)}, pliant.PythonSimulator(simulator), observed)
    method = pliant.PLI(
        discrepancy=pliant.MMD(), family=pliant.Gaussian(), n_particles=500, n_draws=20, rounds=1
    )
    with monkeypatch.context() as patch:
        patch.setattr("pliant.run.recording.check_time", check_time)
        with pytest.warns(pliant.PliantWarning, match="out_of_time: 900 seconds have passed"):
            result = pliant.infer(problem, method, folder=tmp_path / "run", max_seconds=900)
    assert (len(result.history), result.posterior.is_prior) == (0, True)
    first, made[:] = len(made), []
    assert 50 <= first < 5000
    resumed = pliant.resume(tmp_path / "run", problem)
    assert len(made) == 10_000 - first  # the draws of the ledger are not made again
    whole = pliant.infer(problem, method)
    ours, expected = (r.posterior.sample(9)["mu"] for r in (resumed, whole))
    np.testing.assert_array_equal(ours, expected)


def test_interrupt_keeps_the_last_posterior(problem):
    def callback(row, posterior):
        if row["round"] == 2:
            raise KeyboardInterrupt

    result = pliant.infer(problem, METHOD, callback=callback)
    assert (result.status, len(result.history)) == ("interrupted", 2)
    two = pliant.infer(problem, METHOD, callback=lambda row, _: row["round"] == 2)
    np.testing.assert_array_equal(result.posterior.sample(9)["mu"], two.posterior.sample(9)["mu"])


def test_samples_stay_on_the_support(problem):
    result = pliant.infer(problem, METHOD)
    theta = result.posterior.sample(2000)
    assert theta["sigma"].min() > 0
    assert theta["mu"].shape == theta["sigma"].shape == (2000,)


def test_nothing_is_printed_where_there_is_no_terminal(problem, capsys):
    pliant.infer(problem, METHOD)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_second_run_compiles_nothing_new(problem):
    """Rounds and runs of the same shapes share what was compiled."""
    pliant.infer(problem, METHOD, seed=0)
    with jax.log_compiles(True), _counted() as names:
        pliant.infer(problem, METHOD, seed=1)
    assert not names, names
    with jax.log_compiles(True), _counted() as names:  # what is compiled is counted
        jax.jit(lambda x: x * 2 + 1)(jnp.arange(3.0))
    assert any("lambda" in name for name in names)


class _counted:  # noqa: N801
    """Collects the names of the functions that JAX compiles."""

    def __enter__(self):
        import logging

        self.names = []
        self.handler = logging.Handler()
        self.handler.emit = lambda record: self._note(record.getMessage())
        logging.getLogger("jax").addHandler(self.handler)
        return self.names

    def _note(self, message):
        if message.startswith("Compiling"):
            self.names.append(message.split(" with ")[0])

    def __exit__(self, *_):
        import logging

        logging.getLogger("jax").removeHandler(self.handler)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"callback": 3}, "callback"),
    ],
)
def test_wrong_arguments_are_named(problem, arguments, name):
    with pytest.raises((TypeError, ValueError), match=name):
        pliant.infer(problem, METHOD, **arguments)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            pliant.PLI(n_draws=10**7, discrepancy=pliant.MMD()),
            "n_draws: 10,000,000 draws for one parameter take about 5",
        ),
        (
            pliant.PLI(n_draws=10**7, discrepancy=pliant.SlicedWasserstein()),
            "n_draws: .* about 1[56]",
        ),
        (pliant.SMCABC(n_draws=10**7), "n_draws: 10,000,000 draws for one parameter"),
        (
            pliant.PLI(n_draws=10**6, chunk_size=100, discrepancy=pliant.MMD()),
            "n_draws: .* a chunk of 100 parameters",
        ),
        (pliant.PLI(n_draws=10**7), "n_draws: 10,000,000 draws for each of 2,000"),
        *(
            (method(n_particles=10**18), r"n_particles: .* particles take .* of 5,800,000 at most")
            for method in (
                *(pliant.PLI, pliant.APT),
                *(pliant.RejectionABC, pliant.SMCABC, pliant.PMCABC, pliant.MHABC),
            )
        ),
        (pliant.RejectionABC(rounds=10**12), "rounds: .* particles take .* Use rounds of .* at"),
    ],
)
def test_sets_that_cannot_fit_into_memory_are_refused_before_the_pilot(
    monkeypatch, tmp_path, method, message
):
    calls = []
    simulator = pliant.PythonSimulator(lambda rng, theta: calls.append(1) or rng.normal(size=2))
    problem = pliant.Problem({"mu": dist.Normal(0, 5)}, simulator, np.ones((30, 2)), scale="pilot")
    monkeypatch.setattr(sets, "machine_memory", lambda: 2**33)
    with pytest.raises(ValueError, match=message):
        pliant.infer(problem, method, folder=tmp_path / "run")
    assert not calls
    assert not (tmp_path / "run").exists()


@pytest.mark.wrong_types
def test_method_and_problem_are_checked(problem):
    with pytest.raises(TypeError, match="method"):
        pliant.infer(problem, pliant.PLI)
    with pytest.raises(TypeError, match="problem"):
        pliant.infer(jnp.zeros(3), METHOD)
