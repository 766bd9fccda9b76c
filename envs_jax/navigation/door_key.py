"""Fetch the key, open the locked door in the wall between two rooms, reach the goal.

The rules are those of MiniGrid's DoorKey, seen whole from above. Where the agent can put it out of its way at
once, it begins with a ball in its hands, which must be dropped before the key can be picked up.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.navigation import facing
from envs_jax.navigation.facing import FORWARD
from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE = 8
SIDES = np.array([5, 6, 8], np.int32)
PICKUP, DROP, TOGGLE = range(len(facing.TURNS_AND_STEP), 6)
OPEN, CLOSED, LOCKED = range(3)
DOORS = ("open", "closed", "locked")
EMPTY, KEY, BALL = range(3)
HANDS = ("", "key", "ball")
FLOOR, WALL, LYING, GOAL, DOOR = 0, 1, 1, 4, 5
AGENT = DOOR + len(DOORS)
NOWHERE = -1
# No shortest way from any state of an 8 x 8 board is longer.
LONGEST_WAY = 44
# In the expert's count the ball is picked up again only where it shuts the way.
LAST_RESORT = 1000
NEVER = grids.UNREACHABLE


@struct.dataclass
class Rooms:
    agent: jax.Array  # int32[2]
    heading: jax.Array  # int32[], of facing.HEADINGS
    hand: jax.Array  # int32[], of HANDS
    key: jax.Array  # int32[2], its cell; NOWHERE in the hand
    ball: jax.Array  # int32[2], its cell; NOWHERE in the hand or where there is none
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
    grammar = Word((*facing.TURNS_AND_STEP, "pickup", "drop", "toggle"))
    task = (
        "Get the key, open the door, go to the green goal. "
        "Answer <answer>left</answer>, right, forward, pickup, drop or toggle."
    )
    rules = (
        "Left and right turn you. Pickup, drop and toggle act on the cell ahead. You carry one thing. "
        "Toggle opens the door."
    )
    max_turns: ClassVar[tuple[int, ...]] = (18, 26, 40)
    tileset = (
        "floor",
        "wall",
        "floor key",
        "floor ball",
        "floor goal",
        *(f"door:{lock}" for lock in DOORS),
        *(
            f"{ground} arrow:{heading}{held}"
            for ground in ("floor", "door:open", "floor goal")
            for held in ("", " held:key", " held:ball")
            for heading in range(4)
        ),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Rooms:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (SIDE * SIDE + 6,))
        column = 2 + _below(noise[0], side - 4)
        door = jnp.stack([1 + _below(noise[1], side - 3), column])
        at = jnp.arange(SIDE)
        room = ((at > 0) & (at < side - 1))[:, None] & ((at > 0) & (at < column))[None, :]
        agent, thing = grids.pick(noise[6:].reshape(SIDE, SIDE), room, 2)
        # A ball dropped ahead is in nobody's way when the key and the door are on the other side.
        steps = jnp.asarray(facing.STEPS)
        wanted = jnp.stack([thing, door - np.array([0, 1])])
        behind = ((steps @ (wanted - agent).T) <= 0).all(1) & _at(
            room & _out_of_the_way(door, side), agent + steps
        )
        hand = jnp.where(behind.any(), jnp.int32(BALL), jnp.int32(EMPTY))
        heading = jnp.argmax(jnp.where(behind | (hand == EMPTY), noise[2:6], -1.0))
        nowhere = jnp.full(2, NOWHERE, jnp.int32)
        return Rooms(agent, heading.astype(jnp.int32), hand, thing, nowhere, door, jnp.int32(LOCKED), side)

    def transition(
        self, key: jax.Array, state: Rooms, action: jax.Array
    ) -> tuple[Rooms, jax.Array, jax.Array]:
        ahead = facing.in_front(state.agent, state.heading)
        thing = _at(_board(state), ahead)
        steps = (action == FORWARD) & ((thing == FLOOR) | (thing == GOAL) | (thing == DOOR + OPEN))
        picks = (action == PICKUP) & (state.hand == EMPTY)
        drops = (action == DROP) & (thing == FLOOR)
        toggles = (action == TOGGLE) & (ahead == state.door).all()
        toggles &= (state.lock != LOCKED) | (state.hand == KEY)

        def moved(cell: jax.Array, which: int) -> tuple[jax.Array, jax.Array]:
            """Whether the thing is in the hand afterwards, and its cell."""
            taken, put = picks & (thing == LYING + which), drops & (state.hand == which)
            cell = jnp.where(taken, NOWHERE, jnp.where(put, ahead, cell))
            return taken | ((state.hand == which) & ~put), cell

        has_key, key_cell = moved(state.key, KEY)
        has_ball, ball_cell = moved(state.ball, BALL)
        arrived = steps & (thing == GOAL)
        after = replace(
            state,
            agent=jnp.where(steps, ahead, state.agent),
            heading=facing.turned(state.heading, action),
            hand=(KEY * has_key + BALL * has_ball).astype(jnp.int32),
            key=key_cell,
            ball=ball_cell,
            lock=jnp.where(toggles, jnp.where(state.lock == OPEN, CLOSED, OPEN), state.lock),
        )
        return after, arrived.astype(jnp.float32), arrived

    def symbolic(self, state: Rooms) -> jax.Array:
        board = _board(state)
        ground = _at(board, state.agent)
        on = jnp.where(ground == GOAL, 2, jnp.where(ground == DOOR + OPEN, 1, 0))
        agent = AGENT + 4 * (len(HANDS) * on + state.hand) + state.heading
        return jnp.where(grids.mask_at(SIDE, state.agent), agent, board).astype(jnp.uint8)

    def extent(self, state: Rooms) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Rooms) -> Texts:
        words = (".", "#", "K", "B", "G", "O", "C", "L", *(3 * len(HANDS) * facing.ARROWS))
        board = text.grid(self.symbolic(state), words, state.side, state.side)
        facts = text.concat(
            facing.pose(state.agent, state.heading),
            text.choose(state.lock, tuple(f", door {lock}" for lock in DOORS)),
            text.choose(state.hand, ("", ", you have the key", ", you have a ball")),
        )
        goals = ("drop the ball", "pick up the key", "open the door", "go to the goal")
        unlocked = state.lock != LOCKED
        reached = jnp.where(
            state.lock == OPEN, 3, jnp.where(unlocked | (state.hand == KEY), 2, state.hand != BALL)
        )
        return Texts(board, facts, text.choose(reached.astype(jnp.int32), goals))

    def exercised(self, state: Rooms, action: jax.Array, after: Rooms) -> dict[str, jax.Array]:
        ahead = facing.in_front(after.agent, after.heading)
        thing = _at(_board(after), ahead)
        costs = self._costs(state)
        takes, gives = (action == PICKUP) | (action == DROP), (action == TOGGLE) | (action == DROP)
        changed = (after.hand != state.hand) | (after.lock != state.lock)
        best = costs[action] <= costs.min()
        return {
            "locate_target": (action < PICKUP) & (thing > LYING) & best,
            "read_symbol": takes & changed,
            "decompose_subgoals": changed & best,
            "plan_path": (action < PICKUP) & best,
            "read_gauge_status": gives & (state.hand != EMPTY) & changed,
        }

    def expert(self, key: jax.Array, state: Rooms) -> jax.Array:
        # Of equal ways the one that drops the ball now: where it is dropped later may be in the way.
        now = (jnp.arange(6) == DROP) & (state.hand == BALL)
        return grids.random_argmin(key, 2 * self._costs(state) - now)

    def _costs(self, state: Rooms) -> jax.Array:
        """int32[6]: moves to the goal when each action is taken."""
        costs = _action_costs(state)[:, state.hand, (state.lock == OPEN).astype(jnp.int32)]
        return costs[:, state.heading, state.agent[0], state.agent[1]]


def _below(noise: jax.Array, bound: jax.Array | int) -> jax.Array:
    """An integer int32[] in 0..bound-1 from noise float32[] in [0, 1)."""
    return jnp.minimum((noise * bound).astype(jnp.int32), bound - 1)


def _at(field: jax.Array, cells: jax.Array) -> jax.Array:
    """The values of field [R, C] in cells int32[..., 2]."""
    return field[cells[..., 0], cells[..., 1]]


def _board(state: Rooms) -> jax.Array:
    """int32[8, 8]: what is in each cell, without the agent."""
    at = jnp.arange(SIDE)
    inner = (at > 0) & (at < state.side - 1)
    rooms = inner[:, None] & (inner & (at != state.door[1]))[None, :]
    goal = jnp.stack([state.side - 2, state.side - 2])
    board = jnp.where(rooms, FLOOR, WALL)
    things = (
        (state.door, DOOR + state.lock),
        (state.key, LYING + KEY),
        (state.ball, LYING + BALL),
        (goal, GOAL),
    )
    for cell, thing in things:
        board = jnp.where(grids.mask_at(SIDE, cell), thing, board)
    return board


def _out_of_the_way(door: jax.Array, side: jax.Array) -> jax.Array:
    """bool[8, 8]: where a thing on the floor shuts no way: not before the door, and in a room that is one
    cell wide only at its ends."""
    row, col = jnp.indices((SIDE, SIDE))
    width = jnp.where(col < door[1], door[1] - 1, side - 2 - door[1])
    passage = (row == door[0]) & (jnp.abs(col - door[1]) == 1)
    return ~passage & ((width > 1) | (row == 1) | (row == side - 2))


def _ahead(cells: jax.Array, fill: bool | int) -> jax.Array:
    """[stage, door, 4, R, C]: `facing.ahead` of each [stage, door, ...]."""
    return jax.vmap(jax.vmap(lambda field: facing.ahead(field, fill)))(cells)


def _action_costs(state: Rooms) -> jax.Array:
    """int32[6, 5, 2, 4, 8, 8]: moves to the goal when each action is taken, for each (stage, door open,
    heading, row, column). The first stages are what is in the hand; in the others the ball is put away. The
    door may be opened but not closed, the key taken up but not dropped, the ball dropped out of the way."""
    empty_cleared, key_cleared = BALL + 1, BALL + 2
    stage, opened = np.arange(key_cleared + 1)[:, None, None, None], np.array([False, True])[:, None, None]
    has_key = (stage == KEY) | (stage == key_cleared)
    board = _board(state)
    key, ball, door = board == LYING + KEY, board == LYING + BALL, grids.mask_at(SIDE, state.door)
    enters = (board == FLOOR) | (board == GOAL) | (key & has_key) | (ball & (stage >= BALL)) | (door & opened)
    steps = _ahead(enters, False)
    at_key, at_ball, at_door = (facing.ahead(cells, False) for cells in (key, ball, door))
    at_room = facing.ahead((board == FLOOR) & _out_of_the_way(state.door, state.side), False)
    unlocks = (at_door & (has_key | (state.lock != LOCKED)))[:, None]

    def act(cost: jax.Array) -> jax.Array:
        never = jnp.full_like(cost, NEVER)
        forward = jnp.where(steps, _ahead(cost, NEVER), never)
        ball_taken = jnp.where(at_ball, cost[BALL] + LAST_RESORT, NEVER)
        pickup = never.at[EMPTY].set(jnp.where(at_key, cost[KEY], ball_taken))
        pickup = pickup.at[empty_cleared].set(jnp.where(at_key, cost[key_cleared], NEVER))
        drop = never.at[BALL].set(jnp.where(at_room, cost[empty_cleared], NEVER))
        toggle = jnp.where(unlocks, cost[:, 1:], never)
        return jnp.stack([jnp.roll(cost, 1, 2), jnp.roll(cost, -1, 2), forward, pickup, drop, toggle])

    start = jnp.where(board == GOAL, 0, NEVER).astype(jnp.int32)
    start = jnp.broadcast_to(start, (key_cleared + 1, 2, 4, SIDE, SIDE))

    def relax(_: int, cost: jax.Array) -> jax.Array:
        return jnp.minimum(cost, jnp.minimum(act(cost).min(0) + 1, NEVER))

    return act(jax.lax.fori_loop(0, LONGEST_WAY, relax, start))
