"""Problems that cannot work, or are at the edge of what numbers can hold."""

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpyro.distributions as dist

import pliant
from attacks.campaign import DIFFERENCE, TRACEBACK, Arena, Attack, expect, refused
from attacks.models import OBSERVED, PRIOR, infer, method, problem, quick
from attacks.simulators import SENDING

CLASHES, SCALES = "7 clashing names", "15 extreme scales"


def _made(prior: Any = PRIOR, simulator: Any = None, observed: Any = OBSERVED) -> pliant.Problem:
    made = pliant.PythonSimulator(quick) if simulator is None else simulator
    return pliant.Problem(prior, made, observed)


def _unpicklable(part: Any) -> Callable[[], Any]:
    def simulate(rng, theta):
        return quick(rng, theta), part

    return lambda: infer(problem(simulate, workers=2))


def _vector(n: int) -> Any:
    return dist.Normal(np.zeros(n), 1).to_event(1)


REFUSED: dict[tuple[str, str], Callable[[], Any]] = {
    (CLASHES, "an entry and a name"): lambda: _made({"a": _vector(2), "a[0]": dist.Normal(0, 1)}),
    (CLASHES, "the last entry and a name"): lambda: _made(
        {"a": _vector(3), "a[2]": dist.Normal(0, 1)}
    ),
    (CLASHES, "seed of a program"): lambda: _made(
        {"seed": dist.Normal(0, 1)}, pliant.CommandSimulator(["echo", "{seed}"])
    ),
    (CLASHES, "no such placeholder"): lambda: _made(
        simulator=pliant.CommandSimulator(["echo", "{nu}"])
    ),
    (CLASHES, "an empty name"): lambda: _made({"": dist.Normal(0, 1)}),
    (CLASHES, "a name that is a number"): lambda: _made({1: dist.Normal(0, 1)}),
    (SENDING, "a lock"): _unpicklable(threading.Lock()),
    (SENDING, "a generator"): _unpicklable(i for i in range(3)),
    (SENDING, "a thread"): _unpicklable(threading.Thread()),
    (SENDING, "a frame"): _unpicklable(sys._getframe()),
    (SENDING, "masked observations"): lambda: _made(
        observed=np.ma.masked_array(OBSERVED, mask=OBSERVED > 1)
    ),
    (SENDING, "observations that are not finite"): lambda: _made(observed=OBSERVED * np.nan),
    (SENDING, "ragged observations"): lambda: _made(observed=[[1.0], [1.0, 2.0]]),
    (SENDING, "objects"): lambda: _made(observed=np.array([[None, 1]], object)),
    (SCALES, "observations of 1e300"): lambda: _made(observed=OBSERVED * 1e300),
    (SCALES, "a prior of no width"): lambda: _made(
        {"mu": dist.Normal(0, 0.0, validate_args=False)}
    ),
    (SCALES, "a prior of 1e300"): lambda: _made({"mu": dist.Normal(0, 1e300)}),
}


def _scaled(location: float, scale: float):
    """Data and prior at some scale: a refusal in one line, or finite samples at that scale."""

    def simulate(rng, theta):
        return theta["mu"] + 0.5 * scale * rng.normal(size=2)

    def act(arena: Arena) -> None:
        observed = location + scale * OBSERVED
        try:
            made = pliant.Problem(
                {"mu": dist.Normal(location, 2 * scale)}, pliant.PythonSimulator(simulate), observed
            )
            with warnings.catch_warnings(action="ignore"):
                result = pliant.infer(made, method(), progress=False)
        except (ValueError, TypeError) as error:
            expect("\n" not in str(error), TRACEBACK, f"not one line: {error}")
            return
        samples = result.posterior.sample(200)["mu"]
        if result.status.is_error:
            return
        expect(np.isfinite(samples).all(), DIFFERENCE, "not finite")
        off = abs(np.mean((samples - location) / scale) - 1.0)
        expect(off < 1.0, DIFFERENCE, f"the mean is {off:.2g} scales off: {result.status}")

    return act


SHIFTS = [(0.0, s) for s in (1e-30, 1e-20, 1e-6, 1e6, 1e15, 1e30)]
SHIFTS += [(m, 1.0) for m in (1e3, 1e6, -1e6, 1e9, 1e30)]
ATTACKS = [
    *(
        Attack(group, name, lambda arena, call=call: refused(call))
        for (group, name), call in REFUSED.items()
    ),
    *(Attack(SCALES, f"{m:g} and {s:g}", _scaled(m, s)) for m, s in SHIFTS),
]
