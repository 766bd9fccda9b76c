"""Walk around a cliff to the flag; who falls starts again. On the larger cliffs the wind pushes.

Rules of gymnasium's CliffWalking, with a cliff of uneven height, and a wind as in Sutton and Barto's windy
gridworld: after each move the wind of the column that was entered blows, save in the sheltered top row.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

ROWS, COLS = 6, 10
ROW_COUNTS = np.array([4, 5, 6], np.int32)
COL_COUNTS = np.array([6, 8, 10], np.int32)
HIGHEST = 2  # cells of cliff in a column
STRONGEST = np.array([0, 1, 2], np.int32)
# From anywhere up to the sheltered row, or over the cliff and then up; along that row; down to the flag.
LONGEST_WAY = 3 * (ROWS - 1) + COLS - 1
GRASS, HEDGE, CLIFF, FLAG, AGENT, AGENT_AT_HEDGE, AGENT_AT_FLAG, CALM = 0, 1, 2, 3, 4, 5, 6, 9
# In words a wind is as many arrows.
WORDS = (".", "-", "C", "G", "A", "A", "A", "^^", "^", "0", "v", "vv")


@struct.dataclass
class Cliff:
    height: jax.Array  # int8[10], cells of cliff at the foot of each column
    wind: jax.Array  # int8[10], cells that the wind of each column pushes down, less than 0 up
    agent: jax.Array  # int32[2]
    start: jax.Array  # int32[], column in the bottom row
    goal: jax.Array  # int32[], column in the bottom row
    rows: jax.Array  # int32[]
    cols: jax.Array  # int32[]


class CliffWalking(TileEnvironment):
    id = "cliff_walking"
    family = "navigation"
    abilities = ("locate_agent", "read_orientation", "predict_move_effect", "plan_path", "detect_deadlock")
    grammar = Word(grids.MOVES)
    task = "Walk to the flag, not over the cliff. Answer <answer>up</answer>, down, left or right."
    rules = (
        "A move goes one cell; then the arrows under the column you are in push you, one cell an arrow, but "
        "not in the top row behind the hedge. Who falls off the cliff starts again."
    )
    max_turns: ClassVar[tuple[int, ...]] = (16, 22, 28)
    tileset = (
        "grass",
        "hedge",
        "cliff",
        "grass flag",
        "grass agent",
        "hedge agent",
        "grass flag agent",
        *(f"wind:{strength}" for strength in range(-2, 3)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Cliff:
        rows, cols = jnp.asarray(ROW_COUNTS)[scale], jnp.asarray(COL_COUNTS)[scale]
        cliff_key, wind_key, side_key = jax.random.split(key, 3)
        at = jnp.arange(COLS)
        between = (at > 0) & (at < cols - 1)
        height = jax.random.randint(cliff_key, (COLS,), 1, HIGHEST + 1)
        strongest = jnp.asarray(STRONGEST)[scale]
        wind = jax.random.randint(wind_key, (COLS,), -strongest, strongest + 1)
        ends = jnp.stack([jnp.int32(0), cols - 1])
        start, goal = jnp.where(jax.random.bernoulli(side_key), ends, ends[::-1])
        return Cliff(
            jnp.where(between, height, 0).astype(jnp.int8),
            jnp.where(between, wind, 0).astype(jnp.int8),
            jnp.stack([rows - 1, start]),
            start,
            goal,
            rows,
            cols,
        )

    def transition(
        self, key: jax.Array, state: Cliff, action: jax.Array
    ) -> tuple[Cliff, jax.Array, jax.Array]:
        agent, _ = _landing(state, state.agent, jnp.asarray(grids.STEPS)[action])
        arrived = (agent == _goal(state)).all()
        return replace(state, agent=agent), arrived.astype(jnp.float32), arrived

    def symbolic(self, state: Cliff) -> jax.Array:
        row, col = jnp.indices((ROWS + 1, COLS))
        tiles = jnp.where(row == 0, HEDGE, GRASS)
        tiles = jnp.where(row >= state.rows - state.height, CLIFF, tiles)
        tiles = jnp.where((row == state.rows - 1) & (col == state.goal), FLAG, tiles)
        on_agent = jnp.where(tiles == FLAG, AGENT_AT_FLAG, jnp.where(row == 0, AGENT_AT_HEDGE, AGENT))
        tiles = jnp.where((row == state.agent[0]) & (col == state.agent[1]), on_agent, tiles)
        return jnp.where(row == state.rows, CALM + state.wind, tiles).astype(jnp.uint8)

    def extent(self, state: Cliff) -> tuple[jax.Array, jax.Array]:
        return state.rows + 1, state.cols

    def describe(self, state: Cliff) -> Texts:
        board = text.grid(self.symbolic(state), WORDS, state.rows + 1, state.cols)
        places = text.concat(
            text.encode("you "),
            grids.place(state.agent, 2),
            text.encode(", flag "),
            grids.place(_goal(state), 2),
        )
        hint = text.concat(text.encode("the flag is "), grids.offset(_goal(state) - state.agent))
        return Texts(board, places, hint)

    def exercised(self, state: Cliff, action: jax.Array, after: Cliff) -> dict[str, jax.Array]:
        costs = _action_costs(state)[:, state.agent[0], state.agent[1]]
        falls = _landing(state, state.agent, jnp.asarray(grids.STEPS))[1]
        moved = (after.agent != state.agent).any() & ~falls[action]
        blown = (after.agent[0] != state.agent[0] + jnp.asarray(grids.STEPS)[action, 0]) & moved
        near = jnp.abs(after.agent - _goal(state)).sum() < jnp.abs(state.agent - _goal(state)).sum()
        best = costs[action] <= costs.min()
        return {
            "locate_agent": moved,
            "read_orientation": blown & best,
            "predict_move_effect": moved & near,
            "plan_path": best,
            "detect_deadlock": falls.any() & moved,
        }

    def expert(self, key: jax.Array, state: Cliff) -> jax.Array:
        away = _action_costs(state)
        return grids.random_argmin(key, away[:, state.agent[0], state.agent[1]])


def _goal(state: Cliff) -> jax.Array:
    """int32[2]: the cell of the flag."""
    return jnp.stack([state.rows - 1, state.goal])


def _landing(state: Cliff, cell: jax.Array, step: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Where a step int32[..., 2] from cell int32[..., 2] ends, int32[..., 2], and whether it falls."""
    last = jnp.stack([state.rows, state.cols]) - 1
    row, col = jnp.moveaxis(jnp.clip(cell + step, 0, last), -1, 0)
    top = state.rows - state.height[col]  # of the cliff, whose column reaches down to the bottom
    pushed = jnp.clip(row + jnp.where((row > 0) & (row < top), state.wind[col], 0), 0, last[0])
    fallen = pushed >= top
    start = jnp.stack([state.rows - 1, state.start])
    landing = jnp.where(fallen[..., None], start, jnp.stack([pushed, col], axis=-1))
    return landing.astype(jnp.int32), fallen


def _action_costs(state: Cliff) -> jax.Array:
    """int32[4, 6, 10]: moves to the flag when each move is made from each cell."""
    cells = jnp.stack(jnp.indices((ROWS, COLS)), axis=-1)
    landings = jnp.stack([_landing(state, cells, step)[0] for step in grids.STEPS])
    row, col = landings[..., 0], landings[..., 1]
    goal = (cells == _goal(state)).all(-1)

    def relax(_: int, away: jax.Array) -> jax.Array:
        return jnp.where(goal, 0, jnp.minimum(away[row, col].min(0) + 1, grids.UNREACHABLE))

    start = jnp.where(goal, 0, grids.UNREACHABLE).astype(jnp.int32)
    return jax.lax.fori_loop(0, LONGEST_WAY, relax, start)[row, col]
