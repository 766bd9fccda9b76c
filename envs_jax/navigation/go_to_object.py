"""Find the thing that the line below the room names, go next to it and say so.

Rules of MiniGrid's GoToObject (there with two things), seen whole from above.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.navigation import facing
from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE, MOST = 8, 9
SIDES = np.array([6, 7, 8], np.int32)
COUNTS = np.array([2, 5, 9], np.int32)
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
KINDS = ("key", "ball", "box")
THINGS = tuple(f"{colour}-{kind}" for colour in COLOURS for kind in KINDS)
DONE = 3
# No shortest way between two cells is longer, with its turns.
LONGEST_WAY = 32
FIRST_THING, AGENT, BLANK = 1, 1 + len(THINGS), 5 + len(THINGS)


def _spelled(word: str) -> list[int]:
    """Tiles of a word, blank after it."""
    return [BLANK + 1 + ord(letter) - ord("a") for letter in word] + [BLANK] * (SIDE - len(word))


# What to look for, colour above kind, as tiles.
MISSIONS = np.array([[_spelled(word) for word in name.split("-")] for name in THINGS], np.int32)


@struct.dataclass
class Room:
    things: jax.Array  # int8[9], of THINGS, the first is the one to go to; -1 after the last
    cells: jax.Array  # int8[9, 2], where they are
    agent: jax.Array  # int32[2]
    heading: jax.Array  # int32[], of facing.HEADINGS
    side: jax.Array  # int32[]


class GoToObject(TileEnvironment):
    id = "go_to_object"
    family = "navigation"
    abilities = (
        "ground_instruction",
        "filter_by_attribute",
        "recognise_shape",
        "recognise_colour",
        "plan_path",
        "verify_terminal",
    )
    grammar = Word((*facing.TURNS_AND_STEP, "done"))
    task = (
        "Go next to the thing named below the room, then say done. "
        "Answer <answer>left</answer>, right, forward or done."
    )
    rules = (
        "Left and right turn you on the spot. Forward goes one cell; things and the edge stop you. "
        "Done ends the game; the thing must be above, below, left or right of you."
    )
    max_turns: ClassVar[tuple[int, ...]] = (20, 24, 28)
    tileset = (
        "floor",
        *(f"floor thing:{thing}" for thing in THINGS),
        *(f"floor arrow:{heading}" for heading in range(4)),
        "plain:paper",
        *(f"plain:paper glyph:{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Room:
        side, count = jnp.asarray(SIDES)[scale], jnp.asarray(COUNTS)[scale]
        lattice_key, thing_key, cell_key, heading_key = jax.random.split(key, 4)
        noise = grids.noise(cell_key, (2, SIDE, SIDE))
        # Things stand on every other row and column, so that all floor stays joined.
        odd_row, odd_col = jax.random.randint(lattice_key, (2,), 0, 2)
        row, col = jnp.indices((SIDE, SIDE))
        room = grids.inside(SIDE, side)
        cells = grids.pick(noise[0], room & (row % 2 == odd_row) & (col % 2 == odd_col), MOST)
        _, things = jax.lax.top_k(jax.random.uniform(thing_key, (len(THINGS),)), MOST)
        there = jnp.arange(MOST) < count
        state = Room(
            jnp.where(there, things, -1).astype(jnp.int8),
            jnp.where(there[:, None], cells, -1).astype(jnp.int8),
            jnp.zeros(2, jnp.int32),
            jax.random.randint(heading_key, (), 0, 4),
            side,
        )
        (agent,) = grids.pick(noise[1], _floor(state) & ~_beside(state), 1)
        return replace(state, agent=agent)

    def transition(self, key: jax.Array, state: Room, action: jax.Array) -> tuple[Room, jax.Array, jax.Array]:
        ahead = jnp.clip(facing.in_front(state.agent, state.heading), 0, state.side - 1)
        goes = (action == facing.FORWARD) & _floor(state)[ahead[0], ahead[1]]
        after = replace(
            state,
            agent=jnp.where(goes, ahead, state.agent),
            heading=facing.turned(state.heading, action),
        )
        done = action == DONE
        found = done & _beside(state)[state.agent[0], state.agent[1]]
        return after, found.astype(jnp.float32), done

    def symbolic(self, state: Room) -> jax.Array:
        agent = grids.mask_at(SIDE, state.agent)
        board = jnp.where(agent, AGENT + state.heading, FIRST_THING + _board(state))
        row = jnp.arange(SIDE + 2)[:, None]
        colour, kind = jnp.asarray(MISSIONS)[state.things[0]]
        tiles = jnp.pad(board, ((0, 2), (0, 0)))
        tiles = jnp.where(row == state.side, colour, tiles)
        return jnp.where(row == state.side + 1, kind, tiles).astype(jnp.uint8)

    def extent(self, state: Room) -> tuple[jax.Array, jax.Array]:
        return state.side + 2, state.side

    def describe(self, state: Room) -> Texts:
        words = (".", *THINGS, *facing.ARROWS)
        board = text.grid(self.symbolic(state)[:SIDE], words, state.side, state.side)
        mission = text.choose(state.things[0], tuple(f"\ngo to {thing}" for thing in THINGS))
        facts = text.concat(
            facing.pose(state.agent, state.heading),
            text.choose(state.things[0], tuple(f", go to {thing}" for thing in THINGS)),
        )
        hint = text.concat(
            text.encode("it is "), grids.offset(state.cells[0].astype(jnp.int32) - state.agent)
        )
        return Texts(text.concat(board, mission), facts, hint)

    def exercised(self, state: Room, action: jax.Array, after: Room) -> dict[str, jax.Array]:
        costs, done = _costs(state), action == DONE
        before, now = (jnp.abs(state.cells - agent).sum(1) for agent in (state.agent, after.agent))
        # The things that it comes next to, or stops at.
        meets = (now == 1) & ((before > 1) | done)
        same_colour = state.things // len(KINDS) == state.things[0] // len(KINDS)
        same_kind = (state.things >= 0) & (state.things % len(KINDS) == state.things[0] % len(KINDS))
        return {
            "ground_instruction": (now[0] < before[0]) | (done & meets[0]),
            "filter_by_attribute": meets[0] & (same_colour | same_kind)[1:].any(),
            "recognise_shape": (meets & same_kind).any(),
            "recognise_colour": (meets & same_colour).any(),
            "plan_path": ~done & (costs[action] <= costs.min()),
        }

    def expert(self, key: jax.Array, state: Room) -> jax.Array:
        return grids.random_argmin(key, _costs(state))


def _costs(state: Room) -> jax.Array:
    """int32[4]: actions until the agent is next to the thing when each is taken; -1 for a right DONE."""
    floor, beside = _floor(state), _beside(state)
    costs = facing.action_costs(state.agent, state.heading, beside & floor, floor, LONGEST_WAY)
    done = jnp.where(beside[state.agent[0], state.agent[1]], -1, grids.UNREACHABLE)
    return jnp.append(costs, done)


def _board(state: Room) -> jax.Array:
    """int32[8, 8]: the thing in each cell, -1 where there is none."""
    flat = state.cells[:, 0].astype(jnp.int32) * SIDE + state.cells[:, 1]
    here = flat[:, None] == jnp.arange(SIDE * SIDE)
    return jnp.where(here, state.things[:, None] + 1, 0).sum(0, dtype=jnp.int32).reshape(SIDE, SIDE) - 1


def _floor(state: Room) -> jax.Array:
    """bool[8, 8]: cells of the room without a thing."""
    return grids.inside(SIDE, state.side) & (_board(state) < 0)


def _beside(state: Room) -> jax.Array:
    """bool[8, 8]: the cells next to the thing to go to."""
    return grids.neighbours(grids.mask_at(SIDE, state.cells[0]), False).any(0)
