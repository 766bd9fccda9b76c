"""Latin squares of 1..n in the top left of a padded array."""

import jax
import jax.numpy as jnp

from jaxenv import grids


def latin_square(noise: jax.Array, n: jax.Array) -> jax.Array:
    """int8[side, side]: the cyclic n x n square with rows, columns and digits in the order of noise
    float32[3, side]; 0 outside."""
    side = noise.shape[1]
    noise = jnp.where(jnp.arange(side) < n, noise, jnp.inf)
    rows, cols, names = (noise[:, :, None] > noise[:, None, :]).sum(-1)
    square = 1 + names[(rows[:, None] + cols[None, :]) % n]
    return jnp.where(grids.inside(side, n), square, 0).astype(jnp.int8)


def complete_lines(board: jax.Array, n: jax.Array) -> tuple[jax.Array, jax.Array]:
    """bool[2 * side] twice: the columns and rows of board int32[side, side] that hold every digit once, and
    those in use."""
    side = board.shape[0]
    same = board[..., None] == jnp.arange(1, side + 1)
    counts = jnp.concatenate([same.sum(0), same.sum(1)])
    used = jnp.arange(side) < n
    return (counts == used).all(-1), jnp.tile(used, 2)
