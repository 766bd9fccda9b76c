"""Fill the board so that each number has the next one beside it: Numbrix.

The planted path winds through all cells. It starts as a snake and is changed by backbites: an end of the path
is joined to a cell beside it, and the loop that this makes is cut open. Any completion scores.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.grid_logic import engine
from jaxenv import grids, text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 7
SIDES = np.array([3, 5, 7], np.int32)
EMPTY = np.array([4, 14, 32], np.int32)
HIGHEST = SIDE * SIDE
BACKBITES = 300


@struct.dataclass
class Path:
    given: jax.Array  # int8[7, 7], 0 where empty
    solution: jax.Array  # int8[7, 7], the planted one
    side: jax.Array  # int32[]


class Numbrix(TileEnvironment):
    id = "numbrix"
    family = "grid_logic"
    abilities = (
        "read_digit",
        "reason_loop_topology",
        "propagate_constraints",
        "plan_path",
        "format_structured",
    )
    grammar = Numbers(HIGHEST, HIGHEST)
    task = (
        "Fill the empty cells so that each number has the next one above, below, left or right of it. "
        "Answer all numbers of the board, row by row, in <answer></answer>."
    )
    rules = "The board of n by n cells has every number from 1 to n times n once."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = ("paper", *(f"given glyph:{number}" for number in range(1, HIGHEST + 1)))

    def generate(self, key: jax.Array, scale: jax.Array) -> Path:
        bites, cells = jax.random.split(key)
        side = jnp.asarray(SIDES)[scale]
        solution = _path(jax.random.randint(bites, (BACKBITES,), 0, 2 * len(grids.MOVES)), side)
        noise = grids.noise(cells, (SIDE, SIDE))
        empty = grids.pick_mask(noise, grids.inside(SIDE, side), jnp.asarray(EMPTY)[scale])
        return Path(jnp.where(empty, 0, solution).astype(jnp.int8), solution.astype(jnp.int8), side)

    def legal(self, state: Path, action: jax.Array) -> jax.Array:
        """n * n numbers, each from 1 to n * n."""
        return engine.are_numbers(action, state.side)

    def transition(self, key: jax.Array, state: Path, action: jax.Array) -> tuple[Path, jax.Array, jax.Array]:
        """The share is that of the numbers that have their next one beside them, times that of the givens
        that are kept. When every number has the next one, all are there."""
        share = _shares(state, action)
        return state, score((share == 1).all(), share.prod()), jnp.bool_(True)

    def symbolic(self, state: Path) -> jax.Array:
        return state.given.astype(jnp.uint8)

    def extent(self, state: Path) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Path) -> Texts:
        words = (".", *map(str, range(1, HIGHEST + 1)))
        board = text.grid(state.given, words, state.side, state.side)
        empty = (state.given == 0) & grids.inside(SIDE, state.side)
        count = text.concat(text.number(empty.sum(), 2), text.encode(" empty cells"))
        return Texts(board, count, engine.one_cell(state.solution, empty))

    def exercised(self, state: Path, action: jax.Array, after: Path) -> dict[str, jax.Array]:
        led, kept = _shares(state, action)
        return {
            "read_digit": kept >= 0.75,
            "reason_loop_topology": led == 1,
            "propagate_constraints": (led == 1) & (kept == 1),
            "plan_path": (led > 0.5) & (kept == 1),
        }

    def expert(self, key: jax.Array, state: Path) -> jax.Array:
        return engine.in_rows(state.solution, state.side)


def _shares(state: Path, action: jax.Array) -> jax.Array:
    """float32[2]: how many of the numbers have the next one beside them, and of the givens are kept."""
    n = state.side
    board = engine.board(action, SIDE, n)
    leads = (grids.neighbours(board, 0) == board + 1).any(0)
    led = (leads[..., None] & (board[..., None] == jnp.arange(1, HIGHEST))).any((0, 1))
    asked = state.given > 0
    kept = asked & (board == state.given)
    return jnp.stack([led.sum(), kept.sum()]) / jnp.stack([n * n - 1, asked.sum()])


def _path(choices: jax.Array, n: jax.Array) -> jax.Array:
    """int32[7, 7]: a path through the n x n board, 1 to n * n; 0 outside. Each of choices int32[300] is
    a move from the first cell to the one that it bites; with 4 more the path is turned round before."""
    row, col = jnp.indices((SIDE, SIDE))
    snake = 1 + row * n + jnp.where(row % 2 == 0, col, n - 1 - col)

    def bite(path: jax.Array, choice: jax.Array) -> tuple[jax.Array, None]:
        path = jnp.where((path > 0) & (choice >= 4), n * n + 1 - path, path)
        bitten = jnp.where(path == 1, grids.neighbours(path, 0)[choice % 4], 0).sum()
        return jnp.where((path > 0) & (path < bitten), bitten - path, path), None

    return jax.lax.scan(bite, jnp.where(grids.inside(SIDE, n), snake, 0), choices)[0]
