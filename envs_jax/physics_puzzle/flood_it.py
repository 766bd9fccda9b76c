"""Flood a coloured board from its corner: each turn gives the region of the corner another colour.

The greedy plan, which always adds the most cells, is made with the board and sets the budget, with a little
slack. To flood more never hurts, so after any other moves the rest of the plan still floods the board; the
expert follows it.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE = 9
SIDES = np.array([5, 7, 9], np.int32)
COUNTS = np.array([3, 4, 5], np.int32)
SLACK = np.array([1, 2, 3], np.int32)
COLOURS = ("red", "blue", "green", "yellow", "purple")
MOST = 24  # moves of the longest budget
HEADER = 2 * len(
    COLOURS
)  # the first tile of the header; those before are colours, then colours of the corner


@struct.dataclass
class Board:
    colour: jax.Array  # uint8[9, 9], 0 outside
    plan: jax.Array  # uint8[24], colours
    done: jax.Array  # int32[], of the plan
    left: jax.Array  # int32[], moves
    side: jax.Array  # int32[]
    count: jax.Array  # int32[], of colours


class FloodIt(TileEnvironment):
    id = "flood_it"
    family = "physics_puzzle"
    abilities = (
        "recognise_colour",
        "segment_regions",
        "predict_move_effect",
        "search_lookahead",
        "budget_resources",
        "format_answer",
    )
    grammar = Word(COLOURS)
    task = (
        "Flood the board with one colour from the marked corner, in the moves shown. "
        "Answer <answer>red</answer>, blue, green, yellow or purple."
    )
    rules = "The corner's region takes the colour that you name and joins its neighbours of that colour."
    max_turns: ClassVar[tuple[int, ...]] = (12, 18, MOST)
    hidden = ("plan",)
    tileset = (
        *(f"painted:{colour}" for colour in COLOURS),
        *(f"painted:{colour} dot" for colour in COLOURS),
        "header",
        *(f"header glyph:{left}" for left in range(MOST + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Board:
        side, count = jnp.asarray(SIDES)[scale], jnp.asarray(COUNTS)[scale]
        noise = grids.noise(key, (SIDE, SIDE))
        inside = grids.inside(SIDE, side)
        colour = jnp.where(inside, jnp.floor(noise * count), 0).astype(jnp.uint8)
        plan, length = _greedy(colour, inside)
        most = jnp.asarray(self.max_turns)[scale]
        left = jnp.minimum(length + jnp.asarray(SLACK)[scale], most).astype(jnp.int32)
        return Board(colour, plan, jnp.int32(0), left, side, count)

    def legal(self, state: Board, action: jax.Array) -> jax.Array:
        """Another of the board's colours."""
        return (action < state.count) & (action != state.colour[0, 0])

    def transition(
        self, key: jax.Array, state: Board, action: jax.Array
    ) -> tuple[Board, jax.Array, jax.Array]:
        inside = grids.inside(SIDE, state.side)
        region = _region(state.colour, inside)
        colour = jnp.where(region, action, state.colour).astype(jnp.uint8)
        flooded = ((colour == action) | ~inside).all()
        planned = state.plan[state.done] == action
        after = replace(state, colour=colour, done=state.done + planned, left=state.left - 1)
        return after, flooded.astype(jnp.float32), flooded | (after.left <= 0)

    def symbolic(self, state: Board) -> jax.Array:
        corner = grids.mask_at(SIDE, jnp.zeros(2, jnp.int32))
        tiles = state.colour + jnp.where(corner, len(COLOURS), 0)
        header = jnp.full((1, SIDE), HEADER).at[0, 0].set(HEADER + 1 + state.left)
        return jnp.concatenate([header, tiles]).astype(jnp.uint8)

    def extent(self, state: Board) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side

    def describe(self, state: Board) -> Texts:
        letters = tuple(colour[0].upper() for colour in COLOURS)
        board = text.grid(state.colour, letters, state.side, state.side)
        region = _region(state.colour, grids.inside(SIDE, state.side))
        facts = text.concat(
            text.number(state.left, 2),
            text.encode(" moves left, the corner's region has "),
            text.number(region.sum(), 2),
            text.encode(" cells"),
        )
        hint = text.concat(text.number(_enough(state), 2), text.encode(" moves are enough"))
        return Texts(board, facts, hint)

    def exercised(self, state: Board, action: jax.Array, after: Board) -> dict[str, jax.Array]:
        inside = grids.inside(SIDE, state.side)
        group = _groups(state.colour, inside)
        region = inside & (group == group[0, 0])
        gains = lambda flooded: _gained(state.colour, inside, group, flooded)  # noqa: E731
        gained = gains(region)
        gain, chosen = gained.sum((1, 2)), gained[action]
        onward = jax.vmap(gains)(region | gained).sum((2, 3)).max(1)
        beside = grids.neighbours(region, False).any(0)
        return {
            "recognise_colour": gain[action] > 0,
            # The groups that join reach further than what is seen beside the region.
            "segment_regions": (chosen & ~beside).any(),
            "predict_move_effect": gain[action] >= gain.max(),
            "search_lookahead": (gain + onward)[action] >= (gain + onward).max(),
            "budget_resources": (after.done > state.done) & (after.left >= _enough(after)),
        }

    def expert(self, key: jax.Array, state: Board) -> jax.Array:
        return state.plan[state.done].astype(jnp.int32)


def _region(colour: jax.Array, inside: jax.Array) -> jax.Array:
    """bool[9, 9]: the cells of one colour that are joined to the corner."""
    same = inside & (colour == colour[0, 0])
    corner = grids.mask_at(SIDE, jnp.zeros(2, jnp.int32))
    return grids.distances(corner, grids.open_moves(same), SIDE * SIDE) < grids.UNREACHABLE


def _enough(state: Board) -> jax.Array:
    """int32[]: moves that are left of the plan."""
    return (state.plan < len(COLOURS)).sum() - state.done


def _groups(colour: jax.Array, inside: jax.Array) -> jax.Array:
    """int32[9, 9]: each group of one colour by its largest cell."""
    alike = inside & (grids.neighbours(colour, 0) == colour) & grids.neighbours(inside, False)
    names = jnp.arange(1, SIDE * SIDE + 1).reshape(SIDE, SIDE)

    def spread(_: int, name: jax.Array) -> jax.Array:
        return jnp.maximum(name, jnp.where(alike, grids.neighbours(name, 0), 0).max(0))

    return jax.lax.fori_loop(0, SIDE * SIDE, spread, names)


def _gained(colour: jax.Array, inside: jax.Array, group: jax.Array, flooded: jax.Array) -> jax.Array:
    """bool[5, 9, 9]: the cells that each colour adds to the flooded ones."""
    beside = grids.neighbours(flooded, False).any(0) & inside & ~flooded
    touched = jnp.zeros(SIDE * SIDE + 1, bool).at[jnp.where(beside, group, 0)].set(True)
    gained = touched[group] & inside & ~flooded
    return gained & (colour == np.arange(len(COLOURS))[:, None, None])


def _greedy(colour: jax.Array, inside: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The colours uint8[24] that each add the most cells, 5 after the last, and how many int32[]."""
    group = _groups(colour, inside)

    def move(flooded: jax.Array, _: None) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        gained = _gained(colour, inside, group, flooded)
        gain = gained.sum((1, 2))
        best = gain.argmax()
        goes = gain[best] > 0
        chosen = jnp.where(goes, best, len(COLOURS)).astype(jnp.uint8)
        return flooded | gained[best], (chosen, goes)

    start = inside & (group == group[0, 0])
    _, (plan, goes) = jax.lax.scan(move, start, None, length=MOST)
    return plan, goes.sum()
