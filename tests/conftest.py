"""How all tests run: strict about shapes, and with compiled code shared between processes.

The annotations of the package are checked by beartype and jaxtyping (``pyproject.toml``).
"""

from collections.abc import Generator
from pathlib import Path

import jax
import jaxtyping
import pytest

_CACHE = Path(__file__).parent.parent / ".pytest_cache" / "compiled"

jax.config.update("jax_compilation_cache_dir", str(_CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let ``wrong_types`` tests past the annotations, to the package's own checks."""
    wrong_types = item.get_closest_marker("wrong_types") is not None
    jaxtyping.config.update("jaxtyping_disable", wrong_types)
    try:
        return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
