"""Sum the areas of all triangles whose corners are points on graph paper.

After RLVE's and Gym-V's SumTriangleArea, which ask for twice the sum: a whole number. The answer is right or
wrong.
"""

import itertools
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

SIDE, MOST = 9, 6
SIDES = np.array([6, 7, 9], np.int32)
COUNTS = np.array([3, 4, 6], np.int32)
TRIPLES = np.array(list(itertools.combinations(range(MOST), 3)))
HIGHEST = len(TRIPLES) * (SIDE - 1) ** 2  # no triangle is more than half of the paper
BLANK, PLAIN, POINT, DIGIT = range(4)


@struct.dataclass
class Points:
    places: jax.Array  # int8[6, 2], x and y
    count: jax.Array  # int32[]
    side: jax.Array  # int32[], lines of the graph paper


class SumTriangleArea(TileEnvironment):
    id = "sum_triangle_area"
    family = "geometry_perception"
    abilities = (
        "reason_geometry",
        "read_gauge_status",
        "compute_arithmetic",
        "count_objects",
        "format_answer",
    )
    grammar = Numbers(1, HIGHEST)
    task = (
        "Add up the areas of all triangles with three of the red points as corners; a cell of the paper "
        "has area 1. Answer twice the sum, like <answer>15</answer>."
    )
    rules = (
        "Every three points make a triangle; three in a line have area 0. Twice an area is a whole number."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        "plain:header",
        "crossing",
        "crossing spot:sign",
        *(f"plain:header glyph:{digit}" for digit in range(SIDE)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Points:
        side = jnp.asarray(SIDES)[scale]
        places = grids.pick(grids.noise(key, (SIDE, SIDE)), grids.inside(SIDE, side), MOST)
        return Points(places.astype(jnp.int8), jnp.asarray(COUNTS)[scale], side)

    def transition(
        self, key: jax.Array, state: Points, action: jax.Array
    ) -> tuple[Points, jax.Array, jax.Array]:
        return state, score(action[0] == _double_areas(state).sum(), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Points) -> jax.Array:
        """The paper with x below and y, which grows upwards, on the left."""
        at = jnp.arange(SIDE + 1)
        x, y = at - 1, state.side - 1 - at
        here = (state.places[:, 1, None, None] == y[:, None]) & (state.places[:, 0, None, None] == x)
        here = (here & (jnp.arange(MOST) < state.count)[:, None, None]).any(0)
        paper = jnp.where(here, POINT, PLAIN)
        paper = jnp.where(at == 0, DIGIT + y[:, None], paper)
        paper = jnp.where((at == state.side)[:, None], jnp.where(at > 0, DIGIT + x, BLANK), paper)
        used = (at <= state.side)[:, None] & (at <= state.side)
        return jnp.where(used, paper, BLANK).astype(jnp.uint8)

    def extent(self, state: Points) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side + 1

    def describe(self, state: Points) -> Texts:
        """A line a point, x and y."""
        points = text.number(state.count, 1)
        triangles = text.number(_shown(state).sum(), 2)
        odd = _double_areas(state).sum() % 2
        return Texts(
            text.grid(state.places, [str(at) for at in range(SIDE)], state.count, 2),
            text.concat(points, text.encode(" points, triangles: "), triangles),
            text.choose(odd, ("twice the sum is even", "twice the sum is odd")),
        )

    def exercised(self, state: Points, action: jax.Array, after: Points) -> dict[str, jax.Array]:
        answer, areas = action[0], _double_areas(state)
        total = areas.sum()
        right = answer == total
        return {
            "reason_geometry": right | (2 * answer == total),  # not doubled
            "read_gauge_status": 10 * jnp.abs(answer - total) <= total,
            "compute_arithmetic": right,
            "count_objects": right | (answer == total - areas).any(),  # all but one
        }

    def expert(self, key: jax.Array, state: Points) -> jax.Array:
        return _double_areas(state).sum(dtype=jnp.int32)[None]


def _shown(state: Points) -> jax.Array:
    """bool[20]: the triples of points that are there."""
    return state.count > TRIPLES[:, 2]


def _double_areas(state: Points) -> jax.Array:
    """int32[20]: twice the area of the triangle of each of TRIPLES, 0 for those that are not there."""
    a, b, c = state.places.astype(jnp.int32)[TRIPLES.T]
    (x1, y1), (x2, y2) = (b - a).T, (c - a).T
    return jnp.where(_shown(state), jnp.abs(x1 * y2 - x2 * y1), 0)
