"""How many minutes until all oranges are rotten? Each minute rot spreads to the neighbours.

Rules of reasoning-gym's rotten_oranges. Oranges that rot cannot reach are taken away; in one crate of four
the last orange to rot is then cut off.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 10
SIDES = np.array([3, 6, 10], np.int32)
MOST_ROTTEN = np.array([1, 2, 3], np.int32)
ORANGE_SHARE = 0.75
NEVER_SHARE = 0.25
EMPTY, FRESH, ROTTEN = range(3)
NEVER = 0  # the action; n + 1 says n minutes


@struct.dataclass
class Crate:
    oranges: jax.Array  # int8[10, 10], EMPTY, FRESH or ROTTEN
    side: jax.Array  # int32[]


class RottenOranges(TileEnvironment):
    id = "rotten_oranges"
    family = "graph"
    abilities = (
        "recognise_colour",
        "simulate_rule",
        "analyse_connectivity",
        "count_objects",
        "format_answer",
    )
    grammar = Word(tuple(str(minutes) for minutes in range(-1, SIDE * SIDE)))
    task = (
        "After how many minutes are all oranges rotten? Answer the number, or -1 for never, "
        "in <answer></answer>."
    )
    rules = "In a minute each rotten orange spoils the fresh ones above, below, left and right of it."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = ("crate", "crate orange:fresh", "crate orange:rotten")

    def generate(self, key: jax.Array, scale: jax.Array) -> Crate:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (3 * SIDE * SIDE + 2,))
        places, order, ties = noise[2:].reshape(3, SIDE, SIDE)
        cells = grids.inside(SIDE, side)
        count = 1 + (noise[0] * jnp.asarray(MOST_ROTTEN)[scale]).astype(jnp.int32)
        rotten = grids.pick_mask(order, cells, count)
        oranges = cells & (places < ORANGE_SHARE) | rotten
        minute = grids.distances(rotten, grids.open_moves(oranges), SIDE * SIDE)
        fresh = oranges & ~rotten & (minute < grids.UNREACHABLE)
        (last,) = grids.pick(minute + ties, fresh, 1)
        # Without neighbours it stays fresh; they are fresh themselves unless it would rot at once.
        around = grids.neighbours(grids.mask_at(SIDE, last), False).any(0)
        cuts = (noise[1] < NEVER_SHARE) & fresh[last[0], last[1]] & ~(around & rotten).any()
        fresh &= ~(around & cuts)
        return Crate(jnp.where(rotten, ROTTEN, jnp.where(fresh, FRESH, EMPTY)).astype(jnp.int8), side)

    def transition(
        self, key: jax.Array, state: Crate, action: jax.Array
    ) -> tuple[Crate, jax.Array, jax.Array]:
        return state, score(action == _answer(state), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Crate) -> jax.Array:
        return state.oranges.astype(jnp.uint8)

    def extent(self, state: Crate) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Crate) -> Texts:
        board = text.grid(self.symbolic(state), (".", "o", "x"), state.side, state.side, between="")
        count = text.concat(
            text.number((state.oranges == FRESH).sum(), 2),
            text.encode(" fresh, "),
            text.number((state.oranges == ROTTEN).sum(), 1),
            text.encode(" rotten"),
        )
        first = text.concat(text.number((_minutes(state) == 1).sum(), 2), text.encode(" rot in minute 1"))
        return Texts(board, count, first)

    def exercised(self, state: Crate, action: jax.Array, after: Crate) -> dict[str, jax.Array]:
        minutes, right = _minutes(state), action == _answer(state)
        never = minutes.max() >= grids.UNREACHABLE
        # What one says who overlooks that an orange is cut off.
        spread = jnp.where(minutes < grids.UNREACHABLE, minutes, 0).max()
        miss = jnp.abs(action - 1 - spread)
        ways = grids.open_moves(jnp.ones((SIDE, SIDE), bool))
        straight = grids.distances(state.oranges == ROTTEN, ways, 2 * SIDE)
        straight = jnp.where(state.oranges == FRESH, straight, 0).max()
        return {
            "recognise_colour": right | (miss <= 2),
            "count_objects": (action != NEVER) & (miss <= 1),
            "simulate_rule": right & ~never,
            "analyse_connectivity": right & (straight < minutes.max()),
        }

    def expert(self, key: jax.Array, state: Crate) -> jax.Array:
        return _answer(state)


def _minutes(state: Crate) -> jax.Array:
    """int32[10, 10]: when each orange is rotten, UNREACHABLE if never; 0 where there is none."""
    moves = grids.open_moves(state.oranges != EMPTY)
    minutes = grids.distances(state.oranges == ROTTEN, moves, SIDE * SIDE)
    return jnp.where(state.oranges == EMPTY, 0, minutes)


def _answer(state: Crate) -> jax.Array:
    """int32[]: the right action."""
    last = _minutes(state).max()
    return jnp.where(last < grids.UNREACHABLE, last + 1, NEVER)
