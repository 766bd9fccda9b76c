"""Boards of MAPF-FrozenLake by scale, as tiles and in words: the same in both environments."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import grids, text
from jaxenv.harness import Texts
from jaxenv.mapf import generator, rules
from jaxenv.mapf.instance import MOST_AGENTS, SIDE, Instance
from jaxenv.text import Text

SIDES = np.array([3, 5, 8], np.int32)
FEWEST = np.array([2, 3, 4], np.int32)  # agents
MOST = np.array([2, 3, 5], np.int32)
HOLES = np.array([1, 4, 10], np.int32)
# Of the solver. Its search over joint places suffices for these boards, and compiles in half the time alone.
TREE = 0

COLLISIONS = (
    "Two agents must not enter one cell or change places; one may enter the cell that another leaves."
)
AGENTS = tuple(f"A{agent}" for agent in range(MOST_AGENTS))
# What an agent can stand on: ice, or the goal of any agent.
UNDER = MOST_AGENTS + 1
ICE, HOLE, GOAL, AGENT, FALLEN = 0, 1, 2, 2 + MOST_AGENTS, 2 + MOST_AGENTS + MOST_AGENTS * UNDER

TILESET = (
    "ice",
    "ice hole",
    *(f"ice base:{goal}" for goal in range(MOST_AGENTS)),
    *(
        f"{ground} walker:{agent}"
        for agent in range(MOST_AGENTS)
        for ground in ("ice", *(f"ice base:{goal}" for goal in range(MOST_AGENTS)))
    ),
    *(f"plain:hole walker:{agent}" for agent in range(MOST_AGENTS)),
)
WORDS = (
    ".",
    "H",
    *(f"G{goal}" for goal in range(MOST_AGENTS)),
    *(
        f"{agent}{ground}"
        for agent in AGENTS
        for ground in ("", *(f"/G{goal}" for goal in range(MOST_AGENTS)))
    ),
    *(f"{agent}/H" for agent in AGENTS),
)


def random_instance(key: jax.Array, scale: jax.Array) -> tuple[Instance, jax.Array]:
    """A board of a scale int32[], and whether there was room for all (bool[])."""
    count, layout = jax.random.split(key)
    side, fewest, most, holes = (jnp.asarray(of)[scale] for of in (SIDES, FEWEST, MOST, HOLES))
    agents = jax.random.randint(count, (), fewest, most + 1, jnp.int32)
    return generator.random_instance(layout, side, agents, holes)


def tiles(instance: Instance) -> jax.Array:
    """uint8[10, 10], indices of TILESET. Of agents in one cell the first is shown."""
    there = rules.present(instance)[:, None, None]
    mask = jax.vmap(grids.mask_at, (None, 0))
    agent, goal = mask(SIDE, instance.starts) & there, mask(SIDE, instance.goals) & there
    under = jnp.where(goal.any(0), 1 + goal.argmax(0), 0)
    ground = jnp.where(instance.holes, HOLE, jnp.where(goal.any(0), GOAL + goal.argmax(0), ICE))
    which = agent.argmax(0)
    stands = jnp.where(instance.holes, FALLEN + which, AGENT + which * UNDER + under)
    return jnp.where(agent.any(0), stands, ground).astype(jnp.uint8)


def texts(instance: Instance) -> Texts:
    """The board, where the agents are and must go, and how far that is."""
    board = text.grid(tiles(instance), WORDS, instance.side, instance.side)
    there = rules.present(instance)
    away = there & (instance.starts != instance.goals).any(-1)

    def places(agent: jax.Array, cell: jax.Array, goal: jax.Array) -> Text:
        name = text.choose(agent, AGENTS)
        return text.concat(
            name, text.encode(" at "), grids.place(cell, 2), text.encode(", goal "), grids.place(goal, 2)
        )

    def ways(agent: jax.Array, cell: jax.Array, goal: jax.Array) -> Text:
        name = text.choose(agent, AGENTS)
        return text.concat(text.encode("the goal of "), name, text.encode(" is "), grids.offset(goal - cell))

    each = jnp.arange(MOST_AGENTS), instance.starts, instance.goals
    return Texts(board, _listed(jax.vmap(places)(*each), there), _listed(jax.vmap(ways)(*each), away))


def _listed(items: Text, shown: jax.Array) -> Text:
    """Those of the texts [n] that are shown bool[n], with semicolons between them."""
    later = jnp.cumsum(shown) > 1
    joined = jax.vmap(lambda comma, item: text.concat(text.when(comma, text.encode("; ")), item))(
        later, items
    )
    return text.pack(joined.data, jnp.where(shown, joined.length, 0))
