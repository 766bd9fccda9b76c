"""Shade cells so that the runs of shaded cells in each row and column have the lengths at its head.

The planted picture is smoothed noise, half of it shaded; any picture with the same runs scores.
"""

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

SIDE = 9
SIDES = np.array([5, 7, 9], np.int32)
SHADED_SHARE = 0.55
RUNS = (SIDE + 1) // 2  # of a line, at most
EMPTY, CORNER, BLANK, LENGTH = range(4)  # LENGTH + k is a clue of k


@struct.dataclass
class Clues:
    runs: jax.Array  # int8[2, 9, 5], lengths along each row and each column, 0 after the last
    solution: jax.Array  # bool[9, 9], the planted picture
    side: jax.Array  # int32[]


class Nonogram(TileEnvironment):
    id = "nonogram"
    family = "grid_logic"
    abilities = (
        "read_margin_clues",
        "count_objects",
        "propagate_constraints",
        "backtrack_hypotheses",
        "format_structured",
    )
    grammar = DigitGrid(SIDE)
    task = (
        "Shade cells so that each row and column has the runs at its head. "
        "Answer all rows in <answer></answer>, 1 for a shaded cell and 0 for an empty one."
    )
    rules = (
        "The numbers at a row or column are the lengths of its runs of shaded cells, in order; "
        "between two runs there is at least one empty cell. 0 is a line without any."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = ("paper", "slot", "header", *(f"header glyph:{length}" for length in range(SIDE + 1)))

    def generate(self, key: jax.Array, scale: jax.Array) -> Clues:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (SIDE, SIDE))
        smooth = noise + grids.neighbours(noise, 0.5).mean(0)
        count = (SHADED_SHARE * side**2).astype(jnp.int32)
        solution = grids.pick_mask(smooth, grids.inside(SIDE, side), count)
        return Clues(_runs(solution).astype(jnp.int8), solution, side)

    def legal(self, state: Clues, action: jax.Array) -> jax.Array:
        """n lines of n digits, 0 or 1."""
        return engine.is_grid(action, state.side, 0, 1)

    def transition(
        self, key: jax.Array, state: Clues, action: jax.Array
    ) -> tuple[Clues, jax.Array, jax.Array]:
        right, asked = _right_lines(state, _runs(action == 1)).sum(), 2 * state.side
        return state, score(right == asked, right / asked), jnp.bool_(True)

    def symbolic(self, state: Clues) -> jax.Array:
        margin = _margin(state)
        at = jnp.arange(SIDE + RUNS)
        line, place = jnp.clip(at - margin, 0, SIDE - 1), jnp.minimum(at, RUNS - 1)
        rows, cols = _heads(state.runs, margin)[:, line][:, :, place]
        left, top = (at < margin)[None, :], (at < margin)[:, None]
        tiles = jnp.where(top, cols.T, jnp.where(left, rows, EMPTY))
        return jnp.where(top & left, CORNER, tiles).astype(jnp.uint8)

    def extent(self, state: Clues) -> tuple[jax.Array, jax.Array]:
        across = state.side + _margin(state)
        return across, across

    def describe(self, state: Clues) -> Texts:
        words, most = (".", *map(str, range(1, SIDE + 1))), _margin(state)
        board = text.concat(
            text.encode("rows\n"),
            text.grid(state.runs[0], words, state.side, most),
            text.encode("\ncolumns\n"),
            text.grid(state.runs[1], words, state.side, most),
        )
        count = text.concat(
            text.encode("n "),
            text.number(state.side, 1),
            text.encode(", shaded "),
            text.number(state.runs[0].sum(dtype=jnp.int32), 2),
        )
        return Texts(board, count, engine.one_cell(state.solution, state.solution))

    def exercised(self, state: Clues, action: jax.Array, after: Clues) -> dict[str, jax.Array]:
        runs = _runs(action == 1)
        right = _right_lines(state, runs).sum(1)
        most = 2 * right > state.side
        return {
            "read_margin_clues": most.any(),
            "count_objects": (runs.sum(-1) == state.runs.sum(-1)).all(1).any(),
            "propagate_constraints": most.all(),
            "backtrack_hypotheses": (right == state.side).all(),
        }

    def expert(self, key: jax.Array, state: Clues) -> jax.Array:
        return engine.answer(state.solution, state.side)


def _runs(shaded: jax.Array) -> jax.Array:
    """int32[2, 9, 5]: the lengths of the runs in each row and column of bool[9, 9], 0 after the last."""
    lines = jnp.stack([shaded, shaded.T])
    begins = lines & ~jnp.pad(lines, ((0, 0), (0, 0), (1, 0)))[..., :-1]
    run = jnp.where(lines, jnp.cumsum(begins, axis=-1) - 1, RUNS)
    return (run[..., None] == jnp.arange(RUNS)).sum(2)


def _right_lines(state: Clues, runs: jax.Array) -> jax.Array:
    """bool[2, 9]: the rows and columns of which the runs int32[2, 9, 5] are as asked."""
    return (runs == state.runs).all(-1) & (jnp.arange(SIDE) < state.side)


def _margin(state: Clues) -> jax.Array:
    """int32[]: the most runs of a line, at least 1."""
    return jnp.maximum((state.runs > 0).sum(-1).max(), 1).astype(jnp.int32)


def _heads(runs: jax.Array, margin: jax.Array) -> jax.Array:
    """int32[2, 9, 5]: the tiles at the head of each line, in the first `margin` places; the last run stands
    next to the line, and a line without runs has a 0 there."""
    empty = jnp.maximum(margin - jnp.maximum((runs > 0).sum(-1), 1), 0)[..., None]
    at = jnp.arange(RUNS) - empty
    lengths = jnp.take_along_axis(runs, jnp.clip(at, 0, RUNS - 1), axis=-1)
    return jnp.where(at < 0, BLANK, LENGTH + lengths)
