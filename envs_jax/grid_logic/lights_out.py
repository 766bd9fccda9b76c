"""Switch all lamps off; a press flips a lamp and its neighbours. Made by presses from the dark board."""

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

SIDE = 6
SIDES = np.array([3, 4, 6], np.int32)
FEWEST = np.array([1, 2, 3], np.int32)
MOST = np.array([3, 5, 8], np.int32)


@struct.dataclass
class Lamps:
    lit: jax.Array  # bool[6, 6]
    presses: jax.Array  # bool[6, 6], presses that would switch all off
    side: jax.Array  # int32[]


class LightsOut(TileEnvironment):
    id = "lights_out"
    family = "grid_logic"
    abilities = (
        "recognise_colour",
        "predict_move_effect",
        "compute_modular",
        "index_cell",
        "search_lookahead",
        "format_move",
    )
    grammar = Coordinates(SIDE, SIDE)
    task = "Switch all lamps off. Answer the row and column of a lamp to press, like <answer>2 3</answer>."
    rules = "A press flips the lamp and the lamps above, below, left and right of it."
    max_turns: ClassVar[tuple[int, ...]] = (6, 9, 14)
    hidden = ("presses",)
    tileset = ("lamp:off", "lamp:on")

    def generate(self, key: jax.Array, scale: jax.Array) -> Lamps:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (SIDE * SIDE + 1,))
        fewest = jnp.asarray(FEWEST)[scale]
        span = jnp.asarray(MOST)[scale] - fewest + 1
        count = fewest + jnp.minimum((noise[0] * span).astype(jnp.int32), span - 1)
        cells, order = grids.inside(SIDE, side), noise[1:].reshape(SIDE, SIDE)
        presses = grids.pick_mask(order, cells, count)
        # On 4 x 4 some sets of presses cancel out; without one of its presses such a set does not.
        dark = ~(_flips(presses) & cells).any()
        presses = grids.pick_mask(order, cells, count - dark)
        return Lamps(_flips(presses) & cells, presses, side)

    def legal(self, state: Lamps, action: jax.Array) -> jax.Array:
        """A lamp of the board."""
        return (action < state.side).all()

    def transition(
        self, key: jax.Array, state: Lamps, action: jax.Array
    ) -> tuple[Lamps, jax.Array, jax.Array]:
        press = grids.mask_at(SIDE, action)
        lit = state.lit ^ (_flips(press) & grids.inside(SIDE, state.side))
        dark = ~lit.any()
        return replace(state, lit=lit, presses=state.presses ^ press), dark.astype(jnp.float32), dark

    def symbolic(self, state: Lamps) -> jax.Array:
        return state.lit.astype(jnp.uint8)

    def extent(self, state: Lamps) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Lamps) -> Texts:
        board = text.grid(self.symbolic(state), ("0", "1"), state.side, state.side)
        count = text.concat(text.number(state.lit.sum(), 2), text.encode(" lamps on"))
        hint = text.concat(
            text.number(state.presses.sum(), 2),
            text.encode(" presses are left, the first in row "),
            text.number(state.presses.any(1).argmax() + 1, 1),
        )
        return Texts(board, count, hint)

    def exercised(self, state: Lamps, action: jax.Array, after: Lamps) -> dict[str, jax.Array]:
        press = grids.mask_at(SIDE, action)
        wanted = (press & state.presses).any()
        fewer = after.lit.sum() < state.lit.sum()
        return {
            "recognise_colour": (_flips(press) & state.lit).any(),
            "predict_move_effect": fewer,
            "compute_modular": wanted,
            "index_cell": (press & state.lit).any(),
            "search_lookahead": wanted & ~fewer,
        }

    def expert(self, key: jax.Array, state: Lamps) -> jax.Array:
        """One of the presses that are left; their order does not matter."""
        return grids.pick(grids.noise(key, (SIDE, SIDE)), state.presses, 1)[0]


def _flips(presses: jax.Array) -> jax.Array:
    """bool[6, 6]: the lamps that change when the cells bool[6, 6] are pressed."""
    return (presses + grids.neighbours(presses, False).sum(0)) % 2 == 1
