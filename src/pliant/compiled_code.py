"""Compiled code on disk, so that the next process with the same shapes starts at once."""

import jax

from pliant.tasks.cache import folder


def keep_compiled_code() -> None:
    """Let JAX keep what it compiles in Pliant's cache, unless it was told another place."""
    if not jax.config.values["jax_compilation_cache_dir"]:
        jax.config.update("jax_compilation_cache_dir", str(folder() / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
