"""Slide numbered tiles into the gap until they are in order and the gap is last.

Made by sliding back from the solved board. The state keeps the way back as a stack, which the expert
follows: on 2 x 2 (a ring of 12 boards) it takes the shorter way round. The stack has room for the longest
scramble and the environment's own turn limit.
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

SIDE = 4
SIDES = np.array([2, 3, 4], np.int32)
SHORTEST = np.array([1, 4, 8], np.int32)
LONGEST = np.array([6, 12, 30], np.int32)
MAX_TURNS = (8, 18, 45)
CAPACITY = int(LONGEST.max()) + max(MAX_TURNS)
HALF_RING = 6


@struct.dataclass
class Tiles:
    board: jax.Array  # int8[4, 4], 0 is the gap
    way: jax.Array  # int8[110], moves that lead back, the next one at depth - 1
    depth: jax.Array  # int32[]
    side: jax.Array  # int32[]


class SlidingTile(TileEnvironment):
    id = "sliding_tile"
    family = "physics_puzzle"
    abilities = (
        "read_digit",
        "predict_move_effect",
        "track_permutation",
        "search_lookahead",
        "format_move",
    )
    grammar = Word(grids.MOVES)
    task = "Slide the tiles into order, the gap last. Answer <answer>up</answer>, down, left or right."
    rules = "The tile next to the gap slides into it. The word is the way the tile moves."
    max_turns: ClassVar[tuple[int, ...]] = MAX_TURNS
    hidden = ("way", "depth")
    tileset = ("slot", *(f"wood:{number}" for number in range(1, SIDE * SIDE)))

    def generate(self, key: jax.Array, scale: jax.Array) -> Tiles:
        side, shortest = jnp.asarray(SIDES)[scale], jnp.asarray(SHORTEST)[scale]
        noise = grids.noise(key, (int(LONGEST.max()) + 1, 4))
        span = jnp.asarray(LONGEST)[scale] - shortest + 1
        length = shortest + jnp.minimum((noise[0, 0] * span).astype(jnp.int32), span - 1)
        start = Tiles(_solved(side), jnp.full(CAPACITY, -1, jnp.int8), jnp.int32(0), side)

        def scramble(step: jax.Array, state: Tiles) -> Tiles:
            back = state.way[jnp.maximum(state.depth - 1, 0)]
            onward = _slides(state) & (jnp.arange(4) != back)
            after = _slide(state, jnp.where(onward, noise[step + 1], -1.0).argmax())
            # Going round a square of four often enough solves the board: stop before.
            goes = (step < length) & (after.board != start.board).any()
            return jax.tree.map(lambda new, old: jnp.where(goes, new, old), after, state)

        return jax.lax.fori_loop(0, int(LONGEST.max()), scramble, start)

    def legal(self, state: Tiles, action: jax.Array) -> jax.Array:
        """There is a tile that can move this way."""
        return _slides(state)[action]

    def transition(
        self, key: jax.Array, state: Tiles, action: jax.Array
    ) -> tuple[Tiles, jax.Array, jax.Array]:
        after = _slide(state, action)
        solved = (after.board == _solved(state.side)).all()
        return after, solved.astype(jnp.float32), solved

    def symbolic(self, state: Tiles) -> jax.Array:
        return state.board.astype(jnp.uint8)

    def extent(self, state: Tiles) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Tiles) -> Texts:
        words = (".", *map(str, range(1, SIDE * SIDE)))
        board = text.grid(self.symbolic(state), words, state.side, state.side)
        gap = text.concat(text.encode("gap "), grids.place(_gap(state.board, state.side)))
        wrong = (state.board != _solved(state.side)) & (_solved(state.side) > 0)
        first = jnp.stack(jnp.divmod(wrong.reshape(-1).argmax(), SIDE))
        tile = text.number(_solved(state.side)[first[0], first[1]].astype(jnp.int32), 2)
        return Texts(
            board, gap, text.concat(text.encode("tile "), tile, text.encode(" goes to "), grids.place(first))
        )

    def exercised(self, state: Tiles, action: jax.Array, after: Tiles) -> dict[str, jax.Array]:
        goal, before = _solved(state.side), state.board
        placed = lambda board: ((board == goal) & (goal > 0)).sum()  # noqa: E731
        nearer = placed(after.board) > placed(before)
        onward = after.depth < state.depth
        return {
            "read_digit": nearer,
            "predict_move_effect": placed(after.board) >= placed(before),
            "track_permutation": onward & ~nearer,
            "search_lookahead": onward,
        }

    def expert(self, key: jax.Array, state: Tiles) -> jax.Array:
        back = state.way[jnp.maximum(state.depth - 1, 0)].astype(jnp.int32)
        onward = (_slides(state) & (jnp.arange(4) != back)).argmax().astype(jnp.int32)
        tie = (state.depth == HALF_RING) & jax.random.bernoulli(key)
        return jnp.where((state.side == 2) & ((state.depth > HALF_RING) | tie), onward, back)


def _solved(side: jax.Array) -> jax.Array:
    """int8[4, 4]: the tiles in order, the gap last, 0 outside."""
    row, col = jnp.indices((SIDE, SIDE))
    last = (row == side - 1) & (col == side - 1)
    return jnp.where(grids.inside(SIDE, side) & ~last, row * side + col + 1, 0).astype(jnp.int8)


def _gap(board: jax.Array, side: jax.Array) -> jax.Array:
    """int32[2]: the cell of the gap."""
    flat = ((board == 0) & grids.inside(SIDE, side)).reshape(-1).argmax()
    return jnp.stack(jnp.divmod(flat, SIDE)).astype(jnp.int32)


def _slides(state: Tiles) -> jax.Array:
    """bool[4]: the moves for which there is a tile beside the gap."""
    movers = _gap(state.board, state.side) - grids.STEPS
    return ((movers >= 0) & (movers < state.side)).all(-1)


def _slide(state: Tiles, move: jax.Array) -> Tiles:
    """The state after a move; meaningless, but harmless, where no tile can move so."""
    gap = _gap(state.board, state.side)
    mover = jnp.clip(gap - jnp.asarray(grids.STEPS)[move], 0, SIDE - 1)
    tile = state.board[mover[0], mover[1]]
    board = state.board.at[mover[0], mover[1]].set(0).at[gap[0], gap[1]].set(tile)
    undoes = (state.depth > 0) & (state.way[jnp.maximum(state.depth - 1, 0)] == move)
    # Moves are paired with their opposites.
    pushed = state.way.at[state.depth].set((move ^ 1).astype(jnp.int8), mode="drop")
    way = jnp.where(undoes, state.way, pushed)
    return replace(state, board=board, way=way, depth=state.depth + jnp.where(undoes, -1, 1))
