"""Compiling in a third of the time, for programs of environments, which are long and play few episodes; and
compiling many programs side by side.

XLA's default on a CPU is the fastest program, with a module of its own for every fused loop. That takes long,
and each such module takes three memory mappings of the 65,530 that Linux gives a process: eighty environments
can use them up.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax

OPTIONS: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}


def quick_jit(function: Callable[..., Any]) -> Any:
    """`jax.jit(function)`, compiled fast rather than to be fastest where the device is a CPU."""
    return jax.jit(function, compiler_options=quick_options())


def quick_options() -> dict[str, Any] | None:
    """Compiler options for `jax.jit` or `lower(...).compile`; None beside a CPU."""
    return OPTIONS if jax.default_backend() == "cpu" else None


def compile_side_by_side(lowered: Iterable[jax.stages.Lowered]) -> None:
    """Compiles programs in threads while the next ones are traced here, one after another: tracing holds
    Python's lock, for which several threads that trace would only fight. Calls of the functions that were
    lowered, with arguments like those, then find them compiled."""
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda program: program.compile(), lowered))
