"""Name all moves of a shortest way to the flag, or say that there is none.

Rules of reasoning-gym's shortest_path. Cells open one after another until the way is just joined; where there
is none, the last of them stays shut, so that the two kinds of board differ by one cell.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 12
SIDES = np.array([4, 7, 12], np.int32)
LONGEST = 4 * SIDE  # moves
NO_WAY_SHARE = 0.25
INFEASIBLE = len(grids.MOVES)
FLOOR, WALL, AGENT, FLAG = range(4)


@struct.dataclass
class Ground:
    open: jax.Array  # bool[12, 12]
    agent: jax.Array  # int32[2]
    goal: jax.Array  # int32[2]
    side: jax.Array  # int32[]


class ShortestPathGrid(TileEnvironment):
    id = "shortest_path_grid"
    family = "navigation"
    abilities = (
        "locate_agent",
        "locate_target",
        "detect_walls",
        "plan_path",
        "analyse_connectivity",
        "format_structured",
    )
    grammar = Moves((*grids.MOVES, "infeasible"), LONGEST)
    task = (
        "Find a shortest way to the flag. Answer all its moves like <answer>up up right</answer>, "
        "or <answer>infeasible</answer> if there is none."
    )
    rules = "Moves are up, down, left and right, a cell each, and never into a wall or over the edge."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = ("floor", "wall", "floor agent", "floor flag")

    def generate(self, key: jax.Array, scale: jax.Array) -> Ground:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (3 * SIDE * SIDE + 1,))
        starts, goals, openness = noise[1:].reshape(3, SIDE, SIDE)
        cells = grids.inside(SIDE, side)
        (agent,) = grids.pick(starts, cells, 1)
        row, col = jnp.abs(jnp.indices((SIDE, SIDE)) - agent[:, None, None])
        (goal,) = grids.pick(goals, cells & (row + col > side // 2), 1)
        ends = grids.mask_at(SIDE, agent) | grids.mask_at(SIDE, goal)
        openness = jnp.where(ends, 1.0, jnp.where(cells, openness, -1.0))
        joins = _narrowest(openness, agent)[goal[0], goal[1]]
        shuts = noise[0] < NO_WAY_SHARE
        return Ground((openness > joins) | (openness == joins) & ~shuts, agent, goal, side)

    def legal(self, state: Ground, action: jax.Array) -> jax.Array:
        """Moves, or the other word alone."""
        return ~(action == INFEASIBLE).any() | (action[1:] < 0).all()

    def transition(
        self, key: jax.Array, state: Ground, action: jax.Array
    ) -> tuple[Ground, jax.Array, jax.Array]:
        """A way that is too long pays half the ratio of the lengths."""
        fewest = _moves_left(state)[state.agent[0], state.agent[1]]
        gives_up = action[0] == INFEASIBLE
        moves, way, free = _walk(state, action)
        arrives = free.all() & (way[-1] == state.goal).all()
        ratio = jnp.where(arrives, fewest / jnp.maximum(moves.sum(), 1), 0.0)
        solved = jnp.where(gives_up, fewest > LONGEST, arrives & (moves.sum() == fewest))
        return state, score(solved, ratio), jnp.bool_(True)

    def symbolic(self, state: Ground) -> jax.Array:
        tiles = jnp.where(state.open, FLOOR, WALL)
        tiles = jnp.where(grids.mask_at(SIDE, state.agent), AGENT, tiles)
        return jnp.where(grids.mask_at(SIDE, state.goal), FLAG, tiles).astype(jnp.uint8)

    def extent(self, state: Ground) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Ground) -> Texts:
        board = text.grid(self.symbolic(state), (".", "#", "A", "F"), state.side, state.side, between="")
        places = text.concat(
            text.encode("you "),
            grids.place(state.agent, 2),
            text.encode(", flag "),
            grids.place(state.goal, 2),
        )
        hint = text.concat(text.encode("the flag is "), grids.offset(state.goal - state.agent, 2))
        return Texts(board, places, hint)

    def exercised(self, state: Ground, action: jax.Array, after: Ground) -> dict[str, jax.Array]:
        fewest = _moves_left(state)[state.agent[0], state.agent[1]]
        moves, way, free = _walk(state, action)
        count, apart = moves.sum(), jnp.abs(state.goal - state.agent).sum()
        ends = (way[-1] == state.goal).all()
        arrives = free.all() & ends
        return {
            "locate_agent": moves[0] & free[0],
            "locate_target": ends,
            "detect_walls": free.all() & (count >= apart),
            "plan_path": arrives & (count == fewest),
            "analyse_connectivity": arrives | ((action[0] == INFEASIBLE) & (fewest > LONGEST)),
        }

    def expert(self, key: jax.Array, state: Ground) -> jax.Array:
        """A random one of the shortest ways."""
        left = _moves_left(state)
        nearer = grids.neighbours(left, grids.UNREACHABLE) < left
        best = jnp.where(nearer, grids.noise(key, nearer.shape), -1.0).argmax(0)

        def walk(cell: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            row, col = cell
            goes_on = (left[row, col] > 0) & (left[row, col] <= LONGEST)
            move = best[row, col].astype(jnp.int32)
            return cell + jnp.where(goes_on, jnp.asarray(grids.STEPS)[move], 0), jnp.where(goes_on, move, -1)

        way = jax.lax.scan(walk, state.agent, None, length=LONGEST)[1]
        gives_up = jnp.where(jnp.arange(LONGEST) == 0, INFEASIBLE, -1)
        return jnp.where(left[state.agent[0], state.agent[1]] > LONGEST, gives_up, way)


def _walk(state: Ground, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Which words are moves, bool[48], the cells they lead to, int32[48, 2], and which of these are open."""
    moves = (action >= 0) & (action[0] != INFEASIBLE)
    steps = jnp.where(moves[:, None], jnp.asarray(grids.STEPS)[action % INFEASIBLE], 0)
    way = state.agent + jnp.cumsum(steps, axis=0)
    on_board = ((way >= 0) & (way < SIDE)).all(1)
    row, col = jnp.clip(way, 0, SIDE - 1).T
    return moves, way, on_board & state.open[row, col]


def _narrowest(openness: jax.Array, start: jax.Array) -> jax.Array:
    """float32[12, 12]: the least openness on the way of at most LONGEST moves from the start that is open
    the most."""

    def relax(_: int, field: jax.Array) -> jax.Array:
        return jnp.maximum(field, jnp.minimum(openness, grids.neighbours(field, -1.0).max(0)))

    field = jnp.where(grids.mask_at(SIDE, start), openness, -1.0)
    return jax.lax.fori_loop(0, LONGEST, relax, field)


def _moves_left(state: Ground) -> jax.Array:
    """int32[12, 12]: moves to the goal, over LONGEST where there is no way."""
    return grids.distances(grids.mask_at(SIDE, state.goal), grids.open_moves(state.open), LONGEST)
