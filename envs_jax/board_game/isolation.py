"""Isolation: a pawn steps to a cell beside it and the cell that it leaves falls away; who cannot step loses.

You step, the opponent replies. Sets of cells are the bits of a number, so that all ways to play a few rounds
are searched at once. Every game starts where you can force a win within three steps, the more the harder.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Coordinates
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE = 5
SIDES = np.array([4, 5, 5], np.int32)
FEWEST, MOST = np.array([6, 8, 9], np.int32), np.array([8, 10, 11], np.int32)  # free cells at the start
STEPS_TO_WIN = np.array([2, 2, 3], np.int32)  # at the start, where a start like that is found
SIGHT = np.array([0, 1, 2], np.int32)  # of the opponent: nothing, its wins at once, in two steps
DEPTH = 3  # steps that the player sees ahead
CANDIDATES = 12
# Each row has a bit more than cells, so that a step over the edge leads to a bit that is never free.
WIDTH = SIDE + 1
BITS = (1 << (WIDTH * np.arange(SIDE)[:, None] + np.arange(SIDE))).astype(np.uint32)
SHIFTS = np.array([1, WIDTH - 1, WIDTH, WIDTH + 1], np.uint32)
GONE, FREE, YOU, OTHER = range(4)


@struct.dataclass
class Board:
    free: jax.Array  # uint32[], the cells that are there, without the pawns'
    you: jax.Array  # uint32[]
    other: jax.Array  # uint32[]
    scale: jax.Array  # int32[]


class Isolation(TileEnvironment):
    id = "isolation"
    family = "board_game"
    abilities = (
        "locate_agent",
        "check_legality",
        "search_adversarial",
        "detect_deadlock",
        "predict_other_agents",
        "format_move",
    )
    grammar = Coordinates(SIDE, SIDE)
    task = (
        "You are the blue pawn: leave the red one no cell to step to. "
        "Answer row and column of your next cell: <answer>2 3</answer>."
    )
    rules = "A pawn steps to a free cell beside it, also diagonally; the cell it leaves falls away."
    max_turns: ClassVar[tuple[int, ...]] = tuple(((MOST + 1) // 2).tolist())
    tileset = ("gap", "floor", "floor pawn:blue", "floor pawn:red")

    def generate(self, key: jax.Array, scale: jax.Array) -> Board:
        order_key, count_key = jax.random.split(key)
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(order_key, (CANDIDATES, SIDE, SIDE))
        noise = jnp.where(grids.inside(SIDE, side), noise, 2.0).reshape(CANDIDATES, -1)
        place = (noise[:, :, None] > noise[:, None, :]).sum(-1)
        fewest, most = jnp.asarray(FEWEST)[scale], jnp.asarray(MOST)[scale]
        count = jax.random.randint(count_key, (), fewest, most + 1)
        you, other = _cells(place == 0), _cells(place == 1)
        free = _cells((place >= 2) & (place < 2 + count))
        # One after the other, for want of memory.
        steps = jax.lax.map(lambda board: _steps_to_win(*board), (free, you, other))
        wanted = jnp.asarray(STEPS_TO_WIN)[scale]
        best = jnp.where(steps > DEPTH, DEPTH + 1, jnp.abs(steps - wanted)).argmin()
        # The simplest won game in the unlikely case that no candidate is one: step between the pawns.
        simplest = jnp.asarray(BITS[0, [1, 0, 2]])
        found = jnp.stack([free[best], you[best], other[best]])
        free, you, other = jnp.where(steps.min() > DEPTH, simplest, found)
        return Board(free, you, other, scale)

    def legal(self, state: Board, action: jax.Array) -> jax.Array:
        """A free cell beside the pawn."""
        return (_around(state.you) & state.free & _bit(action)) > 0

    def transition(
        self, key: jax.Array, state: Board, action: jax.Array
    ) -> tuple[Board, jax.Array, jax.Array]:
        you = _bit(action)
        free = state.free & ~you
        won = (_around(state.other) & free) == 0
        worth = _worth(free, state.other, you, jnp.asarray(SIGHT)[state.scale])
        other = jnp.where(won, state.other, _best(key, worth, state.other))
        free = free & ~other
        after = replace(state, free=free, you=you, other=other)
        return after, won.astype(jnp.float32), won | ((_around(you) & free) == 0)

    def symbolic(self, state: Board) -> jax.Array:
        is_in = lambda cells: (BITS & cells) > 0  # noqa: E731
        tiles = jnp.where(is_in(state.free), FREE, GONE)
        tiles = jnp.where(is_in(state.you), YOU, tiles)
        return jnp.where(is_in(state.other), OTHER, tiles).astype(jnp.uint8)

    def extent(self, state: Board) -> tuple[jax.Array, jax.Array]:
        side = jnp.asarray(SIDES)[state.scale]
        return side, side

    def describe(self, state: Board) -> Texts:
        board = text.grid(self.symbolic(state), ("#", ".", "B", "R"), *self.extent(state))
        count = lambda cells: text.number(jax.lax.population_count(cells).astype(jnp.int32), 2)  # noqa: E731
        facts = text.concat(
            text.encode("you are B, you can step to "),
            count(_around(state.you) & state.free),
            text.encode(" cells, R to "),
            count(_around(state.other) & state.free),
        )
        steps = _steps_to_win(state.free, state.you, state.other)
        hints = ("you can win with this step", *(f"you can force a win in {n} steps" for n in (2, 3)), "")
        return Texts(board, facts, text.choose(steps - 1, hints))

    def exercised(self, state: Board, action: jax.Array, after: Board) -> dict[str, jax.Array]:
        steps, replies, yours, theirs = _replied(state)
        at = (_steps(state.you) == _bit(action)).argmax()
        forces = _forcing(state.free, state.you, state.other, DEPTH)
        stuck = steps & (replies & (yours == 0)).any(1)
        return {
            "locate_agent": (_around(state.other) & _bit(action)) == 0,
            "search_adversarial": forces[at] & (steps & ~forces).any(),
            "detect_deadlock": ~stuck[at] & stuck.any(),
            "predict_other_agents": ((yours > theirs) | ~replies)[at].all(),
        }

    def expert(self, key: jax.Array, state: Board) -> jax.Array:
        step = _best(key, _worth(state.free, state.you, state.other, jnp.int32(DEPTH)), state.you)
        flat = ((BITS & step) > 0).reshape(-1).argmax()
        return jnp.stack(jnp.divmod(flat, SIDE)).astype(jnp.int32)


def _cells(mask: jax.Array) -> jax.Array:
    """uint32[N]: cells bool[N, 25] as bits."""
    return jnp.where(mask, BITS.reshape(-1), 0).sum(-1, dtype=jnp.uint32)


def _bit(action: jax.Array) -> jax.Array:
    return jnp.asarray(BITS)[action[0], action[1]]


def _steps(pawn: jax.Array) -> jax.Array:
    """uint32[..., 8]: the cells beside a pawn."""
    return jnp.concatenate([pawn[..., None] << SHIFTS, pawn[..., None] >> SHIFTS], axis=-1)


def _around(pawn: jax.Array) -> jax.Array:
    """The cells beside a pawn as one set."""
    return _steps(pawn).sum(-1, dtype=jnp.uint32)


def _replied(state: Board) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Your steps bool[8] and the replies bool[8, 8] to each, and between how many cells you and the other can
    choose then, uint32[8, 8] each."""
    to = _steps(state.you) & state.free
    left = (state.free & ~to)[:, None]
    reply = _steps(state.other) & left
    left = left & ~reply
    ways = lambda pawn: jax.lax.population_count(_around(pawn) & left)  # noqa: E731
    return to > 0, reply > 0, ways(to[:, None]), ways(reply)


def _forcing(free: jax.Array, mover: jax.Array, other: jax.Array, steps: int) -> jax.Array:
    """bool[..., 8]: the steps after which the other is stuck within so many of the mover's steps, whatever it
    does."""
    to = _steps(mover) & free[..., None]
    left = free[..., None] & ~to
    won = (_around(other)[..., None] & left) == 0
    if steps > 1:
        reply = _steps(other)[..., None, :] & left[..., None]
        later = _forcing(left[..., None] & ~reply, to[..., None], reply, steps - 1).any(-1)
        won |= (later | (reply == 0)).all(-1)
    return won & (to > 0)


def _steps_to_win(free: jax.Array, mover: jax.Array, other: jax.Array) -> jax.Array:
    """int32[...]: of the mover, if the other defends as well as it can; DEPTH + 1 when there are more."""
    can = [_forcing(free, mover, other, steps).any(-1) for steps in range(1, DEPTH + 1)]
    return DEPTH + 1 - jnp.stack(can).sum(0, dtype=jnp.int32)


def _worth(free: jax.Array, mover: jax.Array, other: jax.Array, sight: jax.Array) -> jax.Array:
    """float32[8]: the sooner a step forces a win that is in sight, the better, then the more ways it leaves
    than the other has; without sight all are equal, -inf what is no step."""
    to = _steps(mover) & free
    wins = [_forcing(free, mover, other, steps) & (steps <= sight) for steps in range(1, DEPTH + 1)]
    left = free & ~to
    ways, others = (jax.lax.population_count(_around(pawn) & left) for pawn in (to, other))
    room = ways.astype(jnp.float32) - others.astype(jnp.float32)
    worth = jnp.where(sight > 0, 100 * jnp.stack(wins).sum(0) + room, 0.0)
    return jnp.where(to > 0, worth, -jnp.inf)


def _best(key: jax.Array, worth: jax.Array, mover: jax.Array) -> jax.Array:
    """The cell uint32[] of a random one of the best steps."""
    return _steps(mover)[grids.random_argmin(key, -worth)]
