"""Walk over a frozen lake to the gift; holes end the game. On the largest lake the ice is slippery.

Rules of gymnasium's FrozenLake (there `is_slippery` with `success_rate`), with start and goal anywhere.
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

SIDE = 8
SIDES = np.array([4, 6, 8], np.int32)
SLIP = np.array([0.0, 0.0, 0.2], np.float32)
HOLE_SHARE = 0.3
DISCOUNT = 0.99
SIDEWAYS = np.array([(2, 3), (2, 3), (0, 1), (0, 1)], np.int32)
ICE, HOLE, GIFT, AGENT, FALLEN, ARRIVED = range(6)


@struct.dataclass
class Lake:
    holes: jax.Array  # bool[8, 8]
    agent: jax.Array  # int32[2]
    goal: jax.Array  # int32[2]
    side: jax.Array  # int32[]
    slip: jax.Array  # float32[], chance to be pushed sideways


class FrozenLake(TileEnvironment):
    id = "frozen_lake"
    family = "navigation"
    abilities = (
        "locate_agent",
        "locate_target",
        "predict_move_effect",
        "plan_path",
        "estimate_probability",
        "format_move",
    )
    grammar = Word(grids.MOVES)
    task = "Walk to the gift and stay out of the holes. Answer <answer>up</answer>, down, left or right."
    rules = "A move goes one cell. A hole ends the game. The edge stops you. On a large lake you may slip."
    max_turns: ClassVar[tuple[int, ...]] = (10, 18, 48)
    expert_success = (1.0, 1.0, 0.5)
    tileset = ("ice", "ice hole", "ice gift", "ice agent", "ice hole agent", "ice gift agent")

    def generate(self, key: jax.Array, scale: jax.Array) -> Lake:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (3, SIDE, SIDE))
        cells = grids.inside(SIDE, side)
        agent, goal = grids.pick(noise[0], cells, 2)
        safe = _monotone_path(noise[1].reshape(-1), agent, goal)
        holes = grids.pick_mask(noise[2], cells & ~safe, jnp.int32(HOLE_SHARE * side * side))
        return Lake(holes, agent, goal, side, jnp.asarray(SLIP)[scale])

    def transition(self, key: jax.Array, state: Lake, action: jax.Array) -> tuple[Lake, jax.Array, jax.Array]:
        slips, which = jax.random.uniform(key, (2,))
        pushed = jnp.asarray(SIDEWAYS)[action, (which < 0.5).astype(jnp.int32)]
        move = jnp.where(slips < state.slip, pushed, action)
        agent = jnp.clip(state.agent + jnp.asarray(grids.STEPS)[move], 0, state.side - 1)
        arrived = (agent == state.goal).all()
        fallen = state.holes[agent[0], agent[1]]
        return replace(state, agent=agent), arrived.astype(jnp.float32), arrived | fallen

    def symbolic(self, state: Lake) -> jax.Array:
        goal = grids.mask_at(SIDE, state.goal)
        agent = grids.mask_at(SIDE, state.agent)
        tiles = jnp.where(state.holes, HOLE, ICE)
        tiles = jnp.where(goal, GIFT, tiles)
        on_agent = jnp.where(state.holes, FALLEN, jnp.where(goal, ARRIVED, AGENT))
        return jnp.where(agent, on_agent, tiles).astype(jnp.uint8)

    def extent(self, state: Lake) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Lake) -> Texts:
        board = text.grid(self.symbolic(state), (".", "H", "G", "A", "X", "A"), state.side, state.side)
        places = text.concat(
            text.encode("you "),
            grids.place(state.agent),
            text.encode(", gift "),
            grids.place(state.goal),
        )
        towards = text.concat(text.encode("the gift is "), grids.offset(state.goal - state.agent))
        return Texts(board, places, towards)

    def exercised(self, state: Lake, action: jax.Array, after: Lake) -> dict[str, jax.Array]:
        row, col = state.agent
        ahead = state.agent + jnp.asarray(grids.STEPS)[action]
        stays = ((ahead < 0) | (ahead >= state.side)).any()
        near = jnp.abs(ahead - state.goal).sum() < jnp.abs(state.agent - state.goal).sum()
        holes = grids.neighbours(state.holes, False)[:, row, col]
        gains = _action_values(state)[:, row, col]
        best = gains[action] >= gains.max() - 1e-5
        return {
            "locate_agent": ~stays,
            "locate_target": near,
            "predict_move_effect": holes.any() & ~holes[action],
            "plan_path": best,
            "estimate_probability": best & (state.slip > 0),
        }

    def expert(self, key: jax.Array, state: Lake) -> jax.Array:
        """A move that maximises the discounted chance to arrive (value iteration)."""
        row, col = state.agent
        gains = _action_values(state)[:, row, col]
        return grids.random_argmin(key, -jnp.round(gains, 5))


def _monotone_path(noise: jax.Array, start: jax.Array, goal: jax.Array) -> jax.Array:
    """bool[8, 8]: the cells of a random path from start to goal that never turns back."""
    away = jnp.abs(goal - start)
    steps = 2 * (SIDE - 1)
    used = jnp.arange(steps) < away.sum()
    order = jnp.where(used, noise[:steps], jnp.inf)
    rank = (order[:, None] > order[None, :]).sum(1)
    vertical = used & (rank < away[0])
    moved = jnp.stack([jnp.cumsum(vertical), jnp.cumsum(used & ~vertical)], axis=-1)
    cells = start + jnp.sign(goal - start) * moved
    path = grids.mask_at(SIDE, start)
    return path.at[cells[:, 0], cells[:, 1]].set(True)


def _action_values(state: Lake) -> jax.Array:
    """float32[4, 8, 8]: discounted chance to reach the goal by each move from each cell."""
    goal = grids.mask_at(SIDE, state.goal)
    cells = grids.inside(SIDE, state.side)
    rests = state.holes | goal | ~cells

    def outcomes(value: jax.Array) -> jax.Array:
        onward = grids.neighbours(value, 0.0)
        stays = ~grids.neighbours(cells, False)
        landing = DISCOUNT * jnp.where(stays, value, onward)
        sideways = landing[SIDEWAYS].mean(1)
        return (1 - state.slip) * landing + state.slip * sideways

    def improve(_: int, value: jax.Array) -> jax.Array:
        return jnp.where(rests, value, outcomes(value).max(0))

    start = goal.astype(jnp.float32)
    return outcomes(jax.lax.fori_loop(0, SIDE * SIDE, improve, start))
