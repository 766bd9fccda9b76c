"""Place n queens on a chessboard so that none attacks another; some stand there already.

After reasoning-gym's n_queens. The planted answer is one of all there are for n, each as likely; any other
that keeps the queens on the board scores as well.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 10
SIDES = np.array([5, 7, 10], np.int32)
FEWEST = np.array([1, 1, 2], np.int32)
MOST = np.array([2, 3, 4], np.int32)
CHESSBOARD = np.indices((SIDE, SIDE)).sum(0) % 2
QUEEN = 2


def _all_placements(n: int) -> np.ndarray:
    """int[count, n]: the column of the queen in each row, for all answers."""
    placed = np.zeros((1, 0), int)
    for row in range(n):
        tries, col = np.repeat(placed, n, axis=0), np.tile(np.arange(n), len(placed))
        away = np.abs(tries - col[:, None])
        free = ((away != 0) & (away != row - np.arange(row))).all(1)
        placed = np.column_stack([tries, col])[free]
    return placed


_PLACEMENTS = [_all_placements(n) for n in SIDES.tolist()]
COUNT = np.array([len(placed) for placed in _PLACEMENTS], np.int32)
START = np.cumsum(COUNT, dtype=np.int32) - COUNT
BANK = np.concatenate(
    [
        np.pad(placed, ((0, 0), (0, SIDE - n)), constant_values=-1)
        for placed, n in zip(_PLACEMENTS, SIDES, strict=True)
    ]
).astype(np.int8)


@struct.dataclass
class Chessboard:
    given: jax.Array  # int8[10], the column of the queen in each row, -1 where there is none
    solution: jax.Array  # int8[10], the planted columns, -1 after the last row
    side: jax.Array  # int32[]


class NQueens(TileEnvironment):
    id = "n_queens"
    family = "grid_logic"
    abilities = (
        "read_symbol",
        "index_cell",
        "cast_line_of_sight",
        "backtrack_hypotheses",
        "enforce_all_different",
        "format_structured",
    )
    grammar = Numbers(SIDE, SIDE)
    task = (
        "Place a queen in every row so that none attacks another. "
        "Answer the column of each row's queen from the top, like <answer>2 4 1 3</answer>."
    )
    rules = "A queen attacks along its row, column and diagonals. The queens on the board stay."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = ("square:light", "square:dark", "square:light queen", "square:dark queen")

    def generate(self, key: jax.Array, scale: jax.Array) -> Chessboard:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (1, SIDE + 2))
        count = jnp.asarray(COUNT)[scale]
        at = jnp.minimum((noise[0, 0] * count).astype(jnp.int32), count - 1)
        solution = jnp.asarray(BANK)[jnp.asarray(START)[scale] + at]
        fewest = jnp.asarray(FEWEST)[scale]
        span = jnp.asarray(MOST)[scale] - fewest + 1
        givens = fewest + (noise[0, 1] * span).astype(jnp.int32)
        kept = grids.pick_mask(noise[:, 2:], jnp.arange(SIDE)[None] < side, givens)[0]
        return Chessboard(jnp.where(kept, solution, -1).astype(jnp.int8), solution, side)

    def legal(self, state: Chessboard, action: jax.Array) -> jax.Array:
        """A column from 1 to n for each row."""
        used = jnp.arange(SIDE) < state.side
        return jnp.where(used, (action >= 1) & (action <= state.side), action < 0).all()

    def transition(
        self, key: jax.Array, state: Chessboard, action: jax.Array
    ) -> tuple[Chessboard, jax.Array, jax.Array]:
        safe, kept = _checks(state, action)
        queens, givens = safe.sum(), kept.sum()
        asked = (state.given >= 0).sum()
        solved = (queens == state.side) & (givens == asked)
        return state, score(solved, queens / state.side * givens / asked), jnp.bool_(True)

    def symbolic(self, state: Chessboard) -> jax.Array:
        queens = state.given[:, None] == jnp.arange(SIDE)
        return (CHESSBOARD + QUEEN * queens).astype(jnp.uint8)

    def extent(self, state: Chessboard) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Chessboard) -> Texts:
        words = (".", ".", "Q", "Q")
        board = text.grid(self.symbolic(state), words, state.side, state.side, between="")
        missing = text.number(state.side - (state.given >= 0).sum(), 2)
        count = text.concat(text.encode("n "), text.number(state.side, 2), text.encode(", missing "), missing)
        row = (state.given < 0).argmax()
        hint = text.concat(
            grids.place(jnp.stack([row, state.solution[row]]), 2), text.encode(" can hold a queen")
        )
        return Texts(board, count, hint)

    def exercised(self, state: Chessboard, action: jax.Array, after: Chessboard) -> dict[str, jax.Array]:
        safe, kept = _checks(state, action)
        asked = state.given >= 0
        beside = jnp.abs(action - 1 - state.given) <= 1
        counts = (action[:, None] == jnp.arange(1, SIDE + 1)).sum(0)
        queens = safe.sum()
        return {
            "read_symbol": (beside | ~asked).all(),
            "index_cell": (kept | ~asked).all(),
            "cast_line_of_sight": 2 * queens > state.side,
            "backtrack_hypotheses": (queens == state.side) & (kept | ~asked).all(),
            "enforce_all_different": (counts <= 1).all(),
        }

    def expert(self, key: jax.Array, state: Chessboard) -> jax.Array:
        return jnp.where(state.solution >= 0, state.solution + 1, -1).astype(jnp.int32)


def _checks(state: Chessboard, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """bool[10] twice: the queens of the answer that attack no other, and those where one was given."""
    row, col = jnp.arange(SIDE), action - 1
    rows_away = jnp.abs(row[:, None] - row)
    cols_away = jnp.abs(col[:, None] - col)
    attacks = ((cols_away == 0) | (cols_away == rows_away)) & (rows_away > 0)
    used = row < state.side
    safe = used & ~(attacks & used).any(1)
    return safe, (state.given >= 0) & (col == state.given)
