"""Lead each head to the target of its colour, all at once; what they pass is closed for everybody.

The rules of Jumanji's Connector. A random path over the whole board is cut into one piece for each agent,
with gaps between; the ends of a piece are head and target, so that all can be connected. The expert follows
the pieces.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE, MOST = 10, 8
SIDES, AGENTS = np.array([6, 8, 10], np.int32), np.array([3, 5, 8], np.int32)
COLOURS = ("red", "blue", "green", "orange", "purple", "yellow", "grey", "black")
NOOP = len(grids.MOVES)
STEPS = np.concatenate([grids.STEPS, np.zeros((1, 2), np.int32)])
# How far the ends of a piece may be moved, towards its middle.
SHORTER = 4
BACKBITES = 8 * SIDE**2


def _snake(side: int) -> np.ndarray:
    """int32[100]: the cells of a board, every other row backwards, -1 after the last."""
    rows = np.arange(side)[:, None] * SIDE + np.arange(side)
    rows[1::2] = rows[1::2, ::-1]
    return np.pad(rows.reshape(-1), (0, SIDE**2 - side**2), constant_values=-1).astype(np.int32)


SNAKES = np.stack([_snake(side) for side in SIDES.tolist()])


@struct.dataclass
class Wires:
    trails: jax.Array  # uint8[10, 10], 1 + the agent whose head is or was there, 0 for none
    heads: jax.Array  # int8[8, 2], (-1, -1) for agents that there are not
    targets: jax.Array  # int8[8, 2]
    places: jax.Array  # int8[10, 10], on the path that was cut, which leads from head to target
    scale: jax.Array  # int32[]


class Connector(TileEnvironment):
    id = "connector"
    family = "multi_agent"
    abilities = (
        "coordinate_agents",
        "recognise_colour",
        "plan_path",
        "reason_loop_topology",
        "predict_collision",
        "format_structured",
    )
    grammar = Moves((*grids.MOVES, "noop"), MOST)
    task = (
        "Lead each disc to the square of its colour; all move at once and leave trails. Answer up, down, "
        "left, right or noop for each, in the order red, blue, green, orange, purple, yellow, grey, black: "
        "<answer>up noop left</answer>."
    )
    rules = (
        "Nobody can enter a trail, a disc or a square of another colour; such a move does nothing. Of those "
        "that enter one cell only the last moves. The game ends when nobody can move."
    )
    max_turns: ClassVar[tuple[int, ...]] = (20, 24, 28)
    hidden = ("places",)
    tileset = (
        "paper",
        *(f"paper {kind}:{colour}" for kind in ("wire", "plug", "socket", "plugged") for colour in COLOURS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Wires:
        path_key, trim_key, agent_key = jax.random.split(key, 3)
        count, agents = jnp.asarray(SIDES)[scale] ** 2, jnp.asarray(AGENTS)[scale]
        path = _random_path(path_key, scale)
        there = jnp.arange(MOST) < agents
        # Which piece an agent has; pieces next to each other do not tell.
        noise = jax.random.uniform(agent_key, (MOST,))
        _, piece = jax.lax.top_k(jnp.where(there, noise, -1.0), MOST)
        trims = (grids.noise(trim_key, (2, MOST)) * SHORTER).astype(jnp.int32)
        head = jnp.where(there, piece * count // agents + trims[0], 0)
        target = jnp.where(there, (piece + 1) * count // agents - 1 - trims[1], 0)
        cells = jnp.stack(jnp.divmod(path, SIDE), axis=-1)
        heads = jnp.where(there[:, None], cells[head], -1)
        places = jnp.full(SIDE**2, -1, jnp.int8)
        places = places.at[jnp.where(path < 0, SIDE**2, path)].set(
            np.arange(SIDE**2, dtype=np.int8), mode="drop"
        )
        return Wires(
            trails=_board(heads).astype(jnp.uint8),
            heads=heads.astype(jnp.int8),
            targets=jnp.where(there[:, None], cells[target], -1).astype(jnp.int8),
            places=places.reshape(SIDE, SIDE),
            scale=scale,
        )

    def legal(self, state: Wires, action: jax.Array) -> jax.Array:
        """A word for each agent."""
        return (action >= 0).sum() == jnp.asarray(AGENTS)[state.scale]

    def transition(
        self, key: jax.Array, state: Wires, action: jax.Array
    ) -> tuple[Wires, jax.Array, jax.Array]:
        agent = jnp.arange(MOST)
        opened, cells = _ways(state)
        enters, cell = opened[agent, action], cells[agent, action]
        meets = enters[:, None] & enters & (cell[:, None] == cell).all(-1)
        goes = enters & ~(meets & (agent > agent[:, None])).any(1)
        heads = jnp.where(goes[:, None], cell, state.heads)
        trails = jnp.maximum(state.trails, _board(heads))
        after = replace(state, heads=heads.astype(jnp.int8), trails=trails.astype(jnp.uint8))
        connected = _connected(after).all()
        return after, connected.astype(jnp.float32), connected | ~_ways(after)[0].any()

    def symbolic(self, state: Wires) -> jax.Array:
        done = _connected(state)[:, None]
        plugs, sockets = _board(state.heads), _board(state.targets)
        plugged = _board(jnp.where(done, state.heads, -1))
        tiles = jnp.where(sockets > 0, 2 * MOST + sockets, state.trails)
        tiles = jnp.where(plugs > 0, MOST + plugs, tiles)
        return jnp.where(plugged > 0, 3 * MOST + plugged, tiles).astype(jnp.uint8)

    def extent(self, state: Wires) -> tuple[jax.Array, jax.Array]:
        side = jnp.asarray(SIDES)[state.scale]
        return side, side

    def describe(self, state: Wires) -> Texts:
        kinds = ("", "-head", "-target", "-done")
        words = (".", *(f"{colour}{kind}" for kind in kinds for colour in COLOURS))
        side, done = jnp.asarray(SIDES)[state.scale], _connected(state)
        agents = jnp.asarray(AGENTS)[state.scale]
        there = jnp.arange(MOST) < agents
        facts = text.concat(text.number((done & there).sum(), 1), text.encode(" of "), text.number(agents, 1))
        next_ = done.argmin()
        hint = text.concat(
            text.choose(next_, tuple(f"the target of {colour} is " for colour in COLOURS)),
            grids.offset((state.targets - state.heads)[next_].astype(jnp.int32)),
        )
        board = text.grid(self.symbolic(state), words, side, side)
        return Texts(board, text.concat(facts, text.encode(" connected")), hint)

    def exercised(self, state: Wires, action: jax.Array, after: Wires) -> dict[str, jax.Array]:
        moved = (after.heads != state.heads).any(1)
        told = (action >= 0) & (action < NOOP)
        arrived = _connected(after) & ~_connected(state)
        away = lambda state: jnp.abs(state.heads - state.targets).sum(1)  # noqa: E731
        begin, place, end = (
            state.places[cell[:, 0], cell[:, 1]] for cell in (state.heads, after.heads, state.targets)
        )
        onward = (away(after) < away(state)) | (place == begin + 1)
        # Who enters what is left of the piece of another.
        cuts = (place[:, None] > begin) & (place[:, None] <= end) & ~np.eye(MOST, dtype=bool)
        return {
            "coordinate_agents": (moved.sum() > 1) & (moved | _connected(state)).all(),
            "recognise_colour": arrived.any(),
            "plan_path": moved.any() & (onward | ~moved).all(),
            "reason_loop_topology": moved.any() & ~(moved & cuts.any(1)).any(),
            "predict_collision": told.any() & (moved | ~told).all(),
        }

    def expert(self, key: jax.Array, state: Wires) -> jax.Array:
        """Each agent goes on along its piece of the path, or waits when it has left it."""
        opened, cells = _ways(state)
        row, col = jnp.clip(cells, 0, SIDE - 1).transpose(2, 0, 1)
        places = state.places[row, col]
        onward = opened & (places == places[:, NOOP:] + 1)
        move = jnp.where(onward.any(1), onward.argmax(1), NOOP)
        return jnp.where(jnp.arange(MOST) < jnp.asarray(AGENTS)[state.scale], move, -1).astype(jnp.int32)


def _random_path(key: jax.Array, scale: jax.Array) -> jax.Array:
    """int32[100]: the cells of a path over the whole board, -1 after the last. From a snake by many backbite
    moves: an end is joined to a cell beside it, and the path from there to the end is turned round."""
    at = jnp.arange(SIDE**2)
    side = jnp.asarray(SIDES)[scale]
    count = side**2

    def bite(step: jax.Array, path: jax.Array) -> jax.Array:
        from_last, move = choices[step] // NOOP, choices[step] % NOOP
        row, col = jnp.divmod(path[jnp.where(from_last > 0, count - 1, 0)], SIDE)
        row, col = row + jnp.asarray(grids.STEPS)[move, 0], col + jnp.asarray(grids.STEPS)[move, 1]
        inside = (row >= 0) & (row < side) & (col >= 0) & (col < side)
        joint = (path == row * SIDE + col).argmax()
        last = jnp.where((at > joint) & (at < count), count + joint - at, at)
        first = jnp.where(at < joint, joint - 1 - at, at)
        return jnp.where(inside, path[jnp.where(from_last > 0, last, first)], path)

    choices = jax.random.randint(key, (BACKBITES,), 0, 2 * NOOP)
    return jax.lax.fori_loop(0, BACKBITES, bite, jnp.asarray(SNAKES)[scale])


def _ways(state: Wires) -> tuple[jax.Array, jax.Array]:
    """Whether each agent can move each way, bool[8, 5], and the cells there, int32[8, 5, 2]; noop never."""
    cells = state.heads[:, None].astype(jnp.int32) + STEPS
    inside = ((cells >= 0) & (cells < jnp.asarray(SIDES)[state.scale])).all(-1)
    row, col = jnp.clip(cells, 0, SIDE - 1).transpose(2, 0, 1)
    target = _board(state.targets)[row, col]
    free = (state.trails[row, col] == 0) & ((target == 0) | (target == 1 + jnp.arange(MOST)[:, None]))
    acts = (jnp.arange(MOST) < jnp.asarray(AGENTS)[state.scale]) & ~_connected(state)
    return inside & free & acts[:, None] & (np.arange(NOOP + 1) < NOOP), cells


def _connected(state: Wires) -> jax.Array:
    """bool[8]: the agents that are at their targets, and those that there are not."""
    return (state.heads == state.targets).all(1)


def _board(cells: jax.Array) -> jax.Array:
    """int32[10, 10]: 1 + the agent whose cell int[8, 2] it is, 0 for none."""
    at = jnp.arange(SIDE)
    here = (cells[:, :1] == at)[:, :, None] & (cells[:, 1:] == at)[:, None, :]
    return (here * jnp.arange(1, MOST + 1)[:, None, None]).sum(0)
