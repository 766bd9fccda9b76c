"""Pool the blocks of a matrix: the largest digit or the average of each.

Rules of reasoning-gym's pool_matrix, with digits drawn so that every average is a whole number. The first row
of the picture says MAX or AVG.
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

SIDE = 8
SIDES = np.array([4, 6, 8], np.int32)
POOLS = np.array([2, 3, 2], np.int32)
BLOCKS = SIDE // 2  # the most along a side
KINDS = ("MAX", "AVG")
LETTERS = tuple(sorted(set("".join(KINDS))))
HEADS = np.array([[LETTERS.index(letter) for letter in kind] for kind in KINDS], np.int32)
GROUNDS = ("paper", "header")  # of the blocks, like the squares of a chessboard
BLANK = 10 * len(GROUNDS)


@struct.dataclass
class Pool:
    digits: jax.Array  # int8[8, 8]
    side: jax.Array  # int32[]
    pool: jax.Array  # int32[], side of a block
    average: jax.Array  # bool[], else the largest


class PoolMatrix(TileEnvironment):
    id = "pool_matrix"
    family = "matrix"
    abilities = ("read_digit", "segment_regions", "compare_sort", "compute_arithmetic", "format_structured")
    grammar = DigitGrid(BLOCKS)
    task = "Replace each block by its largest digit (MAX) or average (AVG). Answer rows in <answer></answer>."
    rules = "The blocks are shaded in turn. The average is the sum of a block over the number of its cells."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        *(f"{ground} glyph:{digit}" for ground in GROUNDS for digit in engine.WORDS),
        "given",
        *(f"given glyph:{letter}" for letter in LETTERS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Pool:
        side, pool = jnp.asarray(SIDES)[scale], jnp.asarray(POOLS)[scale]
        noise = jax.random.uniform(key, (SIDE * SIDE + 1,))
        digits = engine.random_digits(noise[1:].reshape(SIDE, SIDE), side).astype(jnp.int32)
        # The last digit of a block gives way until the block's sum is a multiple of its cells.
        excess = _blocks(digits, pool).sum((2, 3)) % pool**2
        block, last = jnp.divmod(jnp.arange(SIDE), pool)
        gives = (last == pool - 1)[:, None] & (last == pool - 1)[None, :]
        digits = digits - jnp.where(gives, excess[block][:, block], 0)
        digits = jnp.where(digits < 0, digits + pool**2, digits)
        return Pool(digits.astype(jnp.int8), side, pool, noise[0] < 0.5)

    def legal(self, state: Pool, action: jax.Array) -> jax.Array:
        """As many rows as there are rows of blocks."""
        return ((action >= 0) == grids.inside(BLOCKS, state.side // state.pool)).all()

    def transition(self, key: jax.Array, state: Pool, action: jax.Array) -> tuple[Pool, jax.Array, jax.Array]:
        return state, engine.mark(action, _pooled(state)), jnp.bool_(True)

    def symbolic(self, state: Pool) -> jax.Array:
        block = jnp.arange(SIDE) // state.pool
        body = state.digits + 10 * ((block[:, None] + block[None, :]) % 2)
        letters = BLANK + 1 + jnp.asarray(HEADS)[state.average.astype(jnp.int32)]
        header = jnp.full((1, SIDE), BLANK).at[0, : letters.shape[0]].set(letters)
        return jnp.concatenate([header, body]).astype(jnp.uint8)

    def extent(self, state: Pool) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side

    def describe(self, state: Pool) -> Texts:
        kind = text.choose(state.average.astype(jnp.int32), KINDS)
        board = text.concat(kind, text.encode("\n"), engine.rows(state.digits, state.side))
        pool = text.number(state.pool, 1)
        size = text.concat(kind, text.encode(" of blocks of "), pool, text.encode(" by "), pool)
        first = text.number(_blocks(state.digits.astype(jnp.int32), state.pool)[0, 0].sum(), 2)
        return Texts(board, size, text.concat(text.encode("the first block adds up to "), first))

    def exercised(self, state: Pool, action: jax.Array, after: Pool) -> dict[str, jax.Array]:
        goal, other = _pooled(state), _pooled(replace(state, average=~state.average))
        right = (action == goal).all()
        return {
            "read_digit": engine.mostly_right(action, goal),
            "segment_regions": ((action == goal) | (action == other)).all(),
            "compare_sort": right & ~state.average,
            "compute_arithmetic": right & state.average,
        }

    def expert(self, key: jax.Array, state: Pool) -> jax.Array:
        return _pooled(state)


def _blocks(digits: jax.Array, pool: jax.Array) -> jax.Array:
    """int32[4, 4, 8, 8]: the digits int32[8, 8] of each block in their places, 0 elsewhere."""
    mine = jnp.arange(SIDE) // pool == jnp.arange(BLOCKS)[:, None]
    return jnp.where(mine[:, None, :, None] & mine[None, :, None, :], digits, 0)


def _pooled(state: Pool) -> jax.Array:
    """int32[4, 4]: the right answer, -1 outside."""
    blocks = _blocks(state.digits.astype(jnp.int32), state.pool)
    pooled = jnp.where(state.average, blocks.sum((2, 3)) // state.pool**2, blocks.max((2, 3)))
    return jnp.where(grids.inside(BLOCKS, state.side // state.pool), pooled, -1)
