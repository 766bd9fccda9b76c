"""Fetch the key, open the locked door in the wall between two rooms, reach the goal.

The rules are those of MiniGrid's DoorKey, seen whole from above.
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

SIDE = 8
SIDES = np.array([5, 6, 8], np.int32)
ACTIONS = ("left", "right", "forward", "pickup", "drop", "toggle")
LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)
# Headings clockwise from the right, as in MiniGrid.
HEADINGS = ("right", "down", "left", "up")
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)], np.int32)
OPEN, CLOSED, LOCKED = range(3)
FLOOR, WALL, KEY, GOAL, DOOR, AGENT = 0, 1, 2, 3, 4, 7
DOORS = ("open", "closed", "locked")
# No shortest way from any state of an 8 x 8 board is longer.
LONGEST_WAY = 40
NEVER = int(grids.UNREACHABLE)


@struct.dataclass
class Rooms:
    agent: jax.Array  # int32[2]
    heading: jax.Array  # int32[], of HEADINGS
    key: jax.Array  # int32[2], where the key lies unless it is carried
    carrying: jax.Array  # bool[]
    door: jax.Array  # int32[2]; its column is the wall between the rooms
    lock: jax.Array  # int32[], of DOORS
    side: jax.Array  # int32[]


class DoorKey(TileEnvironment):
    id = "door_key"
    family = "navigation"
    abilities = (
        "locate_target",
        "read_symbol",
        "decompose_subgoals",
        "plan_path",
        "read_gauge_status",
        "format_move",
    )
    grammar = Word(ACTIONS)
    task = (
        "Get the key, open the door, go to the green goal. "
        "Answer <answer>left</answer>, right, forward, pickup, drop or toggle."
    )
    rules = "Left and right turn you. Pickup, drop and toggle act on the cell ahead. Toggle opens the door."
    max_turns: ClassVar[tuple[int, ...]] = (18, 26, 40)
    tileset = (
        "floor",
        "wall",
        "floor key",
        "floor goal",
        *(f"door:{lock}" for lock in DOORS),
        *(
            f"{ground} arrow:{heading}{held}"
            for ground in ("floor", "door:open", "floor goal")
            for held in ("", " held")
            for heading in range(4)
        ),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Rooms:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (SIDE * SIDE + 3,))
        column = 2 + _below(noise[0], side - 4)
        door = jnp.stack([1 + _below(noise[1], side - 3), column])
        at = jnp.arange(SIDE)
        room = ((at > 0) & (at < side - 1))[:, None] & ((at > 0) & (at < column))[None, :]
        agent, dropped = grids.pick(noise[3:].reshape(SIDE, SIDE), room, 2)
        return Rooms(agent, _below(noise[2], 4), dropped, jnp.bool_(False), door, jnp.int32(LOCKED), side)

    def transition(
        self, key: jax.Array, state: Rooms, action: jax.Array
    ) -> tuple[Rooms, jax.Array, jax.Array]:
        ahead = state.agent + jnp.asarray(STEPS)[state.heading]
        thing = _board(state)[ahead[0], ahead[1]]
        turn = (action == RIGHT).astype(jnp.int32) - (action == LEFT)
        steps = (action == FORWARD) & ((thing == FLOOR) | (thing == GOAL) | (thing == DOOR + OPEN))
        picks = (action == PICKUP) & (thing == KEY)
        drops = (action == DROP) & (thing == FLOOR) & state.carrying
        toggles = (
            (action == TOGGLE) & ((ahead == state.door).all()) & ((state.lock != LOCKED) | state.carrying)
        )
        arrived = steps & (thing == GOAL)
        after = replace(
            state,
            agent=jnp.where(steps, ahead, state.agent),
            heading=(state.heading + turn) % 4,
            key=jnp.where(drops, ahead, state.key),
            carrying=(state.carrying | picks) & ~drops,
            lock=jnp.where(toggles, jnp.where(state.lock == OPEN, CLOSED, OPEN), state.lock),
        )
        return after, arrived.astype(jnp.float32), arrived

    def symbolic(self, state: Rooms) -> jax.Array:
        board = _board(state)
        ground = board[state.agent[0], state.agent[1]]
        on = jnp.where(ground == GOAL, 2, jnp.where(ground == DOOR + OPEN, 1, 0))
        agent = AGENT + 8 * on + 4 * state.carrying + state.heading
        return jnp.where(grids.mask_at(SIDE, state.agent), agent, board).astype(jnp.uint8)

    def extent(self, state: Rooms) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Rooms) -> Texts:
        words = (".", "#", "K", "G", "O", "C", "L", *(6 * (">", "v", "<", "^")))
        board = text.grid(self.symbolic(state), words, state.side, state.side)
        facts = text.concat(
            text.encode("you "),
            grids.place(state.agent),
            text.choose(state.heading, tuple(f" facing {heading}" for heading in HEADINGS)),
            text.choose(state.lock, tuple(f", door {lock}" for lock in DOORS)),
            text.when(state.carrying, text.encode(", you have the key")),
        )
        goals = ("pick up the key", "open the door", "go to the goal")
        reached = jnp.where(state.lock == OPEN, 2, state.carrying | (state.lock == CLOSED))
        return Texts(board, facts, text.choose(reached.astype(jnp.int32), goals))

    def expert(self, key: jax.Array, state: Rooms) -> jax.Array:
        costs = _action_costs(state)[
            :, state.carrying.astype(jnp.int32), (state.lock == OPEN).astype(jnp.int32)
        ]
        return grids.random_argmin(key, costs[:, state.heading, state.agent[0], state.agent[1]])


def _below(noise: jax.Array, bound: jax.Array | int) -> jax.Array:
    """An integer int32[] in 0..bound-1 from noise float32[] in [0, 1)."""
    return jnp.minimum((noise * bound).astype(jnp.int32), bound - 1)


def _board(state: Rooms) -> jax.Array:
    """int32[8, 8]: what is in each cell, without the agent."""
    at = jnp.arange(SIDE)
    inner = (at > 0) & (at < state.side - 1)
    rooms = inner[:, None] & (inner & (at != state.door[1]))[None, :]
    board = jnp.where(rooms, FLOOR, WALL)
    board = jnp.where(grids.mask_at(SIDE, state.door), DOOR + state.lock, board)
    board = jnp.where(grids.mask_at(SIDE, state.key) & ~state.carrying, KEY, board)
    goal = jnp.stack([state.side - 2, state.side - 2])
    return jnp.where(grids.mask_at(SIDE, goal), GOAL, board)


def _ahead(field: jax.Array, fill: bool | int) -> jax.Array:
    """[..., 4, 8, 8]: for each heading and cell, the field's value in the cell ahead."""
    padded = jnp.pad(field, [(0, 0)] * (field.ndim - 2) + [(1, 1), (1, 1)], constant_values=fill)
    at = [
        padded[..., h, 1 + dr : 1 + dr + SIDE, 1 + dc : 1 + dc + SIDE]
        for h, (dr, dc) in enumerate(STEPS.tolist())
    ]
    return jnp.stack(at, axis=-3)


def _action_costs(state: Rooms) -> jax.Array:
    """int32[6, 2, 2, 4, 8, 8]: moves to the goal when each action is taken, for each (carrying, door open,
    heading, row, column). The key may be taken up but not dropped, the door opened but not closed."""
    board = _board(state)
    key, door = board == KEY, grids.mask_at(SIDE, state.door)
    holds, opened = np.array([False, True])[:, None], np.array([False, True])[None, :]
    enters = (
        (board == FLOOR) | (board == GOAL) | (key & holds[..., None, None]) | (door & opened[..., None, None])
    )

    def facing(cells: jax.Array) -> jax.Array:
        return _ahead(jnp.broadcast_to(cells[..., None, :, :], (*cells.shape[:-2], 4, SIDE, SIDE)), False)

    steps, at_key, at_door = facing(enters), facing(key), facing(door)
    unlocks = at_door & (holds | (state.lock != LOCKED))[..., None, None, None]

    def act(cost: jax.Array) -> jax.Array:
        never = jnp.full_like(cost, NEVER)
        forward = jnp.where(steps, _ahead(cost, NEVER), never)
        pickup = jnp.where(at_key, cost[1:], never)
        toggle = jnp.where(unlocks, cost[:, 1:], never)
        return jnp.stack([jnp.roll(cost, 1, 2), jnp.roll(cost, -1, 2), forward, pickup, never, toggle])

    goal = jnp.broadcast_to(board == GOAL, (2, 2, 4, SIDE, SIDE))
    start = jnp.where(goal, 0, NEVER).astype(jnp.int32)

    def relax(_: int, cost: jax.Array) -> jax.Array:
        return jnp.minimum(cost, jnp.minimum(act(cost).min(0) + 1, NEVER))

    return act(jax.lax.fori_loop(0, LONGEST_WAY, relax, start))
