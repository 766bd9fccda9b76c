"""Two players put stones in turn until one has a whole line of them. You move, the opponent replies.

All play is by threats, the cells that complete a line. A move that makes two of them, or leaves another one
when the first is answered, has won. How far an opponent sees is a number: nothing, its own wins, yours too,
its forced wins too. A game starts from some random moves. Where the opponent is wary it goes on, you playing
well and the opponent carelessly, until you can force a win; of several such openings one is taken, without a
win at once if possible.
"""

import abc
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

EMPTY, YOURS, THEIRS = range(3)
# The outlook of a move, from worst to best, and the sight that it takes to see it.
UNPLAYABLE, LOSES, QUIET, FORCES, WINS = range(5)
SIGHT_NEEDED = np.array([0, 2, 0, 3, 1], np.int32)
OPENINGS, ROUNDS = 6, 8
# How much the opponent minds your threats in an opening, where 1 is all that chance can do.
CARE = 0.5


@struct.dataclass
class Stones:
    board: jax.Array  # int8[R, C]
    scale: jax.Array  # int32[]


def lines(shape: tuple[int, int], rows: int, cols: int, length: int) -> np.ndarray:
    """float32[n, R * C]: the lines of `length` cells on the top-left rows x cols of a board of this shape."""
    found = []
    for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for row, col in np.ndindex(rows, cols):
            cells = np.array([(row + down * i, col + across * i) for i in range(length)])
            if ((cells >= 0) & (cells < (rows, cols))).all():
                line = np.zeros(shape, np.float32)
                line[tuple(cells.T)] = 1
                found.append(line.reshape(-1))
    return np.stack(found)


class InARow(TileEnvironment):
    """The game on the boards of `sides`; a game says where a move's stone comes to lie."""

    sides: ClassVar[tuple[tuple[int, int], ...]]  # rows and columns by scale
    goal: ClassVar[tuple[int, ...]]  # stones in a line by scale
    sight: ClassVar[tuple[int, ...]]  # of the opponent, by scale
    opening: ClassVar[tuple[int, ...]]  # most random rounds at the start, by scale; fewer than `goal` - 1
    forced: ClassVar[tuple[bool, ...]]  # whether a win can be forced from the start, by scale
    lines: ClassVar[np.ndarray]  # float32[n, R * C] of all scales; those of a length other than `goal` rest
    shape: ClassVar[tuple[int, int]]
    names: ClassVar[tuple[str, str]]  # of your stones and theirs in words

    @abc.abstractmethod
    def moves(self, free: jax.Array) -> jax.Array:
        """bool[A, R * C]: the cell, of the free ones bool[R * C], that each move fills; none if it cannot."""

    @abc.abstractmethod
    def index(self, action: jax.Array) -> jax.Array:
        """int32[]: the row of `moves` for an action."""

    @abc.abstractmethod
    def action(self, index: jax.Array) -> jax.Array:
        """The action of a row of `moves`."""

    def generate(self, key: jax.Array, scale: jax.Array) -> Stones:
        first, order = jax.random.split(key)
        shape = OPENINGS, ROUNDS, 2, self.shape[0] * self.shape[1]
        noise = grids.noise(order, shape)
        opens, share = jax.random.uniform(first, (2,))
        rounds = (share * (jnp.asarray(self.opening)[scale] + 1)).astype(jnp.int32)
        states = jax.vmap(self._open, (0, None, None, None))(noise, rounds, opens < 0.5, scale)
        best = jax.vmap(self._prospect)(states)
        rank = jnp.where(best == FORCES, 2, best == WINS)
        # The simplest won game in the unlikely case that no opening led to one: one row on another.
        row, col = jnp.indices(self.shape)
        above = jnp.asarray(self.sides)[scale, 0] - 1 - row
        near = col < jnp.asarray(self.goal)[scale] - 1
        simplest = jnp.where(near & (above == 0), YOURS, jnp.where(near & (above == 1), THEIRS, EMPTY))
        lacks = jnp.asarray(self.forced)[scale] & (rank.max() == 0)
        board = jnp.where(lacks, simplest, states.board[rank.argmax()])
        return Stones(board.astype(jnp.int8), scale)

    def legal(self, state: Stones, action: jax.Array) -> jax.Array:
        """There is room for the stone."""
        return self._cell(state, action).any()

    def transition(
        self, key: jax.Array, state: Stones, action: jax.Array
    ) -> tuple[Stones, jax.Array, jax.Array]:
        moved = self._put(state, self._cell(state, action), YOURS)
        won = self._has_line(moved, YOURS)
        cells = self.moves(self._free(moved))
        seen = self._outlook(*self._sides(moved, THEIRS), state.scale)
        sight = jnp.asarray(self.sight)[state.scale]
        seen = jnp.where(jnp.asarray(SIGHT_NEEDED)[seen] <= sight, seen, QUIET)
        reply = jnp.where(seen == seen.max(), jax.random.uniform(key, seen.shape), -1.0).argmax()
        after = self._put(moved, cells[reply] & ~won, THEIRS)
        lost, full = self._has_line(after, THEIRS), ~self._free(after).any()
        return after, score(won, (full & ~lost).astype(jnp.float32)), won | lost | full

    def extent(self, state: Stones) -> tuple[jax.Array, jax.Array]:
        rows, cols = jnp.asarray(self.sides, jnp.int32)[state.scale]
        return rows, cols

    def describe(self, state: Stones) -> Texts:
        rows, cols = jnp.asarray(self.sides)[state.scale]
        mine, other = self.names
        board = text.grid(state.board, (".", mine, other), rows, cols)
        facts = text.concat(
            text.encode(f"you are {mine}, "),
            text.number(jnp.asarray(self.goal)[state.scale], 1),
            text.encode(" in a row win"),
        )
        yours, theirs, free = self._sides(state, YOURS)
        reach = self.moves(free).any(0)
        winning = (reach & self._due(yours, theirs, state.scale)[0]).any()
        losing = (reach & self._due(theirs, yours, state.scale)[0]).any()
        hints = ("nobody can win at once", f"{other} is about to win", "you can win at once")
        return Texts(board, facts, text.choose(jnp.where(winning, 2, losing.astype(jnp.int32)), hints))

    def exercised(self, state: Stones, action: jax.Array, after: Stones) -> dict[str, jax.Array]:
        """Those of all these games; a game adds its own."""
        outlook = self._outlook(*self._sides(state, YOURS), state.scale)
        chosen = outlook[self.index(action)]
        worst = jnp.where(outlook > UNPLAYABLE, outlook, WINS).min()
        return {
            "search_adversarial": (chosen == outlook.max()) & (chosen > worst),
            "predict_other_agents": (chosen > LOSES) & (chosen < WINS) & (outlook == LOSES).any(),
        }

    def expert(self, key: jax.Array, state: Stones) -> jax.Array:
        """A move of the best outlook; among those, one in the lines that matter most to either side."""
        sides = self._sides(state, YOURS)
        outlook = self._outlook(*sides, state.scale)
        gain = self.moves(sides[2]) @ self._gain(state) + 0.1 * jax.random.uniform(key, outlook.shape)
        return self.action(jnp.where(outlook == outlook.max(), gain, -1.0).argmax().astype(jnp.int32))

    def _cell(self, state: Stones, action: jax.Array) -> jax.Array:
        """bool[R * C]: the cell that your stone fills; none if it cannot."""
        return self.moves(self._free(state))[self.index(action)]

    def _threats(self, state: Stones, cell: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Whether your stone in the cell of bool[R * C] makes a line that lacks at most one, and whether a
        stone there completes a line of either side."""
        yours, theirs, _ = self._sides(state, YOURS)
        due, pairs = self._due(yours, theirs, state.scale)
        others_due, _ = self._due(theirs, yours, state.scale)
        return (cell & (due | pairs.any(0))).any(), (cell & (due | others_due)).any()

    def _free(self, state: Stones) -> jax.Array:
        """bool[R * C]: the empty cells of the board."""
        row, col = jnp.indices(self.shape)
        rows, cols = jnp.asarray(self.sides)[state.scale]
        return ((state.board == EMPTY) & (row < rows) & (col < cols)).reshape(-1)

    def _sides(self, state: Stones, mover: int) -> tuple[jax.Array, jax.Array, jax.Array]:
        """bool[R * C] each: the stones of the one who moves, of the other, and the free cells."""
        flat = state.board.reshape(-1)
        return flat == mover, flat == YOURS + THEIRS - mover, self._free(state)

    def _put(self, state: Stones, cell: jax.Array, side: jax.Array | int) -> Stones:
        """A stone of the side in the only cell of bool[R * C], if there is one."""
        board = jnp.where(cell.reshape(self.shape), side, state.board)
        return replace(state, board=board.astype(jnp.int8))

    def _in_play(self, scale: jax.Array) -> jax.Array:
        """bool[n]: the lines that win."""
        return self.lines.sum(1) == jnp.asarray(self.goal)[scale]

    def _has_line(self, state: Stones, side: int) -> jax.Array:
        stones = (state.board == side).reshape(-1)
        return ((self.lines @ stones == self.lines.sum(1)) & self._in_play(state.scale)).any()

    def _put_best(self, state: Stones, worth: jax.Array, side: int) -> Stones:
        """A stone in the playable cell of the largest worth float32[R * C], unless that is negative."""
        worth = jnp.where(self.moves(self._free(state)).any(0), worth, -1.0)
        return self._put(state, (worth == worth.max()) & (worth >= 0), side)

    def _open(self, noise: jax.Array, rounds: jax.Array, theirs_first: jax.Array, scale: jax.Array) -> Stones:
        """The board after some random rounds and, where a win must be forced, careless ones until it can be;
        noise float32[ROUNDS, 2, R * C]."""
        forced = jnp.asarray(self.forced)[scale]

        def play(turn: jax.Array, state: Stones) -> Stones:
            prospect = self._prospect(state)
            undecided = (prospect > UNPLAYABLE) & (prospect < FORCES)
            goes = jnp.where(forced, undecided, turn <= rounds)
            yours, theirs = noise[turn]
            yours = jnp.where(turn <= rounds, yours, yours + self._gain(state))
            # The first round is the opponent's alone, if that.
            moved = self._put_best(state, jnp.where(turn > 0, yours, -1.0), YOURS)
            due, _ = self._due(*self._sides(moved, YOURS)[:2], scale)
            theirs = jnp.where((turn > 0) | theirs_first, theirs + CARE * due, -1.0)
            replied = self._put_best(moved, theirs, THEIRS)
            return jax.tree.map(lambda new, old: jnp.where(goes, new, old), replied, state)

        return jax.lax.fori_loop(0, ROUNDS, play, Stones(jnp.zeros(self.shape, jnp.int8), scale))

    def _prospect(self, state: Stones) -> jax.Array:
        """int32[]: the outlook of your best move, UNPLAYABLE when the game is lost."""
        outlook = self._outlook(*self._sides(state, YOURS), state.scale).max()
        return jnp.where(self._has_line(state, THEIRS), UNPLAYABLE, outlook)

    def _gain(self, state: Stones) -> jax.Array:
        """float32[R * C]: the lines through each cell that are open to either side, fuller ones more."""
        yours, theirs, _ = self._sides(state, YOURS)
        own, other = self.lines @ yours, self.lines @ theirs
        worth = jnp.where((own > 0) & (other > 0), 0.0, 4.0 ** jnp.maximum(own, other))
        return jnp.where(self._in_play(state.scale), worth, 0.0) @ self.lines

    def _due(self, mover: jax.Array, other: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The cells that complete a line of the mover, bool[N], and the pairs that do, bool[N, N]."""
        lacking = self.lines.sum(1) - self.lines @ mover
        open_ = (self.lines @ other == 0) & self._in_play(scale)
        one = (open_ & (lacking == 1)) @ self.lines > 0
        two = (self.lines.T * (open_ & (lacking == 2))) @ self.lines > 0
        return one & ~mover, two & ~mover & ~mover[:, None] & ~np.eye(len(mover), dtype=bool)

    def _outlook(self, mover: jax.Array, other: jax.Array, free: jax.Array, scale: jax.Array) -> jax.Array:
        """int32[A]: what comes of each move."""
        cells = self.moves(free)
        due, pairs = self._due(mover, other, scale)
        others_due, _ = self._due(other, mover, scale)

        def after(cell: jax.Array) -> tuple[jax.Array, jax.Array]:
            left = free & ~cell
            reach = self.moves(left).any(0)
            made = (due | (cell @ pairs)) & ~cell
            threats = reach & made
            answer = threats & (jnp.arange(len(cell)) == threats.argmax())
            again = self.moves(left & ~answer).any(0) & made & ~answer
            return (reach & others_due).any(), threats.any() & again.any()

        loses, forces = jax.vmap(after)(cells)
        outlook = jnp.where(loses, LOSES, jnp.where(forces, FORCES, QUIET))
        outlook = jnp.where((cells & due).any(1), WINS, outlook)
        return jnp.where(cells.any(1), outlook, UNPLAYABLE).astype(jnp.int32)
