"""Open every cell without a mine; a number counts the mines in the eight cells around it.

The field begins with a cell opened whose block of 3 x 3 has no mine. Opening a cell without mines around it
opens those around it too, and so on.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Coordinates, Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.text import Text

SIDE = 10
SIDES = np.array([5, 8, 10], np.int32)
MINES = np.array([3, 8, 14], np.int32)
COVERED, FLAG, MINE = 9, 10, 11  # 0..8 are open cells with so many mines around
VERBS = ("open", "flag")
OPEN, MARK = range(2)
# BAND @ cells @ BAND adds up the 3 x 3 block around each cell.
BAND = (np.abs(np.subtract.outer(np.arange(SIDE), np.arange(SIDE))) <= 1).astype(np.int32)
AROUND = np.kron(BAND, BAND) - np.eye(SIDE * SIDE, dtype=np.int32)
FLOOD = SIDE * SIDE // 2
CLUES = 40  # numbers that the expert looks at
ROUNDS = 2  # of its deductions


@dataclass(frozen=True)
class VerbAt:
    """A verb with row and column, `open 2 3`; the action is int32[3]: index of the verb, row and column
    counted from 0."""

    verb: Word
    place: Coordinates

    @property
    def capacity(self) -> int:
        return self.verb.capacity + 1 + self.place.capacity

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        letter = (answer.data | 32 >= ord("a")) & (answer.data | 32 <= ord("z"))
        blank = np.uint8(ord(" "))
        words = replace(answer, data=jnp.where(letter, answer.data, blank))
        numbers = replace(answer, data=jnp.where(letter, blank, answer.data))
        verb, known = self.verb.parse(words)
        place, inside = self.place.parse(numbers)
        return jnp.concatenate([verb[None], place]), known & inside

    def format(self, action: jax.Array) -> Text:
        return text.concat(self.verb.format(action[0]), text.encode(" "), self.place.format(action[1:]))

    def sample(self, key: jax.Array) -> jax.Array:
        verb, place = jax.random.split(key)
        return jnp.concatenate([self.verb.sample(verb)[None], self.place.sample(place)])


@struct.dataclass
class Field:
    board: jax.Array  # int8[10, 10], what is seen of each cell; COVERED outside
    mines: jax.Array  # bool[10, 10]
    side: jax.Array  # int32[]


class Minesweeper(TileEnvironment):
    id = "minesweeper"
    family = "grid_logic"
    abilities = (
        "read_digit",
        "track_hidden_state",
        "propagate_constraints",
        "estimate_probability",
        "format_move",
        "deduce_logic",
    )
    grammar = VerbAt(Word(VERBS), Coordinates(SIDE, SIDE))
    task = (
        "Open all cells without a mine. "
        "Answer a row and column to open or to flag: <answer>open 2 3</answer> or <answer>flag 2 3</answer>."
    )
    rules = (
        "A number counts the mines in the 8 cells around it. Opening a mine ends the game. "
        "A flag bars a cell from being opened; flag it again to take it off."
    )
    max_turns: ClassVar[tuple[int, ...]] = (18, 40, 60)
    hidden = ("mines",)
    tileset = (
        "paper",
        *(f"paper number:{count}" for count in range(1, 9)),
        "covered",
        "covered flag",
        "mine",
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Field:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (3, SIDE, SIDE))
        cells = grids.inside(SIDE, side)
        first = grids.mask_at(SIDE, grids.pick(noise[0], cells, 1)[0])
        mines = grids.pick_mask(noise[1], cells & ~_spread(first), jnp.asarray(MINES)[scale])
        board = _opened(jnp.full((SIDE, SIDE), COVERED, jnp.int8), mines, cells, first)
        # An opening that leaves nothing to do keeps one of its numbers covered.
        last = grids.mask_at(SIDE, grids.pick(noise[2], (board > 0) & (board < COVERED), 1)[0])
        board = jnp.where(_cleared(board, mines, cells) & last, COVERED, board).astype(jnp.int8)
        return Field(board, mines, side)

    def legal(self, state: Field, action: jax.Array) -> jax.Array:
        """Covered cells may be opened or flagged; a flag may be taken off."""
        verb, row, col = action
        seen = state.board[row, col]
        inside = (action[1:] < state.side).all()
        return inside & ((seen == COVERED) | (verb == MARK) & (seen == FLAG))

    def transition(
        self, key: jax.Array, state: Field, action: jax.Array
    ) -> tuple[Field, jax.Array, jax.Array]:
        cells = grids.inside(SIDE, state.side)
        here = grids.mask_at(SIDE, action[1:])
        flagged = jnp.where(here, COVERED + FLAG - state.board, state.board)
        hit = (action[0] == OPEN) & (here & state.mines).any()
        opened = _opened(state.board, state.mines, cells, here)
        opened = jnp.where(hit, jnp.where(here, MINE, state.board), opened)
        board = jnp.where(action[0] == OPEN, opened, flagged).astype(jnp.int8)
        won = _cleared(board, state.mines, cells)
        return replace(state, board=board), won.astype(jnp.float32), won | hit

    def symbolic(self, state: Field) -> jax.Array:
        return state.board.astype(jnp.uint8)

    def extent(self, state: Field) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Field) -> Texts:
        words = (*"012345678", "#", "F", "*")
        board = text.grid(state.board, words, state.side, state.side, between="")
        count = text.concat(
            text.number(state.mines.sum(), 2),
            text.encode(" mines, "),
            text.number((state.board == FLAG).sum(), 2),
            text.encode(" flags"),
        )
        left = grids.inside(SIDE, state.side) & ~state.mines & (state.board >= COVERED)
        hint = text.concat(
            text.number(left.sum(), 2),
            text.encode(" cells are safe to open, the first in row "),
            text.number(left.any(1).argmax() + 1, 2),
        )
        return Texts(board, count, hint)

    def exercised(self, state: Field, action: jax.Array, after: Field) -> dict[str, jax.Array]:
        here = grids.mask_at(SIDE, action[1:])
        at = lambda cells: (here & cells).any()  # noqa: E731
        mines, safe = _deduced(state.board, state.side)
        closed = (state.board >= COVERED) & grids.inside(SIDE, state.side)
        flags = at(after.board == FLAG)
        proven = at(jnp.where(flags, mines, safe))
        # By one number: all that is closed around it, or none but the known mines.
        full = _block(jnp.where(flags, closed, mines)) == state.board
        alone = at(_spread(_clues(state.board) & full))
        return {
            "read_digit": proven & alone,
            "track_hidden_state": proven & at(_spread(mines)),
            "propagate_constraints": proven,
            "estimate_probability": (action[0] == OPEN) & ~safe.any() & at(_best_guesses(state, mines)),
            "deduce_logic": proven & ~alone,
        }

    def expert(self, key: jax.Array, state: Field) -> jax.Array:
        """Opens a cell that the numbers prove safe; where none is, makes a guess that comes out well."""
        closed = (state.board >= COVERED) & grids.inside(SIDE, state.side) & ~state.mines
        proven = closed & safe_cells(state.board, state.side)
        choice = jnp.where(proven.any(), proven, closed)
        noise = grids.noise(key, (SIDE, SIDE))
        cell = grids.pick(noise, choice, 1)[0]
        verb = jnp.where(state.board[cell[0], cell[1]] == FLAG, MARK, OPEN)
        return jnp.concatenate([verb[None], cell]).astype(jnp.int32)


def _block(cells: jax.Array) -> jax.Array:
    """int32[10, 10]: how many of the cells bool[10, 10] are in the 3 x 3 block around each."""
    band = jnp.asarray(BAND)
    return band @ cells.astype(jnp.int32) @ band


def _spread(cells: jax.Array) -> jax.Array:
    return _block(cells) > 0


def _opened(board: jax.Array, mines: jax.Array, cells: jax.Array, here: jax.Array) -> jax.Array:
    """int8[10, 10]: the board after opening the cell `here` bool[10, 10], which holds no mine."""
    counts = _block(mines)
    wide = cells & (counts == 0)

    def spread(_: int, opened: jax.Array) -> jax.Array:
        return opened | cells & _spread(opened & wide)

    opened = jax.lax.fori_loop(0, FLOOD, spread, here)
    return jnp.where(opened, counts, board).astype(jnp.int8)


def _cleared(board: jax.Array, mines: jax.Array, cells: jax.Array) -> jax.Array:
    return (~cells | mines | (board < COVERED)).all()


def _clues(board: jax.Array) -> jax.Array:
    return (board > 0) & (board < COVERED)


def _best_guesses(state: Field, mines: jax.Array) -> jax.Array:
    """bool[10, 10]: the covered cells of least risk, where the cells bool[10, 10] are known to be mines. The
    risk is the share of mines that a number around leaves, the largest one; or that of the whole field."""
    closed = (state.board >= COVERED) & grids.inside(SIDE, state.side) & ~mines
    clues = _clues(state.board)
    share = jnp.where(clues, (state.board - _block(mines)) / jnp.maximum(_block(closed), 1), 0.0)
    near = jnp.where(jnp.asarray(AROUND) > 0, share.reshape(-1), 0.0).max(1).reshape(SIDE, SIDE)
    anywhere = (state.mines.sum() - mines.sum()) / jnp.maximum(closed.sum(), 1)
    risk = jnp.where(_spread(clues), near, anywhere)
    return closed & (risk <= jnp.where(closed, risk, 1.0).min() + 1e-5)


def safe_cells(board: jax.Array, side: jax.Array) -> jax.Array:
    """bool[10, 10]: covered cells that single numbers and pairs of numbers prove to be safe."""
    return _deduced(board, side)[1]


def _deduced(board: jax.Array, side: jax.Array) -> tuple[jax.Array, jax.Array]:
    """bool[10, 10] twice: covered cells that single numbers and pairs of numbers prove to be mines, and safe.

    When b asks for as many mines more than a as it has cells that a has not, those are all mines, and the
    cells that a has and b has not are safe. With nothing as a or b, that is the rule of a single number.
    """
    closed = (board >= COVERED) & grids.inside(SIDE, side)
    numbers = jnp.where(board < COVERED, board, 0).reshape(-1).astype(jnp.float32)
    clues = (numbers > 0) & (_block(closed) > 0).reshape(-1)
    found, at = jax.lax.top_k(clues.astype(jnp.float32), CLUES)
    around = jnp.asarray(AROUND, jnp.float32)[at] * found[:, None]
    around = jnp.pad(around, ((0, 1), (0, 0)))  # nothing
    asked = jnp.pad(numbers[at] * found, (0, 1))

    def deduce(_: int, known: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        mines, safe = known
        cells = around * (closed.reshape(-1) & ~mines & ~safe)
        left = asked - around @ mines.astype(jnp.float32)
        beyond = cells.sum(1)[:, None] - cells @ cells.T
        forced = (left[:, None] - left == beyond).astype(jnp.float32)
        mines |= (cells * (forced @ (1 - cells)) > 0).any(0)
        safe |= (cells * (forced.T @ (1 - cells)) > 0).any(0)
        return mines, safe

    nothing = jnp.zeros(SIDE * SIDE, bool)
    mines, safe = jax.lax.fori_loop(0, ROUNDS, deduce, (nothing, nothing))
    return mines.reshape(SIDE, SIDE), safe.reshape(SIDE, SIDE)
