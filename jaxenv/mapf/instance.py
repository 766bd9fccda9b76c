"""A problem and an answer: who starts where, who must go where, and every agent's moves."""

import jax
from flax import struct

SIDE = 10  # of the array; a board uses its top left
MOST_AGENTS = 5
SMALLEST_SIDE, FEWEST_AGENTS = 3, 2
SIZES = tuple(range(SMALLEST_SIDE, SIDE + 1))  # sides of boards
HORIZON = 64  # most moves of one agent in a plan
MOVES = ("up", "down", "left", "right", "wait")
WAIT = MOVES.index("wait")


@struct.dataclass
class Instance:
    """A square board of `side` int32[] cells with `agents` int32[] agents.

    holes: bool[10, 10], True beyond the board too. starts, goals: int32[5, 2], row and column; those of
    agents that are not there are (0, 0) and mean nothing.
    """

    side: jax.Array
    agents: jax.Array
    holes: jax.Array
    starts: jax.Array
    goals: jax.Array


@struct.dataclass
class Plan:
    """moves: int8[5, HORIZON], indices of MOVES, -1 after an agent's last one. An agent whose moves have
    ended stays where it is, and can still be hit there."""

    moves: jax.Array
