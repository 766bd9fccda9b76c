"""Foresee Conway's Game of Life on a board whose opposite edges touch.

Rules of reasoning-gym's game_of_life. The first row of the picture shows how many steps are asked for.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.sequence_pattern import engine
from jaxenv import grids, text
from jaxenv.answers import DigitGrid
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE = 10
SIDES = np.array([5, 8, 10], np.int32)
STEPS = np.array([1, 1, 3], np.int32)
SPARSEST, DENSEST = 0.25, 0.5  # shares of live cells
BLANK, FORWARD, COUNT = 2, 3, 4


@struct.dataclass
class Life:
    alive: jax.Array  # bool[10, 10]
    side: jax.Array  # int32[]
    steps: jax.Array  # int32[]


class GameOfLife(TileEnvironment):
    id = "game_of_life"
    family = "sequence_pattern"
    abilities = ("count_objects", "simulate_rule", "index_cell", "format_structured")
    grammar = DigitGrid(SIDE)
    task = (
        "Run the Game of Life for the steps shown; opposite edges touch. "
        "Answer the rows of 0 and 1 (live) in <answer></answer>."
    )
    rules = "A live cell lives on with 2 or 3 live cells of the 8 around it, a dead one wakes with just 3."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        "paper",
        "paper alive",
        "header",
        "header forward",
        *(f"header glyph:{steps}" for steps in range(1, STEPS[-1] + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Life:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (SIDE * SIDE + 1,))
        share = SPARSEST + (DENSEST - SPARSEST) * noise[0]
        count = jnp.round(share * side**2).astype(jnp.int32)
        alive = grids.pick_mask(noise[1:].reshape(SIDE, SIDE), grids.inside(SIDE, side), count)
        return Life(alive, side, jnp.asarray(STEPS)[scale])

    def legal(self, state: Life, action: jax.Array) -> jax.Array:
        """As many rows as the board has, of 0 and 1."""
        return (((action >= 0) == grids.inside(SIDE, state.side)) & (action <= 1)).all()

    def transition(self, key: jax.Array, state: Life, action: jax.Array) -> tuple[Life, jax.Array, jax.Array]:
        return state, engine.mark(action, _answer(state)), jnp.bool_(True)

    def symbolic(self, state: Life) -> jax.Array:
        header = jnp.full((1, SIDE), BLANK).at[0, 0].set(FORWARD).at[0, 1].set(COUNT + state.steps - 1)
        return jnp.concatenate([header, state.alive]).astype(jnp.uint8)

    def extent(self, state: Life) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side

    def describe(self, state: Life) -> Texts:
        rows = text.grid(state.alive.astype(jnp.uint8), ("0", "1"), state.side, state.side, between="")
        steps = text.concat(text.encode("steps "), text.number(state.steps, 1))
        count = text.concat(steps, text.encode(", live cells "), text.number(state.alive.sum(), 2))
        after = text.concat(text.encode("live cells at the end "), text.number(_evolved(state).sum(), 2))
        return Texts(text.concat(steps, text.encode("\n"), rows), count, after)

    def exercised(self, state: Life, action: jax.Array, after: Life) -> dict[str, jax.Array]:
        goal = _answer(state)
        wrong = (action != goal).sum()
        live = (action > 0) | (goal > 0)
        return {
            # Nearly each cell has the fate that the count of those around it gives.
            "count_objects": 10 * wrong <= state.side**2,
            "simulate_rule": wrong == 0,
            "index_cell": 2 * wrong <= live.sum(),
        }

    def expert(self, key: jax.Array, state: Life) -> jax.Array:
        return _answer(state)


def _evolved(state: Life) -> jax.Array:
    """bool[10, 10]: the live cells after the steps."""
    at = jnp.arange(SIDE)
    # A cell touches itself and the next one on either side; both factors of the product are symmetric.
    touches = ((at[:, None] - at[None, :] + 1) % state.side < 3) & grids.inside(SIDE, state.side)
    touches = touches.astype(jnp.float32)

    def step(number: jax.Array, alive: jax.Array) -> jax.Array:
        block = jnp.rint(touches @ alive.astype(jnp.float32) @ touches)  # live cells in 3 x 3, its own too
        after = (block == 3) | (alive & (block == 4))
        return jnp.where(number < state.steps, after, alive)

    return jax.lax.fori_loop(0, int(STEPS[-1]), step, state.alive)


def _answer(state: Life) -> jax.Array:
    """int32[10, 10]: the right answer, -1 outside."""
    return jnp.where(grids.inside(SIDE, state.side), _evolved(state), -1).astype(jnp.int32)
