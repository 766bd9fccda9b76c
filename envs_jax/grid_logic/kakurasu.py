"""Shade cells so that the weights of each row and column add up to the sums beside it.

A cell weighs its column's number in its row, and its row's number in its column. Rules of reasoning-gym's
kakurasu; any shading with these sums scores, not only the planted one.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.grid_logic import engine
from jaxenv import grids, text
from jaxenv.answers import DigitGrid
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 8
SIDES = np.array([3, 5, 8], np.int32)
SHADED_SHARE = 0.5
WEIGHTS = np.arange(1, SIDE + 1, dtype=np.int32)
HEAVIEST = int(WEIGHTS.sum())
EMPTY, CORNER, WEIGHT, SUM = 0, 1, 2, 2 + SIDE


@struct.dataclass
class Sums:
    rows: jax.Array  # int8[8], 0 after the last
    cols: jax.Array  # int8[8]
    solution: jax.Array  # bool[8, 8], the planted cells
    side: jax.Array  # int32[]


class Kakurasu(TileEnvironment):
    id = "kakurasu"
    family = "grid_logic"
    abilities = (
        "read_margin_clues",
        "balance_sums",
        "compute_arithmetic",
        "propagate_constraints",
        "format_structured",
    )
    grammar = DigitGrid(SIDE)
    task = (
        "Shade cells so that their weights add up to the sums on the right and below. "
        "Answer all rows in <answer></answer>, 1 for a shaded cell and 0 for an empty one."
    )
    rules = (
        "In a row each shaded cell weighs the number above its column; "
        "in a column each weighs the number left of its row."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = (
        "paper",
        "slot",
        *(f"header glyph:{weight}" for weight in WEIGHTS),
        *(f"given glyph:{total}" for total in range(HEAVIEST + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Sums:
        side = jnp.asarray(SIDES)[scale]
        shaded = jax.random.bernoulli(key, SHADED_SHARE, (SIDE * SIDE,)).reshape(SIDE, SIDE)
        solution = shaded & grids.inside(SIDE, side)
        rows, cols = _sums(solution)
        return Sums(rows.astype(jnp.int8), cols.astype(jnp.int8), solution, side)

    def legal(self, state: Sums, action: jax.Array) -> jax.Array:
        """n lines of n digits, 0 or 1."""
        return engine.is_grid(action, state.side, 0, 1)

    def transition(self, key: jax.Array, state: Sums, action: jax.Array) -> tuple[Sums, jax.Array, jax.Array]:
        right, asked = _right_lines(state, action).sum(), 2 * state.side
        return state, score(right == asked, right / asked), jnp.bool_(True)

    def symbolic(self, state: Sums) -> jax.Array:
        weights = WEIGHT + jnp.arange(SIDE)
        margins = jnp.stack([weights, SUM + state.cols, weights, SUM + state.rows])
        return engine.framed(jnp.full((SIDE, SIDE), EMPTY), margins, state.side, CORNER)

    def extent(self, state: Sums) -> tuple[jax.Array, jax.Array]:
        return state.side + 2, state.side + 2

    def describe(self, state: Sums) -> Texts:
        totals = [str(total) for total in range(HEAVIEST + 1)]
        board = text.concat(
            text.encode("row sums "),
            text.grid(state.rows[None], totals, 1, state.side),
            text.encode("\ncolumn sums "),
            text.grid(state.cols[None], totals, 1, state.side),
        )
        size = text.concat(text.encode("n "), text.number(state.side, 1))
        hint = text.concat(
            text.encode("row 1 has "), text.number(state.solution[0].sum(), 1), text.encode(" shaded cells")
        )
        return Texts(board, size, hint)

    def exercised(self, state: Sums, action: jax.Array, after: Sums) -> dict[str, jax.Array]:
        right = _right_lines(state, action).sum(1)
        most, every = 2 * right > state.side, right == state.side
        return {
            "read_margin_clues": most.any(),
            "balance_sums": most.all(),
            "compute_arithmetic": every.any(),
            "propagate_constraints": every.all(),
        }

    def expert(self, key: jax.Array, state: Sums) -> jax.Array:
        return engine.answer(state.solution, state.side)


def _right_lines(state: Sums, action: jax.Array) -> jax.Array:
    """bool[2, 8]: the rows and columns that have their sums."""
    rows, cols = _sums(action == 1)
    right = jnp.stack([rows == state.rows, cols == state.cols])
    return right & (jnp.arange(SIDE) < state.side)


def _sums(shaded: jax.Array) -> tuple[jax.Array, jax.Array]:
    """int32[8] twice: the sums of the rows and of the columns of the cells bool[8, 8]."""
    cells, weights = shaded.astype(jnp.int32), jnp.asarray(WEIGHTS)
    return cells @ weights, weights @ cells
