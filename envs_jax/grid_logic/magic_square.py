"""Complete an n x n square of the numbers 1 to n * n whose rows, columns and diagonals have the same sum.

The planted square is n * P[A] + Q[B] + 1 with two Latin squares A and B that hold every pair of digits once,
and random names P and Q of their digits. Any completion scores.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.grid_logic import engine
from jaxenv import grids, text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 5
SIDES = np.array([3, 4, 5], np.int32)
EMPTY = np.array([4, 8, 13], np.int32)
CONSTANTS = [n * (n * n + 1) // 2 for n in SIDES.tolist()]
HIGHEST = SIDE * SIDE


def _latin_pairs() -> np.ndarray:
    """int32[3, 2, 5, 5]: the two squares of each scale."""
    row, col = np.indices((SIDE, SIDE))
    pairs = np.zeros((3, 2, SIDE, SIDE), np.int32)
    pairs[0] = (row + col + 2) % 3, (row - col + 1) % 3
    four = np.array([[0, 1, 2, 3], [2, 3, 0, 1], [3, 2, 1, 0], [1, 0, 3, 2]])
    pairs[1, :, :4, :4] = four, four.T
    pairs[2] = (row + 2 * col) % 5, (2 * row + col) % 5
    return pairs


PAIRS = _latin_pairs()
# Tiles: 0 empty, 1..25 numbers, then the row above the square.
BLANK, SIGMA, SUM = range(HIGHEST + 1, HIGHEST + 4)


@struct.dataclass
class Square:
    given: jax.Array  # int8[5, 5], 0 where empty
    solution: jax.Array  # int8[5, 5], the planted one
    side: jax.Array  # int32[]


class MagicSquare(TileEnvironment):
    id = "magic_square"
    family = "grid_logic"
    abilities = (
        "read_digit",
        "balance_sums",
        "compute_arithmetic",
        "enforce_all_different",
        "propagate_constraints",
    )
    grammar = Numbers(HIGHEST, HIGHEST)
    task = (
        "Fill the empty cells so that every row, column and diagonal has the sum shown. "
        "Answer all numbers of the square, row by row, in <answer></answer>."
    )
    rules = "The square of n by n cells has every number from 1 to n times n once."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = (
        "paper",
        *(f"given glyph:{number}" for number in range(1, HIGHEST + 1)),
        "header",
        "header sigma",
        *(f"header glyph:{constant}" for constant in CONSTANTS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Square:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (SIDE + 3, SIDE))
        solution = _magic(noise[SIDE:], jnp.asarray(PAIRS)[scale], side)
        cells = grids.inside(SIDE, side)
        empty = grids.pick_mask(noise[:SIDE], cells, jnp.asarray(EMPTY)[scale])
        return Square(jnp.where(empty, 0, solution).astype(jnp.int8), solution, side)

    def legal(self, state: Square, action: jax.Array) -> jax.Array:
        """n * n numbers, each from 1 to n * n."""
        return engine.are_numbers(action, state.side)

    def transition(
        self, key: jax.Array, state: Square, action: jax.Array
    ) -> tuple[Square, jax.Array, jax.Array]:
        share = _shares(state, action)
        return state, score((share == 1).all(), share.prod()), jnp.bool_(True)

    def symbolic(self, state: Square) -> jax.Array:
        header = jnp.full((1, SIDE), BLANK).at[0, 0].set(SIGMA).at[0, 1].set(SUM + state.side - SIDES[0])
        return jnp.concatenate([header, state.given]).astype(jnp.uint8)

    def extent(self, state: Square) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side

    def describe(self, state: Square) -> Texts:
        constant = text.choose(state.side - SIDES[0], [str(constant) for constant in CONSTANTS])
        words = (".", *map(str, range(1, HIGHEST + 1)))
        board = text.concat(
            text.encode("sum "),
            constant,
            text.encode("\n"),
            text.grid(state.given, words, state.side, state.side),
        )
        empty = (state.given == 0) & grids.inside(SIDE, state.side)
        count = text.concat(
            text.encode("sum "), constant, text.encode(", empty "), text.number(empty.sum(), 2)
        )
        return Texts(board, count, engine.one_cell(state.solution, empty))

    def exercised(self, state: Square, action: jax.Array, after: Square) -> dict[str, jax.Array]:
        magic, different, kept = _shares(state, action)
        return {
            "read_digit": kept >= 0.75,
            "balance_sums": magic == 1,
            "compute_arithmetic": (magic > 0.5) & (kept >= 0.75),
            "enforce_all_different": different == 1,
            "propagate_constraints": (magic == 1) & (different == 1) & (kept == 1),
        }

    def expert(self, key: jax.Array, state: Square) -> jax.Array:
        return engine.in_rows(state.solution, state.side)


def _shares(state: Square, action: jax.Array) -> jax.Array:
    """float32[3]: how many of the lines have the sum, of the numbers are there, of the givens are kept."""
    n = state.side
    board = engine.board(action, SIDE, n)
    row, col = jnp.indices((SIDE, SIDE))
    diagonals = jnp.stack([row == col, row + col == n - 1])
    sums = jnp.concatenate([board.sum(1), board.sum(0), (board * diagonals).sum((1, 2))])
    used = jnp.append(jnp.tile(jnp.arange(SIDE) < n, 2), jnp.ones(2, bool))
    magic = used & (sums == n * (n * n + 1) // 2)
    different = (board.reshape(-1, 1) == jnp.arange(1, HIGHEST + 1)).any(0)
    asked = state.given > 0
    kept = asked & (board == state.given)
    right = jnp.stack([magic.sum(), different.sum(), kept.sum()])
    return right / jnp.stack([2 * n + 2, n * n, asked.sum()])


def _magic(noise: jax.Array, pair: jax.Array, n: jax.Array) -> jax.Array:
    """int8[5, 5]: a magic square from the Latin squares int32[2, 5, 5], named and ordered by noise[3, 5]."""
    # In the squares of order 3 one diagonal holds a single digit, which must be the middle one.
    middle = jnp.where(n == 3, (noise[:2, 0] + noise[:2, 2]) / 2, noise[:2, 1])
    order = jnp.where(jnp.arange(SIDE) < n, noise[:2].at[:, 1].set(middle), jnp.inf)
    high, low = (order[:, :, None] > order[:, None, :]).sum(-1)
    pair = jnp.where(noise[2, 0] < 0.5, pair[::-1], pair)
    square = n * high[pair[0]] + low[pair[1]] + 1
    return jnp.where(grids.inside(SIDE, n), square, 0).astype(jnp.int8)
