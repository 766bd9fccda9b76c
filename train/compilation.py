"""The persistent compilation cache, cheaper tracing, and a count of what was compiled."""

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import jax

Result = TypeVar("Result")

COMPILED = "/jax/core/compile/backend_compile_duration"


def use_persistent_cache() -> None:
    """Keeps compiled programs on disk, in JAX_COMPILATION_CACHE_DIR or ~/.cache/jaxenv/xla."""
    folder = os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(Path.home() / ".cache" / "jaxenv" / "xla")
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def collect_rarely() -> None:
    """Lets Python look for unused cycles of objects after 100,000 new ones instead of 700. Tracing makes
    small objects by the million and keeps them: looking through them again and again took a fifth of the time
    to the first step of thirty environments."""
    gc.set_threshold(100_000)


@contextmanager
def count_compilations() -> Iterator[list[str]]:
    """Collects an entry for every program handed to the compiler (or found in the cache) meanwhile."""
    events: list[str] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == COMPILED:
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield events
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def in_threads(calls: Iterable[Callable[[], Result]]) -> list[Result]:
    """Results of calls made side by side: the compiler runs outside Python's lock. On a mesh they are made
    one by one, in the same order everywhere: programs that wait for each other's devices could block."""
    if jax.device_count() > 1:
        return [call() for call in calls]
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda call: call(), calls))
