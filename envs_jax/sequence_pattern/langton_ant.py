"""Foresee where Langton's ant stands and which way it looks, on a board whose opposite edges touch.

The first row of the picture shows how many steps are asked for. The ant starts near the middle of a random
board.
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
from jaxenv.scoring import score

SIDE = 9
SIDES = np.array([5, 7, 9], np.int32)
FEWEST = np.array([2, 6, 15], np.int32)
MOST = np.array([4, 10, 24], np.int32)
HEADINGS = ("right", "down", "left", "up")  # clockwise
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)], np.int32)
WORDS = (*map(str, range(1, SIDE + 1)), *HEADINGS)
# Tiles: an empty white and black cell, then those with an ant, then the row above the board.
ANT, BLANK, FORWARD = 2, 10, 11


@struct.dataclass
class Ant:
    black: jax.Array  # bool[9, 9]
    cell: jax.Array  # int32[2]
    heading: jax.Array  # int32[], in HEADINGS
    side: jax.Array  # int32[]
    steps: jax.Array  # int32[]


class LangtonAnt(TileEnvironment):
    id = "langton_ant"
    family = "sequence_pattern"
    abilities = ("read_orientation", "recognise_colour", "simulate_rule", "convert_frames", "format_answer")
    grammar = Moves(WORDS, 3)
    task = (
        "Walk Langton's ant for the steps shown; opposite edges touch. "
        "Answer its row, column and heading at the end, like <answer>2 5 left</answer>."
    )
    rules = (
        "In each step the ant turns right on a white cell and left on a black one, "
        "changes the colour of that cell, and goes one cell ahead."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        "paper",
        "coloured:black",
        *(f"{ground} arrow:{heading}" for heading in range(4) for ground in ("paper", "coloured:black")),
        "header",
        "header forward",
        *(f"header glyph:{steps}" for steps in range(1, MOST[-1] + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Ant:
        noise = jax.random.uniform(key, (SIDE * SIDE + 4,))
        side, fewest = jnp.asarray(SIDES)[scale], jnp.asarray(FEWEST)[scale]
        black = (noise[4:].reshape(SIDE, SIDE) < 0.5) & grids.inside(SIDE, side)
        cell = side // 2 - 1 + (noise[:2] * 3).astype(jnp.int32)
        steps = fewest + (noise[2] * (jnp.asarray(MOST)[scale] - fewest + 1)).astype(jnp.int32)
        return Ant(black, cell, (noise[3] * 4).astype(jnp.int32), side, steps)

    def legal(self, state: Ant, action: jax.Array) -> jax.Array:
        """A row and a column of the board and a heading."""
        place, heading = action[:2], action[2]
        return ((place >= 0) & (place < state.side)).all() & (heading >= SIDE)

    def transition(self, key: jax.Array, state: Ant, action: jax.Array) -> tuple[Ant, jax.Array, jax.Array]:
        right = action == _answer(_walked(state))
        return state, score(right.all(), right.mean()), jnp.bool_(True)

    def symbolic(self, state: Ant) -> jax.Array:
        header = jnp.full((1, SIDE), BLANK).at[0, 0].set(FORWARD).at[0, 1].set(FORWARD + state.steps)
        ant = jnp.where(grids.mask_at(SIDE, state.cell), ANT + 2 * state.heading, 0)
        return jnp.concatenate([header, ant + state.black]).astype(jnp.uint8)

    def extent(self, state: Ant) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side

    def describe(self, state: Ant) -> Texts:
        rows = text.grid(state.black.astype(jnp.uint8), (".", "#"), state.side, state.side, between="")
        steps = text.concat(text.encode("steps "), text.number(state.steps, 2))
        where = text.concat(grids.place(state.cell), text.encode(", "), text.choose(state.heading, HEADINGS))
        board = text.concat(steps, text.encode("\nant "), where, text.encode("\n"), rows)
        soon = _walked(replace(state, steps=state.steps // 2))
        hint = text.concat(
            text.encode("after "),
            text.number(soon.steps, 2),
            text.encode(" steps the ant is in "),
            grids.place(soon.cell),
        )
        return Texts(board, steps, hint)

    def exercised(self, state: Ant, action: jax.Array, after: Ant) -> dict[str, jax.Array]:
        sooner = _walked(replace(state, steps=state.steps - 1))
        there = _ahead(sooner)
        right = action == _answer(there)
        on_track = jnp.stack([action == _answer(ant) for ant in (sooner, there, _ahead(there))])
        return {
            "read_orientation": right[2] & right[:2].any(),
            "recognise_colour": on_track.all(1).any(),  # the turns are right, the steps miscounted by one
            "simulate_rule": right.all(),
            "convert_frames": right[:2].all(),
        }

    def expert(self, key: jax.Array, state: Ant) -> jax.Array:
        return _answer(_walked(state))


def _ahead(ant: Ant) -> Ant:
    """The state after one step."""
    row, col = ant.cell
    heading = (ant.heading + jnp.where(ant.black[row, col], -1, 1)) % 4
    cell = (ant.cell + jnp.asarray(STEPS)[heading]) % ant.side
    return replace(ant, black=ant.black ^ grids.mask_at(SIDE, ant.cell), cell=cell, heading=heading)


def _walked(state: Ant) -> Ant:
    """The state after its steps."""

    def step(number: jax.Array, ant: Ant) -> Ant:
        return jax.tree.map(lambda new, old: jnp.where(number < ant.steps, new, old), _ahead(ant), ant)

    return jax.lax.fori_loop(0, int(MOST[-1]), step, state)


def _answer(ant: Ant) -> jax.Array:
    """int32[3]: the words for its row, column and heading."""
    return jnp.append(ant.cell, SIDE + ant.heading).astype(jnp.int32)
