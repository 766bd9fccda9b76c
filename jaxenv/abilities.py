"""Atomic abilities: their vocabulary, `abilities.toml`, and which of them a reply exercised."""

import functools
import tomllib
from importlib import resources
from typing import Any

import jax
import jax.numpy as jnp

from jaxenv import answers
from jaxenv.environment import Environment


@functools.cache
def definitions() -> dict[str, str]:
    """What each ability means, in the vocabulary's order."""
    kinds = tomllib.loads((resources.files("jaxenv") / "abilities.toml").read_text())
    return {name: meaning for kind in kinds.values() for name, meaning in kind.items()}


def exercised(
    env: Environment, state: Any, action: jax.Array, after: Any, verdict: jax.Array, success: jax.Array
) -> jax.Array:
    """bool[len(env.abilities)]: those that a reply exercised, which had this verdict int32[] and led from one
    state to the other.

    Of form: `format_...` by every reply in the grammar, `check_legality` by every legal one,
    `verify_terminal` by the one that succeeds. The rest is the environment's word about a legal action.
    """
    legal = verdict == answers.ACCEPTED
    formed = legal | (verdict == answers.ILLEGAL)
    form = {
        **{f"format_{what}": formed for what in ("answer", "structured", "move")},
        "check_legality": legal,
        "verify_terminal": success,
    }
    shown = {name: flag & legal for name, flag in env.exercised(state, action, after).items()}
    return jnp.stack([(form | shown)[name] for name in env.abilities])
