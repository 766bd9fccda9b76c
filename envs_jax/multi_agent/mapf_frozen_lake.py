"""Lead several agents over a frozen lake, all at once, a move a turn.

The board and the rules of MAPF-FrozenLake (arXiv:2606.17682). There a plan with a collision, or with an agent
in a hole or beyond the board, earns nothing; here such a move ends the game.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp

from envs_jax.multi_agent import engine
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.mapf import generator
from jaxenv.mapf.instance import MOST_AGENTS, MOVES, WAIT, Instance
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
            return instance, placed & solution.solved & (solution.makespan <= self._own_limit(scale))

        return generator.first_good(key, draw)[0]

    def legal(self, state: Instance, action: jax.Array) -> jax.Array:
        """A word for each agent."""
        return (action >= 0).sum() == state.agents

    def transition(
        self, key: jax.Array, state: Instance, action: jax.Array
    ) -> tuple[Instance, jax.Array, jax.Array]:
        there = present(state)
        cells = move(state.starts, action)
        lost = collide(state.starts, cells, there)
        lost |= ((outside(state, cells) | in_hole(state, cells)) & there).any()
        arrived = ((cells == state.goals).all(-1) | ~there).all() & ~lost
        shown = jnp.clip(cells, 0, state.side - 1)
        return replace(state, starts=shown), arrived.astype(jnp.float32), arrived | lost

    def symbolic(self, state: Instance) -> jax.Array:
        return engine.tiles(state)

    def extent(self, state: Instance) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Instance) -> Texts:
        return engine.texts(state)

    def expert(self, key: jax.Array, state: Instance) -> jax.Array:
        """The first move of a plan that takes the fewest turns from here."""
        first = solve(state, "makespan", engine.TREE, generator.JOINT).plan.moves[:, 0]
        moves = jnp.where(first < 0, WAIT, first).astype(jnp.int32)
        return jnp.where(present(state), moves, -1)
