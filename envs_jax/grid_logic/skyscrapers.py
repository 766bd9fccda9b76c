"""Fill an n x n grid with towers 1..n so that from each side as many are seen as the number there says.

Every row and column has each height once; a tower hides the lower ones behind it. The planted square is a
reshuffling of the cyclic one; any square with these views scores.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.grid_logic import engine, latin
from jaxenv import grids, text
from jaxenv.answers import DigitGrid
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 6
SIDES = np.array([4, 5, 6], np.int32)
EMPTY, CORNER = 0, SIDE + 1  # between them the numbers 1..6


@struct.dataclass
class Skyline:
    views: jax.Array  # int8[4, 6], towers seen from the top, bottom, left and right; 0 after the last line
    solution: jax.Array  # int8[6, 6], the planted one
    side: jax.Array  # int32[]


class Skyscrapers(TileEnvironment):
    id = "skyscrapers"
    family = "grid_logic"
    abilities = (
        "read_margin_clues",
        "cast_line_of_sight",
        "enforce_all_different",
        "propagate_constraints",
        "backtrack_hypotheses",
        "format_structured",
    )
    grammar = DigitGrid(SIDE)
    task = (
        "Fill the n by n grid with towers of height 1 to n that are seen as the numbers on its sides say. "
        "Answer all rows in <answer></answer>."
    )
    rules = (
        "Each row and column has every height once. "
        "A number counts the towers seen from there; a tower hides all lower ones behind it."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("solution",)
    tileset = ("paper", *(f"header glyph:{count}" for count in range(1, SIDE + 1)), "slot")

    def generate(self, key: jax.Array, scale: jax.Array) -> Skyline:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (3, SIDE))
        solution = latin.latin_square(noise, side)
        return Skyline(_views(solution).astype(jnp.int8), solution, side)

    def legal(self, state: Skyline, action: jax.Array) -> jax.Array:
        """n lines of n digits from 1 to n."""
        return engine.is_grid(action, state.side, 1, state.side)

    def transition(
        self, key: jax.Array, state: Skyline, action: jax.Array
    ) -> tuple[Skyline, jax.Array, jax.Array]:
        complete, used, seen, asked = _checks(state, action)
        share = (complete & used).sum() / used.sum() * (seen & asked).sum() / asked.sum()
        return state, score((complete | ~used).all() & (seen | ~asked).all(), share), jnp.bool_(True)

    def symbolic(self, state: Skyline) -> jax.Array:
        return engine.framed(jnp.full((SIDE, SIDE), EMPTY), state.views, state.side, CORNER)

    def extent(self, state: Skyline) -> tuple[jax.Array, jax.Array]:
        return state.side + 2, state.side + 2

    def describe(self, state: Skyline) -> Texts:
        across = state.side + 2
        board = text.grid(self.symbolic(state), (*".123456", " "), across, across, between="")
        size = text.concat(text.encode("n "), text.number(state.side, 1))
        return Texts(board, size, engine.one_cell(state.solution, state.solution == state.side))

    def exercised(self, state: Skyline, action: jax.Array, after: Skyline) -> dict[str, jax.Array]:
        complete, used, seen, asked = _checks(state, action)
        square = (complete | ~used).all()
        wrong = asked & ~seen
        # Next to a 1 stands the highest tower, next to an n the towers stand in order.
        forced = (state.views == 1) | (state.views == state.side)
        return {
            "read_margin_clues": 2 * wrong.sum() < asked.sum(),
            "cast_line_of_sight": ~wrong.reshape(2, -1).any(1).all(),
            "enforce_all_different": square,
            "propagate_constraints": square & ~(wrong & forced).any(),
            "backtrack_hypotheses": square & ~wrong.any(),
        }

    def expert(self, key: jax.Array, state: Skyline) -> jax.Array:
        return engine.answer(state.solution, state.side)


def _checks(state: Skyline, action: jax.Array) -> tuple[jax.Array, ...]:
    """The lines bool[12] that are complete, and those in use; the views bool[4, 6] that are right, and those
    in use."""
    return *latin.complete_lines(action, state.side), _views(action) == state.views, state.views > 0


def _views(board: jax.Array) -> jax.Array:
    """int32[4, 6]: how many towers each column and row of board [6, 6] shows from the top, bottom, left and
    right. What is not positive lies outside and is not seen."""
    lines = jnp.stack([board.T, board.T[:, ::-1], board, board[:, ::-1]])
    highest = jax.lax.cummax(jnp.pad(lines, ((0, 0), (0, 0), (1, 0))), axis=2)[..., :-1]
    return (lines > highest).sum(2)
