"""An exact solver of multi-agent path finding under jit and vmap: `solve`, and `solve_many` for a batch.

Three passes, each over what the one before has left: shortest paths that avoid each other where they can;
conflict-based search (`constraint_tree`), the best on boards with room; A* over joint places
(`joint_search`), the best on crowded ones. What none of them finishes is `exhausted`.
"""

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv.mapf import constraint_tree, joint_search, low_level
from jaxenv.mapf.constraint_tree import Problems
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, SIDE, WAIT, Instance, Plan
from jaxenv.mapf.joint_search import Boards
from jaxenv.mapf.low_level import NEVER, NOWHERE
from jaxenv.mapf.rules import Measure

# Instances searched side by side, by trees and by joint places. On a CPU every lane costs its share of a
# turn, and all wait for the last instances. Answers do not depend on these numbers.
CPU_LANES, LANES = (8, 2), (64, 16)
CROWDED = 1e5  # joint places: below, A* soon does better than
FEW = 24  # expansions of conflict-based search


@struct.dataclass
class Solution:
    """A cheapest plan, or why there is none. Exactly one of `solved`, `exhausted` (the budget was too small
    to know) and `unsolvable` (proven), bool[], holds; without `solved`, the plan has no moves and costs are
    -1.

    sum_of_costs, makespan int32[]: of this plan; only the one that was asked for is the least possible.
    """

    plan: Plan
    sum_of_costs: jax.Array
    makespan: jax.Array
    solved: jax.Array
    exhausted: jax.Array
    unsolvable: jax.Array


def solve(
    instance: Instance, cost: Measure = "sum_of_costs", tree: int = 512, joint: int = 65_536
) -> Solution:
    """A plan of least cost: `sum_of_costs`, the sum over agents of the times of their last arrivals; or
    `makespan`, the latest of these.

    tree and joint are the budgets, expansions of conflict-based search and nodes of A*; 0 leaves either out.
    Under vmap all instances share the lanes of `solve_many`.
    """
    batch = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], instance)
    return jax.tree.map(lambda leaf: leaf[0], solve_many(batch, cost, tree, joint))


def solve_many(
    instances: Instance, cost: Measure = "sum_of_costs", tree: int = 512, joint: int = 65_536
) -> Solution:
    """`solve` for instances with a leading axis; an instance that is hard holds up none of the others."""
    if cost not in ("sum_of_costs", "makespan"):
        raise ValueError(f"cost: {cost!r} must be sum_of_costs or makespan")
    makespan = cost == "makespan"

    @jax.custom_batching.custom_vmap
    def batched(instances: Instance) -> Solution:
        return _solve_many(instances, makespan, tree, joint)

    @batched.def_vmap
    def flatten(size: int, in_batched: list, instances: Instance) -> tuple[Solution, Solution]:
        def spread(leaf: jax.Array, varies: bool) -> jax.Array:
            return leaf if varies else jnp.broadcast_to(leaf, (size, *leaf.shape))

        instances = jax.tree.map(spread, instances, in_batched[0])
        inner = instances.side.shape[1]
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), instances)
        solution = jax.tree.map(lambda leaf: leaf.reshape(size, inner, *leaf.shape[1:]), batched(flat))
        return solution, jax.tree.map(lambda _: True, solution)

    return batched(instances)


def _solve_many(instances: Instance, makespan: bool, tree: int, joint: int) -> Solution:
    n = instances.side.shape[0]
    lanes = CPU_LANES if jax.default_backend() == "cpu" else LANES
    tree_lanes, joint_lanes = (min(number, n) for number in lanes)
    there = jnp.arange(MOST_AGENTS) < instances.agents[:, None]
    starts = jnp.where(there, _numbers(instances.starts), NOWHERE)
    goals = jnp.where(there, _numbers(instances.goals), NOWHERE)
    problems = Problems(low_level.to_board(~instances.holes), starts.T, goals.T)
    root, distances = constraint_tree.roots(problems, makespan)
    reachable = (distances < NEVER).all(0)
    solved = reachable & (root.conflicts == 0)
    moves = _moves(root.paths)
    unsolvable = ~reachable
    nobody = jnp.zeros(n, bool)
    if tree:
        jobs, total = _waiting(~solved & ~unsolvable)
        places = (~instances.holes).sum((1, 2)) ** instances.agents.astype(jnp.float32)
        limits = jnp.where((places < CROWDED) & (joint > 0), min(tree, FEW), tree)
        paths, found = jax.lax.cond(
            total > 0,  # else not even the trees are made
            lambda: constraint_tree.search(problems, root, jobs, total, limits, tree, tree_lanes, makespan),
            lambda: (root.paths, nobody),
        )
        moves = jnp.where(found[:, None, None], _moves(paths), moves)
        solved = solved | found
    if joint:
        left, many = _waiting(~solved & ~unsolvable)
        boards = Boards(~instances.holes, starts, goals, instances.agents)
        plans, found, none = jax.lax.cond(
            many > 0,
            lambda: joint_search.search(boards, left, many, joint, joint_lanes, makespan),
            lambda: (moves, nobody, nobody),
        )
        moves = jnp.where(found[:, None, None], plans, moves)
        solved, unsolvable = solved | found, unsolvable | none
    return _solution(moves, solved, unsolvable, distances, makespan)


def _solution(
    moves: jax.Array, solved: jax.Array, unsolvable: jax.Array, distances: jax.Array, makespan: bool
) -> Solution:
    moves, each = _trimmed(moves)
    total, last = each.sum(1), each.max(1)
    # A longer plan than fits might be cheaper only if what was found costs more than its longest path.
    longer = HORIZON + 1 + (0 if makespan else distances.sum(0) - distances.max(0))
    solved = solved & ((last if makespan else total) <= longer)
    return Solution(
        Plan(jnp.where(solved[:, None, None], moves, -1)),
        jnp.where(solved, total, -1),
        jnp.where(solved, last, -1),
        solved,
        ~solved & ~unsolvable,
        unsolvable,
    )


def _numbers(cells: jax.Array) -> jax.Array:
    return (cells[..., 0] * SIDE + cells[..., 1]).astype(jnp.int32)


def _waiting(mask: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The indices int32[n] of what is True in bool[n], first, and how many they are."""
    return jnp.nonzero(mask, size=mask.shape[0], fill_value=0)[0].astype(jnp.int32), mask.sum(dtype=jnp.int32)


def _moves(paths: jax.Array) -> jax.Array:
    """int8[n, 5, HORIZON] of paths uint8[n, 5, HORIZON + 1]."""
    steps = jnp.diff(paths.astype(jnp.int32))
    return (steps[..., None] == jnp.asarray((*low_level.DELTAS, 0))).argmax(-1).astype(jnp.int8)


def _trimmed(moves: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Moves int8[n, 5, HORIZON] with -1 after each agent's last arrival, and when that is, int32[n, 5]."""
    times = jnp.arange(HORIZON)
    last = jnp.where((moves >= 0) & (moves != WAIT), times + 1, 0).max(-1)
    return jnp.where(times < last[..., None], moves, jnp.int8(-1)), last.astype(jnp.int32)
