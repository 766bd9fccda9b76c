"""Move all disks to the green peg, one at a time, never a larger one onto a smaller one.

From every way to stack the disks there is one shortest way to the goal, which the expert takes: a disk that
is not where it should be waits for all smaller ones to go to the third peg.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Coordinates
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

PEGS, MOST = 3, 5
DISKS = np.array([2, 3, 5], np.int32)
# A peg is three tiles wide; the tiles of a disk are its left end, its middle and its right end.
WIDTH = 3
BLANK, ROD, BASE, DISK = 0, 1, 2, 2 + 2 * (PEGS + 1)
ENDS = ("left", "middle", "right")


@struct.dataclass
class Tower:
    peg: jax.Array  # int8[5], of each disk, the smallest first; -1 where there is none
    goal: jax.Array  # int32[], the green peg
    disks: jax.Array  # int32[]


class TowerOfHanoi(TileEnvironment):
    id = "tower_of_hanoi"
    family = "planning"
    abilities = (
        "compare_sort",
        "check_legality",
        "decompose_subgoals",
        "search_lookahead",
        "format_move",
    )
    grammar = Coordinates(PEGS, PEGS)
    task = (
        "Bring all disks to the green peg, one by one. Answer from which peg to which: <answer>1 3</answer>."
    )
    rules = "Only the top disk of a peg moves. A larger disk never lies on a smaller one."
    max_turns: ClassVar[tuple[int, ...]] = (6, 12, 40)
    tileset = (
        "plain:paper",
        "plain:paper rod",
        *(
            f"plain:{ground}{number}"
            for ground in ("wood", "goal")
            for number in ("", *(f" glyph:{peg + 1}" for peg in range(PEGS)))
        ),
        *(f"plain:paper slab:{end}{size + 1}" for size in range(MOST) for end in ENDS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Tower:
        which, goal = jax.random.split(key)
        disks = jnp.asarray(DISKS)[scale]
        # Each stack is a number in base 3 whose digits count from the goal; 0 is the solved one.
        code = jax.random.randint(which, (), 1, PEGS**disks)
        green = jax.random.randint(goal, (), 0, PEGS)
        peg = (code // PEGS ** jnp.arange(MOST) + green) % PEGS
        return Tower(jnp.where(jnp.arange(MOST) < disks, peg, -1).astype(jnp.int8), green, disks)

    def legal(self, state: Tower, action: jax.Array) -> jax.Array:
        """There is a disk to take, and no smaller one where it goes."""
        taken, covered = (_top(state, peg) for peg in action)
        return taken < covered

    def transition(
        self, key: jax.Array, state: Tower, action: jax.Array
    ) -> tuple[Tower, jax.Array, jax.Array]:
        moves = jnp.arange(MOST) == _top(state, action[0])
        peg = jnp.where(moves, action[1], state.peg).astype(jnp.int8)
        solved = ((peg == state.goal) | (peg < 0)).all()
        return replace(state, peg=peg), solved.astype(jnp.float32), solved

    def symbolic(self, state: Tower) -> jax.Array:
        rows, cols = MOST + 2, PEGS * WIDTH
        peg, middle = jnp.arange(cols) // WIDTH, jnp.arange(cols) % WIDTH == 1
        row = jnp.arange(rows)[:, None]
        floor = state.disks + 1
        base = BASE + jnp.where(peg == state.goal, PEGS + 1, 0) + jnp.where(middle, 1 + peg, 0)
        board = jnp.where(row == floor, base, jnp.where(middle & (row < floor), ROD, BLANK))
        at = jnp.where(state.peg < 0, rows, state.disks - _height(state))[:, None]
        across = state.peg[:, None] * WIDTH + np.arange(WIDTH)
        disk = DISK + WIDTH * np.arange(MOST)[:, None] + np.arange(WIDTH)
        return board.at[at, jnp.maximum(across, 0)].set(disk, mode="drop").astype(jnp.uint8)

    def extent(self, state: Tower) -> tuple[jax.Array, jax.Array]:
        return state.disks + 2, jnp.int32(PEGS * WIDTH)

    def describe(self, state: Tower) -> Texts:
        row = jnp.where(state.peg < 0, PEGS, state.peg)
        stacks = (
            jnp.zeros((PEGS, MOST), jnp.uint8)
            .at[row, _height(state)]
            .set(jnp.arange(1, MOST + 1, dtype=jnp.uint8), mode="drop")
        )
        board = text.grid(stacks, (".", *(str(size + 1) for size in range(MOST))), PEGS, state.disks)
        facts = text.concat(
            text.encode("a line a peg, its lowest disk first; the green peg is "),
            text.number(state.goal + 1, 1),
        )
        away = (state.peg >= 0) & (state.peg != state.goal)
        largest = jnp.where(away, jnp.arange(1, MOST + 1), 0).max()
        hint = text.concat(text.encode("the largest disk to bring is "), text.number(largest, 1))
        return Texts(board, facts, hint)

    def exercised(self, state: Tower, action: jax.Array, after: Tower) -> dict[str, jax.Array]:
        moved = after.peg != state.peg
        larger = jnp.arange(MOST) >= moved.argmax()
        home = (after.peg == after.goal) | (after.peg < 0)
        return {
            "compare_sort": _top(state, action[1]) < MOST,
            # A disk comes to where it stays, with all larger ones.
            "decompose_subgoals": moved.any() & (home | ~larger).all(),
            "search_lookahead": (action == _best_move(state)).all(),
        }

    def expert(self, key: jax.Array, state: Tower) -> jax.Array:
        return _best_move(state)


def _best_move(state: Tower) -> jax.Array:
    """int32[2]: from which peg to which."""

    def place(target: jax.Array, disk: jax.Array) -> tuple[jax.Array, jax.Array]:
        """From the largest disk down: where it must be, and the move if it is not there."""
        peg = state.peg[disk].astype(jnp.int32)
        wrong = (peg >= 0) & (peg != target)
        move = jnp.where(wrong, jnp.stack([peg, target]), -1)
        return jnp.where(wrong, sum(range(PEGS)) - peg - target, target), move

    _, moves = jax.lax.scan(place, state.goal, jnp.arange(MOST)[::-1])
    # The smallest disk that is wrong can move: all smaller ones are out of its way.
    last = MOST - 1 - (moves[::-1, 0] >= 0).argmax()
    return moves[last]


def _top(state: Tower, peg: jax.Array) -> jax.Array:
    """int32[]: the smallest disk on a peg; 5 when there is none."""
    on = state.peg == peg
    return jnp.where(on.any(), on.argmax(), MOST)


def _height(state: Tower) -> jax.Array:
    """int32[5]: how many disks lie below each."""
    same = state.peg[:, None] == state.peg
    return jnp.triu(same, 1).sum(1)
