"""One random board: holes, starts and goals, and what its optimal plan is like.

A board that cannot be used is told by a flag, and `first_good` tries again a bounded number of times. A board
on which the solver gives up is never used.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv import grids
from jaxenv.mapf import rules
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, SIDE, WAIT, Instance
from jaxenv.mapf.rules import Measure
from jaxenv.mapf.search import solve

CELLS = SIDE * SIDE
ATTEMPTS = 16
# Budgets of the solver, see `solve`: boards that need more are not used.
TREE, JOINT = 96, 32_768


@struct.dataclass
class Board:
    """An instance with what is known of its optimum.

    optimum: int32[], the least cost by the measure asked for. delayed: bool[], the least sum of costs is
    above the sum of the agents' own shortest paths. waits: bool[], the plan found for it has a WAIT.
    """

    instance: Instance
    optimum: jax.Array
    delayed: jax.Array
    waits: jax.Array

    @property
    def needs_wait(self) -> jax.Array:
        """bool[]: an agent waits, or goes a longer way, for another."""
        return self.delayed | self.waits


def random_instance(
    key: jax.Array, side: jax.Array, agents: jax.Array, holes: jax.Array
) -> tuple[Instance, jax.Array]:
    """A board with so many holes int32[] at random, and whether there was room (bool[]).

    One agent after the other gets a start that has another free cell within reach, and a goal among those;
    all starts and goals are different cells.
    """
    noise = grids.noise(key, (3, SIDE, SIDE))
    cells = grids.inside(SIDE, side)
    free = cells & ~grids.pick_mask(noise[0], cells, holes)
    region = _regions(free).reshape(-1)
    together = (region[:, None] == region[None, :]) & free.reshape(-1)
    for_start, for_goal = noise[1:].reshape(2, -1)

    def place(left: jax.Array, agent: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        can_start = left & ((together & left).sum(-1) >= 2)
        start = jnp.where(can_start, for_start, -1.0).argmax()
        can_end = left & together[start] & (jnp.arange(CELLS) != start)
        goal = jnp.where(can_end, for_goal, -1.0).argmax()
        there = agent < agents
        used = (jnp.arange(CELLS) == start) | (jnp.arange(CELLS) == goal)
        return left & ~(used & there), (start, goal, can_start.any() | ~there)

    _, (starts, goals, placed) = jax.lax.scan(place, free.reshape(-1), jnp.arange(MOST_AGENTS))
    there = (jnp.arange(MOST_AGENTS) < agents)[:, None]
    starts, goals = (
        jnp.where(there, jnp.stack(jnp.divmod(flat, SIDE), -1), 0).astype(jnp.int32)
        for flat in (starts, goals)
    )
    instance = Instance(side.astype(jnp.int32), agents.astype(jnp.int32), ~free, starts, goals)
    return instance, placed.all()


def make_board(instance: Instance, measure: Measure, tree: int = TREE) -> tuple[Board, jax.Array]:
    """The board of an instance, and whether the solver found its optimum (bool[]); `tree` as in `solve`."""
    solution = solve(instance, "sum_of_costs", tree, JOINT)
    found, optimum = solution.solved, solution.sum_of_costs
    if measure == "makespan":
        shortest = solve(instance, "makespan", tree, JOINT)
        found, optimum = found & shortest.solved, shortest.makespan
    delayed = solution.sum_of_costs > lone_costs(instance).sum()
    return Board(instance, optimum, delayed, (solution.plan.moves == WAIT).any()), found


def lone_costs(instance: Instance) -> jax.Array:
    """int32[5]: moves of each agent were it alone; 0 of those that are not there."""
    passable = grids.open_moves(~instance.holes)

    def alone(start: jax.Array, goal: jax.Array) -> jax.Array:
        return grids.distances(grids.mask_at(SIDE, goal), passable, HORIZON)[start[0], start[1]]

    costs = jax.vmap(alone)(instance.starts, instance.goals)
    return jnp.where(rules.present(instance), costs, 0)


def first_good(key: jax.Array, draw: Callable[[jax.Array], tuple[Any, jax.Array]]) -> tuple[Any, jax.Array]:
    """The first of at most ATTEMPTS draws whose flag bool[] holds, with the flag; a draw is (value, flag)."""

    def again(carry: tuple[jax.Array, tuple[Any, jax.Array]]) -> jax.Array:
        attempt, (_, good) = carry
        return ~good & (attempt < ATTEMPTS)

    def attempt(carry: tuple[jax.Array, tuple[Any, jax.Array]]) -> tuple[jax.Array, tuple[Any, jax.Array]]:
        number, _ = carry
        return number + 1, draw(jax.random.fold_in(key, number))

    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(draw, key))
    return jax.lax.while_loop(again, attempt, (jnp.int32(0), blank))[1]


def _regions(free: jax.Array) -> jax.Array:
    """int32[10, 10]: equal in cells that are joined by free cells, and different in holes."""
    own = jnp.arange(CELLS, dtype=jnp.int32).reshape(SIDE, SIDE)

    def grows(carry: tuple[jax.Array, jax.Array]) -> jax.Array:
        region, before = carry
        return (region != before).any()

    def grow(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        region, _ = carry
        around = grids.neighbours(jnp.where(free, region, CELLS), CELLS).min(0)
        return jnp.where(free, jnp.minimum(region, around), region), region

    # At most CELLS times: in each the smallest number goes a step further.
    return jax.lax.while_loop(grows, grow, (own, own - 1))[0]
