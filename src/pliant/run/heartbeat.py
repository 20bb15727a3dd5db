"""Signs of life while something takes long."""

import threading
import time
from collections.abc import Callable
from types import TracebackType

_PERIOD = 30.0  # seconds


class Heartbeat:
    """Calls a function in every half minute of silence, in a thread. Use it in a ``with`` block.

    Args:
        tell: Called with the seconds since the beginning.
    """

    def __init__(self, tell: Callable[[float], None]):
        self._tell = tell
        self._spoken, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._start = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._spoken.set()
        self._thread.join()

    def spoken(self) -> None:
        """Something was told by other means: be silent for another period."""
        self._spoken.set()

    def _beat(self) -> None:
        while not self._ended.is_set():
            if self._spoken.wait(_PERIOD):
                self._spoken.clear()
            else:
                self._tell(time.monotonic() - self._start)
