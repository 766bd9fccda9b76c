"""What puzzles share whose answer is a grid: n lines of n digits in the top left of a padded array."""

import jax
import jax.numpy as jnp

from jaxenv import grids, text
from jaxenv.text import Text


def answer(solution: jax.Array, n: jax.Array) -> jax.Array:
    """int32[side, side]: the n x n solution as the action of a `DigitGrid`, -1 outside."""
    return jnp.where(grids.inside(solution.shape[0], n), solution, -1).astype(jnp.int32)


def is_grid(action: jax.Array, n: jax.Array, low: jax.Array | int, high: jax.Array | int) -> jax.Array:
    """bool[]: the action is n lines of n digits, each in low..high."""
    fits = (action >= low) & (action <= high)
    return jnp.where(grids.inside(action.shape[0], n), fits, action < 0).all()


def are_numbers(action: jax.Array, n: jax.Array) -> jax.Array:
    """bool[]: the action int32[side * side] is n * n numbers, each from 1 to n * n."""
    count = n**2
    fits = (action >= 1) & (action <= count)
    return jnp.where(jnp.arange(action.shape[0]) < count, fits, action < 0).all()


def board(action: jax.Array, side: int, n: jax.Array) -> jax.Array:
    """int32[side, side]: n lines of n numbers of an action, 0 outside."""
    row, col = jnp.indices((side, side))
    cells = grids.inside(side, n)
    return jnp.where(cells, action[jnp.where(cells, row * n + col, 0)], 0)


def in_rows(solution: jax.Array, n: jax.Array) -> jax.Array:
    """int32[side * side]: the n x n solution row by row as the action of `Numbers`, -1 after the last."""
    at = jnp.arange(solution.size)
    row, col = jnp.divmod(at, n)
    used = at < n**2
    return jnp.where(used, solution[jnp.where(used, row, 0), col], -1).astype(jnp.int32)


def one_cell(solution: jax.Array, empty: jax.Array) -> Text:
    """The number, below 100, in the first empty cell bool[side, side] in words: `row 1 column 2 is 3`."""
    row, col = jnp.divmod(empty.reshape(-1).argmax(), empty.shape[1])
    where = grids.place(jnp.stack([row, col]), 2)
    return text.concat(where, text.encode(" is "), text.number(solution[row, col], 2))


def framed(cells: jax.Array, margins: jax.Array, n: jax.Array, corner: int) -> jax.Array:
    """uint8[side + 2, side + 2]: the n x n cells [side, side] between margins [4, side] on the top, bottom,
    left and right, with `corner` in the corners and beyond."""
    across = cells.shape[0] + 2
    row, col = jnp.indices((across, across))
    top, bottom, left, right = jnp.pad(margins, ((0, 0), (1, 1)))
    board = jnp.where(row == 0, top, jnp.pad(cells, 1))
    board = jnp.where(row == n + 1, bottom, board)
    board = jnp.where(col == 0, left[:, None], board)
    board = jnp.where(col == n + 1, right[:, None], board)
    at_corner = (row % (n + 1) == 0) & (col % (n + 1) == 0)
    return jnp.where(at_corner | (jnp.maximum(row, col) > n + 1), corner, board).astype(jnp.uint8)
