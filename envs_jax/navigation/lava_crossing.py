"""Cross the lava by the gaps in its rivers and reach the goal in the opposite corner.

Rules and rivers of MiniGrid's LavaCrossing, seen whole from above, from any corner.
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

SIDE = 9
SIDES = np.array([5, 7, 9], np.int32)
RIVER_COUNTS = np.array([1, 3, 5], np.int32)
BEDS = SIDE // 2  # rivers run along odd rows and columns
# From side to side in each of the rooms between the rivers, on to the next, with the turns: no way is longer.
LONGEST_WAY = (BEDS + 2) * (SIDE - 1) + 2 * (BEDS + 2)
FLOOR, LAVA, GOAL, AGENT = range(4)


@struct.dataclass
class Rivers:
    lava: jax.Array  # bool[9, 9]
    agent: jax.Array  # int32[2]
    heading: jax.Array  # int32[], of facing.HEADINGS
    goal: jax.Array  # int32[2]
    side: jax.Array  # int32[]


class LavaCrossing(TileEnvironment):
    id = "lava_crossing"
    family = "navigation"
    abilities = ("locate_agent", "recognise_colour", "predict_collision", "detect_deadlock", "plan_path")
    grammar = Word(facing.TURNS_AND_STEP)
    task = "Go to the green goal and never into lava. Answer <answer>left</answer>, right or forward."
    rules = "Left and right turn you. Forward goes one cell; the edge stops you. Lava ends the game."
    max_turns: ClassVar[tuple[int, ...]] = (20, 40, LONGEST_WAY)
    tileset = (
        "floor",
        "lava",
        "floor goal",
        *(f"{ground} arrow:{heading}" for ground in ("floor", "lava", "floor goal") for heading in range(4)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Rivers:
        side = jnp.asarray(SIDES)[scale]
        bed_key, path_key, heading_key, corner_key = jax.random.split(key, 4)
        exists = jnp.broadcast_to(2 * np.arange(BEDS) + 1 < side - 1, (2, BEDS))
        chosen = grids.pick_mask(grids.noise(bed_key, (2, BEDS)), exists, jnp.asarray(RIVER_COUNTS)[scale])
        rivers = jnp.zeros((2, SIDE), bool).at[:, 1::2].set(chosen)
        gaps = _gaps(grids.noise(path_key, (2 * BEDS, 2)), rivers, side)
        lava = (rivers[0][:, None] | rivers[1][None, :]) & ~gaps & grids.inside(SIDE, side)
        # The way leads from the top left to the bottom right; mirroring leads it between any corners.
        mirrored = jax.random.bernoulli(corner_key, shape=(2,))
        at = jnp.arange(SIDE)
        rows, cols = jnp.where(mirrored[:, None] & (at < side), side - 1 - at, at)
        agent = jnp.where(mirrored, side - 1, 0)
        heading = jax.random.randint(heading_key, (), 0, 4)
        return Rivers(lava[rows][:, cols], agent, heading, side - 1 - agent, side)

    def transition(
        self, key: jax.Array, state: Rivers, action: jax.Array
    ) -> tuple[Rivers, jax.Array, jax.Array]:
        step = jnp.where(action == facing.FORWARD, jnp.asarray(facing.STEPS)[state.heading], 0)
        agent = jnp.clip(state.agent + step, 0, state.side - 1)
        arrived = (agent == state.goal).all()
        after = replace(state, agent=agent, heading=facing.turned(state.heading, action))
        return after, arrived.astype(jnp.float32), arrived | state.lava[agent[0], agent[1]]

    def symbolic(self, state: Rivers) -> jax.Array:
        goal = grids.mask_at(SIDE, state.goal)
        ground = jnp.where(state.lava, LAVA, jnp.where(goal, GOAL, FLOOR))
        agent = AGENT + 4 * ground + state.heading
        return jnp.where(grids.mask_at(SIDE, state.agent), agent, ground).astype(jnp.uint8)

    def extent(self, state: Rivers) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Rivers) -> Texts:
        words = (".", "L", "G", *(3 * facing.ARROWS))
        board = text.grid(self.symbolic(state), words, state.side, state.side)
        facts = text.concat(
            facing.pose(state.agent, state.heading),
            text.encode(", goal "),
            grids.place(state.goal),
        )
        hint = text.concat(text.encode("the goal is "), grids.offset(state.goal - state.agent))
        return Texts(board, facts, hint)

    def exercised(self, state: Rivers, action: jax.Array, after: Rivers) -> dict[str, jax.Array]:
        costs = _costs(state)
        best, forward = costs[action] <= costs.min(), action == facing.FORWARD
        ahead = facing.in_front(state.agent, state.heading)
        edge = ((ahead < 0) | (ahead >= state.side)).any()
        row, col = jnp.clip(ahead, 0, state.side - 1)
        lava = ~edge & state.lava[row, col]
        near = jnp.abs(ahead - state.goal).sum() < jnp.abs(state.agent - state.goal).sum()
        return {
            "locate_agent": forward & ~edge,
            "recognise_colour": forward & near & ~lava,
            "predict_collision": (edge | lava) & best,
            "detect_deadlock": lava & ~forward,
            "plan_path": best,
        }

    def expert(self, key: jax.Array, state: Rivers) -> jax.Array:
        return grids.random_argmin(key, _costs(state))


def _costs(state: Rivers) -> jax.Array:
    """int32[3]: actions to the goal when each is taken."""
    goal, safe = grids.mask_at(SIDE, state.goal), grids.inside(SIDE, state.side) & ~state.lava
    return facing.action_costs(state.agent, state.heading, goal, safe, LONGEST_WAY)


def _gaps(noise: jax.Array, rivers: jax.Array, side: jax.Array) -> jax.Array:
    """bool[9, 9]: a gap in each of rivers bool[2, 9] (rows, columns), where a random way from the top left to
    the bottom right crosses them one by one. noise float32[8, 2] says which is next, and where."""
    at = jnp.arange(SIDE)

    def cross(step: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        room, gaps = carry  # the room begins at row and column `room` and ends before `bounds`
        beyond = rivers & (at >= room[:, None])
        bounds = jnp.where(beyond.any(1), beyond.argmax(1), side)
        left = beyond.sum(1)
        down = noise[step, 0] * left.sum() < left[0]
        along = room + (noise[step, 1] * (bounds - room)).astype(jnp.int32)
        axis = jnp.where(down, np.array([True, False]), np.array([False, True]))
        gap = jnp.where(axis, bounds, along)
        crosses = left.sum() > 0
        return jnp.where(axis & crosses, bounds + 1, room), gaps | (grids.mask_at(SIDE, gap) & crosses)

    start = jnp.zeros(2, jnp.int32), jnp.zeros((SIDE, SIDE), bool)
    return jax.lax.fori_loop(0, 2 * BEDS, cross, start)[1]
