"""The low level of conflict-based search: shortest paths of single agents in space and time.

Boards are bitboards: uint32[4, lanes], three rows of ten cells in a word. Everything here works on many
lanes at once, one agent's search each, with the lanes as the last axis, where the CPU's and the GPU's
vectors are.

A search keeps, for every time, the cells that can be reached with at most 0, 1, .. conflicting steps (steps
that collide with the paths of the others), the last level with any number. Walking back from the goal through
the lowest level gives a shortest path that collides as little as can be; walking back through the last level
with all cells at once gives the agent's multi-valued decision diagram (MDD): where every shortest path
passes.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv.mapf.instance import HORIZON, MOVES, SIDE, WAIT

NOWHERE = 255  # the cell of an agent that is not there
LEVELS = 3
DELTAS = (-SIDE, SIDE, -1, 1)  # of the cell number, by move
NEVER = 2 * HORIZON
WORDS, WORD = 4, 3 * SIDE  # of a board; cells, or bits, of a word
_ALL = np.uint32(2**WORD - 1)
_LEFT_EDGE = np.uint32(1 | 1 << SIDE | 1 << 2 * SIDE)
_RIGHT_EDGE = np.uint32(_LEFT_EDGE << (SIDE - 1))


@struct.dataclass
class Rules:
    """What one agent must keep to, by lane.

    blocked: uint32[5, HORIZON + 1, 4, lanes], by move: cells that may not be entered by it at a time; `WAIT`
    stands for any move. closed: int32[5, lanes], from when on the goals of the five agents may not be
    entered. not_before: int32[lanes], the earliest time of the last arrival. settled: int32[lanes], from
    when on nothing of all this changes any more.
    """

    blocked: jax.Array
    closed: jax.Array
    not_before: jax.Array
    settled: jax.Array


def one_cell(cell: jax.Array) -> jax.Array:
    """uint32[..., 4, lanes] with one bit, of int32[..., lanes]; empty for NOWHERE."""
    word, bit = jnp.divmod(cell.astype(jnp.uint32), WORD)
    words = jnp.arange(WORDS, dtype=jnp.uint32)[:, None]
    return jnp.where(words == word[..., None, :], jnp.uint32(1) << bit[..., None, :], 0)


def to_board(cells: jax.Array) -> jax.Array:
    """uint32[4, lanes] of bool[lanes, 10, 10]."""
    flat = cells.reshape(cells.shape[0], SIDE * SIDE)
    flat = jnp.pad(flat, ((0, 0), (0, WORDS * WORD - SIDE * SIDE))).reshape(-1, WORDS, WORD)
    return (flat.astype(jnp.uint32) << jnp.arange(WORD, dtype=jnp.uint32)).sum(-1, dtype=jnp.uint32).T


def shift(board: jax.Array, move: int) -> jax.Array:
    """Every cell moved by a move of MOVES; what leaves the array is lost or lies beyond its last row."""
    none = jnp.zeros_like(board[..., :1, :])
    if move == 0:
        after = jnp.concatenate([board[..., 1:, :], none], -2)
        return board >> SIDE | after << (WORD - SIDE) & _ALL
    if move == 1:
        before = jnp.concatenate([none, board[..., :-1, :]], -2)
        return board << SIDE & _ALL | before >> (WORD - SIDE)
    if move == WAIT:
        return board
    return (board & ~_LEFT_EDGE) >> 1 if move == 2 else (board & ~_RIGHT_EDGE) << 1


def shortest(
    free: jax.Array,
    start: jax.Array,
    goal: jax.Array,
    goals: jax.Array,
    rules: Rules,
    others: jax.Array,
    floor: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Shortest paths that keep the rules and collide least with `others`.

    free uint32[4, lanes]; start, goal int32[lanes]; goals int32[5, lanes]; others int32[HORIZON + 1, 5,
    lanes], cells by time, NOWHERE for those not to be heeded. floor int32[lanes]: paths may take until then
    even if there are shorter ones (where makespan is the cost, to be earlier than the last agent gains
    nothing).

    Returns cost int32[lanes], NEVER without a path; path uint8[HORIZON + 1, lanes], at the goal after
    arrival; forced bool[HORIZON + 1, lanes]: no other cell is possible at that time at that cost.
    """
    target = one_cell(goal)
    traffic = _Traffic(rules, one_cell(goals), free, others)

    def forward(carry: tuple) -> tuple:
        t, reach, layers, due, lost = carry
        before = reach[-1]
        layers = layers.at[t].set(reach)
        blocked, full, clean = traffic.at(t + 1)
        every = [shift(reach, m) & ~blocked[m] for m in range(len(MOVES))]
        moved = every[0] | every[1] | every[2] | every[3]
        quiet = every[WAIT]
        for m in range(WAIT):
            quiet = quiet | (every[m] & clean[m])
        anyhow = (moved | every[WAIT]) & full
        quiet = quiet & full & clean[WAIT]
        reach = jnp.concatenate([quiet[:1], quiet[1:-1] | anyhow[:-2], anyhow[-1:]])
        arrived = _meets(moved[-1] & full, target) & (t + 1 >= rules.not_before) & (due == NEVER)
        due = jnp.where(arrived, jnp.maximum(t + 1, floor), due)
        # When nothing changes any more, neither the cells in reach nor the rules, there is no path.
        stands = (reach[-1] == before).all(0) & (t >= rules.settled)
        return t + 1, reach, layers, due, lost | (stands & (due == NEVER))

    def going(carry: tuple) -> jax.Array:
        t, _, _, due, lost = carry
        return (t < HORIZON) & ((t < due) & ~lost).any()

    origin = one_cell(start)
    reach = jnp.broadcast_to(origin, (LEVELS, *origin.shape))
    layers = jnp.zeros((HORIZON + 1, *reach.shape), jnp.uint32)
    due = jnp.where((start == goal) & (rules.not_before <= 0), floor, NEVER)
    begin = (jnp.int32(0), reach, layers, due, jnp.zeros(start.shape, bool))
    last, _, layers, due, _ = jax.lax.while_loop(going, forward, begin)
    due = jnp.where(due > last, NEVER, due)
    return _walk_back(last, layers, due, goal, traffic, floor)


def _walk_back(
    last: jax.Array,
    layers: jax.Array,
    due: jax.Array,
    goal: jax.Array,
    traffic: "_Traffic",
    floor: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What `shortest` returns, from the layers uint32[HORIZON + 1, LEVELS, 4, lanes] up to the time `last`
    int32[] and the times `due` int32[lanes] at which the goals are reached."""
    target = one_cell(goal)

    def back(i: jax.Array, carry: tuple) -> tuple:
        t = last - i
        cell, diagram, path, forced = carry
        here = one_cell(cell)
        path = path.at[t].set(cell.astype(jnp.uint8))
        bits = jax.lax.population_count(diagram).sum(0)
        forced = forced.at[t].set(bits == 1)
        blocked, _, clean = traffic.at(t)
        before = layers[t - 1]
        # The last step is a move: an agent that waits on its goal has arrived before.
        may_wait = (t != due) | (floor >= due)
        possible, sources = [], jnp.zeros_like(diagram)
        for m in (WAIT, *range(WAIT)):
            opened = ~blocked[m] if m != WAIT else jnp.where(may_wait, ~blocked[m], 0)
            reverse = m if m == WAIT else m ^ 1
            every = _meets(shift(here & opened, reverse), before)
            quiet = _meets(here, clean[m] & clean[WAIT]) if m != WAIT else _meets(here, clean[WAIT])
            quiet = every & quiet
            possible.append(jnp.concatenate([quiet[:1], quiet[1:-1] | every[:-2], every[-1:]]))
            sources = sources | shift(diagram & opened, reverse)
        choice = jnp.stack(possible, 1).reshape(LEVELS * len(MOVES), -1).argmax(0) % len(MOVES)
        step = jnp.asarray((0, *DELTAS))[choice]
        inside = t <= due
        cell = jnp.where(inside, cell - step, cell)
        diagram = jnp.where(inside, sources & before[-1], diagram)
        return cell, diagram, path, forced

    lanes = goal.shape[0]
    path = jnp.broadcast_to(goal.astype(jnp.uint8), (HORIZON + 1, lanes))
    forced = jnp.ones((HORIZON + 1, lanes), bool)
    cell, _, path, forced = jax.lax.fori_loop(0, last, back, (goal, target, path, forced))
    path = path.at[0].set(cell.astype(jnp.uint8))
    away = path != goal.astype(jnp.uint8)
    times = jnp.arange(1, HORIZON + 2)[:, None]
    cost = jnp.where(due == NEVER, NEVER, jnp.where(away, times, 0).max(0))
    return cost.astype(jnp.int32), path, forced


@struct.dataclass
class _Traffic:
    """What stands in the way: goals uint32[5, 4, lanes], free uint32[4, lanes], others as in `shortest`."""

    rules: Rules
    goals: jax.Array
    free: jax.Array
    others: jax.Array

    def at(self, t: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """For arriving at time t: blocked uint32[5, 4, lanes] by move; the cells that may be entered at all;
        clean uint32[5, 4, lanes], by move: no swap; under WAIT: no other there."""
        blocked = self.rules.blocked[:, t]
        closed = jnp.where((t >= self.rules.closed)[:, None], self.goals, 0)
        full = self.free & ~blocked[WAIT]
        for agent in range(closed.shape[0]):
            full = full & ~closed[agent]
        was, now = self.others[t - 1], self.others[t]
        left, taken = one_cell(was), one_cell(now)
        dirty = []
        for m in range(WAIT):
            swaps = jnp.where((was - now == DELTAS[m])[:, None], left, 0)
            dirty.append(_union(swaps))
        clean = ~jnp.stack([*dirty, _union(taken)])
        return blocked.at[WAIT].set(0), full, clean


def _union(boards: jax.Array) -> jax.Array:
    return jax.lax.reduce(boards, jnp.uint32(0), jax.lax.bitwise_or, (0,))


def _meets(boards: jax.Array, board: jax.Array) -> jax.Array:
    """bool[..., lanes]: they have a cell in common."""
    return (boards & board).any(-2)
