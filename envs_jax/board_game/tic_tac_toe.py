"""Noughts and crosses: three in a row on 3 x 3, four on 5 x 5, against an opponent that sees more by scale.

The first scale is a whole game against random moves. In the others the opponent sees what is coming, and you
start where you can force a win.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from envs_jax.board_game.in_a_row import InARow, Stones, lines
from jaxenv.answers import Coordinates

SIDE = 5


class TicTacToe(InARow):
    id = "tic_tac_toe"
    family = "board_game"
    abilities = (
        "read_symbol",
        "index_cell",
        "search_adversarial",
        "predict_other_agents",
        "check_legality",
        "format_move",
    )
    grammar = Coordinates(SIDE, SIDE)
    task = (
        "You are X: get 3 in a row (4 on the board of 5 by 5). Answer row and column: <answer>1 3</answer>."
    )
    rules = "X and O in turn, each in an empty cell. A row may go across, down or diagonally. A draw is half."
    max_turns: ClassVar[tuple[int, ...]] = (6, 6, 14)
    expert_success: ClassVar[tuple[float, ...]] = (0.8, 1.0, 1.0)
    tileset = ("paper", "paper cross", "paper ring")
    shape = (SIDE, SIDE)
    names = ("X", "O")
    sides = ((3, 3), (3, 3), (5, 5))
    goal = (3, 3, 4)
    sight = (0, 3, 2)
    opening = (1, 1, 2)
    forced = (False, True, True)
    lines = np.concatenate([lines(shape, 3, 3, 3), lines(shape, 5, 5, 4)])

    def moves(self, free: jax.Array) -> jax.Array:
        return jnp.eye(SIDE * SIDE, dtype=bool) & free

    def index(self, action: jax.Array) -> jax.Array:
        return action[0] * SIDE + action[1]

    def action(self, index: jax.Array) -> jax.Array:
        return jnp.stack(jnp.divmod(index, SIDE))

    def exercised(self, state: Stones, action: jax.Array, after: Stones) -> dict[str, jax.Array]:
        builds, decides = self._threats(state, self._cell(state, action))
        return {
            **super().exercised(state, action, after),
            "read_symbol": builds,
            "index_cell": decides,
        }

    def symbolic(self, state: Stones) -> jax.Array:
        return state.board.astype(jnp.uint8)
