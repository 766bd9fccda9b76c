"""For each cell of a matrix of 0 and 1, find how far the nearest 0 is, in moves up, down, left and right.

Rules of reasoning-gym's binary_matrix. One 0 lies near the middle, so that every distance is one digit.
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

SIDE = 9
SIDES = np.array([3, 5, 9], np.int32)
FEWEST_ZEROS = np.array([1, 2, 3], np.int32)
MOST_ZEROS = np.array([4, 8, 16], np.int32)
FARTHEST = 9  # moves from the 0 near the middle to any cell


@struct.dataclass
class Bits:
    ones: jax.Array  # bool[9, 9]
    side: jax.Array  # int32[]


class BinaryMatrix(TileEnvironment):
    id = "binary_matrix"
    family = "matrix"
    abilities = (
        "read_digit",
        "estimate_magnitude",
        "analyse_connectivity",
        "compare_sort",
        "format_structured",
    )
    grammar = DigitGrid(SIDE)
    task = "Replace each cell by its distance to the nearest 0. Answer the new rows in <answer></answer>."
    rules = "The distance is the number of steps up, down, left or right; a 0 has distance 0."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = ("header glyph:0", "paper glyph:1")

    def generate(self, key: jax.Array, scale: jax.Array) -> Bits:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (2 * SIDE * SIDE + 1,))
        order, middle = noise[1:].reshape(2, SIDE, SIDE)
        cells = grids.inside(SIDE, side)
        at = jnp.arange(SIDE)
        away = jnp.maximum(at, side - 1 - at)
        (first,) = grids.pick(middle, cells & (away[:, None] + away[None, :] <= FARTHEST), 1)
        fewest = jnp.asarray(FEWEST_ZEROS)[scale]
        count = fewest + (noise[0] * (jnp.asarray(MOST_ZEROS)[scale] - fewest + 1)).astype(jnp.int32)
        zeros = grids.pick_mask(jnp.where(grids.mask_at(SIDE, first), 2.0, order), cells, count)
        return Bits(cells & ~zeros, side)

    def legal(self, state: Bits, action: jax.Array) -> jax.Array:
        """As many rows as the matrix has."""
        return ((action >= 0) == grids.inside(SIDE, state.side)).all()

    def transition(self, key: jax.Array, state: Bits, action: jax.Array) -> tuple[Bits, jax.Array, jax.Array]:
        """The zeros are given, so that only the other cells count for the share."""
        goal = _answer(state)
        right = state.ones & (action == goal)
        return state, score((action == goal).all(), right.sum() / state.ones.sum()), jnp.bool_(True)

    def symbolic(self, state: Bits) -> jax.Array:
        return state.ones.astype(jnp.uint8)

    def extent(self, state: Bits) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Bits) -> Texts:
        zeros = state.side**2 - state.ones.sum()
        count = text.concat(text.number(state.side, 1), text.encode(" rows, zeros "), text.number(zeros, 2))
        farthest = text.number(_answer(state).max(), 1)
        hint = text.concat(text.encode("the largest distance is "), farthest)
        return Texts(engine.rows(state.ones.astype(jnp.int8), state.side), count, hint)

    def exercised(self, state: Bits, action: jax.Array, after: Bits) -> dict[str, jax.Array]:
        goal = _answer(state)
        far, right = goal > 1, action == goal
        # Each distance that is answered is one more than the least beside it, be the zeros right or not.
        least = grids.neighbours(jnp.where(action < 0, FARTHEST, action), FARTHEST).min(0)
        ranked = (action <= 0) | (action == least + 1)
        return {
            "read_digit": ((action == 0) == (goal == 0)).all(),
            "estimate_magnitude": far.any() & (2 * (far & right).sum() > far.sum()),
            "analyse_connectivity": right.all(),
            "compare_sort": ranked.all() & (action > 0).any(),
        }

    def expert(self, key: jax.Array, state: Bits) -> jax.Array:
        return _answer(state)


def _answer(state: Bits) -> jax.Array:
    """int32[9, 9]: the right answer, -1 outside."""
    cells = grids.inside(SIDE, state.side)
    away = grids.distances(cells & ~state.ones, grids.open_moves(cells), FARTHEST)
    return jnp.where(cells, away, -1)
