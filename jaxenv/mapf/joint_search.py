"""A* over the joint places of all agents, for crowded boards, where conflict-based search explodes.

Operator decomposition (Standley 2010): in every step the agents choose one after the other, and a node is a
partly chosen step. An agent on its goal may stop for good; until then each of its moves costs 1 (sum of
costs), or each whole step costs 1 (makespan). The open list is a stack for every estimate, the closed list a
hash table; both have fixed sizes. Lanes take the next instance as in `constraint_tree`.
"""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, MOVES, SIDE, WAIT

STOP = len(MOVES)  # for good
ACTIONS = STOP + 1
STACKS = 512
TIES = 16  # stacks of one estimate of the makespan, by what the agents have ahead of them
WIDTH = 4  # nodes expanded at once by a lane
WAYS = 4  # entries of a bucket of the hash table
NO_CELL = 127
FAR = 1000
_STEPS = np.array([-SIDE, SIDE, -1, 1, 0, 0], np.int32)
_ORDER = np.array([WAIT, 0, 1, 2, 3, STOP], np.int32)  # the last is tried first
_AGENTS = np.arange(MOST_AGENTS)


@struct.dataclass
class Boards:
    """free bool[10, 10]; starts, goals int32[5], numbers of cells; agents int32[]."""

    free: jax.Array
    starts: jax.Array
    goals: jax.Array
    agents: jax.Array


@struct.dataclass
class _Node:
    """cells int32[5], where agents are, or will be if they have chosen in this step; actions int32[5], what
    they have chosen, 0 for the others; turn int32[], who chooses next; stopped bool[5]."""

    cells: jax.Array
    actions: jax.Array
    turn: jax.Array
    stopped: jax.Array


@struct.dataclass
class _Search:
    """One lane. A node is known by a number that no node of this lane has had before, so that tables need not
    be cleared: node `base` + 1 + i is entry i of the arrays, and numbers up to `base` mean nothing.

    keys uint32[nodes, 2]; parents, links int32[nodes], the next on the stack; costs int32[nodes], -1 for
    those found again cheaper; times, actions uint8[nodes]; heads int32[STACKS], tops of the stacks;
    table int32[buckets, WAYS]; first int32[], the estimate of the start; goal int32[], the entry of
    the answer or -1; cut bool[]: something was left out; distances int32[5, 100]."""

    base: jax.Array
    used: jax.Array
    keys: jax.Array
    parents: jax.Array
    links: jax.Array
    costs: jax.Array
    times: jax.Array
    actions: jax.Array
    heads: jax.Array
    table: jax.Array
    first: jax.Array
    goal: jax.Array
    cut: jax.Array
    distances: jax.Array


def _pack(node: _Node) -> jax.Array:
    """uint32[2] of a node."""
    cells, actions = node.cells.astype(jnp.uint32), node.actions.astype(jnp.uint32)
    low = (cells[:4] << jnp.arange(0, 28, 7, dtype=jnp.uint32)).sum(dtype=jnp.uint32)
    chosen = (actions << jnp.arange(7, 22, 3, dtype=jnp.uint32)).sum(dtype=jnp.uint32)
    stopped = (node.stopped.astype(jnp.uint32) << jnp.arange(22, 27, dtype=jnp.uint32)).sum(dtype=jnp.uint32)
    return jnp.stack([low | node.turn.astype(jnp.uint32) << 28, cells[4] | chosen | stopped])


def _unpack(key: jax.Array) -> _Node:
    key = key.astype(jnp.int32)  # the top bit is never set
    cells = jnp.append(key[0] >> jnp.arange(0, 28, 7) & 127, key[1] & 127)
    actions = key[1] >> jnp.arange(7, 22, 3) & 7
    return _Node(cells, actions, key[0] >> 28, (key[1] >> jnp.arange(22, 27) & 1) == 1)


def _bucket(keys: jax.Array, buckets: int) -> jax.Array:
    """int32[n], where the table keeps nodes of keys uint32[n, 2]."""
    low, high = keys[:, 0], keys[:, 1]
    mixed = low * jnp.uint32(0x9E3779B1) ^ (high * jnp.uint32(0x85EBCA77) + (low >> 15))
    mixed = (mixed ^ mixed >> 15) * jnp.uint32(0xC2B2AE3D)
    return ((mixed >> 8) % jnp.uint32(buckets)).astype(jnp.int32)


def _estimate(
    node: _Node, cost: jax.Array, distances: jax.Array, makespan: bool
) -> tuple[jax.Array, jax.Array]:
    """No solution through the node costs less than int32[]; the moves ahead of all agents int32[]."""
    ahead = distances[_AGENTS, jnp.minimum(node.cells, SIDE * SIDE - 1)]
    ahead = jnp.where(node.stopped, 0, ahead)
    if makespan:
        latest = (ahead + (node.turn > _AGENTS)).max(where=~node.stopped, initial=0)
        return cost + latest, ahead.sum()
    return cost + ahead.sum(), ahead.sum()


def _next_turn(stopped: jax.Array, turn: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Who chooses after `turn`, and whether that is in the next step."""
    later = ~stopped & (turn < _AGENTS)
    wraps = ~later.any()
    return jnp.where(wraps, (~stopped).argmax(), later.argmax()).astype(jnp.int32), wraps


def _child(
    node: _Node, action: jax.Array, board: Boards, makespan: bool
) -> tuple[_Node, jax.Array, jax.Array]:
    """The node after `action` of the agent whose turn it is; whether it may be; whether it ends the step."""
    who = node.turn == _AGENTS
    step = jnp.asarray(_STEPS)[action]
    old = jnp.where(who, node.cells, 0).sum()
    new = old + step
    sideways = (action == 2) | (action == 3)
    inside = (new >= 0) & (new < SIDE * SIDE) & (~sideways | (new // SIDE == old // SIDE))
    chosen = (node.turn > _AGENTS) | node.stopped
    before = node.cells - jnp.asarray(_STEPS)[node.actions]
    swap = (node.cells == old) & (before == new) & ~node.stopped
    bumps = (chosen & ~who & ((node.cells == new) | swap)).any()
    legal = inside & board.free.reshape(-1)[jnp.clip(new, 0, SIDE * SIDE - 1)] & ~bumps
    stops = action == STOP
    legal &= ~stops | (False if makespan else (who & (node.cells == board.goals)).any())
    stopped = node.stopped | (who & stops)
    turn, wraps = _next_turn(stopped, node.turn)
    actions = jnp.where(who & ~stops, action, node.actions)
    actions = jnp.where(wraps | stopped, 0, actions)
    return _Node(jnp.where(who, new, node.cells), actions, turn, stopped), legal, wraps


def _solves(node: _Node, board: Boards, makespan: bool) -> jax.Array:
    if makespan:
        return (node.turn == 0) & (node.stopped | (node.cells == board.goals)).all()
    return node.stopped.all()


def search(
    boards: Boards, jobs: jax.Array, total: jax.Array, nodes: int, lanes: int, makespan: bool
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Searches the instances jobs int32[n], of which the first `total` int32[] count, among boards Boards[n].

    Returns by board, of what it has searched: moves int8[n, 5, HORIZON] of a cheapest plan, solved bool[n],
    unsolvable bool[n], proven. Neither: it would have needed more than `nodes` nodes.
    """
    n = jobs.shape[0]
    lane = jax.vmap(lambda _: _blank(nodes))(jnp.arange(lanes))
    answers = (jnp.full((n, MOST_AGENTS, HORIZON), -1, jnp.int8), jnp.zeros(n, bool), jnp.zeros(n, bool))

    def going(carry: tuple) -> jax.Array:
        job, next_job, _, _ = carry
        return (next_job < total) | (job < n).any()

    def turn(carry: tuple) -> tuple:
        job, next_job, lane, answers = carry
        idle = job == n
        order = next_job + jnp.cumsum(idle) - 1
        loads = idle & (order < total)
        job = jnp.where(loads, jobs[jnp.minimum(order, n - 1)], job)
        board = jax.tree.map(lambda leaf: leaf[jnp.minimum(job, n - 1)], boards)
        measured = jax.lax.cond(loads.any(), jax.vmap(_distances), lambda _: lane.distances, board)
        begin = jax.vmap(functools.partial(_begin, makespan=makespan))
        lane = begin(lane, board, measured, loads)
        lane = jax.vmap(lambda search, board: _expand(search, board, makespan))(lane, board)
        solved = lane.goal >= 0
        empty = ~(lane.heads > lane.base[:, None]).any(1) & ~solved
        done = (job < n) & (solved | empty | lane.cut)
        place = jnp.where(done, job, n)
        noted = (
            lambda: jax.vmap(_plan)(lane),
            lambda: jnp.full((lanes, MOST_AGENTS, HORIZON), -1, jnp.int8),
        )
        plans = jax.lax.cond(solved.any(), *noted)
        found = (plans, solved, empty & ~lane.cut)
        answers = jax.tree.map(lambda all_, new: all_.at[place].set(new, mode="drop"), answers, found)
        return jnp.where(done, n, job), next_job + loads.sum(dtype=jnp.int32), lane, answers

    start = (jnp.full(lanes, n, jnp.int32), jnp.int32(0), lane, answers)
    return jax.lax.while_loop(going, turn, start)[3]


def _blank(nodes: int) -> _Search:
    zero = jnp.int32(0)
    return _Search(
        base=zero,
        used=zero,
        keys=jnp.zeros((nodes, 2), jnp.uint32),
        parents=jnp.zeros(nodes, jnp.int32),
        links=jnp.zeros(nodes, jnp.int32),
        costs=jnp.zeros(nodes, jnp.int32),
        times=jnp.zeros(nodes, jnp.uint8),
        actions=jnp.zeros(nodes, jnp.uint8),
        heads=jnp.zeros(STACKS, jnp.int32),
        table=jnp.zeros((max(nodes, 1), WAYS), jnp.int32),
        first=zero,
        goal=jnp.int32(-1),
        cut=jnp.bool_(True),
        distances=jnp.zeros((MOST_AGENTS, SIDE * SIDE), jnp.int32),
    )


def _distances(board: Boards) -> jax.Array:
    """int32[5, 100]: moves to each agent's goal."""
    targets = jnp.arange(SIDE * SIDE) == board.goals[:, None]
    ways = grids.open_moves(board.free)
    field = jax.vmap(lambda target: grids.distances(target.reshape(SIDE, SIDE), ways, HORIZON))(targets)
    return jnp.minimum(field.reshape(MOST_AGENTS, -1), FAR)


def _begin(search: _Search, board: Boards, distances: jax.Array, loads: jax.Array, makespan: bool) -> _Search:
    """Starts on a board where `loads` bool[] says so: its first node alone on the stack."""
    size = search.costs.shape[0]
    there = board.agents > _AGENTS
    node = _Node(
        jnp.where(there, board.starts, NO_CELL), jnp.zeros(MOST_AGENTS, jnp.int32), jnp.int32(0), ~there
    )
    base = search.base + search.used
    entry = jnp.where(loads, 0, size)
    chosen = replace(
        search,
        base=base,
        used=jnp.int32(1),
        first=_estimate(node, jnp.int32(0), distances, makespan)[0],
        goal=jnp.int32(-1),
        cut=jnp.bool_(False),
        distances=distances,
    )
    small = ("base", "used", "first", "goal", "cut", "distances")
    kept = {name: jnp.where(loads, getattr(chosen, name), getattr(search, name)) for name in small}
    return replace(
        search,
        keys=search.keys.at[entry].set(_pack(node), mode="drop"),
        parents=search.parents.at[entry].set(-1, mode="drop"),
        links=search.links.at[entry].set(0, mode="drop"),
        costs=search.costs.at[entry].set(0, mode="drop"),
        times=search.times.at[entry].set(0, mode="drop"),
        heads=search.heads.at[jnp.where(loads, 0, STACKS)].set(base + 1, mode="drop"),
        **kept,
    )


def _expand(search: _Search, board: Boards, makespan: bool) -> _Search:
    """Takes WIDTH nodes from the top of the lowest stack and puts their children on theirs."""
    size = search.costs.shape[0]
    lowest = (search.heads > search.base).argmax()
    taken, rest = _pop(search, jnp.where((search.goal < 0) & ~search.cut, search.heads[lowest], 0))
    heads = search.heads.at[lowest].set(rest)
    at = jnp.maximum(taken, 0)
    cost, node = search.costs[at], jax.vmap(_unpack)(search.keys[at])
    fresh = (taken >= 0) & (cost >= 0)
    solves = fresh & jax.vmap(lambda node: _solves(node, board, makespan))(node)
    actions = jnp.asarray(_ORDER)
    of_one = jax.vmap(lambda node, action: _child(node, action, board, makespan), (None, 0))
    families = jax.vmap(of_one, (0, None))(node, actions)
    child, legal, wraps = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), families)
    parent, time = jnp.repeat(at, ACTIONS), jnp.repeat(search.times[at], ACTIONS) + wraps
    cost = jnp.repeat(cost, ACTIONS) + (wraps if makespan else jnp.tile(actions != STOP, WIDTH))
    bound, ahead = jax.vmap(lambda node, cost: _estimate(node, cost, search.distances, makespan))(child, cost)
    stack = bound - search.first
    if makespan:
        stack = stack * TIES + jnp.minimum(ahead // 2, TIES - 1)
    fits = (time < HORIZON) & (stack < STACKS)
    wanted = legal & jnp.repeat(fresh, ACTIONS)
    keys = jax.vmap(_pack)(child)
    (bucket, way), known = _look_up(search, keys)
    order = jnp.arange(WIDTH * ACTIONS)
    make = wanted & fits & ((known < 0) | (cost < search.costs[jnp.maximum(known, 0)]))
    # Of a child that was made twice, the cheaper.
    same = make & (keys[:, 0] == keys[:, None, 0]) & (keys[:, 1] == keys[:, None, 1])
    better = (cost < cost[:, None]) | ((cost == cost[:, None]) & (order < order[:, None]))
    make &= ~(same & better).any(1)
    entry = search.used + jnp.cumsum(make) - 1
    put = jnp.where(make, entry, size)
    number = search.base + 1 + entry
    # Children of one stack go there together, each on the one before it.
    alike = make & (stack == stack[:, None])
    below = alike & (order < order[:, None])
    links = jnp.where(below.any(1), jnp.where(below, number, 0).max(1), heads[jnp.minimum(stack, STACKS - 1)])
    last = make & ~(alike & (order > order[:, None])).any(1)
    used = search.used + make.sum(dtype=jnp.int32)
    return replace(
        search,
        used=used,
        keys=search.keys.at[put].set(keys, mode="drop"),
        parents=search.parents.at[put].set(parent, mode="drop"),
        links=search.links.at[put].set(links, mode="drop"),
        costs=search.costs.at[jnp.where(make & (known >= 0), known, size)]
        .set(-1, mode="drop")
        .at[put]
        .set(cost, mode="drop"),
        times=search.times.at[put].set(time.astype(jnp.uint8), mode="drop"),
        actions=search.actions.at[put].set(jnp.tile(actions, WIDTH).astype(jnp.uint8), mode="drop"),
        heads=heads.at[jnp.where(last, stack, STACKS)].set(number, mode="drop"),
        table=search.table.at[jnp.where(make, bucket, search.table.shape[0]), way].set(number, mode="drop"),
        goal=jnp.where(solves.any(), at[solves.argmax()], search.goal),
        cut=search.cut | (wanted & ~fits).any() | (used + WIDTH * ACTIONS > size),
    )


def _pop(search: _Search, top: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The entries int32[WIDTH] from the top of a stack down, last first, -1 for none; the new top."""
    taken = []
    for _ in range(WIDTH):
        entry = jnp.maximum(top - search.base - 1, -1)
        taken.append(entry)
        top = jnp.where(entry >= 0, search.links[jnp.maximum(entry, 0)], 0)
    return jnp.stack(taken[::-1]), top


def _look_up(search: _Search, keys: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
    """For keys uint32[n, 2]: the place of each in the table (bucket, way); the entry int32[n] of the same
    node found before, -1 if there is none. In a full bucket the first is forgotten: it may come once more."""
    bucket = _bucket(keys, search.table.shape[0])
    entries = search.table[bucket] - search.base - 1
    taken = entries >= 0
    same = taken & (search.keys[jnp.maximum(entries, 0)] == keys[:, None]).all(-1)
    found = same.any(1)
    way = jnp.where(found, same.argmax(1), (~taken).argmax(1))
    known = jnp.where(found, jnp.take_along_axis(entries, way[:, None], 1)[:, 0], -1)
    return (bucket, way), known


def _plan(search: _Search) -> jax.Array:
    """int8[5, HORIZON]: the moves to the node of the answer."""

    def back(carry: tuple) -> tuple:
        at, moves = carry
        parent = search.parents[at]
        who = _unpack(search.keys[jnp.maximum(parent, 0)]).turn
        time = search.times[jnp.maximum(parent, 0)].astype(jnp.int32)
        action = search.actions[at].astype(jnp.int8)
        place = jnp.where((parent >= 0) & (action < STOP), time, HORIZON)
        return parent, moves.at[who, place].set(action, mode="drop")

    start = (search.goal, jnp.full((MOST_AGENTS, HORIZON), -1, jnp.int8))
    return jax.lax.while_loop(lambda carry: carry[0] >= 0, back, start)[1]
