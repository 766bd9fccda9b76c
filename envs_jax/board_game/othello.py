"""Othello: the last moves of a game. End with as many discs as can be forced; the opponent replies to each.

A random game is played until few cells are empty. From there all ways to the end are searched, so the number
of discs that you can force is exact; it is the target, and who plays best reaches it against anybody.
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
from jaxenv.scoring import score

SIDE, CELLS = 8, 64
SIDES = np.array([4, 6, 8], np.int32)
EMPTIES = np.array([4, 5, 5], np.int32)  # cells at the start
MOST = 5  # of them
PLIES = 120  # enough to begin a game anew that ends too early
RANDOM, GREEDY, PERFECT = range(3)  # the opponent by scale
YOU, OTHER = 1, -1
BLANK, SIGN, NUMBER = 3, 4, 5  # tiles of the header, after those of the cells


def _lines() -> np.ndarray:
    """int32[65, 8, 7]: the cells that lie in each direction from each cell; 64 is no cell."""
    away = np.arange(1, SIDE)
    steps = np.array([step for step in np.ndindex(3, 3) if step != (1, 1)]) - 1
    cell = np.indices((SIDE, SIDE)).reshape(2, CELLS, 1, 1) + steps.T[:, None, :, None] * away
    inside = ((cell >= 0) & (cell < SIDE)).all(0)
    lines = np.where(inside, cell[0] * SIDE + cell[1], CELLS)
    return np.concatenate([lines, np.full_like(lines[:1], CELLS)]).astype(np.int32)


LINES = _lines()


@struct.dataclass
class Discs:
    board: jax.Array  # int8[8, 8], 1 yours, -1 theirs, 0 empty or outside
    target: jax.Array  # int32[], discs
    scale: jax.Array  # int32[]


class Othello(TileEnvironment):
    id = "othello"
    family = "board_game"
    abilities = (
        "recognise_colour",
        "predict_move_effect",
        "cast_line_of_sight",
        "search_adversarial",
        "check_legality",
        "format_move",
    )
    grammar = Coordinates(SIDE, SIDE)
    task = (
        "Othello, you are black: end the game with at least the number of discs on top. "
        "Answer row and column of your next disc: <answer>2 3</answer>."
    )
    rules = (
        "A disc turns over the white ones in lines between it and your others, and must turn one at least. "
        "Who cannot move passes. The game ends when nobody can move."
    )
    max_turns: ClassVar[tuple[int, ...]] = tuple(EMPTIES.tolist())
    tileset = (
        "baize",
        "baize stone:black",
        "baize stone:white",
        "header",
        "header stone:black",
        *(f"header glyph:{count}" for count in range(CELLS + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Discs:
        side, empties = jnp.asarray(SIDES)[scale], jnp.asarray(EMPTIES)[scale]
        inside = grids.inside(SIDE, side).reshape(-1)
        noise = grids.noise(key, (PLIES, CELLS))
        row, col = np.divmod(np.arange(CELLS), SIDE)
        in_middle = (jnp.abs(2 * row + 1 - side) < 2) & (jnp.abs(2 * col + 1 - side) < 2)
        opening = _flat(jnp.where(in_middle, jnp.where(row == col, OTHER, YOU), 0))

        def play(carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            ply, _, board, mover = carry
            cells = _free(board, inside)
            mover, turned = _turns(board, mover, cells)
            legal = turned.any((1, 2))
            ready = ((cells < CELLS).sum() <= empties) & legal.any()
            cell = jnp.where(legal, noise[ply], -1.0).argmax().astype(jnp.int32)
            moved = _put(board, mover, cell, turned[cell])
            board = jnp.where(ready, board, jnp.where(legal.any(), moved, opening))
            return ply + 1, ready, board, jnp.where(ready, mover, jnp.where(legal.any(), -mover, YOU))

        start = jnp.int32(0), jnp.bool_(False), opening, jnp.int32(YOU)
        goes_on = lambda carry: (carry[0] < PLIES) & ~carry[1]  # noqa: E731
        _, ready, board, mover = jax.lax.while_loop(goes_on, play, start)
        # The simplest end in the unlikely case that every game ended too early: one disc to turn.
        simplest = _flat(jnp.where(inside, YOU, 0)).at[1].set(OTHER).at[2].set(0)
        board = jnp.where(ready, board * mover, simplest).astype(jnp.int8)
        discs, legal = _outcomes(board, jnp.int32(YOU), _last(board, inside))
        target = jnp.where(legal, discs, 0).max()
        return Discs(board[:CELLS].reshape(SIDE, SIDE), target, scale)

    def legal(self, state: Discs, action: jax.Array) -> jax.Array:
        """An empty cell where a disc turns over others."""
        inside = (action < jnp.asarray(SIDES)[state.scale]).all()
        turned = _turned(_flat(state.board), jnp.int32(YOU), _cell(action)[None])
        return inside & (state.board[action[0], action[1]] == 0) & turned.any()

    def transition(
        self, key: jax.Array, state: Discs, action: jax.Array
    ) -> tuple[Discs, jax.Array, jax.Array]:
        inside, cell = _inside(state), _cell(action)
        board = _flat(state.board)
        board = _put(board, jnp.int32(YOU), cell, _turned(board, jnp.int32(YOU), cell[None])[0])

        def replies(carry: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
            _, board, mover = carry
            mover, turned = _turns(board, mover, _last(board, inside))
            return (mover == OTHER) & turned.any()

        def reply(carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            key, board, _ = carry
            key, choice = jax.random.split(key)
            cells = _last(board, inside)
            turned = _turned(board, jnp.int32(OTHER), cells)
            discs, legal = _outcomes(board, jnp.int32(OTHER), cells)
            worth = jnp.where(state.scale == PERFECT, -discs, turned.sum((1, 2)))
            worth = jnp.where(legal, jnp.where(state.scale == RANDOM, 0, worth), -CELLS - 1)
            best = grids.random_argmin(choice, -worth)
            return key, _put(board, jnp.int32(OTHER), cells[best], turned[best]), jnp.int32(YOU)

        _, board, mover = jax.lax.while_loop(replies, reply, (key, board, jnp.int32(OTHER)))
        over = ~_turns(board, mover, _last(board, inside))[1].any()
        discs = (board == YOU).sum()
        paid = score(discs >= state.target, discs / state.target)
        after = replace(state, board=board[:CELLS].reshape(SIDE, SIDE))
        return after, jnp.where(over, paid, 0.0), over

    def symbolic(self, state: Discs) -> jax.Array:
        header = jnp.full((1, SIDE), BLANK).at[0, 0].set(SIGN).at[0, 1].set(NUMBER + state.target)
        return jnp.concatenate([header, state.board % 3]).astype(jnp.uint8)

    def extent(self, state: Discs) -> tuple[jax.Array, jax.Array]:
        side = jnp.asarray(SIDES)[state.scale]
        return side + 1, side

    def describe(self, state: Discs) -> Texts:
        side = jnp.asarray(SIDES)[state.scale]
        board = text.grid(self.symbolic(state)[1:], (".", "B", "W"), side, side)
        counts = [text.number((state.board == owner).sum(), 2) for owner in (YOU, OTHER)]
        facts = text.concat(
            text.encode("you are B with "),
            counts[0],
            text.encode(" discs, W has "),
            counts[1],
            text.encode(", the target is "),
            text.number(state.target, 2),
        )
        flat = _flat(state.board)
        discs, legal = _outcomes(flat, jnp.int32(YOU), _last(flat, _inside(state)))
        hint = text.concat(
            text.number((legal & (discs >= state.target)).sum(), 1),
            text.encode(" of your "),
            text.number(legal.sum(), 1),
            text.encode(" moves can reach the target"),
        )
        return Texts(board, facts, hint)

    def exercised(self, state: Discs, action: jax.Array, after: Discs) -> dict[str, jax.Array]:
        flat = _flat(state.board)
        cells = _last(flat, _inside(state))
        discs, legal = _outcomes(flat, jnp.int32(YOU), cells)
        turned = _turned(flat, jnp.int32(YOU), cells)
        at = (cells == _cell(action)).argmax()

        def best(worth: jax.Array) -> jax.Array:
            """No move has more of it than this one, and some have less."""
            return ~(legal & (worth > worth[at])).any() & (legal & (worth < worth[at])).any()

        return {
            # In half of the empty cells the colours allow no move.
            "recognise_colour": 2 * legal.sum() <= (cells < CELLS).sum(),
            "predict_move_effect": best(turned.sum((1, 2))),
            "cast_line_of_sight": turned[at].any(1).sum() > 1,
            "search_adversarial": best(discs),
        }

    def expert(self, key: jax.Array, state: Discs) -> jax.Array:
        flat = _flat(state.board)
        cells = _last(flat, _inside(state))
        discs, legal = _outcomes(flat, jnp.int32(YOU), cells)
        best = cells[grids.random_argmin(key, jnp.where(legal, -discs, 1))]
        return jnp.stack(jnp.divmod(jnp.minimum(best, CELLS - 1), SIDE)).astype(jnp.int32)


def _flat(board: jax.Array) -> jax.Array:
    """int8[65]: the cells in a row, then an empty one that is on no board."""
    return jnp.pad(board.reshape(-1), (0, 1)).astype(jnp.int8)


def _cell(action: jax.Array) -> jax.Array:
    return action[0] * SIDE + action[1]


def _inside(state: Discs) -> jax.Array:
    return grids.inside(SIDE, jnp.asarray(SIDES)[state.scale]).reshape(-1)


def _free(board: jax.Array, inside: jax.Array) -> jax.Array:
    """int32[64]: each cell if it is empty and inside bool[64], else CELLS."""
    return jnp.where(inside & (board[:CELLS] == 0), np.arange(CELLS), CELLS).astype(jnp.int32)


def _last(board: jax.Array, inside: jax.Array) -> jax.Array:
    """int32[5]: the empty cells of a game that is near its end, then CELLS."""
    return -jax.lax.top_k(-_free(board, inside), MOST)[0]


def _turned(board: jax.Array, mover: jax.Array, cells: jax.Array) -> jax.Array:
    """bool[K, 8, 7]: what a disc of the mover at each of cells int32[K] turns over, along LINES."""
    seen = board[jnp.asarray(LINES)[cells]] * mover
    away = np.arange(SIDE - 1)
    # As many of the other's discs in a row as there are before anything else comes.
    length = (seen != -1).argmax(-1)[..., None]
    closed = ((seen == 1) & (away == length)).any(-1, keepdims=True)
    return closed & (away < length)


def _turns(board: jax.Array, mover: jax.Array, cells: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Who moves, the mover or, if it must pass, the other, and what its discs turn over."""
    own, others = _turned(board, mover, cells), _turned(board, -mover, cells)
    return jnp.where(own.any(), mover, -mover), jnp.where(own.any(), own, others)


def _put(board: jax.Array, mover: jax.Array, cell: jax.Array, turned: jax.Array) -> jax.Array:
    """The board int8[65] after a disc at a cell that turns over bool[8, 7]."""
    change = jnp.where(turned, 2 * mover, 0).astype(jnp.int8)
    return board.at[jnp.asarray(LINES)[cell]].add(change).at[cell].set(mover.astype(jnp.int8))


def _outcomes(board: jax.Array, mover: jax.Array, cells: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Your discs int32[5] at the end of the game after each of the mover's moves, with best play by both, and
    whether the move may be made."""
    positions, movers, left = board[None], mover[None], cells[None]
    levels = []
    for count in range(MOST, 0, -1):
        movers, turned = jax.vmap(_turns)(positions, movers, left)
        levels.append((movers, turned.any((2, 3)), (positions == YOU).sum(-1)))
        after = jax.vmap(jax.vmap(_put, (None, None, 0, 0)))(positions, movers, left, turned)
        positions = after.reshape(-1, CELLS + 1)
        movers = -jnp.repeat(movers, count)
        rest = np.array([[other for other in range(count) if other != at] for at in range(count)], np.int32)
        left = left[:, rest].reshape(len(positions), count - 1)
    discs = (positions == YOU).sum(-1)
    for movers, legal, now in reversed(levels[1:]):
        each = discs.reshape(legal.shape)
        most, least = jnp.where(legal, each, -1).max(1), jnp.where(legal, each, CELLS + 1).min(1)
        discs = jnp.where(legal.any(1), jnp.where(movers == YOU, most, least), now)
    return discs.astype(jnp.int32), levels[0][1][0]
