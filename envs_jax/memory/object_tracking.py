"""Keep track of the marked dots while all dots, soon alike, move about; then name them by their letters.

Multiple object tracking, as psychologists test it. A dot moves 2 units a turn and keeps 5 from all others, so
the nearest dot of the next picture is the same dot. It goes straight on until something is in its way.
"""

import functools
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Moves
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.render.tiles import paint
from jaxenv.scoring import score

DOTS = np.array([4, 8, 12], np.int32)
TARGETS = np.array([1, 2, 4], np.int32)
MOST_TARGETS = int(TARGETS.max())
MOVES = np.array([4, 7, 10], np.int32)
MOST = 12
LETTERS = "ABCDEFGHIJKL"
FIELD, SIZE = 32, 4  # units of the side of the picture and of a dot
SPAN = FIELD - SIZE + 1  # places of a dot's top left along a side
STRIDE, APART = 2, 5
PITCH, JITTER = 8, 4  # of the lattice of first places; they are APART
WAYS = np.array(
    [(down, across) for down in range(-2, 3) for across in range(-2, 3) if STRIDE in (abs(down), abs(across))]
    + [(0, 0)],
    np.int32,
)
STAY = len(WAYS) - 1
ABSENT, PLAIN, MARKED, LETTERED = range(4)  # what a dot shows; from LETTERED on, which letter
NEXT = 0  # the word before the letters


@struct.dataclass
class Dots:
    places: jax.Array  # uint8[12, 2], row and column
    shows: jax.Array  # uint8[12]
    ways: jax.Array  # uint8[12], each dot's last of WAYS
    targets: jax.Array  # bool[12]
    left: jax.Array  # int32[], moves
    scale: jax.Array  # int32[]


class ObjectTracking(Environment):
    id = "object_tracking"
    family = "memory"
    abilities = (
        "recall_past_view",
        "track_permutation",
        "simulate_rule",
        "locate_target",
        "format_structured",
    )
    grammar = Moves(("next", *LETTERS.lower()), MOST_TARGETS)
    task = (
        "Follow the marked dots. Answer <answer>next</answer> until the dots have letters, then the letters "
        "of the marked ones: <answer>B D</answer>."
    )
    rules = "The marks are shown once. Each turn a dot moves a little, by less than the dots are apart."
    max_turns: ClassVar[tuple[int, ...]] = (5, 8, 11)
    hidden = ("ways", "targets")

    def generate(self, key: jax.Array, scale: jax.Array) -> Dots:
        cell_key, jitter_key, target_key, way_key = jax.random.split(key, 4)
        there = jnp.arange(MOST) < jnp.asarray(DOTS)[scale]
        side = FIELD // PITCH
        cells = grids.pick(grids.noise(cell_key, (side, side)), jnp.ones((side, side), bool), MOST)
        jitter = jax.random.randint(jitter_key, (2 * MOST,), 0, JITTER).reshape(MOST, 2)
        places = jnp.where(there[:, None], PITCH * cells + jitter, 0).astype(jnp.uint8)
        noise = jnp.where(there, jax.random.uniform(target_key, (MOST,)), jnp.inf)
        targets = (noise[:, None] > noise).sum(1) < jnp.asarray(TARGETS)[scale]
        shows = jnp.where(targets, MARKED, jnp.where(there, PLAIN, ABSENT)).astype(jnp.uint8)
        ways = jax.random.randint(way_key, (MOST,), 0, STAY).astype(jnp.uint8)
        return Dots(places, shows, ways, targets, jnp.asarray(MOVES)[scale], scale)

    def legal(self, state: Dots, action: jax.Array) -> jax.Array:
        """`next` alone while dots move, then letters that are there, each once."""
        goes_on = (action[0] == NEXT) & (action[1:] < 0).all()
        named = action[:, None] == np.arange(1, MOST + 1)
        names = (action != NEXT) & (action <= jnp.asarray(DOTS)[state.scale])
        return jnp.where(state.left == 0, names.all() & (named.sum(0) <= 1).all(), goes_on)

    def transition(self, key: jax.Array, state: Dots, action: jax.Array) -> tuple[Dots, jax.Array, jax.Array]:
        asked = state.left == 0
        places, ways = _move(key, state)
        shows = jnp.where(state.left == 1, LETTERED + jnp.arange(MOST), PLAIN)
        shows = jnp.where(state.shows == ABSENT, ABSENT, shows).astype(jnp.uint8)
        moved = replace(state, places=places, ways=ways, shows=shows, left=state.left - 1)
        after = jax.tree.map(lambda old, new: jnp.where(asked, old, new), state, moved)
        named = _named(action)
        found = (named & state.targets).sum() / jnp.maximum(named.sum(), state.targets.sum())
        return after, jnp.where(asked, score((named == state.targets).all(), found), 0.0), asked

    def symbolic(self, state: Dots) -> jax.Array:
        """Row, column and what is shown of each dot, from the top, so that their order tells nothing."""
        row, col = state.places.T.astype(jnp.int32)
        order = jnp.where(state.shows == ABSENT, SPAN**2, row * SPAN + col).argsort()
        return jnp.concatenate([state.places, state.shows[:, None]], axis=1)[order]

    def draw(self, state: Dots, canvas: int) -> jax.Array:
        unit = canvas // FIELD
        size = SIZE * unit
        row, col, shows = self.symbolic(state).T.astype(jnp.int32)
        y, x = (jnp.arange(canvas) - unit * at[:, None] for at in (row, col))
        # Where a dot is, its pixel in the table; dots do not overlap, so there is one a pixel.
        lines = jnp.where((y >= 0) & (y < size), 1 + (shows[:, None] - PLAIN) * size**2 + y * size, 0)
        texel = lines[:, :, None] + x[:, None, :]
        covered = (
            (lines > 0)[:, :, None] & ((x >= 0) & (x < size))[:, None, :] & (shows > ABSENT)[:, None, None]
        )
        return jnp.asarray(_looks(size))[jnp.where(covered, texel, 0).sum(0)]

    def describe(self, state: Dots) -> Texts:
        """A line a dot: row, column, what it shows."""
        words = (*map(str, range(SPAN)), "dot", "target", *LETTERS)
        table = self.symbolic(state) + np.array([0, 0, SPAN - PLAIN], np.uint8)
        dots = text.grid(table, words, jnp.asarray(DOTS)[state.scale], 3)
        counts = text.choose(state.scale, [f"targets: {count}, moves left: " for count in TARGETS.tolist()])
        above = (state.targets & (state.places[:, 0] < SPAN // 2)).sum()
        hint = text.concat(text.encode("targets in the upper half: "), text.number(above, 1))
        return Texts(dots, text.concat(counts, text.number(state.left, 2)), hint)

    def exercised(self, state: Dots, action: jax.Array, after: Dots) -> dict[str, jax.Array]:
        named, targets = _named(action), state.targets
        hits = named & targets
        places = state.places.astype(jnp.int32)
        near = jnp.abs(places[:, None] - places).max(-1) < APART + STRIDE
        # Marked dots which one without a mark has come so near that they might be taken for each other.
        crowded = targets & (near & (state.shows != ABSENT) & ~targets).any(1)
        return {
            "recall_past_view": hits.any() & (2 * hits.sum() >= named.sum()),
            "track_permutation": (named == targets).all(),
            "simulate_rule": (hits & crowded).any() & ~(targets & ~named & crowded).any(),
            "locate_target": ~(targets & ~named).any(),
            "format_structured": named.sum() == targets.sum(),
        }

    def expert(self, key: jax.Array, state: Dots) -> jax.Array:
        (targets,) = jnp.nonzero(state.targets, size=MOST_TARGETS, fill_value=-2)
        goes_on = jnp.where(jnp.arange(MOST_TARGETS) == 0, NEXT, -1)
        return jnp.where(state.left == 0, targets + 1, goes_on).astype(jnp.int32)


def _named(action: jax.Array) -> jax.Array:
    """bool[12]: the dots whose letters an action has."""
    return (action[:, None] == np.arange(1, MOST + 1)).any(0)


def _move(key: jax.Array, state: Dots) -> tuple[jax.Array, jax.Array]:
    """Places and ways after each dot in turn has gone on, or another free way."""
    noise = grids.noise(key, (MOST, STAY + 1))
    there = state.shows != ABSENT
    at = jnp.arange(MOST)

    def go(dot: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        places, ways = carry
        to = places[dot] + WAYS
        away = jnp.abs(to[:, None] - places).max(-1)
        free = ((away >= APART) | (at == dot) | ~there).all(1) & ((to >= 0) & (to < SPAN)).all(1)
        liked = jnp.where(
            jnp.arange(STAY + 1) == STAY, -1.0, noise[dot] + (jnp.arange(STAY + 1) == ways[dot])
        )
        way = jnp.where(there[dot], jnp.where(free, liked, -2.0).argmax(), STAY)
        return places.at[dot].set(to[way]), ways.at[dot].set(way)

    start = state.places.astype(jnp.int32), state.ways.astype(jnp.int32)
    places, ways = jax.lax.fori_loop(0, MOST, go, start)
    return places.astype(jnp.uint8), ways.astype(jnp.uint8)


@functools.lru_cache(maxsize=8)
def _looks(size: int) -> np.ndarray:
    """uint8[P, 3]: a pixel of the ground, then the dots by what they show."""
    dots = [paint(f"mover:{mark}", size).reshape(-1, 3) for mark in ("", "target", *LETTERS)]
    return np.concatenate([palette.rgb("backdrop")[None], *dots])
