"""Shift rows and then columns of a square matrix of digits; what leaves at one end comes in at the other.

The signs left of a row and on top of a column show which way and how far it goes.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.matrix import engine
from jaxenv import grids, text
from jaxenv.answers import DigitGrid
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 6
SIDES = np.array([3, 4, 6], np.int32)
COUNTS = np.array([1, 3, 6], np.int32)  # of lines that are shifted
FARTHEST = np.array([2, 3, 3], np.int32)
MOST = int(FARTHEST.max())
CORNER, ROW, COLUMN = 10, 11 + MOST, 12 + 3 * MOST  # ROW + k is a shift of k to the right, COLUMN + k down


def _signs(back: str, forth: str) -> tuple[str, ...]:
    """Tiles of the shifts -MOST..MOST of a line."""
    backward = [f"header shift:{back}-{count}" for count in range(MOST, 0, -1)]
    return *backward, "header", *(f"header shift:{forth}-{count}" for count in range(1, MOST + 1))


def _words(back: str, forth: str) -> tuple[str, ...]:
    backward = [f"{back}{count}" for count in range(MOST, 0, -1)]
    return *backward, "0", *(f"{forth}{count}" for count in range(1, MOST + 1))


@struct.dataclass
class Shifts:
    digits: jax.Array  # int8[6, 6]
    shifts: jax.Array  # int8[2, 6], of the rows to the right and of the columns down; 0 for most
    side: jax.Array  # int32[]


class CyclicShiftMatrix(TileEnvironment):
    id = "cyclic_shift_matrix"
    family = "matrix"
    abilities = ("read_orientation", "read_digit", "track_permutation", "simulate_rule", "format_structured")
    grammar = DigitGrid(SIDE)
    task = (
        "Shift each row as the arrows on its left say, then each column as those on top say. "
        "Answer the new rows in <answer></answer>."
    )
    rules = "Each arrow is one cell. A digit that leaves at one end comes in at the other. Rows go first."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (*engine.TILES, "slot", *_signs("left", "right"), *_signs("up", "down"))

    def generate(self, key: jax.Array, scale: jax.Array) -> Shifts:
        side, farthest = jnp.asarray(SIDES)[scale], jnp.asarray(FARTHEST)[scale]
        noise = grids.noise(key, (SIDE + 4, SIDE))
        lines = jnp.broadcast_to(jnp.arange(SIDE) < side, (2, SIDE))
        shifted = grids.pick_mask(noise[SIDE : SIDE + 2], lines, jnp.asarray(COUNTS)[scale])
        choice = (noise[SIDE + 2 :] * 2 * farthest).astype(jnp.int32)
        distance = jnp.where(choice < farthest, choice - farthest, choice - farthest + 1)
        return Shifts(
            engine.random_digits(noise[:SIDE], side),
            jnp.where(shifted, distance, 0).astype(jnp.int8),
            side,
        )

    def legal(self, state: Shifts, action: jax.Array) -> jax.Array:
        """As many rows as the matrix has."""
        return ((action >= 0) == grids.inside(SIDE, state.side)).all()

    def transition(
        self, key: jax.Array, state: Shifts, action: jax.Array
    ) -> tuple[Shifts, jax.Array, jax.Array]:
        """Only the cells of lines that are shifted count for the share."""
        goal, asked = _answer(state), _asked(state)
        right = asked & (action == goal)
        return state, score((action == goal).all(), right.sum() / asked.sum()), jnp.bool_(True)

    def symbolic(self, state: Shifts) -> jax.Array:
        rows, cols = state.shifts.astype(jnp.int32)
        top = jnp.concatenate([jnp.full(1, CORNER), COLUMN + cols])
        body = jnp.concatenate([ROW + rows[:, None], state.digits], axis=1)
        return jnp.concatenate([top[None], body]).astype(jnp.uint8)

    def extent(self, state: Shifts) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side + 1

    def describe(self, state: Shifts) -> Texts:
        n = state.side
        rows, cols = MOST + state.shifts.astype(jnp.int32)
        board = text.concat(
            text.encode("rows "),
            text.grid(rows[None], _words("left ", "right "), 1, n, between=", "),
            text.encode("\ncolumns "),
            text.grid(cols[None], _words("up ", "down "), 1, n, between=", "),
            text.encode("\n"),
            engine.rows(state.digits, n),
        )
        shifted = text.number((state.shifts != 0).sum(), 1)
        size = text.concat(text.number(n, 1), text.encode(" rows, "), shifted, text.encode(" shifts"))
        first = text.number(_rows_shifted(state)[0, 0].astype(jnp.int32), 1)
        return Texts(
            board, size, text.concat(text.encode("with the rows shifted, row 1 begins with "), first)
        )

    def exercised(self, state: Shifts, action: jax.Array, after: Shifts) -> dict[str, jax.Array]:
        goal, asked = _answer(state), _asked(state)
        rows, cols = state.shifts != 0
        # What stands in each column tells of the shifts of the rows; with the columns put back, the reverse.
        alike = lambda one, other, axis: (jnp.sort(one, axis) == jnp.sort(other, axis)).all()  # noqa: E731
        back = lambda cells: _columns_shifted(cells, -state.shifts[1], state.side)  # noqa: E731
        rows_right, cols_right = alike(action, goal, 0), alike(back(action), back(goal), 1)
        return {
            "read_orientation": (rows.any() & rows_right) | (cols.any() & cols_right),
            "read_digit": engine.same_digits(action, goal),
            "track_permutation": 2 * (asked & (action == goal)).sum() >= asked.sum(),
            "simulate_rule": (action == goal).all(),
        }

    def expert(self, key: jax.Array, state: Shifts) -> jax.Array:
        return _answer(state)


def _asked(state: Shifts) -> jax.Array:
    """bool[6, 6]: the cells of the lines that are shifted."""
    rows, cols = state.shifts != 0
    return (rows[:, None] | cols[None, :]) & grids.inside(SIDE, state.side)


def _rows_shifted(state: Shifts) -> jax.Array:
    """int8[6, 6]: the digits after the shifts of the rows."""
    row, col = jnp.indices((SIDE, SIDE))
    return state.digits[row, (col - state.shifts[0][:, None]) % state.side]


def _columns_shifted(cells: jax.Array, by: jax.Array, side: jax.Array) -> jax.Array:
    """[6, 6]: the cells with each column moved down by[6]."""
    row, col = jnp.indices((SIDE, SIDE))
    return cells[(row - by[None, :]) % side, col]


def _answer(state: Shifts) -> jax.Array:
    """int32[6, 6]: the right answer, -1 outside."""
    shifted = _columns_shifted(_rows_shifted(state), state.shifts[1], state.side)
    return jnp.where(grids.inside(SIDE, state.side), shifted, -1).astype(jnp.int32)
