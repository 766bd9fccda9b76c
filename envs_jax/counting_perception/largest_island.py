"""Find the area of the largest island: land joined up, down, left or right. The answer is right or wrong.

Rules of reasoning-gym's largest_island. Land is where the smoothed noise is highest, which makes islands of
all sizes.
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

SIDE = 12
SIDES = np.array([4, 7, 12], np.int32)
LEAST_LAND, MOST_LAND = 0.3, 0.55  # shares of the cells


@struct.dataclass
class Sea:
    land: jax.Array  # bool[12, 12]
    side: jax.Array  # int32[]


class LargestIsland(TileEnvironment):
    id = "largest_island"
    family = "counting_perception"
    abilities = ("segment_regions", "analyse_connectivity", "count_objects", "compare_sort", "format_answer")
    grammar = Numbers(1, SIDE * SIDE)
    task = "How many cells has the largest island? Answer one number in <answer></answer>."
    rules = "Cells of land that share a side are one island; corners do not join."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = ("water", "land")

    def generate(self, key: jax.Array, scale: jax.Array) -> Sea:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (SIDE * SIDE + 1,))
        share = LEAST_LAND + (MOST_LAND - LEAST_LAND) * noise[0]
        height = noise[1:].reshape(SIDE, SIDE)
        height += grids.neighbours(height, 0.5).mean(0)
        count = jnp.round(share * side**2).astype(jnp.int32)
        return Sea(grids.pick_mask(height, grids.inside(SIDE, side), count), side)

    def transition(self, key: jax.Array, state: Sea, action: jax.Array) -> tuple[Sea, jax.Array, jax.Array]:
        return state, score(action[0] == _areas(_names(state.land)).max(), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Sea) -> jax.Array:
        return state.land.astype(jnp.uint8)

    def extent(self, state: Sea) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Sea) -> Texts:
        board = text.grid(self.symbolic(state), (".", "#"), state.side, state.side, between="")
        count = text.concat(text.encode("land "), text.number(state.land.sum(), 2), text.encode(" cells"))
        islands = text.number((_areas(_names(state.land)) > 0).sum(), 2)
        return Texts(board, count, text.concat(text.encode("islands: "), islands))

    def exercised(self, state: Sea, action: jax.Array, after: Sea) -> dict[str, jax.Array]:
        answer, names = action[0], _names(state.land)
        areas = _areas(names)
        largest = areas.max()
        island = names == areas.argmax() + 1
        corners = grids.neighbours(grids.neighbours(island, False)[2:].any(0), False)[:2].any(0)
        touched = (corners & state.land & ~island).any()
        return {
            "segment_regions": jnp.abs(answer - largest) <= 1,
            "analyse_connectivity": (answer == largest) & touched,
            "count_objects": (answer > 1) & (areas == answer).any(),
            "compare_sort": (answer == largest) & ((areas > 0) & (areas < largest)).any(),
        }

    def expert(self, key: jax.Array, state: Sea) -> jax.Array:
        return _areas(_names(state.land)).max()[None]


def _names(land: jax.Array) -> jax.Array:
    """int32[12, 12]: each island's name, 1 + the index of its last cell, 0 in the water."""
    at = jnp.arange(1, SIDE * SIDE + 1, dtype=jnp.int32).reshape(SIDE, SIDE)

    def spread(_: int, name: jax.Array) -> jax.Array:
        """Each cell takes the largest name it touches."""
        return jnp.where(land, jnp.maximum(name, grids.neighbours(name, 0).max(0)), 0)

    return jax.lax.fori_loop(0, SIDE * SIDE, spread, jnp.where(land, at, 0))


def _areas(names: jax.Array) -> jax.Array:
    """int32[144]: the area of each island of these names at its last cell, 0 elsewhere."""
    at = jnp.arange(1, SIDE * SIDE + 1, dtype=jnp.int32)
    return (names.reshape(-1, 1) == at).sum(0, dtype=jnp.int32)
