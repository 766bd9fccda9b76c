"""The score of a single answer."""

import jax
import jax.numpy as jnp

PARTIAL_CREDIT = 0.5


def score(solved: jax.Array, share: jax.Array) -> jax.Array:
    """float32[]: 1 when solved, else at most half a mark for the share float32[] that is right."""
    return jnp.where(solved, 1.0, PARTIAL_CREDIT * share).astype(jnp.float32)
