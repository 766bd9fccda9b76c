"""Find the missing numbers of a pyramid in which each brick is the sum of the two below it.

One brick of each row is given, the top among them. That leaves one solution: in a row below a known one, any
one number gives the next by subtraction.
"""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.render.tiles import paint
from jaxenv.scoring import score

MOST = 6
ROWS = np.array([3, 4, 6], np.int32)
HIGHS = np.array([9, 9, 6], np.int32)  # of the lowest row
TOPS = HIGHS << (ROWS - 1)  # the largest number at the top
HIGHEST = int(TOPS.max())
MISSING = MOST * (MOST + 1) // 2 - MOST  # at most
TILES = ("paper", *(f"wood:{number}" for number in range(1, HIGHEST + 1)))
WORDS = ("?", *map(str, range(1, HIGHEST + 1)))
ROW, COL = np.tril_indices(MOST)  # of the bricks, from the top


@struct.dataclass
class Pyramid:
    given: jax.Array  # int16[6, 6], rows from the top, 0 where missing or no brick
    solution: jax.Array  # int16[6, 6]
    rows: jax.Array  # int32[]


class NumberPyramid(Environment):
    id = "number_pyramid"
    family = "arithmetic_table"
    abilities = (
        "read_digit",
        "index_cell",
        "compute_arithmetic",
        "propagate_constraints",
        "format_structured",
    )
    grammar = Numbers(MISSING, HIGHEST)
    task = (
        "Each brick is the sum of the two below it. Answer the missing numbers from the top, "
        "each row from the left, like <answer>12 7 5</answer>."
    )
    rules = "The missing numbers are whole and above 0."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)

    def generate(self, key: jax.Array, scale: jax.Array) -> Pyramid:
        rows = jnp.asarray(ROWS)[scale]
        numbers, places = jax.random.uniform(key, (2 * MOST,)).reshape(2, MOST)
        level = 1 + (numbers * jnp.asarray(HIGHS)[scale]).astype(jnp.int32)
        levels = [level]
        for _ in range(MOST - 1):
            level = level + jnp.roll(level, -1)
            levels.append(level)
        row, col = jnp.indices((MOST, MOST))
        heights = jnp.maximum(rows - 1 - jnp.arange(MOST), 0)
        solution = jnp.where((row < rows) & (col <= row), jnp.stack(levels)[heights], 0).astype(jnp.int16)
        shown = (places * (1 + jnp.arange(MOST))).astype(jnp.int32)
        return Pyramid(jnp.where(col == shown[:, None], solution, 0), solution, rows)

    def legal(self, state: Pyramid, action: jax.Array) -> jax.Array:
        """As many numbers as bricks are missing."""
        return ((action >= 0) == (_answer(state) >= 0)).all()

    def transition(
        self, key: jax.Array, state: Pyramid, action: jax.Array
    ) -> tuple[Pyramid, jax.Array, jax.Array]:
        goal = _answer(state)
        asked = goal >= 0
        right = asked & (action == goal)
        return state, score((right == asked).all(), right.sum() / asked.sum()), jnp.bool_(True)

    def symbolic(self, state: Pyramid) -> jax.Array:
        return state.given.astype(jnp.uint8)

    def draw(self, state: Pyramid, canvas: int) -> jax.Array:
        """Square bricks, as large as the lowest row allows; each row lies half a brick beside the next."""
        pixels, start = map(jnp.asarray, _atlas(canvas))
        size, at = canvas // state.rows, jnp.arange(canvas)
        row, down = jnp.divmod(at - canvas % state.rows // 2, size)
        left = (canvas - (row + 1) * size) // 2
        col, across = jnp.divmod(at[None, :] - left[:, None], size)
        bricks = ((row >= 0) & (row < state.rows))[:, None] & (col >= 0) & (col <= row[:, None])
        number = state.given[jnp.clip(row, 0, MOST - 1)[:, None], jnp.clip(col, 0, MOST - 1)]
        texels = start[state.rows] + (number * size + down[:, None]) * size + across
        return pixels.at[jnp.where(bricks, texels, 0)].get(mode="promise_in_bounds")

    def describe(self, state: Pyramid) -> Texts:
        ends = [word + end for end in " \n" for word in WORDS]
        table, lengths = text.word_table(ends)
        words = state.given[ROW, COL] + len(WORDS) * (ROW == COL)
        last = (state.rows - 1 == ROW) & (ROW == COL)
        sizes = jnp.where(state.rows > ROW, jnp.asarray(lengths)[words] - last, 0)
        board = text.pack(jnp.asarray(table)[words], sizes.astype(jnp.int32))
        goal = _answer(state)
        count = text.concat(text.number((goal >= 0).sum(), 2), text.encode(" missing numbers"))
        return Texts(board, count, text.concat(text.encode("the first is "), text.number(goal[0])))

    def exercised(self, state: Pyramid, action: jax.Array, after: Pyramid) -> dict[str, jax.Array]:
        goal, bricks = _answer(state), _filled(state, action)
        sums = bricks[:-1, :-1] == bricks[1:, :-1] + bricks[1:, 1:]
        asked = state.solution[1:, 1:] > 0
        right = (action == goal) & (goal >= 0)
        # The first number follows from two that are shown.
        return {
            "read_digit": right[0],
            "index_cell": 2 * right.sum() > (goal >= 0).sum(),
            "compute_arithmetic": 2 * (sums & asked).sum() > asked.sum(),
            "propagate_constraints": (action == goal).all(),
        }

    def expert(self, key: jax.Array, state: Pyramid) -> jax.Array:
        return _answer(state)


def _answer(state: Pyramid) -> jax.Array:
    """int32[15]: the missing numbers, -1 after the last."""
    (at,) = jnp.nonzero(_missing(state).reshape(-1), size=MISSING, fill_value=MOST * MOST)
    return jnp.take(state.solution.reshape(-1), at, mode="fill", fill_value=-1).astype(jnp.int32)


def _filled(state: Pyramid, action: jax.Array) -> jax.Array:
    """int32[6, 6]: the pyramid with the numbers of the answer."""
    missing = _missing(state)
    order = jnp.cumsum(missing.reshape(-1)).reshape(missing.shape) - 1
    return jnp.where(missing, action[order], state.given)


def _missing(state: Pyramid) -> jax.Array:
    return (state.solution > 0) & (state.given == 0)


@functools.lru_cache(maxsize=64)
def _atlas(canvas: int) -> tuple[np.ndarray, np.ndarray]:
    """(pixels uint8[P, 3], start int32[7]): the brick with number k of a pyramid of n rows begins at
    start[n] + k * size**2. Pixel 0 is the backdrop."""
    pixels = [palette.rgb("backdrop")[None]]
    start = np.zeros(MOST + 1, np.int32)
    for rows, top in zip(ROWS.tolist(), TOPS.tolist(), strict=True):
        start[rows] = sum(map(len, pixels))
        pixels += [paint(name, canvas // rows).reshape(-1, 3) for name in TILES[: top + 1]]
    return np.concatenate(pixels), start
