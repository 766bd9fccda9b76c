"""Fill a 4 x 4 grid so that every row, column and 2 x 2 box holds 1, 2, 3 and 4.

Every grid is a relabelling and reshuffling of one of the two classes of 4 x 4 sudokus; any valid completion
scores, not only the planted one.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import DigitGrid
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 4
EMPTY = np.array([5, 8, 12], np.int32)
# One grid of each class (96 and 192 of the 288 grids).
CLASSES = np.array(
    [
        [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]],
        [[1, 2, 3, 4], [3, 4, 1, 2], [2, 3, 4, 1], [4, 1, 2, 3]],
    ],
    np.int32,
)
SECOND_CLASS_SHARE = 2 / 3
# Members uint8[12, 4] of the rows, columns and boxes, as flat cells.
_FLAT = np.arange(16).reshape(4, 4)
UNITS = np.concatenate([_FLAT, _FLAT.T, _FLAT.reshape(2, 2, 2, 2).swapaxes(1, 2).reshape(4, 4)])
# Orders of rows that keep the bands: swap within each band, swap the bands.
ORDERS = np.array(
    [
        [b * 2 + i for b, i in zip((x, x, 1 - x, 1 - x), (y, 1 - y, z, 1 - z), strict=True)]
        for x in (0, 1)
        for y in (0, 1)
        for z in (0, 1)
    ],
    np.int32,
)
EDGES = (("", "r"), ("d", "rd"))
BOX_EDGE = np.array([[(r == 1) * 2 + (c == 1) for c in range(4)] for r in range(4)], np.int32)


@struct.dataclass
class Sudoku:
    given: jax.Array  # int8[4, 4], 0 where empty
    solution: jax.Array  # int8[4, 4], the planted one


class MiniSudoku(TileEnvironment):
    id = "mini_sudoku"
    family = "grid_logic"
    abilities = (
        "read_digit",
        "index_cell",
        "enforce_all_different",
        "propagate_constraints",
        "format_structured",
    )
    grammar = DigitGrid(SIDE)
    task = "Solve the sudoku with digits 1 to 4. Answer the whole grid, 4 lines in <answer></answer>."
    rules = "Each row, column and box of 2 by 2 has every digit once."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = tuple(
        f"paper edge:{edge}" if digit == 0 else f"given glyph:{digit} edge:{edge}"
        for down in EDGES
        for edge in down
        for digit in range(5)
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Sudoku:
        which, rows, cols, flip, digits, cells = jax.random.split(key, 6)
        second = jax.random.bernoulli(which, SECOND_CLASS_SHARE)
        grid = jnp.asarray(CLASSES)[second.astype(jnp.int32)]
        grid = grid[jnp.asarray(ORDERS)[jax.random.randint(rows, (), 0, len(ORDERS))]]
        grid = grid[:, jnp.asarray(ORDERS)[jax.random.randint(cols, (), 0, len(ORDERS))]]
        grid = jnp.where(jax.random.bernoulli(flip), grid.T, grid)
        _, names = jax.lax.top_k(jax.random.uniform(digits, (4,)), 4)
        solution = names[grid - 1] + 1
        empty = grids.pick_mask(
            grids.noise(cells, (SIDE, SIDE)), jnp.ones((SIDE, SIDE), bool), jnp.asarray(EMPTY)[scale]
        )
        given = jnp.where(empty, 0, solution)
        return Sudoku(given.astype(jnp.int8), solution.astype(jnp.int8))

    def legal(self, state: Sudoku, action: jax.Array) -> jax.Array:
        """Four lines of four digits from 1 to 4."""
        return ((action >= 1) & (action <= SIDE)).all()

    def transition(
        self, key: jax.Array, state: Sudoku, action: jax.Array
    ) -> tuple[Sudoku, jax.Array, jax.Array]:
        units, kept = _checks(state, action)
        share = units.mean() * kept.mean()
        return state, score(units.all() & kept.all(), share), jnp.bool_(True)

    def symbolic(self, state: Sudoku) -> jax.Array:
        return (state.given + 5 * BOX_EDGE).astype(jnp.uint8)

    def extent(self, state: Sudoku) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(SIDE), jnp.int32(SIDE)

    def describe(self, state: Sudoku) -> Texts:
        board = text.grid(state.given, (".", "1", "2", "3", "4"), SIDE, SIDE, between="")
        empties = (state.given == 0).sum()
        count = text.concat(text.number(empties, 2), text.encode(" empty cells"))
        filled = (state.given > 0).sum(1)
        hint = text.concat(
            text.encode("row "),
            text.number(filled.argmax() + 1, 1),
            text.encode(" has "),
            text.number(filled.max(), 1),
            text.encode(" digits"),
        )
        return Texts(board, count, hint)

    def exercised(self, state: Sudoku, action: jax.Array, after: Sudoku) -> dict[str, jax.Array]:
        units, kept = _checks(state, action)
        return {
            "read_digit": kept.mean() >= 0.75,
            "index_cell": kept.all(),
            "enforce_all_different": units[:SIDE].all() | units[SIDE : 2 * SIDE].all(),
            "propagate_constraints": units.all() & kept.all(),
        }

    def expert(self, key: jax.Array, state: Sudoku) -> jax.Array:
        return state.solution.astype(jnp.int32)


def _checks(state: Sudoku, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """bool[12]: the units that hold every digit once; bool[4, 4]: the cells that keep what was given."""
    counts = (action.reshape(-1)[UNITS][..., None] == np.arange(1, 5)).sum(1)
    return (counts == 1).all(-1), (state.given == 0) | (state.given == action)
