"""Lead several agents over a frozen lake, all at once, a move a turn.

The board and the rules of MAPF-FrozenLake (arXiv:2606.17682). There a plan with a collision, or with an agent
in a hole or beyond the board, earns nothing; here such a move ends the game.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from envs_jax.multi_agent import engine
from jaxenv import grids
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.mapf import generator
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, MOVES, SIDE, WAIT, Instance
from jaxenv.mapf.rules import collide, in_hole, move, outside, present
from jaxenv.mapf.search import solve


class MapfFrozenLake(TileEnvironment):
    """The state is the instance that is left: `starts` is where the agents are now."""

    id = "mapf_frozen_lake"
    family = "multi_agent"
    abilities = (
        "locate_agent",
        "locate_target",
        "predict_collision",
        "plan_path",
        "coordinate_agents",
        "format_structured",
    )
    grammar = Moves(MOVES, MOST_AGENTS)
    task = (
        "Lead each agent to the square of its number; all move at once. Answer up, down, left, right or wait "
        "for each, A0 first: <answer>right wait</answer>."
    )
    rules = f"{engine.COLLISIONS} A collision, a hole or a move off the board ends the game."
    max_turns: ClassVar[tuple[int, ...]] = (10, 20, 32)
    tileset = engine.TILESET
    compile_seconds = 60.0  # an exact search, in reset and in the expert

    def generate(self, key: jax.Array, scale: jax.Array) -> Instance:
        def draw(key: jax.Array) -> tuple[Instance, jax.Array]:
            instance, placed = engine.random_instance(key, scale)
            solution = solve(instance, "makespan", engine.TREE, generator.JOINT)
            return instance, placed & solution.solved & (solution.makespan <= self.own_limit(scale))

        return generator.first_good(key, draw)[0]

    def legal(self, state: Instance, action: jax.Array) -> jax.Array:
        """A word for each agent."""
        return (action >= 0).sum() == state.agents

    def transition(
        self, key: jax.Array, state: Instance, action: jax.Array
    ) -> tuple[Instance, jax.Array, jax.Array]:
        cells, collided, fallen = _moved(state, action)
        lost = collided | fallen
        arrived = ((cells == state.goals).all(-1) | ~present(state)).all() & ~lost
        shown = jnp.clip(cells, 0, state.side - 1)
        return replace(state, starts=shown), arrived.astype(jnp.float32), arrived | lost

    def symbolic(self, state: Instance) -> jax.Array:
        return engine.tiles(state)

    def extent(self, state: Instance) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Instance) -> Texts:
        return engine.texts(state)

    def exercised(self, state: Instance, action: jax.Array, after: Instance) -> dict[str, jax.Array]:
        cells, collided, fallen = _moved(state, action)
        safe = ~collided & ~fallen
        away = lambda cells: jnp.abs(cells - state.goals).sum()  # noqa: E731
        ahead = state.starts[:, None] + jnp.asarray(grids.STEPS)
        ways = _ways(state, jnp.concatenate([state.starts[:, None], cells[:, None], ahead], axis=1))
        way, onward, each = ways[:, 0], ways[:, 1], ways[:, 2:]
        moved, nearer = (cells != state.starts).any(1), onward < way
        # The moves nearer, bool[5, 4], by which an agent that goes no farther would have collided.
        own = np.eye(MOST_AGENTS, dtype=bool)[:, None, :, None]
        taken = collide(state.starts, jnp.where(own, ahead[:, :, None], cells), present(state))
        taken &= (each < way[:, None]) & (onward <= way)[:, None]
        return {
            "locate_agent": moved.any() & ~fallen,
            "locate_target": away(cells) < away(state.starts),
            "predict_collision": safe & taken.any(),
            "plan_path": moved.any() & (nearer | ~moved).all(),
            "coordinate_agents": safe & (nearer.sum() > 1),
        }

    def expert(self, key: jax.Array, state: Instance) -> jax.Array:
        """The first move of a plan that takes the fewest turns from here."""
        first = solve(state, "makespan", engine.TREE, generator.JOINT).plan.moves[:, 0]
        moves = jnp.where(first < 0, WAIT, first).astype(jnp.int32)
        return jnp.where(present(state), moves, -1)


def _moved(state: Instance, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The cells int32[5, 2] of the agents after a move, whether some collide, and whether one is in a hole or
    beyond the board."""
    there, cells = present(state), move(state.starts, action)
    fallen = ((outside(state, cells) | in_hole(state, cells)) & there).any()
    return cells, collide(state.starts, cells, there), fallen


def _ways(state: Instance, cells: jax.Array) -> jax.Array:
    """int32[5, K]: moves of each agent from cells int32[5, K, 2] of its own to its goal, were it alone; 0 of
    those that are not there."""
    passable = grids.open_moves(~state.holes)
    goals = jax.vmap(grids.mask_at, (None, 0))(SIDE, state.goals)
    ways = jax.vmap(grids.distances, (0, None, None))(goals, passable, HORIZON)
    row, col = jnp.moveaxis(jnp.clip(cells, 0, SIDE - 1), -1, 0)
    return jnp.where(present(state)[:, None], ways[jnp.arange(MOST_AGENTS)[:, None], row, col], 0)
