"""Drive to the passenger, take them in and let them out at the stand of the colour that they ask for.

Rules of gymnasium's Taxi in towns drawn anew: thin walls of a maze with some of them taken away again.
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

SIDE, STANDS = 9, 6
SIDES = np.array([5, 7, 9], np.int32)
STAND_COUNTS = np.array([4, 5, 6], np.int32)
OPEN_SHARE = 0.4  # of the maze's walls are taken away
ACTIONS = (*grids.MOVES, "pickup", "dropoff")
PICKUP, DROPOFF = 4, 5
COLOURS = ("red", "green", "yellow", "blue", "purple", "orange")
BELOW, RIGHT = 1, 2  # bits of a cell's walls
PERSON, TAXI, TAXI_BY_PERSON, FULL_TAXI = range(1, 5)
THINGS = ("", " person", " taxi", " taxi:near", " taxi:full")
# Tiles of the streets by walls, stand and thing; then those of the strip below: who wants what colour.
STREETS = tuple(
    f"street{stand}{thing} walls:{(4 if walls & BELOW else 0) + (2 if walls & RIGHT else 0)}"
    for thing in THINGS
    for stand in ("", *(f":{colour}" for colour in COLOURS))
    for walls in range(4)
)
BLANK = len(STREETS)
# A cell in words: its stand, who is there, its walls.
WORDS = tuple(
    stand + thing + ("_" if walls & BELOW else "") + ("|" if walls & RIGHT else "")
    for thing in ("", "p", "t", "tp", "f")
    for stand in (".", *(colour[0].upper() for colour in COLOURS))
    for walls in range(4)
)


@struct.dataclass
class Town:
    walls: jax.Array  # uint8[9, 9], bits of the walls below and to the right
    taxi: jax.Array  # int32[2]
    stands: jax.Array  # int8[6, 2], one a colour; (-1, -1) when there is none
    passenger: jax.Array  # int32[], the stand where they wait, STANDS when they are in the taxi
    wish: jax.Array  # int32[], the stand where they want to go
    side: jax.Array  # int32[]


class Taxi(TileEnvironment):
    id = "taxi"
    family = "navigation"
    abilities = (
        "locate_agent",
        "recognise_colour",
        "detect_walls",
        "decompose_subgoals",
        "plan_path",
        "format_move",
    )
    grammar = Word(ACTIONS)
    task = (
        "Drive the passenger to the stand of the colour shown below the map. "
        "Answer <answer>up</answer>, down, left, right, pickup or dropoff."
    )
    rules = (
        "Pickup works where the passenger waits, dropoff at any stand. Walls stop you. On the board capitals "
        "are stands, t is the taxi, p the passenger, f both in one, _ a wall below, | a wall to the right."
    )
    max_turns: ClassVar[tuple[int, ...]] = (32, 42, 56)
    tileset = (*STREETS, "slot", "slot person", "slot wish", *(f"slot swatch:{colour}" for colour in COLOURS))

    def generate(self, key: jax.Array, scale: jax.Array) -> Town:
        side, count = jnp.asarray(SIDES)[scale], jnp.asarray(STAND_COUNTS)[scale]
        noise_key, who, where = jax.random.split(key, 3)
        noise = grids.noise(noise_key, (5, SIDE, SIDE))
        cells = grids.inside(SIDE, side)
        inner = grids.neighbours(cells, False) & cells
        opened = grids.spanning_tree(noise[:2], side) | (inner & (noise[2] < OPEN_SHARE))
        stands = jnp.where(jnp.arange(STANDS)[:, None] < count, grids.pick(noise[3], cells, STANDS), -1)
        (taxi,) = grids.pick(noise[4], cells, 1)
        passenger = jax.random.randint(who, (), 0, count)
        wish = (passenger + jax.random.randint(where, (), 1, count)) % count
        town = Town(_walls(opened), taxi, stands.astype(jnp.int8), passenger, wish, side)
        away = _away(town)
        turns = away[taxi[0], taxi[1]] + 1 + away[stands[wish, 0], stands[wish, 1]] + 1
        # Seldom the clock would end the shortest drive; that town loses its walls.
        short = turns <= jnp.asarray(self.max_turns)[scale]
        return replace(town, walls=jnp.where(short, town.walls, _walls(inner)))

    def legal(self, state: Town, action: jax.Array) -> jax.Array:
        """There is someone to take in or a stand to let them out."""
        stand = _stand(state, state.taxi)
        picks = (stand == state.passenger) & (stand < STANDS)
        drops = (state.passenger == STANDS) & (stand < STANDS)
        return jnp.where(action == PICKUP, picks, jnp.where(action == DROPOFF, drops, True))

    def transition(self, key: jax.Array, state: Town, action: jax.Array) -> tuple[Town, jax.Array, jax.Array]:
        move = jnp.minimum(action, 3)
        drives = (action < PICKUP) & _open_moves(state)[move, state.taxi[0], state.taxi[1]]
        taxi = state.taxi + jnp.where(drives, jnp.asarray(grids.STEPS)[move], 0)
        stand = _stand(state, state.taxi)
        passenger = jnp.where(action == PICKUP, STANDS, jnp.where(action == DROPOFF, stand, state.passenger))
        arrived = (action == DROPOFF) & (stand == state.wish)
        return replace(state, taxi=taxi, passenger=passenger), arrived.astype(jnp.float32), arrived

    def symbolic(self, state: Town) -> jax.Array:
        row, col = jnp.indices((SIDE + 1, SIDE))
        strip = BLANK + jnp.where(col == 0, 1, jnp.where(col == 1, 2, jnp.where(col == 2, 3 + state.wish, 0)))
        streets = jnp.pad(_streets(state), ((0, 1), (0, 0)))
        return jnp.where(row == state.side, strip, streets).astype(jnp.uint8)

    def extent(self, state: Town) -> tuple[jax.Array, jax.Array]:
        return state.side + 1, state.side

    def describe(self, state: Town) -> Texts:
        board = text.grid(_streets(state), WORDS, state.side, state.side)
        wish = text.choose(state.wish, tuple(f"\np to {colour[0].upper()}" for colour in COLOURS))
        waits = tuple(f", passenger at the {colour} stand" for colour in COLOURS)
        facts = text.concat(
            text.encode("taxi "),
            grids.place(state.taxi),
            text.choose(state.passenger, (*waits, ", passenger in the taxi")),
            text.choose(state.wish, tuple(f", wants the {colour} stand" for colour in COLOURS)),
        )
        hint = text.concat(
            text.choose(
                (state.passenger == STANDS).astype(jnp.int32), ("the passenger is ", "their stand is ")
            ),
            grids.offset(state.stands[_next_stand(state)].astype(jnp.int32) - state.taxi),
        )
        return Texts(text.concat(board, wish), facts, hint)

    def exercised(self, state: Town, action: jax.Array, after: Town) -> dict[str, jax.Array]:
        opened = _open_moves(state)[:, state.taxi[0], state.taxi[1]]
        ahead = ((state.stands[_next_stand(state)] - state.taxi) * grids.STEPS).sum(1) > 0
        away = _away(state)
        moved = (after.taxi != state.taxi).any()
        onward = away[after.taxi[0], after.taxi[1]] < away[state.taxi[0], state.taxi[1]]
        arrived = (action == DROPOFF) & (after.passenger == state.wish)
        return {
            "locate_agent": moved,
            "recognise_colour": arrived | ((state.passenger == STANDS) & onward),
            "detect_walls": moved & (ahead & ~opened).any(),
            "decompose_subgoals": arrived | (action == PICKUP),
            "plan_path": onward,
        }

    def expert(self, key: jax.Array, state: Town) -> jax.Array:
        target = grids.mask_at(SIDE, state.stands[_next_stand(state)])
        opened, away = _open_moves(state), _away(state)
        onward = jnp.where(opened, grids.neighbours(away, grids.UNREACHABLE), grids.UNREACHABLE)
        move = grids.random_argmin(key, onward[:, state.taxi[0], state.taxi[1]])
        handles = jnp.where(state.passenger == STANDS, DROPOFF, PICKUP)
        return jnp.where(target[state.taxi[0], state.taxi[1]], handles, move).astype(jnp.int32)


def _walls(opened: jax.Array) -> jax.Array:
    """uint8[9, 9]: a cell's walls where the moves down and right, of bool[4, 9, 9], are not open."""
    return (jnp.where(opened[1], 0, BELOW) + jnp.where(opened[3], 0, RIGHT)).astype(jnp.uint8)


def _stand(state: Town, cell: jax.Array) -> jax.Array:
    """int32[]: the stand at a cell int32[2], more than STANDS where there is none."""
    here = (state.stands == cell).all(-1)
    return jnp.where(here.any(), here.argmax(), STANDS + 1).astype(jnp.int32)


def _next_stand(state: Town) -> jax.Array:
    """int32[]: where the taxi has to go now."""
    return jnp.where(state.passenger == STANDS, state.wish, state.passenger)


def _away(state: Town) -> jax.Array:
    """int32[9, 9]: moves to the stand where the taxi has to go now."""
    target = grids.mask_at(SIDE, state.stands[_next_stand(state)])
    return grids.distances(target, _open_moves(state), SIDE * SIDE)


def _open_moves(state: Town) -> jax.Array:
    """bool[4, 9, 9]: the moves that walls and edge allow."""
    down, right = state.walls & BELOW == 0, state.walls & RIGHT == 0
    # A roll is harmless: there are walls along the last row and column.
    return jnp.stack([jnp.roll(down, 1, 0), down, jnp.roll(right, 1, 1), right])


def _streets(state: Town) -> jax.Array:
    """int32[9, 9]: the tile of each cell of the map."""
    at = jnp.arange(SIDE)
    last = at == state.side - 1
    # The edge of the board needs no line.
    walls = state.walls & ~(BELOW * last[:, None] + RIGHT * last[None, :]).astype(jnp.uint8)
    cells = at[:, None] * SIDE + at
    flat = state.stands[:, 0].astype(jnp.int32) * SIDE + state.stands[:, 1]
    stands = jnp.where(flat[:, None, None] == cells, jnp.arange(1, STANDS + 1)[:, None, None], 0).sum(0)
    waiting = stands == state.passenger + 1
    here = grids.mask_at(SIDE, state.taxi)
    on_taxi = jnp.where(state.passenger == STANDS, FULL_TAXI, jnp.where(waiting, TAXI_BY_PERSON, TAXI))
    thing = jnp.where(here, on_taxi, jnp.where(waiting, PERSON, 0))
    return walls + 4 * stands + 4 * (STANDS + 1) * thing
