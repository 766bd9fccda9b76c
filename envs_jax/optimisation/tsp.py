"""Find the shortest round trip through all cities: the travelling salesperson's problem, answered at once.

After Jumanji's TSP, with the cities on graph paper. The shortest tour is found with the instance, by Held
and Karp's table over sets of cities. Every tour as short, to a hundredth of a cell, scores in full; another
by how much longer it is.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.environment import TileEnvironment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.scoring import score

MOST = 10
LETTERS = "ABCDEFGHIJ"
SIZES = np.array([5, 7, 10], np.int32)
BLOCKS = 4  # along a side, of at most one city each
BLOCK = 2  # cells along a side of a block
SIDE = BLOCKS * BLOCK
# Lengths int32[8, 8] by rows and columns between, in thousandths of a cell; how exact their sums are.
LENGTHS = np.rint(1000 * np.hypot(*np.mgrid[:SIDE, :SIDE])).astype(np.int32)
EXACT = 10
OTHERS = MOST - 1  # all cities but the first
FAR = 10**8


@struct.dataclass
class Cities:
    places: jax.Array  # int8[10, 2]; cities that are not there are where the first one is
    tour: jax.Array  # int8[10], a shortest one, -1 after the last
    scale: jax.Array  # int32[]; SIZES[scale] cities


class Tsp(TileEnvironment):
    id = "tsp"
    family = "optimisation"
    abilities = (
        "estimate_magnitude",
        "read_letter",
        "optimise_combinatorial",
        "plan_path",
        "format_structured",
    )
    grammar = Letters(MOST, LETTERS, between=" ")
    task = (
        "Find the shortest round trip through all cities, back to the first. "
        "Answer all cities in order, like <answer>A C E D B</answer>."
    )
    rules = (
        "Ways between cities are straight lines. Name each city once; the last one leads back to the first."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("tour",)
    tileset = ("paper", *(f"paper city:{letter}" for letter in LETTERS))

    def generate(self, key: jax.Array, scale: jax.Array) -> Cities:
        block_key, cell_key = jax.random.split(key)
        n = jnp.asarray(SIZES)[scale]
        blocks = grids.pick(grids.noise(block_key, (BLOCKS, BLOCKS)), jnp.ones((BLOCKS, BLOCKS), bool), MOST)
        cells = (grids.noise(cell_key, (MOST, 2)) * BLOCK).astype(jnp.int32)
        places = blocks * BLOCK + cells
        places = jnp.where(jnp.arange(MOST)[:, None] < n, places, places[0])
        order = _shortest(_distances(places))
        (kept,) = jnp.nonzero(order < n, size=MOST, fill_value=-1)
        tour = jnp.where(kept >= 0, order[kept], -1)
        return Cities(places.astype(jnp.int8), tour.astype(jnp.int8), scale)

    def legal(self, state: Cities, action: jax.Array) -> jax.Array:
        """Each city once."""
        count = (action[:, None] == np.arange(MOST)).sum(0)
        return (count == (np.arange(MOST) < jnp.asarray(SIZES)[state.scale])).all()

    def transition(
        self, key: jax.Array, state: Cities, action: jax.Array
    ) -> tuple[Cities, jax.Array, jax.Array]:
        length, best = _length(state, action), _length(state, state.tour)
        return state, score(length <= best + EXACT, best / jnp.maximum(length, 1)), jnp.bool_(True)

    def symbolic(self, state: Cities) -> jax.Array:
        row, col = state.places.astype(jnp.int32).T
        city = jnp.arange(1, MOST + 1)
        city = jnp.where(city <= jnp.asarray(SIZES)[state.scale], city, 0)
        return jnp.zeros((SIDE, SIDE), jnp.uint8).at[row, col].max(city.astype(jnp.uint8))

    def extent(self, state: Cities) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(SIDE), jnp.int32(SIDE)

    def describe(self, state: Cities) -> Texts:
        board = text.grid(self.symbolic(state), (".", *LETTERS), SIDE, SIDE, between="")
        near = text.choose(state.tour[1].astype(jnp.int32), LETTERS)
        return Texts(
            board,
            text.choose(state.scale, [f"{n} cities" for n in SIZES]),
            text.concat(text.encode("on a shortest trip "), near, text.encode(" is next to A")),
        )

    def exercised(self, state: Cities, action: jax.Array, after: Cities) -> dict[str, jax.Array]:
        length, best = _length(state, action), _length(state, state.tour)
        near, crosses = _shape(_distances(_trip(state, action)), jnp.asarray(SIZES)[state.scale])
        return {
            "read_letter": 2 * near.sum() > jnp.asarray(SIZES)[state.scale],
            "estimate_magnitude": 5 * length <= 6 * best,
            "plan_path": ~crosses,
            "optimise_combinatorial": length <= best + EXACT,
        }

    def expert(self, key: jax.Array, state: Cities) -> jax.Array:
        """The shortest tour, from any city on and in either direction."""
        n = jnp.asarray(SIZES)[state.scale]
        start, back = jax.random.uniform(key, (2,))
        at = jnp.arange(MOST)
        place = ((start * n).astype(jnp.int32) + jnp.where(back < 0.5, -at, at)) % n
        return jnp.where(at < n, state.tour[place], -1).astype(jnp.int32)


def _distances(places: jax.Array) -> jax.Array:
    """int32[10, 10] of places int32[10, 2]."""
    down, across = jnp.moveaxis(jnp.abs(places[:, None] - places), -1, 0)
    return jnp.asarray(LENGTHS)[down, across]


def _trip(state: Cities, tour: jax.Array) -> jax.Array:
    """The places int32[10, 2] of a tour int[10], -1 after the last, in its order."""
    places = state.places.astype(jnp.int32)[tour]
    given = (tour >= 0)[:, None]
    # What is not given is at the end of the trip already.
    return jnp.where(given, places, places[0])


def _shape(between: jax.Array, n: jax.Array) -> tuple[jax.Array, jax.Array]:
    """bool[10]: the cities of a tour of n that have the nearest city before or after them; bool[]: whether
    two ways, as those that cross, can be exchanged for shorter ones. By distances int32[10, 10] in its order.
    """
    at = jnp.arange(MOST)
    onward, here = (at + 1) % n, at < n
    ways = between[at, onward]
    two = here & here[:, None] & (at[:, None] != at)
    nearest = jnp.where(two, between, FAR).min(1)
    near = here & (jnp.minimum(ways, ways[(at - 1) % n]) <= nearest)
    exchanged = between + between[onward][:, onward]
    return near, (two & (exchanged + EXACT < ways + ways[:, None])).any()


def _length(state: Cities, tour: jax.Array) -> jax.Array:
    """int32[] of a tour int[10], -1 after the last."""
    places = _trip(state, tour)
    down, across = jnp.abs(places - jnp.roll(places, -1, axis=0)).T
    return jnp.asarray(LENGTHS)[down, across].sum()


def _shortest(distances: jax.Array) -> jax.Array:
    """A shortest tour int32[10] of all cities, which begins with the first."""
    between, home = distances[1:, 1:], distances[0, 1:]
    city = np.arange(OTHERS)
    alone = np.eye(OTHERS, dtype=bool)

    def fill(cities: jax.Array, ways: jax.Array) -> jax.Array:
        """With the ways int32[512, 9] through this set of cities from the first to each of them."""
        inside = (cities >> city) & 1 == 1
        before = jnp.where(inside & ~alone, ways[cities & ~(1 << city)], FAR)  # [last, last but one]
        way = jnp.where(cities & ~(1 << city) == 0, home, (before + between.T).min(1))
        return ways.at[cities].set(jnp.where(inside, way, FAR))

    start = jnp.full((2**OTHERS, OTHERS), FAR, jnp.int32)
    ways = jax.lax.fori_loop(1, 2**OTHERS, fill, start)

    def back(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        cities, onward = carry
        last = (ways[cities] + onward).argmin().astype(jnp.int32)
        return (cities & ~(1 << last), between[last]), last + 1

    _, tour = jax.lax.scan(back, (jnp.int32(2**OTHERS - 1), home), None, length=OTHERS)
    return jnp.concatenate([jnp.zeros(1, jnp.int32), tour])
