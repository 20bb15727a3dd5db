"""Simulators written in Python: any function, on this machine's cores or on any executor."""

import inspect
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Literal

import equinox as eqx
from jaxtyping import PyTree

from pliant._checks import check_instance
from pliant.simulators.base import function_name
from pliant.simulators.external import AbstractExternalSimulator, Setting
from pliant.simulators.function_call import FunctionCall, own_worker

_IDLE_SECONDS = 60  # after which idle workers exit


class PythonSimulator(AbstractExternalSimulator):
    """A function ``f(rng, theta) -> x`` that makes one draw with NumPy, or anything else.

    ``rng`` is a ``numpy.random.Generator`` seeded by round, parameter and draw: neither the number
    of workers nor their order changes a bit of the result. ``theta`` has the names and shapes of
    the prior, in double precision. If the problem has conditions, the function is called as
    ``f(rng, theta, condition)``, with one of them in its own type.

    Args:
        function: The function. It may be defined in a notebook or a script.
        workers: Processes of this machine that are started with loky; None calls the function
            here. With ``executor``: how many of its workers to keep busy.
        executor: Any ``concurrent.futures.Executor``: a process pool, a Dask client's
            ``get_executor()``, or ``mpi4py.futures.MPIPoolExecutor``.
        vectorised: The function makes a set at once: ``f(rng, theta, n) -> (n, *event)``, or
            ``f(rng, theta, conditions)`` with the conditions of all draws of the set.
        timeout: Seconds after which a draw, or a set, is abandoned; None for no limit. A function
            that is stuck in compiled code can only be stopped in ``workers``.
        on_failure: "count" counts and discards a draw that fails; "raise" raises.
        event: The shape of a draw; None for that of the observations.
        setting: Filled in by ``Problem``.
    """

    function: Callable[..., Any] = eqx.field(static=True)
    workers: int | None = eqx.field(static=True, default=None, kw_only=True)
    executor: Executor | None = eqx.field(static=True, default=None, kw_only=True)
    vectorised: bool = eqx.field(static=True, default=False, kw_only=True)
    timeout: float | None = eqx.field(static=True, default=None, kw_only=True)
    on_failure: Literal["count", "raise"] = eqx.field(static=True, default="count", kw_only=True)
    event: tuple[int, ...] | None = eqx.field(static=True, default=None, kw_only=True)
    setting: Setting = eqx.field(default=Setting(), kw_only=True, repr=False)

    def __check_init__(self):
        if not callable(self.function):
            raise TypeError(f"function: expected f(rng, theta) -> x, got {self.function!r}.")
        check_instance("vectorised", self.vectorised, bool, "True")

    @property
    def whole_sets(self) -> bool:
        """The option ``vectorised``."""
        return self.vectorised

    @property
    def label(self) -> str:
        """The name of the function."""
        return f"Python function {function_name(self.function)}"

    def event_shape(self, theta: PyTree) -> tuple[int, ...]:
        """As given, or that of the observations; the number of arguments is checked."""
        last = ["n"] if self.vectorised else []
        if self.setting.conditions is not None:
            last = ["conditions" if self.vectorised else "condition"]
        wanted = ", ".join(["rng", "theta", *last])
        try:
            inspect.signature(self.function).bind(*wanted.split(", "))
        except ValueError:  # a compiled function does not tell
            pass
        except TypeError as error:
            hint = "" if last else " If it takes a condition, pass Problem(..., conditions=...)."
            raise TypeError(
                f"function: expected one that is called as function({wanted}), got "
                f"{self.function!r}: {error}.{hint}"
            ) from None
        return super().event_shape(theta)

    def call(self) -> FunctionCall:
        """The function with its limit of time."""
        return FunctionCall(self.function, self.timeout)

    def own_pool(self, workers: int) -> tuple[Callable[[], Executor], Callable[[], Any]]:
        """Processes of loky, which are reused in the next round."""
        from loky import get_reusable_executor

        in_main = threading.current_thread() is threading.main_thread()

        def executor() -> Any:
            return get_reusable_executor(
                max_workers=workers,
                timeout=_IDLE_SECONDS,
                initializer=own_worker,
                initargs=(os.getpid(), in_main),
            )

        def abandon() -> None:
            executor().shutdown(wait=True, kill_workers=True)

        return executor, abandon
