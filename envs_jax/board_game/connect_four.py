"""Connect four: stones fall down a column; four in a row win. The opponent sees more by scale.

In the last scale it sees what is coming, and you start where you can force a win.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from envs_jax.board_game.in_a_row import EMPTY, InARow, Stones, lines
from jaxenv.answers import Word

ROWS, COLS = 6, 7
HEADER = 3  # the first of the tiles that number the columns


class ConnectFour(InARow):
    id = "connect_four"
    family = "board_game"
    abilities = (
        "recognise_colour",
        "model_sliding_gravity",
        "search_adversarial",
        "predict_other_agents",
        "check_legality",
        "format_move",
    )
    grammar = Word(tuple(str(col + 1) for col in range(COLS)))
    task = "You are yellow: get 4 in a row against red. Answer the column to drop into: <answer>3</answer>."
    rules = "A disc falls to the lowest free cell. A row may go across, up or diagonally. A draw is half."
    max_turns: ClassVar[tuple[int, ...]] = (12, 24, 24)
    expert_success: ClassVar[tuple[float, ...]] = (0.8, 0.95, 1.0)
    tileset = (
        "rack:rack_hole",
        "rack:yellow_disc",
        "rack:red_disc",
        *(f"header glyph:{col + 1}" for col in range(COLS)),
    )
    shape = (ROWS, COLS)
    names = ("Y", "R")
    sides = ((4, 5), (ROWS, COLS), (ROWS, COLS))
    goal = (4, 4, 4)
    sight = (0, 1, 3)
    opening = (1, 2, 2)
    forced = (False, False, True)
    lines = lines(shape, ROWS, COLS, 4)

    def moves(self, free: jax.Array) -> jax.Array:
        # The lowest free cell of each column is the one that has none below.
        below = jnp.pad(free[COLS:], (0, COLS))
        columns = jnp.arange(COLS)[:, None] == jnp.arange(ROWS * COLS) % COLS
        return columns & free & ~below

    def index(self, action: jax.Array) -> jax.Array:
        return action

    def action(self, index: jax.Array) -> jax.Array:
        return index

    def exercised(self, state: Stones, action: jax.Array, after: Stones) -> dict[str, jax.Array]:
        cell = self._cell(state, action)
        builds, decides = self._threats(state, cell)
        on_a_disc = (cell.reshape(self.shape)[:-1] & (state.board[1:] != EMPTY)).any()
        return {
            **super().exercised(state, action, after),
            "recognise_colour": builds,
            "model_sliding_gravity": on_a_disc & (builds | decides),
        }

    def symbolic(self, state: Stones) -> jax.Array:
        header = HEADER + jnp.arange(COLS)[None]
        return jnp.concatenate([header, state.board]).astype(jnp.uint8)

    def extent(self, state: Stones) -> tuple[jax.Array, jax.Array]:
        rows, cols = super().extent(state)
        return rows + 1, cols
