"""Simulators as bytes: what cannot be pickled is named."""

import functools
import pickle
import threading

import pytest

from pliant.simulators.function_call import FunctionCall
from pliant.simulators.pickling import pickled


def with_closure():
    lock, number = threading.Lock(), 3

    def noisy(rng, theta):
        with lock:
            return rng.normal(theta) + number

    return noisy


LOCK = threading.Lock()


class Model:
    def __init__(self, **parts):
        self.parts = parts

    def __call__(self, rng, theta):
        return theta

    def draw(self, rng, theta):
        return theta


@pytest.mark.parametrize(
    ("function", "name", "what"),
    [
        (with_closure(), "with_closure.<locals>.noisy", r"the variable 'lock' \(a lock\)"),
        (
            Model(a=1, b=threading.Lock()),
            "Model",
            r"the entry 'b' \(a lock\) of the attribute 'parts'",
        ),
        (
            Model(b=threading.Lock()).draw,
            "Model.draw",
            r"the entry 'b' \(a lock\) of the attribute 'parts' of its object",
        ),
        (functools.partial(print, threading.Lock()), "partial", r"the argument 0 \(a lock\)"),
        (lambda rng, theta, x=LOCK: 1, "<lambda>", r"a default value \(a lock\)"),
    ],
)
def test_the_simulator_and_the_part_are_named(function, name, what):
    with pytest.raises(TypeError, match=f"simulator: {name} cannot be sent .*because {what}"):
        pickled(FunctionCall(function, None))


def test_what_can_be_pickled_is():
    call = pickle.loads(pickled(FunctionCall(lambda rng, theta: theta + 1, 2.0)))
    assert (call.function(None, 1), call.timeout) == (2, 2.0)


def test_an_object_that_contains_itself_ends_the_search():
    model = Model(lock=threading.Lock())
    model.parts = {"self": model, **model.parts}
    with pytest.raises(TypeError, match="Model cannot be sent to workers"):
        pickled(FunctionCall(model, None))
