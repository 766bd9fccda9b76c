"""Square matrices of digits in the top left of a padded array: random ones, tiles, words and marks."""

import jax
import jax.numpy as jnp

from jaxenv import grids, text
from jaxenv.scoring import score
from jaxenv.text import Text

WORDS = tuple("0123456789")
TILES = tuple(f"paper glyph:{digit}" for digit in WORDS)


def random_digits(noise: jax.Array, n: jax.Array) -> jax.Array:
    """An n x n matrix int8[side, side] of digits from noise float32[side, side] in 0..1; 0 outside."""
    return jnp.where(grids.inside(noise.shape[0], n), jnp.floor(noise * 10), 0).astype(jnp.int8)


def rows(digits: jax.Array, n: jax.Array) -> Text:
    """The matrix as text, a line a row."""
    return text.grid(digits, WORDS, n, n, between="")


def mark(action: jax.Array, goal: jax.Array) -> jax.Array:
    """The score of an answer against the only right one; both are -1 where there is nothing."""
    asked = goal >= 0
    right = asked & (action == goal)
    return score((action == goal).all(), right.sum() / asked.sum())


def same_digits(action: jax.Array, goal: jax.Array) -> jax.Array:
    """bool[]: the answer has every digit as often as the right one."""
    return (jnp.sort(action, axis=None) == jnp.sort(goal, axis=None)).all()


def mostly_right(action: jax.Array, goal: jax.Array) -> jax.Array:
    """bool[]: at least half of what is asked is right."""
    asked = goal >= 0
    return 2 * (asked & (action == goal)).sum() >= asked.sum()
