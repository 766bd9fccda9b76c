"""Fill, empty and pour until the water in every jug is at its red line.

The moves of reasoning-gym's jugs. A goal for all jugs takes more moves than one amount in any of them. Levels
and capacities are random, and the goal is among the ones that take as many moves as the scale asks for.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

MOST, LARGEST, SMALLEST = 3, 7, 2  # jugs, and their capacities
COUNTS = np.array([2, 3, 3], np.int32)
SMALLEST_OF = np.array([2, 2, 3], np.int32)
LARGEST_OF = np.array([6, 6, 7], np.int32)
FEWEST = np.array([2, 4, 6], np.int32)  # moves to the goal
MOST_MOVES = np.array([4, 5, 8], np.int32)
LONGEST_WAY = 16  # moves of the longest shortest way that is found
FILL, EMPTY, POUR, FIRST = range(4)  # words of an answer; the jugs follow
LETTERS = "ABC"
# All moves there are, as actions.
MOVES = np.array(
    [(verb, FIRST + jug, -1) for verb in (FILL, EMPTY) for jug in range(MOST)]
    + [(POUR, FIRST + a, FIRST + b) for a in range(MOST) for b in range(MOST) if a != b],
    np.int32,
)
# All levels there may be.
LEVELS = np.indices((LARGEST + 1,) * MOST, np.int32).reshape(MOST, -1).T
PLACES = (LARGEST + 1) ** np.arange(MOST - 1, -1, -1)
# The picture: a jug is two tiles wide; below it are its letter and its capacity.
HEIGHT, WIDTH = LARGEST + 1, 3 * MOST - 1
ROW, COL = np.indices((HEIGHT, WIDTH))
JUG, HALF = COL // 3, COL % 3
MARKS = ("none", "top", "floor")
BLANK, LETTER, CAPACITY, MEASURE = 0, 1, 1 + MOST - SMALLEST, 1 + MOST + LARGEST - SMALLEST + 1


@struct.dataclass
class Water:
    levels: jax.Array  # int32[3]
    goal: jax.Array  # int32[3]
    capacity: jax.Array  # int32[3], 0 where there is no jug


class Jugs(TileEnvironment):
    id = "jugs"
    family = "planning"
    abilities = ("read_gauge_status", "read_digit", "compute_arithmetic", "search_lookahead", "format_move")
    grammar = Moves(("fill", "empty", "pour", *LETTERS.lower()), 3)
    task = (
        "Bring the water in each jug to its red line. "
        "Answer like <answer>fill A</answer>, <answer>empty B</answer> or <answer>pour A B</answer>."
    )
    rules = (
        "Fill a jug to the brim, empty it, or pour it into another until that is full or this is empty. "
        "Below a jug are its letter and its capacity."
    )
    max_turns: ClassVar[tuple[int, ...]] = (8, 10, 15)
    tileset = (
        "plain:paper",
        *(f"header glyph:{letter}" for letter in LETTERS),
        *(f"plain:paper glyph:{capacity}" for capacity in range(SMALLEST, LARGEST + 1)),
        *(
            f"jug:{half}-{content}-{mark}"
            for half in ("left", "right")
            for content in ("air", "water")
            for mark in MARKS
        ),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Water:
        size_key, level_key, goal_key = jax.random.split(key, 3)
        sizes = np.arange(SMALLEST, LARGEST + 1)
        fits = (sizes >= jnp.asarray(SMALLEST_OF)[scale]) & (sizes <= jnp.asarray(LARGEST_OF)[scale])
        _, drawn = jax.lax.top_k(jnp.where(fits, jax.random.uniform(size_key, sizes.shape), -1.0), MOST)
        there = jnp.arange(MOST) < jnp.asarray(COUNTS)[scale]
        capacity = jnp.where(there, SMALLEST + drawn, 0)
        levels = jnp.floor(jax.random.uniform(level_key, (MOST,)) * (capacity + 1)).astype(jnp.int32)
        away = _moves_from(levels, capacity)
        # Among the goals of enough moves any, else the farthest.
        most = jnp.asarray(MOST_MOVES)[scale]
        far = jnp.where(away > most, -1, jnp.minimum(away, jnp.asarray(FEWEST)[scale]))
        goal = (far + jax.random.uniform(goal_key, far.shape)).argmax()
        return Water(levels, jnp.asarray(LEVELS)[goal], capacity)

    def legal(self, state: Water, action: jax.Array) -> jax.Array:
        """A move that changes something."""
        listed = (action == MOVES).all(1).any()
        return listed & (_after(state.levels, state.capacity, action) != state.levels).any()

    def transition(
        self, key: jax.Array, state: Water, action: jax.Array
    ) -> tuple[Water, jax.Array, jax.Array]:
        levels = _after(state.levels, state.capacity, action)
        done = (levels == state.goal).all()
        return replace(state, levels=levels), done.astype(jnp.float32), done

    def symbolic(self, state: Water) -> jax.Array:
        level, goal, capacity = state.levels[JUG], state.goal[JUG], state.capacity[JUG]
        height = state.capacity.max() - 1 - ROW  # measures below a cell; -1 is the row of letters
        mark = jnp.where(goal == height + 1, 1, jnp.where((goal == 0) & (height == 0), 2, 0))
        measure = MEASURE + 2 * len(MARKS) * HALF + len(MARKS) * (height < level) + mark
        label = jnp.where(HALF == 0, LETTER + JUG, CAPACITY + capacity)
        is_jug = (HALF < 2) & (capacity > 0)
        tiles = jnp.where((height >= 0) & (height < capacity), measure, BLANK)
        return jnp.where(is_jug, jnp.where(height == -1, label, tiles), BLANK).astype(jnp.uint8)

    def extent(self, state: Water) -> tuple[jax.Array, jax.Array]:
        return state.capacity.max() + 1, 3 * (state.capacity > 0).sum() - 1

    def describe(self, state: Water) -> Texts:
        jugs = []
        for jug, letter in enumerate(LETTERS):
            line = text.concat(
                text.encode("\n" * (jug > 0) + letter + " holds "),
                text.number(state.levels[jug], 1),
                text.encode(" of "),
                text.number(state.capacity[jug], 1),
                text.encode(", goal "),
                text.number(state.goal[jug], 1),
            )
            jugs.append(text.when(state.capacity[jug] > 0, line))
        wrong = text.number((state.levels != state.goal).sum(), 1)
        left = _moves_to(state.goal, state.capacity)[(state.levels * PLACES).sum()]
        reachable = left < grids.UNREACHABLE
        way = text.concat(text.number(jnp.minimum(left, LONGEST_WAY), 2), text.encode(" moves are enough"))
        lost = text.encode("no moves lead to the goal any more")
        return Texts(
            text.concat(*jugs),
            text.concat(wrong, text.encode(" jugs to change")),
            text.concat(text.when(reachable, way), text.when(~reachable, lost)),
        )

    def exercised(self, state: Water, action: jax.Array, after: Water) -> dict[str, jax.Array]:
        field = _moves_to(state.goal, state.capacity)
        onward = field[(after.levels * PLACES).sum()] < field[(state.levels * PLACES).sum()]
        rises, falls = after.levels > state.levels, after.levels < state.levels
        full = rises & (after.levels == state.capacity)
        # A pour that adds to what there was, or leaves a rest.
        sums = (rises & (state.levels > 0)).any() | (falls & (after.levels > 0)).any()
        return {
            "read_gauge_status": ((rises | falls) & (after.levels == state.goal)).any(),
            "read_digit": onward & full.any(),
            "compute_arithmetic": onward & rises.any() & falls.any() & sums,
            "search_lookahead": onward,
        }

    def expert(self, key: jax.Array, state: Water) -> jax.Array:
        """A first move of a shortest way."""
        after = _after(state.levels, state.capacity, jnp.asarray(MOVES))
        idle = (after == state.levels).all(-1)
        field = _moves_to(state.goal, state.capacity)
        return jnp.asarray(MOVES)[grids.random_argmin(key, field[(after * PLACES).sum(-1)] + idle)]


def _after(levels: jax.Array, capacity: jax.Array, move: jax.Array) -> jax.Array:
    """int32[..., 3]: the levels int32[..., 3] after a move int32[..., 3]."""
    verb = move[..., :1]
    source, target = (move[..., word, None] == FIRST + np.arange(MOST) for word in (1, 2))
    held = jnp.where(source, levels, 0).sum(-1, keepdims=True)
    room = jnp.where(target, capacity - levels, 0).sum(-1, keepdims=True)
    poured = levels + jnp.minimum(held, room) * (target.astype(jnp.int32) - source)
    changed = jnp.where(source, jnp.where(verb == FILL, capacity, 0), levels)
    return jnp.where(verb == POUR, poured, changed)


def _successors(capacity: jax.Array) -> jax.Array:
    """int32[12, 512]: the flat levels after each of MOVES from each of LEVELS, those over a brim cut."""
    levels = jnp.minimum(LEVELS, capacity)
    return (_after(levels, capacity, jnp.asarray(MOVES)[:, None]) * PLACES).sum(-1)


def _moves_from(levels: jax.Array, capacity: jax.Array) -> jax.Array:
    """int32[512]: moves to each of LEVELS, UNREACHABLE where that takes more than any goal may."""
    after = _successors(capacity)
    start = jnp.where((levels == LEVELS).all(1), 0, grids.UNREACHABLE).astype(jnp.int32)
    spread = lambda _, field: field.at[after].min(field + 1)  # noqa: E731
    return jax.lax.fori_loop(0, int(MOST_MOVES.max()), spread, start)


def _moves_to(goal: jax.Array, capacity: jax.Array) -> jax.Array:
    """int32[512]: moves from each of LEVELS to the goal; UNREACHABLE where there is no way."""
    after = _successors(capacity)
    start = jnp.where((goal == LEVELS).all(1), 0, grids.UNREACHABLE).astype(jnp.int32)
    relax = lambda _, field: jnp.minimum(field, jnp.minimum(field[after].min(0) + 1, grids.UNREACHABLE))  # noqa: E731
    return jax.lax.fori_loop(0, LONGEST_WAY, relax, start)
