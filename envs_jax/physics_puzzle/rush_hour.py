"""Drive the red car out of a crowded car park. Vehicles only go forward and back.

Hard boards were made with shortest ways out (`tests/envs/make_rush_hour.py`). An instance starts on the way
of one of them, as many moves before the exit as the scale asks for, so that no fewer will do. It may be
upside down, and letters and colours are dealt anew. The state keeps the way as a stack, onto which other
moves put their way back; the expert follows it.
"""

import json
from dataclasses import replace
from importlib import resources
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE, EXIT = 6, 4
LETTERS = "ABCDEFGHIJKL"
MOST = len(LETTERS)  # vehicles
STEPS = np.array([-4, -3, -2, -1, 1, 2, 3, 4], np.int32)
FEWEST = np.array([3, 7, 12], np.int32)  # moves to the exit
MOST_MOVES = np.array([5, 10, 16], np.int32)
MAX_TURNS = (9, 17, 28)
LONGEST_WAY = 20
CAPACITY = int(MOST_MOVES.max()) + max(MAX_TURNS)
FLOOR, WALL, OUT, VEHICLE = range(4)
PARTS = ("first", "middle", "last")


def _read(line: str) -> tuple[np.ndarray, list[int]]:
    """(int8[4, 12], moves): of each vehicle whether it stands in a column, its row or column, its length (0
    where there is none) and its first cell there."""
    board, *moves = line.split(" ")
    vehicles = np.zeros((4, MOST), np.int8)
    for index, letter in enumerate(LETTERS):
        if letter in board:
            rows, cols = np.nonzero(np.array(list(board)).reshape(SIDE, SIDE) == letter)
            vertical = bool(rows[0] != rows[1])
            lane, start = (cols[0], rows[0]) if vertical else (rows[0], cols[0])
            vehicles[:, index] = vertical, lane, len(rows), start
    return vehicles, [
        LETTERS.index(move[0]) * len(STEPS) + STEPS.tolist().index(int(move[1:])) for move in moves
    ]


_LINES = json.loads((resources.files("envs_jax.physics_puzzle") / "rush_hour.json").read_text())
BOARDS = np.stack([_read(line)[0] for line in _LINES])
WAYS = np.array([way + [0] * (LONGEST_WAY - len(way)) for _, way in map(_read, _LINES)], np.int32)
LENGTHS = np.array([len(_read(line)[1]) for line in _LINES], np.int32)


@struct.dataclass
class CarPark:
    vertical: jax.Array  # bool[12]
    lane: jax.Array  # int8[12], the row, or the column when vertical
    length: jax.Array  # int8[12], 0 where there is no vehicle
    start: jax.Array  # int8[12], the first cell in the lane
    way: jax.Array  # int8[44], moves that lead out, the next one at depth - 1
    depth: jax.Array  # int32[]


class RushHour(TileEnvironment):
    id = "rush_hour"
    family = "physics_puzzle"
    abilities = (
        "recognise_colour",
        "read_orientation",
        "predict_collision",
        "search_lookahead",
        "detect_deadlock",
        "format_move",
    )
    grammar = Word(tuple(f"{letter}{step:+d}" for letter in LETTERS.lower() for step in STEPS.tolist()))
    task = (
        "Bring the red car A to the exit. Answer a vehicle and how far it drives, like <answer>B-2</answer>: "
        "+ is right or down, - is left or up."
    )
    rules = "A vehicle drives along its length only, over free cells."
    max_turns: ClassVar[tuple[int, ...]] = MAX_TURNS
    hidden = ("way", "depth")
    tileset = (
        "street",
        "wall",
        "street forward",
        *(
            f"street vehicle:{letter}-{heading}-{part}"
            for letter in LETTERS
            for heading in ("across", "down")
            for part in PARTS
        ),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> CarPark:
        board_key, moves_key, flip_key, deal_key = jax.random.split(key, 4)
        board = jax.random.randint(board_key, (), 0, len(BOARDS))
        vertical, lane, length, start = jnp.asarray(BOARDS)[board].astype(jnp.int32)
        way, total = jnp.asarray(WAYS)[board], jnp.asarray(LENGTHS)[board]
        left = jax.random.randint(
            moves_key, (), jnp.asarray(FEWEST)[scale], jnp.asarray(MOST_MOVES)[scale] + 1
        )
        left = jnp.minimum(left, total)
        vehicle, step = jnp.divmod(way, len(STEPS))
        made = (jnp.arange(LONGEST_WAY) < total - left)[:, None] & (vehicle[:, None] == np.arange(MOST))
        start += (made * jnp.asarray(STEPS)[step][:, None]).sum(0)
        # Upside down, columns and what drives in them turn round.
        flipped = jax.random.bernoulli(flip_key)
        start = jnp.where(flipped & (vertical == 1), SIDE - length - start, start)
        lane = jnp.where(flipped & (vertical == 0), SIDE - 1 - lane, lane)
        step = jnp.where(flipped & (vertical[vehicle] == 1), len(STEPS) - 1 - step, step)
        # The red car stays the first, and letters of no vehicle the last.
        noise = jnp.where(length > 0, jax.random.uniform(deal_key, (MOST,)), -1.0).at[0].set(2.0)
        _, order = jax.lax.top_k(noise, MOST)
        dealt = jnp.zeros(MOST, jnp.int32).at[order].set(jnp.arange(MOST, dtype=jnp.int32))
        moves = dealt[vehicle] * len(STEPS) + step
        back = total - 1 - jnp.arange(CAPACITY)
        stack = jnp.where(jnp.arange(CAPACITY) < left, moves[jnp.maximum(back, 0)], -1)
        lane, length, start = jnp.stack([lane, length, start])[:, order].astype(jnp.int8)
        return CarPark(vertical[order] == 1, lane, length, start, stack.astype(jnp.int8), left)

    def legal(self, state: CarPark, action: jax.Array) -> jax.Array:
        """There is such a vehicle, and its way is free."""
        vehicle, step = jnp.divmod(action, len(STEPS))
        low, high = _reach(state)
        to = state.start[vehicle] + jnp.asarray(STEPS)[step]
        return (state.length[vehicle] > 0) & (to >= low[vehicle]) & (to <= high[vehicle])

    def transition(
        self, key: jax.Array, state: CarPark, action: jax.Array
    ) -> tuple[CarPark, jax.Array, jax.Array]:
        vehicle, step = jnp.divmod(action, len(STEPS))
        driven = jnp.where(jnp.arange(MOST) == vehicle, jnp.asarray(STEPS)[step], 0)
        start = (state.start + driven).astype(jnp.int8)
        follows = (state.depth > 0) & (action == _next(state))
        back = vehicle * len(STEPS) + len(STEPS) - 1 - step
        way = jnp.where(~follows & (jnp.arange(CAPACITY) == state.depth), back, state.way).astype(jnp.int8)
        depth = state.depth + jnp.where(follows, -1, 1)
        out = start[0] == EXIT
        return replace(state, start=start, way=way, depth=depth), out.astype(jnp.float32), out

    def symbolic(self, state: CarPark) -> jax.Array:
        covered, along = _covered(state)
        part = jnp.where(along == 0, 0, jnp.where(along == state.length[:, None, None] - 1, 2, 1))
        kind = (np.arange(MOST) * 2 + state.vertical)[:, None, None] * len(PARTS) + part
        board = FLOOR + jnp.where(covered, VEHICLE + kind, 0).sum(0)
        edge = jnp.where(jnp.arange(SIDE) == state.lane[0], OUT, WALL)
        return jnp.concatenate([board, edge[:, None]], axis=1).astype(jnp.uint8)

    def extent(self, state: CarPark) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(SIDE), jnp.int32(SIDE + 1)

    def describe(self, state: CarPark) -> Texts:
        board = text.grid(_names(state).astype(jnp.uint8), (".", *LETTERS), SIDE, SIDE)
        facts = text.concat(text.encode("the exit is right of row "), text.number(state.lane[0] + 1, 1))
        hint = text.concat(
            text.number(state.depth, 2),
            text.encode(" moves are enough, the next one is of "),
            text.choose(_next(state) // len(STEPS), LETTERS),
        )
        return Texts(board, facts, hint)

    def exercised(self, state: CarPark, action: jax.Array, after: CarPark) -> dict[str, jax.Array]:
        vehicle, step = jnp.divmod(action, len(STEPS))
        low, high = _reach(state)
        one_way = (low == state.start) | (high == state.start)
        red_goes = (vehicle == 0) & (jnp.asarray(STEPS)[step] > 0)
        crosses = state.vertical & (state.lane > state.start[0])
        half = len(STEPS) // 2
        return {
            "recognise_colour": red_goes | _in_way(state)[vehicle],
            # The next vehicle of the way goes to the right side, if not as far.
            "read_orientation": (state.depth > 0) & (action // half == _next(state) // half),
            "predict_collision": one_way[vehicle],
            "search_lookahead": after.depth < state.depth,
            # It might shut the red car in and does not.
            "detect_deadlock": crosses[vehicle] & ~_in_way(after)[vehicle],
        }

    def expert(self, key: jax.Array, state: CarPark) -> jax.Array:
        return _next(state).astype(jnp.int32)


def _next(state: CarPark) -> jax.Array:
    """int8[]: the next move of the way."""
    return state.way[jnp.maximum(state.depth - 1, 0)]


def _in_way(state: CarPark) -> jax.Array:
    """bool[12]: the vehicles between the red car and the exit."""
    row = state.lane[0]
    covers = (state.start <= row) & (row < state.start + state.length)
    return state.vertical & covers & (state.lane > state.start[0])


def _covered(state: CarPark) -> tuple[jax.Array, jax.Array]:
    """(bool[12, 6, 6], int32[12, 6, 6]): the cells of each vehicle, and how far along it each cell is."""
    row, col = np.indices((SIDE, SIDE), np.int32)
    vertical, lane, start = (leaf[:, None, None] for leaf in (state.vertical, state.lane, state.start))
    along = jnp.where(vertical, row, col) - start
    inside = (along >= 0) & (along < state.length[:, None, None])
    return inside & (jnp.where(vertical, col, row) == lane), along


def _names(state: CarPark) -> jax.Array:
    """int32[6, 6]: the vehicle in each cell, counted from 1; 0 where there is none."""
    return jnp.where(_covered(state)[0], 1 + np.arange(MOST)[:, None, None], 0).sum(0)


def _reach(state: CarPark) -> tuple[jax.Array, jax.Array]:
    """The lowest and the highest start int32[12] that each vehicle can drive to."""
    names = _names(state)
    lanes = jnp.where(state.vertical[:, None], names.T[state.lane], names[state.lane])
    blocked = (lanes > 0) & (lanes != 1 + np.arange(MOST)[:, None])
    at, end = jnp.arange(SIDE), (state.start + state.length)[:, None]
    low = jnp.where(blocked & (at < end), at + 1, 0).max(1)
    return low, jnp.where(blocked & (at >= end), at, SIDE).min(1) - state.length
