"""Jump pegs over pegs, which are taken off, until one is left, on a triangle of 15 holes or a cross of 33.

Made backwards from one peg. The expert plays the jumps of that in order. After another jump it jumps at
random: no short search can tell whether there still is a way.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

TRIANGLE = [(row, col) for row in range(5) for col in range(row + 1)]
CROSS = [(row, col) for row in range(7) for col in range(7) if row in (2, 3, 4) or col in (2, 3, 4)]
BOARDS = (TRIANGLE, TRIANGLE, CROSS)
ALONG_ROWS_AND_COLUMNS = ((0, 1), (0, -1), (1, 0), (-1, 0))
ALONG_THE_TRIANGLE = (*ALONG_ROWS_AND_COLUMNS, (1, 1), (-1, -1))
HOLES, SIDE = len(CROSS), 9
FEWEST = np.array([4, 7, 10], np.int32)  # jumps
MOST_JUMPS = np.array([6, 9, 14], np.int32)
MOST = int(MOST_JUMPS.max())


def _jumps(board: list[tuple[int, int]], ways: tuple[tuple[int, int], ...]) -> list[tuple[int, int, int]]:
    """Holes from which, over which and into which a peg may jump."""
    at = {hole: number for number, hole in enumerate(board)}
    lines = [[(r + n * dr, c + n * dc) for n in range(3)] for r, c in board for dr, dc in ways]
    return [(at[a], at[b], at[c]) for a, b, c in lines if b in at and c in at]


def _picture(board: list[tuple[int, int]]) -> np.ndarray:
    """int32[9, 9]: where each hole is drawn, counted from 1; the rows of the triangle are set off."""
    places = np.zeros((SIDE, SIDE), np.int32)
    for number, (row, col) in enumerate(board):
        places[(row, col) if board is CROSS else (2 * row, 4 - row + 2 * col)] = number + 1
    return places


_TABLES = [
    _jumps(board, ALONG_ROWS_AND_COLUMNS if board is CROSS else ALONG_THE_TRIANGLE) for board in BOARDS
]
WIDTH = max(map(len, _TABLES))
# By scale; a jump from a hole into itself, with which the tables are filled up, is never possible.
JUMPS = np.array([table + [(0, 0, 0)] * (WIDTH - len(table)) for table in _TABLES], np.int32)
PLACES = np.stack([_picture(board) for board in BOARDS])
COUNTS = np.array([len(board) for board in BOARDS], np.int32)
SIDES = np.array([9, 9, 7], np.int32)


@struct.dataclass
class Pegs:
    pegs: jax.Array  # bool[33]
    way: jax.Array  # int8[14], of JUMPS, the next one at `depth` - 1
    depth: jax.Array  # int32[], 0 after a jump that is not of the way
    scale: jax.Array  # int32[]


class PegSolitaire(TileEnvironment):
    id = "peg_solitaire"
    family = "planning"
    abilities = ("index_cell", "search_lookahead", "detect_deadlock", "predict_move_effect", "format_move")
    grammar = Numbers(2, HOLES)
    task = "Jump until one peg is left. Answer from which hole into which: <answer>4 1</answer>."
    rules = "A yellow peg jumps in a line over a neighbour into the empty hole behind; that one is taken off."
    max_turns: ClassVar[tuple[int, ...]] = (8, 12, 18)
    hidden = ("way", "depth")
    tileset = (
        "plain:wood",
        *(f"plain:wood {kind}:{number + 1}" for kind in ("hollow", "pegged") for number in range(HOLES)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Pegs:
        last_key, count_key, jump_key = jax.random.split(key, 3)
        last = jax.random.randint(last_key, (), 0, jnp.asarray(COUNTS)[scale])
        fewest, most = jnp.asarray(FEWEST)[scale], jnp.asarray(MOST_JUMPS)[scale]
        count = jax.random.randint(count_key, (), fewest, most + 1)
        start, over, end = jnp.asarray(JUMPS)[scale].T

        def take_back(state: Pegs, noise: jax.Array) -> tuple[Pegs, None]:
            possible = ~state.pegs[start] & ~state.pegs[over] & state.pegs[end]
            jump = jnp.where(possible, noise, -1.0).argmax()
            pegs = state.pegs.at[jnp.stack([start[jump], over[jump]])].set(True).at[end[jump]].set(False)
            way = state.way.at[state.depth].set(jump.astype(jnp.int8))
            goes = possible.any() & (state.depth < count)
            back = replace(state, pegs=pegs, way=way, depth=state.depth + 1)
            return jax.tree.map(lambda new, old: jnp.where(goes, new, old), back, state), None

        one = Pegs(jnp.arange(HOLES) == last, jnp.full(MOST, -1, jnp.int8), jnp.int32(0), scale)
        noise = jax.random.uniform(jump_key, (MOST * WIDTH,)).reshape(MOST, WIDTH)
        return jax.lax.scan(take_back, one, noise)[0]

    def legal(self, state: Pegs, action: jax.Array) -> jax.Array:
        """A jump that is possible now."""
        return _possible(state)[_index(state, action)] & _is_jump(state, action).any()

    def transition(self, key: jax.Array, state: Pegs, action: jax.Array) -> tuple[Pegs, jax.Array, jax.Array]:
        jump = _index(state, action)
        after = _jumped(state, jump)
        after = replace(after, depth=jnp.where(_follows(state, jump), state.depth - 1, 0))
        solved = after.pegs.sum() == 1
        return after, solved.astype(jnp.float32), solved | ~_possible(after).any()

    def symbolic(self, state: Pegs) -> jax.Array:
        place = jnp.asarray(PLACES)[state.scale]
        pegged = (place > 0) & state.pegs[jnp.maximum(place - 1, 0)]
        return (place + HOLES * pegged).astype(jnp.uint8)

    def extent(self, state: Pegs) -> tuple[jax.Array, jax.Array]:
        side = jnp.asarray(SIDES)[state.scale]
        return side, side

    def describe(self, state: Pegs) -> Texts:
        words = (".", *(f"({number + 1})" for number in range(HOLES)), *map(str, range(1, HOLES + 1)))
        side = jnp.asarray(SIDES)[state.scale]
        board = text.grid(self.symbolic(state), words, side, side)
        facts = text.concat(
            text.number(state.pegs.sum(), 2),
            text.encode(" pegs, holes without one in brackets, jumps possible: "),
            text.number(_possible(state).sum(), 2),
        )
        start, _, _ = jnp.asarray(JUMPS)[state.scale, _next(state)]
        hint = text.concat(
            text.encode("the peg in hole "), text.number(start + 1, 2), text.encode(" can jump")
        )
        return Texts(board, facts, text.when(state.depth > 0, hint))

    def exercised(self, state: Pegs, action: jax.Array, after: Pegs) -> dict[str, jax.Array]:
        possible, jump = _possible(state), _index(state, action)
        stuck = jax.vmap(lambda jump: ~_possible(_jumped(state, jump)).any())(jnp.arange(WIDTH))
        dead = possible & stuck & (state.pegs.sum() > 2)
        return {
            # Along a row the numbers could be counted on.
            "index_cell": jnp.abs(action[1] - action[0]) > 2,
            "search_lookahead": _follows(state, jump) | (after.pegs.sum() == 1),
            "detect_deadlock": dead.any() & ~dead[jump],
            "predict_move_effect": _possible(after).sum() >= possible.sum(),
        }

    def expert(self, key: jax.Array, state: Pegs) -> jax.Array:
        any_jump = jnp.where(_possible(state), jax.random.uniform(key, (WIDTH,)), -1.0).argmax()
        jump = jnp.where(state.depth > 0, _next(state), any_jump)
        start, _, end = jnp.asarray(JUMPS)[state.scale, jump]
        return jnp.stack([start, end]) + 1


def _next(state: Pegs) -> jax.Array:
    """int8[]: the next jump of the way, if any is left."""
    return state.way[jnp.maximum(state.depth - 1, 0)]


def _follows(state: Pegs, jump: jax.Array) -> jax.Array:
    return (state.depth > 0) & (jump == _next(state))


def _jumped(state: Pegs, jump: jax.Array) -> Pegs:
    """The pegs after a jump."""
    start, over, end = jnp.asarray(JUMPS)[state.scale, jump]
    return replace(state, pegs=state.pegs.at[jnp.stack([start, over])].set(False).at[end].set(True))


def _possible(state: Pegs) -> jax.Array:
    """bool[76]: the jumps that can be made."""
    start, over, end = jnp.asarray(JUMPS)[state.scale].T
    return state.pegs[start] & state.pegs[over] & ~state.pegs[end]


def _is_jump(state: Pegs, action: jax.Array) -> jax.Array:
    """bool[76]: the jumps from the first hole int32[2] of an answer into the second."""
    return (jnp.asarray(JUMPS)[state.scale][:, ::2] == action - 1).all(1)


def _index(state: Pegs, action: jax.Array) -> jax.Array:
    return _is_jump(state, action).argmax()
