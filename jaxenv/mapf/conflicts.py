"""Conflicts between the paths of a plan: how many, which to split on, and what all of them cost at least."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, WAIT
from jaxenv.mapf.low_level import DELTAS, NOWHERE

PAIRS = np.array(list(combinations(range(MOST_AGENTS), 2)))
_SUBSETS = np.array([[s >> a & 1 for a in range(MOST_AGENTS)] for s in range(2**MOST_AGENTS)], bool)
_COVERS = _SUBSETS[:, PAIRS].any(-1)


@struct.dataclass
class Conflict:
    """Two agents int32[2] that at `time` int32[] are on one cell, or swap theirs: the cells int32[2] that
    they enter, and the moves int32[2] by which they do, WAIT standing for any where they meet."""

    agents: jax.Array
    time: jax.Array
    cells: jax.Array
    moves: jax.Array


def inspect(paths: jax.Array, forced: jax.Array) -> tuple[Conflict, jax.Array, jax.Array]:
    """Of a plan uint8[5, HORIZON + 1] with the times at which its agents' shortest paths have no other cell,
    bool[5, HORIZON + 1]: the conflict to split on (cardinal ones first, then early ones), the number of
    conflicts int32[] and the least number of agents that must become later int32[]."""
    a, b = paths[PAIRS[:, 0]], paths[PAIRS[:, 1]]
    rank = forced[PAIRS[:, 0]].astype(jnp.int8) + forced[PAIRS[:, 1]]
    meet = (a == b) & (a != NOWHERE)
    swap = (a[:, 1:] == b[:, :-1]) & (a[:, :-1] == b[:, 1:]) & (a[:, 1:] != a[:, :-1])
    swap_rank = jnp.minimum(rank[:, 1:], rank[:, :-1])
    later = (HORIZON - jnp.arange(HORIZON + 1)).astype(jnp.int16)
    score = jnp.where(meet, rank.astype(jnp.int16) * 128 + later + 1, 0)
    swap_score = jnp.where(swap, swap_rank.astype(jnp.int16) * 128 + later[1:] + 1, 0)
    both = jnp.maximum(score, jnp.pad(swap_score, ((0, 0), (1, 0))))
    pair, time = jnp.divmod(both.argmax(), HORIZON + 1)
    agents = jnp.asarray(PAIRS)[pair]
    swaps = score[pair, time] < both[pair, time]
    cells = paths[agents, time].astype(jnp.int32)
    steps = cells - paths[agents, time - 1].astype(jnp.int32)
    moves = (steps[:, None] == jnp.asarray(DELTAS)).argmax(1)
    conflict = Conflict(agents, time, cells, jnp.where(swaps, moves, WAIT))
    cardinal = (both >= 2 * 128).any(1)
    least = jnp.where((_COVERS | ~cardinal).all(1), _SUBSETS.sum(1), MOST_AGENTS).min()
    return conflict, (meet.sum() + swap.sum()).astype(jnp.int32), least.astype(jnp.int32)
