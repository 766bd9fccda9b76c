"""The high level of conflict-based search: constraint trees of fixed size, searched best first, one a lane.

CBS (Sharon et al. 2015) with cardinal conflicts first (ICBS, Boyarski et al. 2015), the cover of the cardinal
conflicts as a lower bound (CBSH, Felner et al. 2018) and splits on arrival times where an agent is met
on its goal (target reasoning, Li et al. 2021). A lane takes the next instance as soon as its own is
done, so that few hard instances do not hold up the many.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv.mapf import conflicts, low_level
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, MOVES, WAIT
from jaxenv.mapf.low_level import NEVER, NOWHERE, WORD, WORDS, Rules

DEPTH = 64  # most constraints of a node
CLOSED = len(MOVES)  # kinds of constraints beside one for each move: a goal is closed from a time on,
LATER = CLOSED + 1  # the last arrival is after a time
CONFLICTS = 64  # as many or more count alike
FULL = jnp.iinfo(jnp.int32).max


@struct.dataclass
class Problems:
    """A batch of instances, as the search reads it: free uint32[4, n]; starts, goals int32[5, n], numbers of
    cells, NOWHERE for agents that are not there."""

    free: jax.Array
    starts: jax.Array
    goals: jax.Array

    def take(self, index: jax.Array) -> "Problems":
        return Problems(self.free[:, index], self.starts[:, index], self.goals[:, index])


@struct.dataclass
class Nodes:
    """Nodes of the tree. bound int32[]: no solution below costs less. conflicts int32[]. paths
    uint8[5, HORIZON + 1] and forced bool[5, HORIZON + 1], see `low_level.shortest`. constraints int32[DEPTH],
    of which `depth` int32[] count. split int32[2]: the constraints of the two children."""

    bound: jax.Array
    conflicts: jax.Array
    paths: jax.Array
    forced: jax.Array
    constraints: jax.Array
    depth: jax.Array
    split: jax.Array


@struct.dataclass
class _Lanes:
    """job int32[lanes], the instance in hand or beyond the last for none; used int32[lanes] nodes made; spent
    int32[lanes] expansions; best int32[lanes], the open node to expand, -1 for the root; tree of
    Nodes[lanes, size] with keys int32[lanes, size], FULL where closed."""

    job: jax.Array
    used: jax.Array
    spent: jax.Array
    best: jax.Array
    keys: jax.Array
    tree: Nodes
    next_job: jax.Array
    paths: jax.Array
    solved: jax.Array


def pack(agent: jax.Array, kind: jax.Array, time: jax.Array, cell: jax.Array) -> jax.Array:
    """As int32: the agent may not enter the cell at the time by the move `kind`; or CLOSED, LATER."""
    return (((agent * 8 + kind) * 128 + time) * 128 + cell).astype(jnp.int32)


def unpack(constraint: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """(agent, kind, time, cell)."""
    return constraint >> 17, constraint >> 14 & 7, constraint >> 7 & 127, constraint & 127


def roots(problems: Problems, makespan: bool) -> tuple[Nodes, jax.Array]:
    """The roots of a batch, Nodes[n], and the moves from start to goal int32[5, n] of `_distances`."""
    n = problems.free.shape[1]
    least = _distances(problems)
    floor = least.max(0) if makespan else jnp.zeros(n, jnp.int32)
    blocked = jnp.zeros((len(MOVES), HORIZON + 1, WORDS, n), jnp.uint32)
    rules = Rules(
        blocked, jnp.full((MOST_AGENTS, n), NEVER), jnp.zeros(n, jnp.int32), jnp.zeros(n, jnp.int32)
    )

    def plan(agent: jax.Array, carry: tuple) -> tuple:
        paths, forced = carry
        _, path, only = low_level.shortest(
            problems.free,
            problems.starts[agent],
            problems.goals[agent],
            problems.goals,
            rules,
            paths.astype(jnp.int32),
            floor,
        )
        return paths.at[:, agent].set(path), forced.at[:, agent].set(only)

    paths = jnp.full((HORIZON + 1, MOST_AGENTS, n), NOWHERE, jnp.uint8)
    paths, forced = jax.lax.fori_loop(0, MOST_AGENTS, plan, (paths, jnp.zeros(paths.shape, bool)))
    constraints, depth = jnp.zeros((n, DEPTH), jnp.int32), jnp.zeros(n, jnp.int32)
    paths, forced = jnp.moveaxis(paths, 2, 0).swapaxes(1, 2), jnp.moveaxis(forced, 2, 0).swapaxes(1, 2)
    bound = jnp.zeros(n, jnp.int32)
    nodes = _inspected(bound, paths, forced, constraints, depth, problems, makespan)
    return nodes, least


def _distances(problems: Problems) -> jax.Array:
    """int32[5, n]: moves from start to goal, NEVER where there is no way, 0 for those not there."""
    targets = low_level.one_cell(problems.goals)

    def spread(carry: tuple) -> tuple:
        t, reach, found = carry
        grown = reach
        for m in range(WAIT):
            grown = grown | low_level.shift(reach, m)
        reach = grown & problems.free
        return t + 1, reach, jnp.where((reach & targets).any(1), jnp.minimum(found, t + 1), found)

    def going(carry: tuple) -> jax.Array:
        t, _, found = carry
        return (t < HORIZON) & (found == NEVER).any()

    found = jnp.where(problems.starts == problems.goals, 0, NEVER)
    begin = (jnp.int32(0), low_level.one_cell(problems.starts), found)
    return jax.lax.while_loop(going, spread, begin)[2]


def costs(paths: jax.Array, goals: jax.Array) -> jax.Array:
    """int32[..., 5]: the times of the last arrivals in paths uint8[..., 5, HORIZON + 1]."""
    away = paths != goals[..., None]
    return jnp.where(away, jnp.arange(1, HORIZON + 2), 0).max(-1).astype(jnp.int32)


def _inspected(
    bound: jax.Array,
    paths: jax.Array,
    forced: jax.Array,
    constraints: jax.Array,
    depth: jax.Array,
    problems: Problems,
    makespan: bool,
) -> Nodes:
    """Nodes[n] from all but their conflicts."""
    each = costs(paths, problems.goals.T.astype(jnp.uint8))
    conflict, number, least = jax.vmap(conflicts.inspect)(paths, forced)
    total = each.max(-1) if makespan else each.sum(-1) + least
    time, kinds = conflict.time[:, None], conflict.moves
    if not makespan:
        sits = (jnp.take_along_axis(each, conflict.agents, 1) <= time) & (kinds == WAIT)
        kinds = jnp.where(sits, LATER, jnp.where(sits[:, ::-1], CLOSED, kinds))
    split = pack(conflict.agents, kinds, time, conflict.cells)
    return Nodes(jnp.maximum(bound, total), number, paths, forced, constraints, depth, split)


def search(
    problems: Problems,
    root: Nodes,
    jobs: jax.Array,
    total: jax.Array,
    limits: jax.Array,
    budget: int,
    lanes: int,
    makespan: bool,
) -> tuple[jax.Array, jax.Array]:
    """Searches the trees of jobs int32[n], indices of problems and roots, of which `total` int32[] count.

    Returns (paths uint8[n, 5, HORIZON + 1], solved bool[n]), both by problem; not solved after as many
    expansions as its limit int32[n], at most `budget`, says, or with too many constraints.
    """
    n = jobs.shape[0]
    state = _Lanes(
        job=jnp.full(lanes, n, jnp.int32),
        used=jnp.zeros(lanes, jnp.int32),
        spent=jnp.zeros(lanes, jnp.int32),
        best=jnp.zeros(lanes, jnp.int32),
        keys=jnp.full((lanes, 2 * budget), FULL, jnp.int32),
        tree=jax.tree.map(lambda leaf: jnp.zeros((lanes, 2 * budget, *leaf.shape[1:]), leaf.dtype), root),
        next_job=jnp.int32(0),
        paths=root.paths,
        solved=jnp.zeros(n, bool),
    )

    def going(state: _Lanes) -> jax.Array:
        return (state.next_job < total) | (state.job < n).any()

    def turn(state: _Lanes) -> _Lanes:
        idle = state.job == n
        order = state.next_job + jnp.cumsum(idle) - 1
        loads = idle & (order < total)
        job = jnp.where(loads, jobs[jnp.minimum(order, n - 1)], state.job)
        state = replace(
            state,
            job=job,
            used=jnp.where(loads, 0, state.used),
            spent=jnp.where(loads, 0, state.spent),
            best=jnp.where(loads, -1, state.best),
            next_job=state.next_job + loads.sum(dtype=jnp.int32),
        )
        return _finish(_expand(state, problems, root, makespan), limits)

    state = jax.lax.while_loop(going, turn, state)
    return state.paths, state.solved


def _expand(state: _Lanes, problems: Problems, root: Nodes, makespan: bool) -> _Lanes:
    """Every lane closes its best node and adds the two children."""
    lane = jnp.arange(state.job.shape[0])
    n = problems.free.shape[1]
    job = jnp.minimum(state.job, n - 1)
    fresh = state.best < 0

    def twice(leaf: jax.Array) -> jax.Array:
        return jnp.concatenate([leaf, leaf])

    def parent(top: jax.Array, stored: jax.Array) -> jax.Array:
        at_root = fresh.reshape(-1, *[1] * (top.ndim - 1))
        return jnp.where(at_root, top[job], stored[lane, state.best])

    node = jax.tree.map(parent, root, state.tree)
    constraints = node.split.T.reshape(-1)
    children, feasible = _children(
        jax.tree.map(twice, node), constraints, problems.take(twice(job)), makespan
    )
    key = children.bound * CONFLICTS + jnp.minimum(children.conflicts, CONFLICTS - 1)
    key = jnp.where(feasible, key, FULL)
    size = state.keys.shape[1]
    keys = state.keys.at[lane, jnp.where(fresh, size, state.best)].set(FULL, mode="drop")
    # A lane without an instance goes on, but nothing is kept.
    places = jnp.concatenate([state.used, state.used + 1])
    places = jnp.where(twice(state.job) < n, places, size)

    def put(leaf: jax.Array, new: jax.Array) -> jax.Array:
        return leaf.at[twice(lane), places].set(new, mode="drop")

    return replace(
        state,
        keys=put(keys, key),
        tree=jax.tree.map(put, state.tree, children),
        used=state.used + 2,
        spent=state.spent + 1,
    )


def _children(
    parents: Nodes, constraint: jax.Array, problems: Problems, makespan: bool
) -> tuple[Nodes, jax.Array]:
    """The children Nodes[n] of parents by one more constraint int32[n] each; whether they can be, bool[n]."""
    agent = unpack(constraint)[0]
    n = jnp.arange(agent.shape[0])
    constraints = parents.constraints.at[n, parents.depth].set(constraint, mode="drop")
    depth = parents.depth + 1
    goal = problems.goals[agent, n]
    own = (unpack(constraints)[0] == agent[:, None]) & (jnp.arange(DEPTH) < depth[:, None])
    others = parents.paths.at[n, agent].set(NOWHERE).astype(jnp.int32)
    cost, path, only = low_level.shortest(
        problems.free,
        problems.starts[agent, n],
        goal,
        problems.goals,
        _rules(constraints, own, problems.goals, goal),
        jnp.moveaxis(others, 0, 2).swapaxes(0, 1),
        parents.bound if makespan else jnp.zeros_like(goal),
    )
    paths = parents.paths.at[n, agent].set(path.T)
    forced = parents.forced.at[n, agent].set(only.T)
    nodes = _inspected(parents.bound, paths, forced, constraints, depth, problems, makespan)
    return nodes, cost < NEVER


def _rules(constraints: jax.Array, own: jax.Array, goals: jax.Array, goal: jax.Array) -> Rules:
    """Rules for the agents whose `own` bool[n, DEPTH] constraints are marked."""
    _, kind, time, cell = unpack(constraints)
    word, place = jnp.divmod(cell, WORD)
    n = jnp.arange(goal.shape[0])[:, None]
    bit = jnp.where(own & (kind < len(MOVES)), jnp.uint32(1) << place.astype(jnp.uint32), 0)
    blocked = jnp.zeros((len(MOVES), HORIZON + 1, WORDS, goal.shape[0]), jnp.uint32)
    # No constraint comes twice on one branch, so that adding bits sets them.
    blocked = blocked.at[kind, time, word, n].add(bit, mode="drop")
    on_goal = own & (kind == WAIT) & (cell == goal[:, None])
    later = own & ((kind == LATER) | on_goal)
    not_before = jnp.where(later, time + 1, 0).max(1)
    shut = own & (kind == CLOSED) & (cell == goals[:, :, None])
    return Rules(blocked, jnp.where(shut, time, NEVER).min(2), not_before, jnp.where(own, time, 0).max(1))


def _finish(state: _Lanes, limits: jax.Array) -> _Lanes:
    """Notes the answers of the lanes that are done and frees them."""
    lane = jnp.arange(state.job.shape[0])
    n, size = limits.shape[0], state.keys.shape[1]
    open_keys = jnp.where(jnp.arange(size) < state.used[:, None], state.keys, FULL)
    best = size - 1 - open_keys[:, ::-1].argmin(1)  # the youngest of the equally good
    key = open_keys[lane, best]
    depth, paths = state.tree.depth[lane, best], state.tree.paths[lane, best]
    found = (key % CONFLICTS == 0) & (key < FULL)
    stuck = (key == FULL) | (state.spent >= limits[jnp.minimum(state.job, n - 1)]) | (depth >= DEPTH)
    done = found | stuck
    answered = jnp.where(found, state.job, n)
    return replace(
        state,
        best=best.astype(jnp.int32),
        job=jnp.where(done, n, state.job),
        paths=state.paths.at[answered].set(paths, mode="drop"),
        solved=state.solved.at[answered].set(True, mode="drop"),
    )
