"""The contract of methods: what one must define, and what it need not."""

from typing import Any

import jax
import pytest

import pliant
from pliant.methods.base import AbstractMethod, Outcome, nothing_usable


class MethodWithoutRounds(AbstractMethod):
    def resolved(self, problem):
        return self

    def simulations_per_round(self, problem):
        return 0

    def init(self, key, problem):
        return None, 0

    def step(self, key, problem, state):
        return Outcome(state, {}, 0, None)

    def posterior(self, state):
        return None


class Idle(MethodWithoutRounds):
    rounds: int = 1


@pytest.mark.parametrize(
    ("unfinished", "missing"),
    [
        (AbstractMethod, "init.*posterior.*resolved.*simulations_per_round.*step"),
        (MethodWithoutRounds, "rounds"),
    ],
)
def test_a_class_that_is_not_finished_cannot_be_instantiated(unfinished, missing):
    with pytest.raises(TypeError, match=f"abstract.*{missing}"):
        unfinished()


@pytest.mark.parametrize("make", [Idle, pliant.SMCABC])
def test_by_default_a_method_keeps_its_sizes_and_has_no_final_check(make, uninformative):
    method: Any = make()
    assert method.within_budget(uninformative, 20_000) is method
    state, _ = method.init(jax.random.key(0), uninformative)
    assert method.check(jax.random.key(0), uninformative, state) is None


def test_a_simulator_that_fails_ends_a_run_with_its_numbers():
    status, message = nothing_usable(3, 50)
    assert status is pliant.Status.FAILED
    assert message.startswith("Only 3 of 50 parameters gave enough usable simulations.")
