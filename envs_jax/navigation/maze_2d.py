"""Walk through a maze of thin walls to the flag. Any two cells are joined by exactly one path."""

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

SIDE = 10
SIDES = np.array([4, 6, 10], np.int32)
# The goal is at least this share of the way to the farthest cell, and between these numbers of moves.
FAR_SHARE = np.array([0.0, 0.5, 0.5], np.float32)
NEAREST = 2
FARTHEST = np.array([7, SIDE * SIDE, SIDE * SIDE], np.int32)
NEVER = int(grids.UNREACHABLE)
# Bits of a cell's walls in the tiles, for the moves up, down, left and right.
BITS = np.array([1, 4, 8, 2], np.uint8)
# A cell in words: its open sides.
WORDS = tuple(
    "".join(side for side, bit in zip("ULRD", (1, 8, 2, 4), strict=True) if not walls & bit) or "-"
    for walls in range(16)
)


@struct.dataclass
class Maze:
    walls: jax.Array  # uint8[10, 10], bits of the closed sides
    agent: jax.Array  # int32[2]
    goal: jax.Array  # int32[2]
    side: jax.Array  # int32[]


class Maze2D(TileEnvironment):
    id = "maze_2d"
    family = "navigation"
    abilities = (
        "locate_agent",
        "locate_target",
        "detect_walls",
        "plan_path",
        "format_move",
        "verify_terminal",
    )
    grammar = Word(grids.MOVES)
    task = "Walk through the maze to the flag. Answer <answer>up</answer>, down, left or right."
    rules = "A move goes one cell; walls stop you. On the board, letters are the open sides of a cell."
    max_turns: ClassVar[tuple[int, ...]] = (12, 28, 60)
    tileset = tuple(
        f"floor walls:{walls}{things}"
        for things in ("", " flag", " agent", " flag agent")
        for walls in range(16)
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Maze:
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(key, (4, SIDE, SIDE))
        cells = grids.inside(SIDE, side)
        opened = grids.spanning_tree(noise[:2], side)
        (agent,) = grids.pick(noise[2], cells, 1)
        away = grids.distances(grids.mask_at(SIDE, agent), opened, SIDE * SIDE)
        far = jnp.where(cells, away, 0).max()
        least = jnp.maximum(jnp.ceil(far * jnp.asarray(FAR_SHARE)[scale]), NEAREST)
        (goal,) = grids.pick(noise[3], cells & (away >= least) & (away <= jnp.asarray(FARTHEST)[scale]), 1)
        walls = jnp.where(opened, 0, BITS[:, None, None]).sum(0, dtype=jnp.uint8)
        return Maze(walls, agent, goal, side)

    def transition(self, key: jax.Array, state: Maze, action: jax.Array) -> tuple[Maze, jax.Array, jax.Array]:
        passes = _open_sides(state.walls[state.agent[0], state.agent[1]])[action]
        agent = state.agent + jnp.where(passes, jnp.asarray(grids.STEPS)[action], 0)
        arrived = (agent == state.goal).all()
        return replace(state, agent=agent), arrived.astype(jnp.float32), arrived

    def symbolic(self, state: Maze) -> jax.Array:
        flag, agent = grids.mask_at(SIDE, state.goal), grids.mask_at(SIDE, state.agent)
        return state.walls + (16 * flag + 32 * agent).astype(jnp.uint8)

    def extent(self, state: Maze) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Maze) -> Texts:
        board = text.grid(state.walls, WORDS, state.side, state.side)
        places = text.concat(
            text.encode("you "),
            grids.place(state.agent, 2),
            text.encode(", flag "),
            grids.place(state.goal, 2),
        )
        hint = text.concat(text.encode("the flag is "), grids.offset(state.goal - state.agent))
        return Texts(board, places, hint)

    def exercised(self, state: Maze, action: jax.Array, after: Maze) -> dict[str, jax.Array]:
        opened = _open_sides(state.walls[state.agent[0], state.agent[1]])
        nearer = ((state.goal - state.agent) * grids.STEPS).sum(1) > 0
        away = grids.distances(grids.mask_at(SIDE, state.goal), _open_sides(state.walls), SIDE * SIDE)
        moved = (after.agent != state.agent).any()
        return {
            "locate_agent": moved,
            "locate_target": moved & nearer[action],
            "detect_walls": moved & (nearer & ~opened).any(),
            "plan_path": away[after.agent[0], after.agent[1]] < away[state.agent[0], state.agent[1]],
        }

    def expert(self, key: jax.Array, state: Maze) -> jax.Array:
        opened = _open_sides(state.walls)
        away = grids.distances(grids.mask_at(SIDE, state.goal), opened, SIDE * SIDE)
        onward = jnp.where(opened, grids.neighbours(away, NEVER), NEVER)
        return grids.random_argmin(key, onward[:, state.agent[0], state.agent[1]])


def _open_sides(walls: jax.Array) -> jax.Array:
    """bool[4, ...]: the moves that the walls uint8[...] let through."""
    return jnp.stack([walls & bit == 0 for bit in BITS])
