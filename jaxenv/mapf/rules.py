"""The rules: all agents move at once, each by one cell or not at all, and what the way to the goals costs.

Two agents collide when they enter the same cell or change places. Following is allowed: an agent may enter
the cell that another leaves in the same move. Cells are counted geometrically, even beyond the board, so that
every plan has a trace and `jaxenv.mapf.checks` can say what is wrong with it.
"""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import grids
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, SIDE, WAIT, Instance, Plan

Measure = Literal["sum_of_costs", "makespan"]

# Row and column change of each of instance.MOVES.
STEPS = np.concatenate([grids.STEPS, np.zeros((1, 2), np.int32)])


def present(instance: Instance) -> jax.Array:
    """bool[5]: the agents that are there."""
    return jnp.arange(MOST_AGENTS) < instance.agents


def move(cells: jax.Array, moves: jax.Array) -> jax.Array:
    """Cells int32[..., 2] after moves int[...] (indices of MOVES; -1 stays)."""
    return cells + jnp.asarray(STEPS)[jnp.where(moves < 0, WAIT, moves)]


def outside(instance: Instance, cells: jax.Array) -> jax.Array:
    """bool[...]: cells int32[..., 2] beyond the board."""
    return ((cells < 0) | (cells >= instance.side)).any(-1)


def in_hole(instance: Instance, cells: jax.Array) -> jax.Array:
    """bool[...]: cells int32[..., 2] that are holes of the board."""
    row, col = jnp.moveaxis(jnp.clip(cells, 0, SIDE - 1), -1, 0)
    return instance.holes[row, col] & ~outside(instance, cells)


def collide(before: jax.Array, after: jax.Array, there: jax.Array) -> jax.Array:
    """bool[...]: two of the agents bool[5] that are there meet or change places on the way from cells
    `before` to `after`, both int32[..., 5, 2]."""
    meet = (after[..., :, None, :] == after[..., None, :, :]).all(-1)
    enters = (after[..., :, None, :] == before[..., None, :, :]).all(-1)
    pairs = there[:, None] & there[None, :] & ~np.eye(MOST_AGENTS, dtype=bool)
    return ((meet | enters & jnp.swapaxes(enters, -1, -2)) & pairs).any((-1, -2))


def trace(instance: Instance, plan: Plan) -> jax.Array:
    """int32[HORIZON + 1, 5, 2]: where each agent is before the first move and after each."""
    moves = plan.moves.T
    steps = jnp.asarray(STEPS)[jnp.where(moves < 0, WAIT, moves)]
    way = jnp.cumsum(steps, axis=0, dtype=jnp.int32)
    return instance.starts + jnp.concatenate([jnp.zeros((1, MOST_AGENTS, 2), jnp.int32), way])


def arrivals(instance: Instance, cells: jax.Array) -> jax.Array:
    """int32[5]: moves until each agent is on its goal for good, in a trace int32[HORIZON + 1, 5, 2];
    HORIZON + 1 of one that is not, 0 of one that is not there. Waiting on the goal costs nothing, unless the
    agent has to leave it again."""
    away = (cells != instance.goals).any(-1)
    last = jnp.where(away, jnp.arange(1, HORIZON + 2)[:, None], 0).max(0)
    return jnp.where(present(instance), last, 0).astype(jnp.int32)


def cost(instance: Instance, cells: jax.Array, measure: Measure = "sum_of_costs") -> jax.Array:
    """int32[] of a trace: the sum of the agents' arrivals, or the last of them."""
    times = arrivals(instance, cells)
    return times.max() if measure == "makespan" else times.sum(dtype=jnp.int32)
