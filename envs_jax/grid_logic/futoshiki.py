"""Fill an n x n grid so that every row and column holds 1..n and every sign between two cells is obeyed.

The planted square is a reshuffling of the cyclic one; any square that keeps the givens and the signs scores.
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

SIDE = 6
SIDES = np.array([3, 4, 6], np.int32)
GIVENS = np.array([2, 3, 8], np.int32)
SIGN_SHARE = 0.5
# A sign says how a cell compares with its right or lower neighbour.
NONE, LESS, GREATER = range(3)
RIGHT_TILES = ("", " right:lt", " right:gt")
BELOW_TILES = ("", " below:lt", " below:gt")
WORDS = (".", "1", "2", "3", "4", "5", "6", " ", "<", ">", " ", "^", "v")
RIGHT_WORDS, BELOW_WORDS = 7, 10


@struct.dataclass
class Board:
    given: jax.Array  # int8[6, 6], 0 where empty
    right: jax.Array  # int8[6, 6], sign towards the right neighbour
    below: jax.Array  # int8[6, 6], sign towards the lower neighbour
    solution: jax.Array  # int8[6, 6], the planted one
    side: jax.Array  # int32[]


class Futoshiki(TileEnvironment):
    id = "futoshiki"
    family = "grid_logic"
    abilities = (
        "read_digit",
        "read_symbol",
        "compare_sort",
        "enforce_all_different",
        "propagate_constraints",
        "format_structured",
    )
    grammar = DigitGrid(SIDE)
    task = "Solve the futoshiki of n by n cells with digits 1 to n. Answer all rows in <answer></answer>."
    rules = "Each row and column has every digit once. A sign points at the smaller of two neighbours."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = tuple(
        (f"given clue:{digit}" if digit else "paper") + right + below
        for below in BELOW_TILES
        for right in RIGHT_TILES
        for digit in range(SIDE + 1)
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Board:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (3 * SIDE + 3, SIDE))
        solution = _latin_square(noise[-3:], side)
        cells = grids.inside(SIDE, side)
        kept = grids.pick_mask(noise[:SIDE], cells, jnp.asarray(GIVENS)[scale])
        right = _signs(noise[SIDE : 2 * SIDE], solution, 1)
        below = _signs(noise[2 * SIDE : 3 * SIDE], solution, 0)
        given = jnp.where(kept, solution, 0).astype(jnp.int8)
        return Board(given, right, below, solution, side)

    def legal(self, state: Board, action: jax.Array) -> jax.Array:
        """n lines of n digits from 1 to n."""
        cells = grids.inside(SIDE, state.side)
        return jnp.where(cells, (action >= 1) & (action <= state.side), action < 0).all()

    def transition(
        self, key: jax.Array, state: Board, action: jax.Array
    ) -> tuple[Board, jax.Array, jax.Array]:
        checks = _checks(state, action)
        solved = jnp.stack([(right | ~asked).all() for right, asked in checks]).all()
        share = jnp.stack([_share(right, asked) for right, asked in checks]).prod()
        return state, score(solved, share), jnp.bool_(True)

    def symbolic(self, state: Board) -> jax.Array:
        signs = state.right + len(RIGHT_TILES) * state.below
        return (state.given + (SIDE + 1) * signs).astype(jnp.uint8)

    def extent(self, state: Board) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Board) -> Texts:
        words = jnp.full((2 * SIDE, 2 * SIDE), RIGHT_WORDS, jnp.int8)
        words = words.at[::2, ::2].set(state.given)
        words = words.at[::2, 1::2].set(RIGHT_WORDS + state.right)
        words = words.at[1::2, ::2].set(BELOW_WORDS + state.below)
        across = 2 * state.side - 1
        board = text.grid(words, WORDS, across, across, between="")
        empties = text.number(state.side**2 - (state.given > 0).sum(), 2)
        count = text.concat(text.encode("n "), text.number(state.side, 1), text.encode(", empty "), empties)
        return Texts(board, count, _one_cell(state))

    def exercised(self, state: Board, action: jax.Array, after: Board) -> dict[str, jax.Array]:
        lines, kept, *signs = (jnp.stack(checked) for checked in _checks(state, action))
        obeyed, asked = jnp.concatenate([sign.reshape(2, -1) for sign in signs], axis=1)
        lines, kept = (right | ~asked for right, asked in (lines, kept))
        return {
            "read_digit": kept.all(),
            "read_symbol": asked.any() & (2 * (obeyed & asked).sum() > asked.sum()),
            "compare_sort": asked.any() & (obeyed | ~asked).all(),
            "enforce_all_different": lines.all(),
            "propagate_constraints": lines.all() & kept.all() & (obeyed | ~asked).all(),
        }

    def expert(self, key: jax.Array, state: Board) -> jax.Array:
        return jnp.where(grids.inside(SIDE, state.side), state.solution, -1).astype(jnp.int32)


def _latin_square(noise: jax.Array, n: jax.Array) -> jax.Array:
    """int8[6, 6]: the cyclic n x n square with rows, columns and digits in the order of noise[3, 6]."""
    noise = jnp.where(jnp.arange(SIDE) < n, noise, jnp.inf)
    rows, cols, names = (noise[:, :, None] > noise[:, None, :]).sum(-1)
    square = 1 + names[(rows[:, None] + cols[None, :]) % n]
    return jnp.where(grids.inside(SIDE, n), square, 0).astype(jnp.int8)


def _compare(board: jax.Array, axis: int) -> jax.Array:
    """int8[6, 6]: the sign of each cell towards its neighbour along the axis; NONE at the edge."""
    onward = grids.neighbours(board, 0)[3 if axis else 1]
    sign = jnp.where(board < onward, LESS, GREATER)
    return jnp.where((board > 0) & (onward > 0) & (board != onward), sign, NONE).astype(jnp.int8)


def _signs(noise: jax.Array, solution: jax.Array, axis: int) -> jax.Array:
    return jnp.where(noise < SIGN_SHARE, _compare(solution, axis), NONE).astype(jnp.int8)


def _checks(state: Board, action: jax.Array) -> tuple[tuple[jax.Array, jax.Array], ...]:
    """For the lines, the givens, the signs to the right and below: what is right, and what is asked."""
    return (
        _complete_lines(action, state.side),
        (state.given == action, state.given > 0),
        (state.right == _compare(action, 1), state.right > NONE),
        (state.below == _compare(action, 0), state.below > NONE),
    )


def _complete_lines(board: jax.Array, n: jax.Array) -> tuple[jax.Array, jax.Array]:
    """bool[12] twice: the columns and rows that hold every digit once, and those in use."""
    same = board[..., None] == np.arange(1, SIDE + 1)
    counts = jnp.concatenate([same.sum(0), same.sum(1)])
    used = jnp.arange(SIDE) < n
    return (counts == used).all(-1), jnp.tile(used, 2)


def _share(right: jax.Array, asked: jax.Array) -> jax.Array:
    """float32[]: how much of what is asked is right; 1 when nothing is."""
    count = asked.sum()
    return jnp.where(count > 0, (right & asked).sum() / jnp.maximum(count, 1), 1.0)


def _one_cell(state: Board) -> text.Text:
    """The digit of the first empty cell: `row 1 column 2 is 3`."""
    empty = (state.given == 0) & grids.inside(SIDE, state.side)
    row, col = jnp.divmod(empty.reshape(-1).argmax(), SIDE)
    return text.concat(
        text.encode("row "),
        text.number(row + 1, 1),
        text.encode(" column "),
        text.number(col + 1, 1),
        text.encode(" is "),
        text.number(state.solution[row, col], 1),
    )
