"""Group-relative advantages (GRPO, arXiv:2402.03300, section 4.1)."""

from functools import partial

import jax
import jax.numpy as jnp

SAME = 1e-6  # rewards closer than this are equal: float32 noise must not become an advantage


@jax.jit
def mixed_groups(rewards: jax.Array, valid: jax.Array | None = None) -> jax.Array:
    """Which groups carry a learning signal: their valid rewards (float32[G, K]) differ. Returns bool[G]."""
    valid = jnp.ones_like(rewards, bool) if valid is None else valid
    highest = jnp.where(valid, rewards, -jnp.inf).max(-1)
    lowest = jnp.where(valid, rewards, jnp.inf).min(-1)
    return highest - lowest >= SAME


@partial(jax.jit, static_argnames="pooled")
def group_advantages(
    rewards: jax.Array, valid: jax.Array | None = None, eps: float = 1e-6, pooled: bool = False
) -> jax.Array:
    """(reward - mean) / (standard deviation + eps) within every group of K answers to one prompt.

    rewards: float32[G, K]. valid: bool[G, K], all by default; what is not valid counts in no statistic and
    gets advantage 0. Returns float32[G, K]. The deviation has one degree of freedom taken off (ddof 1). It is
    each group's own, or `pooled` over the groups that differ (the batch's, in arXiv:2508.08221, section 4.1).
    A group whose rewards differ by less than 1e-6, or with fewer than two valid members, gets exactly 0:
    divided by its deviation, rounding noise would become a signal.
    """
    valid = jnp.ones_like(rewards, bool) if valid is None else valid
    count = valid.sum(-1, keepdims=True)  # [G, 1]
    mean = jnp.where(valid, rewards, 0.0).sum(-1, keepdims=True) / jnp.maximum(count, 1)
    deviation = jnp.where(valid, rewards - mean, 0.0)  # [G, K]
    variance = (deviation**2).sum(-1, keepdims=True) / jnp.maximum(count - 1, 1)
    mixed = mixed_groups(rewards, valid)[:, None]
    if pooled:
        variance = jnp.where(mixed, variance, 0.0).sum() / jnp.maximum(mixed.sum(), 1)
    return jnp.where(mixed, deviation / (jnp.sqrt(variance) + eps), 0.0)
