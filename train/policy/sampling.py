"""One token from a row's logits: the likeliest, or one that is drawn."""

import math

import jax
import jax.numpy as jnp


def pick(
    logits: jax.Array, number: jax.Array, *, temperature: jax.Array, allowed: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A token int32[] of float32[vocabulary] logits, and its log-probability at the temperature (at 1 when
    greedy) among those that are allowed. Temperature 0 is greedy; else a uniform number of [0, 1) decides."""
    greedy = temperature <= 0
    scaled = jnp.where(allowed, logits / jnp.where(greedy, 1.0, temperature), -jnp.inf)
    token = jax.lax.cond(greedy, lambda: _argmax(scaled), lambda: draw(jax.nn.softmax(scaled), number))
    return token, scaled[token] - jax.nn.logsumexp(scaled)


def draw(weights: jax.Array, number: jax.Array) -> jax.Array:
    """An index int32[] of float32[n] weights, none below 0, which a uniform number of [0, 1) makes as likely
    as its weight's share of all; never one of weight 0.

    The number is held against running sums, first of blocks and then in the block. The Gumbel-max trick wants
    as many random numbers as there are weights, which for a small model on a CPU takes a third of a step.
    """
    size = math.isqrt(len(weights) - 1) + 1
    blocks = jnp.pad(weights, (0, -len(weights) % size)).reshape(-1, size)
    sums = blocks.sum(axis=1)
    block, rest = _reach(sums, number * sums.sum())
    return block * size + _reach(blocks[block], rest)[0]


def _reach(parts: jax.Array, target: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The first part of float[n] with which the running sum exceeds the target, and how much of the target is
    left for it. Parts of 0 do not count; where rounding leaves the whole sum short it is the last other."""
    index, some, running = jnp.arange(len(parts)), parts > 0, jnp.cumsum(parts)
    last = jnp.where(some, index, 0).max()
    reached = jnp.where(some & (running > target), index, last).min()
    return reached, target - (running[reached] - parts[reached])


def _argmax(x: jax.Array) -> jax.Array:
    """int32[]: where float[n] is largest, first. These two reductions are seven times as fast on a CPU as
    XLA's own argmax, which carries value and index at once."""
    last = len(x) - 1
    return jnp.where(x == x.max(), jnp.arange(last + 1), last).min()
