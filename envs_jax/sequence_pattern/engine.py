"""The score of a pattern: cells of an action and a goal are 0 where empty and -1 where there is nothing."""

import jax
import jax.numpy as jnp

from jaxenv.scoring import score


def mark(action: jax.Array, goal: jax.Array) -> jax.Array:
    """The score of an answer against the only right one, int32 arrays of one shape.

    A cell that is empty in both is no merit: the share is of the cells that are filled in either.
    """
    filled = (action > 0) | (goal > 0)
    right = filled & (action == goal)
    return score((action == goal).all(), right.sum() / jnp.maximum(filled.sum(), 1))
