"""How much arithmetic a program does: the products in its jaxpr, loops unrolled."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def count_flops(function: Callable[..., Any], *args: Any, turns: int = 1) -> float:
    """Floating point operations of all matrix products of `function(*args)`; args may be abstract.

    turns: how often each `while` loop goes round, which the program itself does not say.
    """
    return _count(jax.make_jaxpr(function)(*args).jaxpr, turns)


def _count(jaxpr: Any, turns: int) -> float:
    return sum(_equation(equation, turns) for equation in jaxpr.eqns)


def _equation(equation: Any, turns: int) -> float:
    name = equation.primitive.name
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        inner = np.prod([equation.invars[0].aval.shape[axis] for axis in contracted])
        return 2.0 * float(inner) * float(np.prod(equation.outvars[0].aval.shape))
    times = {"scan": equation.params.get("length", 1), "while": turns}.get(name, 1)
    inside = [sub for value in equation.params.values() for sub in _programs(value)]
    return times * sum(_count(sub, turns) for sub in inside)


def _programs(value: Any) -> list[Any]:
    """The jaxprs in a parameter of an equation."""
    if isinstance(value, tuple | list):
        return [sub for item in value for sub in _programs(item)]
    inner = getattr(value, "jaxpr", value)
    return [inner] if hasattr(inner, "eqns") else []
