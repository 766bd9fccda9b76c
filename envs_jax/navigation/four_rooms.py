"""Find the way through the gaps between four rooms to the goal.

Rules and rooms of MiniGrid's FourRooms, smaller, seen whole from above; the goal is never in your room.
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

SIDE = 13
SIDES = np.array([7, 9, 13], np.int32)
# Across each of three rooms, with the turns: no shortest way is longer.
LONGEST_WAY = 3 * (SIDE - 1) + 12
FLOOR, WALL, GOAL, AGENT = range(4)


@struct.dataclass
class Rooms:
    gaps: jax.Array  # int32[2, 2], rows of the gaps in the upright wall and columns of those in the level one
    agent: jax.Array  # int32[2]
    heading: jax.Array  # int32[], of facing.HEADINGS
    goal: jax.Array  # int32[2]
    side: jax.Array  # int32[]


class FourRooms(TileEnvironment):
    id = "four_rooms"
    family = "navigation"
    abilities = ("locate_agent", "read_orientation", "convert_frames", "plan_path", "format_move")
    grammar = Word(facing.TURNS_AND_STEP)
    task = "Go through the gaps to the green goal. Answer <answer>left</answer>, right or forward."
    rules = "Left and right turn you on the spot. Forward goes one cell; walls and the edge stop you."
    max_turns: ClassVar[tuple[int, ...]] = (24, 32, LONGEST_WAY)
    tileset = (
        "floor",
        "wall",
        "floor goal",
        *(f"{ground} arrow:{heading}" for ground in ("floor", "floor goal") for heading in range(4)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Rooms:
        side = jnp.asarray(SIDES)[scale]
        gap_key, place_key, heading_key = jax.random.split(key, 3)
        # One gap on either side of the crossing.
        middle = side // 2
        gaps = (grids.noise(gap_key, (2, 2)) * middle).astype(jnp.int32) + jnp.stack([0, middle + 1])
        noise = grids.noise(place_key, (2, SIDE, SIDE))
        at = jnp.arange(SIDE)
        inner = (at != middle) & (at < side)
        rooms = inner[:, None] & inner
        (agent,) = grids.pick(noise[0], rooms, 1)
        beyond = (at > middle) != (agent > middle)[:, None]
        (goal,) = grids.pick(noise[1], rooms & (beyond[0][:, None] | beyond[1]), 1)
        return Rooms(gaps, agent, jax.random.randint(heading_key, (), 0, 4), goal, side)

    def transition(
        self, key: jax.Array, state: Rooms, action: jax.Array
    ) -> tuple[Rooms, jax.Array, jax.Array]:
        ahead = jnp.clip(facing.in_front(state.agent, state.heading), 0, state.side - 1)
        goes = (action == facing.FORWARD) & _floor(state)[ahead[0], ahead[1]]
        after = replace(
            state,
            agent=jnp.where(goes, ahead, state.agent),
            heading=facing.turned(state.heading, action),
        )
        arrived = (after.agent == state.goal).all()
        return after, arrived.astype(jnp.float32), arrived

    def symbolic(self, state: Rooms) -> jax.Array:
        tiles = jnp.where(_floor(state), FLOOR, WALL)
        tiles = jnp.where(grids.mask_at(SIDE, state.goal), GOAL, tiles)
        arrived = (state.agent == state.goal).all()
        arrow = AGENT + 4 * arrived + state.heading
        return jnp.where(grids.mask_at(SIDE, state.agent), arrow, tiles).astype(jnp.uint8)

    def extent(self, state: Rooms) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Rooms) -> Texts:
        board = text.grid(self.symbolic(state), (".", "#", "G", *(2 * facing.ARROWS)), state.side, state.side)
        facts = text.concat(
            facing.pose(state.agent, state.heading, 2),
            text.encode(", goal "),
            grids.place(state.goal, 2),
        )
        hint = text.concat(text.encode("the goal is "), grids.offset(state.goal - state.agent, 2))
        return Texts(board, facts, hint)

    def exercised(self, state: Rooms, action: jax.Array, after: Rooms) -> dict[str, jax.Array]:
        costs = _costs(state)
        best, forward = costs[action] <= costs.min(), action == facing.FORWARD
        return {
            "locate_agent": (after.agent != state.agent).any(),
            "read_orientation": forward & best,
            "convert_frames": ~forward & best & (costs[facing.LEFT] != costs[facing.RIGHT]),
            "plan_path": best,
        }

    def expert(self, key: jax.Array, state: Rooms) -> jax.Array:
        return grids.random_argmin(key, _costs(state))


def _costs(state: Rooms) -> jax.Array:
    """int32[3]: actions to the goal when each is taken."""
    goal = grids.mask_at(SIDE, state.goal)
    return facing.action_costs(state.agent, state.heading, goal, _floor(state), LONGEST_WAY)


def _floor(state: Rooms) -> jax.Array:
    """bool[13, 13]: the rooms and the gaps between them."""
    at, middle = jnp.arange(SIDE), state.side // 2
    gaps = (state.gaps[..., None] == at).any(1)
    upright, level = (at == middle)[None, :] & ~gaps[0][:, None], (at == middle)[:, None] & ~gaps[1]
    return grids.inside(SIDE, state.side) & ~upright & ~level
