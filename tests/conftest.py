"""Compiled code is shared between the test processes, and between runs."""

from pathlib import Path

import jax

_CACHE = Path(__file__).parent.parent / ".pytest_cache" / "compiled"

jax.config.update("jax_compilation_cache_dir", str(_CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
