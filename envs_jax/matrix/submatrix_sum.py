"""Add up the digits of a marked rectangle of a matrix. The answer is right or wrong."""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.matrix import engine
from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 9
SIDES = np.array([4, 6, 9], np.int32)
SHORTEST = 2
LONGEST = np.array([3, 4, 5], np.int32)


@struct.dataclass
class Area:
    digits: jax.Array  # int8[9, 9]
    first: jax.Array  # int32[2], row and column of the rectangle's top left
    last: jax.Array  # int32[2], of its bottom right
    side: jax.Array  # int32[]


class SubmatrixSum(TileEnvironment):
    id = "submatrix_sum"
    family = "matrix"
    abilities = ("read_digit", "index_cell", "segment_regions", "compute_arithmetic", "format_answer")
    grammar = Numbers(1, 9 * int(LONGEST[-1]) ** 2)
    task = "Add up the digits in the marked rectangle. Answer one number in <answer></answer>."
    rules = "Digits outside the rectangle do not count. Its corners belong to it."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (*engine.TILES, *(f"marked glyph:{digit}" for digit in engine.WORDS))

    def generate(self, key: jax.Array, scale: jax.Array) -> Area:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (SIDE * SIDE + 4,))
        spread = jnp.asarray(LONGEST)[scale] - SHORTEST + 1
        size = SHORTEST + (noise[:2] * spread).astype(jnp.int32)
        first = (noise[2:4] * (side - size + 1)).astype(jnp.int32)
        return Area(engine.random_digits(noise[4:].reshape(SIDE, SIDE), side), first, first + size - 1, side)

    def transition(self, key: jax.Array, state: Area, action: jax.Array) -> tuple[Area, jax.Array, jax.Array]:
        return state, score(action[0] == _marked_digits(state).sum(), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Area) -> jax.Array:
        return (state.digits + 10 * _marked(state)).astype(jnp.uint8)

    def extent(self, state: Area) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Area) -> Texts:
        rows, cols = jnp.stack([state.first, state.last], axis=1) + 1
        place = text.concat(_span("rows ", rows), _span(", columns ", cols))
        board = text.concat(place, text.encode("\n"), engine.rows(state.digits, state.side))
        top = text.concat(
            text.encode("row "),
            text.number(rows[0], 1),
            text.encode(" adds "),
            text.number(_marked_digits(state)[state.first[0]].sum(), 2),
        )
        return Texts(board, place, top)

    def exercised(self, state: Area, action: jax.Array, after: Area) -> dict[str, jax.Array]:
        # Sums where the bottom right corner, or the place of the whole, is misjudged by one cell at most.
        nudges = jnp.indices((3, 3)).reshape(2, 9).T - 1
        total = lambda first, last: _marked_digits(replace(state, first=first, last=last)).sum()  # noqa: E731
        resized = jax.vmap(lambda by: total(state.first, state.last + by))(nudges)
        moved = jax.vmap(lambda by: total(state.first + by, state.last + by))(nudges)
        miss = jnp.abs(action[0] - total(state.first, state.last))
        return {
            "read_digit": miss <= 9,  # one digit at most is misread
            "index_cell": (action[0] == resized).any(),
            "segment_regions": (action[0] == moved).any(),
            "compute_arithmetic": miss == 0,
        }

    def expert(self, key: jax.Array, state: Area) -> jax.Array:
        return _marked_digits(state).sum(dtype=jnp.int32)[None]


def _marked(state: Area) -> jax.Array:
    """bool[9, 9]: the cells of the rectangle."""
    at = jnp.arange(SIDE)[:, None]
    rows, cols = ((at >= state.first) & (at <= state.last)).T
    return rows[:, None] & cols[None, :]


def _marked_digits(state: Area) -> jax.Array:
    """int32[9, 9]: the digits of the rectangle, 0 elsewhere."""
    return jnp.where(_marked(state), state.digits, 0).astype(jnp.int32)


def _span(title: str, ends: jax.Array) -> text.Text:
    """`rows 2 to 4` of ends int32[2]."""
    return text.concat(
        text.encode(title), text.number(ends[0], 1), text.encode(" to "), text.number(ends[1], 1)
    )
