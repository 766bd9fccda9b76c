"""Read a square matrix of digits along the clockwise spiral that starts in the top left.

Rules of reasoning-gym's spiral_matrix.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.matrix import engine
from jaxenv import grids, text
from jaxenv.answers import Digits
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE = 6
SIDES = np.array([3, 4, 6], np.int32)


def _spiral(n: int) -> list[int]:
    """The cells of an n x n matrix along the spiral, flat in a padded array of SIDE columns."""
    left = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)[:n, :n]
    order: list[int] = []
    while left.size:
        order += left[0].tolist()
        left = np.rot90(left[1:])
    return order


# The order of the cells by side; 0 after the last.
ORDERS = np.array([_spiral(n) + [0] * (SIDE * SIDE - n * n) for n in range(SIDE + 1)], np.int32)


@struct.dataclass
class Spiral:
    digits: jax.Array  # int8[6, 6]
    side: jax.Array  # int32[]


class SpiralMatrix(TileEnvironment):
    id = "spiral_matrix"
    family = "matrix"
    abilities = ("read_digit", "trace_line", "index_cell", "simulate_rule", "format_structured")
    grammar = Digits(SIDE * SIDE)
    task = "Read the digits in clockwise spiral order from the top left. Answer all in <answer></answer>."
    rules = "Go right along the top, down, left, up, then the same inside, until every cell is read."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = engine.TILES

    def generate(self, key: jax.Array, scale: jax.Array) -> Spiral:
        side = jnp.asarray(SIDES)[scale]
        return Spiral(engine.random_digits(grids.noise(key, (SIDE, SIDE)), side), side)

    def legal(self, state: Spiral, action: jax.Array) -> jax.Array:
        """As many digits as the matrix has."""
        return (action >= 0).sum() == state.side**2

    def transition(
        self, key: jax.Array, state: Spiral, action: jax.Array
    ) -> tuple[Spiral, jax.Array, jax.Array]:
        return state, engine.mark(action, _unrolled(state)), jnp.bool_(True)

    def symbolic(self, state: Spiral) -> jax.Array:
        return state.digits.astype(jnp.uint8)

    def extent(self, state: Spiral) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Spiral) -> Texts:
        size = text.concat(text.number(state.side**2, 2), text.encode(" digits"))
        hint = text.concat(text.encode("after row 1 comes "), text.number(state.digits[1, state.side - 1], 1))
        return Texts(engine.rows(state.digits, state.side), size, hint)

    def exercised(self, state: Spiral, action: jax.Array, after: Spiral) -> dict[str, jax.Array]:
        goal = _unrolled(state)
        right = action == goal
        return {
            "read_digit": engine.same_digits(action, goal),
            "trace_line": (right | (jnp.arange(SIDE * SIDE) >= 2 * state.side - 1)).all(),
            "index_cell": engine.mostly_right(action, goal),
            "simulate_rule": right.all(),
        }

    def expert(self, key: jax.Array, state: Spiral) -> jax.Array:
        return _unrolled(state)


def _unrolled(state: Spiral) -> jax.Array:
    """int32[36]: the right answer, -1 after the last digit."""
    digits = state.digits.reshape(-1)[jnp.asarray(ORDERS)[state.side]]
    return jnp.where(jnp.arange(SIDE * SIDE) < state.side**2, digits, -1).astype(jnp.int32)
