"""How all tests run: strict about shapes, and with compiled code shared between processes.

The annotations of the package are checked by beartype and jaxtyping (``pyproject.toml``).
"""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import jax
import jaxtyping
import pytest

_CACHE = Path(__file__).parent.parent / ".pytest_cache"

os.environ["PLIANT_CACHE"] = str(_CACHE / "pliant")  # not the user's, also in other processes
jax.config.update("jax_compilation_cache_dir", str(_CACHE / "compiled"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
jax.config.update("jax_numpy_rank_promotion", "raise")  # also in fixtures


_MAPPINGS = Path("/proc/self/maps")
_MOST_MAPPINGS = 40_000  # of the 65,530 that Linux allows a process; each function takes about ten


@pytest.fixture(scope="module", autouse=True)
def _few_mappings() -> Iterator[None]:
    """Drop compiled functions before there are too many: with more, XLA ends the process."""
    yield
    if _MAPPINGS.exists() and _MAPPINGS.read_bytes().count(b"\n") > _MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(scope="module")
def shared_compiled_code() -> Iterator[None]:
    """Worker processes find what this process, and each other, have compiled."""
    import pliant  # not before its annotations are checked

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(pliant.__file__).parents[1]))
        patch.setenv("JAX_COMPILATION_CACHE_DIR", jax.config.values["jax_compilation_cache_dir"])
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; tests that need it are skipped without it."""
    from browsing import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Open a page, and check at the end that nothing went wrong and nothing left it."""
    from browsing import visiting

    with visiting(browser) as open_page:
        yield open_page


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let ``wrong_types`` tests past the annotations, and ``user_code`` past both checks."""
    as_users = item.get_closest_marker("user_code") is not None
    unchecked = as_users or item.get_closest_marker("wrong_types") is not None
    jaxtyping.config.update("jaxtyping_disable", unchecked)
    try:
        with jax.numpy_rank_promotion("allow" if as_users else "raise"):
            return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
