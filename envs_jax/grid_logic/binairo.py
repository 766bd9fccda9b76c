"""Fill the board with white and black stones, as many of each in every line and never three in a row.

Rows are all different, and so are columns. The planted grid is one of a bank (made by
tests/envs/make_binairo.py), turned, mirrored or with its colours changed; any valid completion scores.
"""

import json
from importlib import resources
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.grid_logic import engine
from jaxenv import grids, text
from jaxenv.answers import DigitGrid
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 10
SIDES = np.array([4, 6, 10], np.int32)
GIVENS = np.array([5, 12, 40], np.int32)
EMPTY = 2  # 0 is a white stone, 1 a black one


def _bank() -> list[np.ndarray]:
    """For each scale int32[count, 10], the rows of its grids as numbers; the lowest bit is the left cell."""
    file = resources.files("envs_jax.grid_logic") / "binairo.json"
    rows = [
        np.array([grid.split() for grid in bank], np.int32) for bank in json.loads(file.read_text()).values()
    ]
    return [np.pad(bank, ((0, 0), (0, SIDE - bank.shape[1]))) for bank in rows]


_BANKS = _bank()
BANK = np.concatenate(_BANKS)
COUNT = np.array([len(bank) for bank in _BANKS], np.int32)
START = np.cumsum(COUNT, dtype=np.int32) - COUNT


@struct.dataclass
class Stones:
    given: jax.Array  # int8[10, 10]
    solution: jax.Array  # int8[10, 10], the planted one
    side: jax.Array  # int32[]


class Binairo(TileEnvironment):
    id = "binairo"
    family = "grid_logic"
    abilities = (
        "recognise_colour",
        "count_objects",
        "propagate_constraints",
        "induce_pattern",
        "format_structured",
    )
    grammar = DigitGrid(SIDE)
    task = (
        "Fill the board with white (0) and black (1) stones by the rules of binairo. "
        "Answer all rows of 0 and 1 in <answer></answer>."
    )
    rules = (
        "Each row and column has as many white stones as black ones and never three of a colour in a row. "
        "No two rows are equal, and no two columns."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = ("tray stone:white", "tray stone:black", "tray")

    def generate(self, key: jax.Array, scale: jax.Array) -> Stones:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (SIDE + 1, SIDE))
        count = jnp.asarray(COUNT)[scale]
        at = jnp.minimum((noise[-1, 0] * count).astype(jnp.int32), count - 1)
        rows = jnp.asarray(BANK)[jnp.asarray(START)[scale] + at]
        cells = grids.inside(SIDE, side)
        solution = _turned((rows[:, None] >> jnp.arange(SIDE)) & 1, side, noise[-1, 1:5] < 0.5)
        solution = jnp.where(cells, solution, EMPTY).astype(jnp.int8)
        kept = grids.pick_mask(noise[:SIDE], cells, jnp.asarray(GIVENS)[scale])
        return Stones(jnp.where(kept, solution, EMPTY).astype(jnp.int8), solution, side)

    def legal(self, state: Stones, action: jax.Array) -> jax.Array:
        """n lines of n digits, 0 or 1."""
        return engine.is_grid(action, state.side, 0, 1)

    def transition(
        self, key: jax.Array, state: Stones, action: jax.Array
    ) -> tuple[Stones, jax.Array, jax.Array]:
        used = jnp.arange(SIDE) < state.side
        lines = _line_checks(action, state.side).all(0) & used
        kept, asked = _kept(state, action)
        share = lines.sum() / (2 * state.side) * kept.sum() / asked.sum()
        solved = (lines | ~used).all() & (kept | ~asked).all()
        return state, score(solved, share), jnp.bool_(True)

    def symbolic(self, state: Stones) -> jax.Array:
        return state.given.astype(jnp.uint8)

    def extent(self, state: Stones) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Stones) -> Texts:
        board = text.grid(state.given, ("0", "1", "."), state.side, state.side, between="")
        empty = (state.given == EMPTY) & grids.inside(SIDE, state.side)
        count = text.concat(
            text.encode("n "),
            text.number(state.side, 2),
            text.encode(", empty "),
            text.number(empty.sum(), 2),
        )
        return Texts(board, count, engine.one_cell(state.solution, empty))

    def exercised(self, state: Stones, action: jax.Array, after: Stones) -> dict[str, jax.Array]:
        checks = _line_checks(action, state.side) | (jnp.arange(SIDE) >= state.side)
        balanced, apart, unlike = checks
        kept, asked = _kept(state, action)
        return {
            "recognise_colour": 4 * kept.sum() >= 3 * asked.sum(),
            "count_objects": balanced.all(1).any(),
            "propagate_constraints": checks.all() & (kept | ~asked).all(),
            "induce_pattern": apart.all() & unlike.all(),
        }

    def expert(self, key: jax.Array, state: Stones) -> jax.Array:
        return engine.answer(state.solution, state.side)


def _turned(board: jax.Array, n: jax.Array, how: jax.Array) -> jax.Array:
    """The n x n board of 0 and 1, upside down, mirrored, transposed and in the other colours as how
    bool[4] says."""
    at = jnp.arange(SIDE)
    back = jnp.where(at < n, n - 1 - at, at)
    board = jnp.where(how[0], board[back], board)
    board = jnp.where(how[1], board[:, back], board)
    board = jnp.where(how[2], board.T, board)
    return board ^ how[3]


def _kept(state: Stones, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """bool[10, 10] twice: the stones given that the answer keeps, and all that are given."""
    asked = state.given != EMPTY
    return asked & (action == state.given), asked


def _line_checks(board: jax.Array, n: jax.Array) -> jax.Array:
    """bool[3, 2, 10]: the rows and columns int32[10, 10] that are balanced, those without three together, and
    those unlike all others."""
    lines = jnp.stack([board, board.T])
    black = lines == 1
    balanced = 2 * black.sum(2) == n
    three = (
        (lines[..., 2:] == lines[..., 1:-1]) & (lines[..., 1:-1] == lines[..., :-2]) & (lines[..., 2:] >= 0)
    )
    equal = (lines[:, :, None] == lines[:, None]).all(-1)
    return jnp.stack([balanced, ~three.any(2), equal.sum(2) == 1])
