"""Rotate a square matrix of digits clockwise by a multiple of 90 degrees.

Rules of reasoning-gym's rotate_matrix. The first row of the picture shows the turn and its degrees.
"""

from dataclasses import replace
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

SIDE = 5
SIDES = np.array([2, 3, 5], np.int32)
MOST_TURNS = np.array([3, 3, 10], np.int32)
BLANK, TURN = 10, 11
HINTS = (
    "nothing moves",
    "row 1 becomes the last column",
    "row 1 becomes the last row, backwards",
    "row 1 becomes the first column, upwards",
)


@struct.dataclass
class Rotation:
    digits: jax.Array  # int8[5, 5]
    side: jax.Array  # int32[]
    turns: jax.Array  # int32[], quarter turns clockwise


class RotateMatrix(TileEnvironment):
    id = "rotate_matrix"
    family = "matrix"
    abilities = ("read_digit", "rotate_mentally", "index_cell", "compute_modular", "format_structured")
    grammar = DigitGrid(SIDE)
    task = "Rotate the digits clockwise by the degrees shown. Answer the new rows in <answer></answer>."
    rules = "A turn of 90 degrees makes the first row the last column, from top to bottom."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        *engine.TILES,
        "header",
        "header turn",
        *(f"header glyph:{90 * turns}" for turns in range(1, MOST_TURNS[-1] + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Rotation:
        noise = jax.random.uniform(key, (SIDE * SIDE + 1,))
        side = jnp.asarray(SIDES)[scale]
        turns = 1 + (noise[-1] * jnp.asarray(MOST_TURNS)[scale]).astype(jnp.int32)
        return Rotation(engine.random_digits(noise[:-1].reshape(SIDE, SIDE), side), side, turns)

    def legal(self, state: Rotation, action: jax.Array) -> jax.Array:
        """As many rows as the matrix has."""
        return ((action >= 0) == grids.inside(SIDE, state.side)).all()

    def transition(
        self, key: jax.Array, state: Rotation, action: jax.Array
    ) -> tuple[Rotation, jax.Array, jax.Array]:
        return state, engine.mark(action, _rotated(state)), jnp.bool_(True)

    def symbolic(self, state: Rotation) -> jax.Array:
        header = jnp.full((1, SIDE), BLANK).at[0, 0].set(TURN).at[0, 1].set(TURN + state.turns)
        return jnp.concatenate([header, state.digits]).astype(jnp.uint8)

    def extent(self, state: Rotation) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side

    def describe(self, state: Rotation) -> Texts:
        degrees = text.number(90 * state.turns, 3)
        board = text.concat(
            text.encode("turn "), degrees, text.encode("\n"), engine.rows(state.digits, state.side)
        )
        size = text.concat(text.number(state.side, 1), text.encode(" rows, turn "), degrees)
        return Texts(board, size, text.choose(state.turns % 4, HINTS))

    def exercised(self, state: Rotation, action: jax.Array, after: Rotation) -> dict[str, jax.Array]:
        goal, turns = _rotated(state), jnp.arange(1, 4)
        turned = jax.vmap(lambda turn: _rotated(replace(state, turns=turn)))(turns)
        return {
            "read_digit": engine.same_digits(action, goal),
            "rotate_mentally": (turned == action).all((1, 2)).any(),
            "index_cell": engine.mostly_right(action, goal),
            "compute_modular": (action == goal).all(),
        }

    def expert(self, key: jax.Array, state: Rotation) -> jax.Array:
        return _rotated(state)


def _rotated(state: Rotation) -> jax.Array:
    """int32[5, 5]: the right answer, -1 outside."""
    row, col = jnp.indices((SIDE, SIDE))
    below, beyond = state.side - 1 - row, state.side - 1 - col
    turns = state.turns % 4
    from_row = jnp.stack([row, beyond, below, col])[turns]
    from_col = jnp.stack([col, row, beyond, below])[turns]
    inside = grids.inside(SIDE, state.side)
    source = state.digits[jnp.where(inside, from_row, 0), jnp.where(inside, from_col, 0)]
    return jnp.where(inside, source, -1).astype(jnp.int32)
