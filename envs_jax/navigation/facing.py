"""Boards for an agent that turns and goes forward, as in MiniGrid: headings, steps and shortest ways."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import grids, text
from jaxenv.text import Text

# Headings clockwise from the right, as in MiniGrid.
HEADINGS = ("right", "down", "left", "up")
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)], np.int32)
ARROWS = (">", "v", "<", "^")
TURNS_AND_STEP = ("left", "right", "forward")
LEFT, RIGHT, FORWARD = range(3)


def turned(heading: jax.Array, action: jax.Array) -> jax.Array:
    """The heading int32[] after an action; only LEFT and RIGHT change it."""
    return (heading + (action == RIGHT) - (action == LEFT)) % 4


def in_front(agent: jax.Array, heading: jax.Array) -> jax.Array:
    """The cell int32[2] that an agent faces; it may be off the board."""
    return agent + jnp.asarray(STEPS)[heading]


def pose(agent: jax.Array, heading: jax.Array, digits: int = 1) -> Text:
    """Where an agent is, in words: `you row 3 column 1 facing left`."""
    faces = text.choose(heading, tuple(f" facing {name}" for name in HEADINGS))
    return text.concat(text.encode("you "), grids.place(agent, digits), faces)


def ahead(field: jax.Array, fill: bool | int) -> jax.Array:
    """[4, R, C]: for each heading the value of the cell ahead of each cell of field [R, C] or [4, R, C];
    `fill` beyond the edge."""
    rows, cols = field.shape[-2:]
    wide = jnp.pad(field, [(0, 0)] * (field.ndim - 2) + [(1, 1), (1, 1)], constant_values=fill)
    wide = jnp.broadcast_to(wide, (4, *wide.shape[-2:]))
    return jnp.stack(
        [wide[h, 1 + dr : 1 + dr + rows, 1 + dc : 1 + dc + cols] for h, (dr, dc) in enumerate(STEPS.tolist())]
    )


def action_costs(
    agent: jax.Array, heading: jax.Array, target: jax.Array, enters: jax.Array, iterations: int
) -> jax.Array:
    """int32[3]: actions to the nearest target cell bool[R, C] when an agent takes LEFT, RIGHT or FORWARD;
    UNREACHABLE where there is no way.

    enters bool[R, C] are the cells that can be walked on. Ways longer than `iterations` are not found.
    """
    steps = ahead(enters, False)

    def act(cost: jax.Array) -> jax.Array:
        forward = jnp.where(steps, ahead(cost, grids.UNREACHABLE), grids.UNREACHABLE)
        return jnp.stack([jnp.roll(cost, 1, 0), jnp.roll(cost, -1, 0), forward])

    def relax(_: int, cost: jax.Array) -> jax.Array:
        return jnp.minimum(cost, jnp.minimum(act(cost).min(0) + 1, grids.UNREACHABLE))

    start = jnp.where(target, 0, grids.UNREACHABLE).astype(jnp.int32)
    costs = act(jax.lax.fori_loop(0, iterations, relax, jnp.broadcast_to(start, (4, *target.shape))))
    return costs[:, heading, agent[0], agent[1]]
