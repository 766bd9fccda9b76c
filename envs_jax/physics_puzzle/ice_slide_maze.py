"""Slide over the ice to the flag: nothing stops you but rocks and the edge.

Made backwards: from every cell the slides to a random place where one can come to rest are counted, and you
start as far away as the scale allows. Of a few such places the one that is farthest gets the flag.
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

SIDE, CELLS = 12, 144
SIDES = np.array([5, 8, 12], np.int32)
ROCKS = np.array([4, 10, 22], np.int32)
SLIDES = np.array([4, 7, 11], np.int32)  # at most, from the start to the flag
LONGEST_WAY = 40  # slides of the longest shortest way that is found
PLACES = 6  # for the flag, of which one is taken
ICE, ROCK, FLAG, AGENT, ARRIVED = range(5)


@struct.dataclass
class Ice:
    rocks: jax.Array  # bool[12, 12]
    agent: jax.Array  # int32[2]
    flag: jax.Array  # int32[2]
    side: jax.Array  # int32[]


class IceSlideMaze(TileEnvironment):
    id = "ice_slide_maze"
    family = "physics_puzzle"
    abilities = (
        "locate_agent",
        "model_sliding_gravity",
        "predict_collision",
        "search_lookahead",
        "plan_path",
        "format_move",
    )
    grammar = Word(grids.MOVES)
    task = "Slide to the flag and stop on it. Answer <answer>up</answer>, down, left or right."
    rules = "You slide on until a rock or the edge stops you. The flag does not stop you."
    max_turns: ClassVar[tuple[int, ...]] = (8, 14, 22)
    tileset = ("ice", "ice rock", "ice flag", "ice agent", "ice flag agent")

    def generate(self, key: jax.Array, scale: jax.Array) -> Ice:
        rock_key, flag_key, start_key = jax.random.split(key, 3)
        side = jnp.asarray(SIDES)[scale]
        cells = grids.inside(SIDE, side)
        rocks = grids.pick_mask(grids.noise(rock_key, (SIDE, SIDE)), cells, jnp.asarray(ROCKS)[scale])
        free = cells & ~rocks
        # One can come to rest where the way is blocked on one side and free on the other.
        around = grids.neighbours(free, False)
        places = free & (around & ~around[jnp.array([1, 0, 3, 2])]).any(0)
        flags = grids.pick(grids.noise(flag_key, (SIDE, SIDE)), places, PLACES)
        fields = jax.vmap(_slides_left, (None, None, 0))(rocks, side, flags)
        near = free & (fields <= jnp.asarray(SLIDES)[scale])
        far = jnp.where(near, fields + grids.noise(start_key, (SIDE, SIDE)), -1.0).reshape(PLACES, CELLS)
        best = far.max(1).argmax()
        start = jnp.stack(jnp.divmod(far[best].argmax(), SIDE)).astype(jnp.int32)
        return Ice(rocks, start, flags[best], side)

    def legal(self, state: Ice, action: jax.Array) -> jax.Array:
        """The next cell that way is free."""
        return (self._after(state, action) != state.agent).any()

    def transition(self, key: jax.Array, state: Ice, action: jax.Array) -> tuple[Ice, jax.Array, jax.Array]:
        agent = self._after(state, action)
        arrived = (agent == state.flag).all()
        return replace(state, agent=agent), arrived.astype(jnp.float32), arrived

    def symbolic(self, state: Ice) -> jax.Array:
        flag, agent = grids.mask_at(SIDE, state.flag), grids.mask_at(SIDE, state.agent)
        things = jnp.where(state.rocks, ROCK, jnp.where(flag, FLAG, ICE))
        return jnp.where(agent, jnp.where(flag, ARRIVED, AGENT), things).astype(jnp.uint8)

    def extent(self, state: Ice) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Ice) -> Texts:
        board = text.grid(self.symbolic(state), (".", "#", "F", "A", "X"), state.side, state.side)
        facts = text.concat(
            text.encode("you "),
            grids.place(state.agent, 2),
            text.encode(", the flag "),
            grids.place(state.flag, 2),
        )
        left = _slides_left(state.rocks, state.side, state.flag)[state.agent[0], state.agent[1]]
        reachable = left < grids.UNREACHABLE
        way = text.concat(text.number(jnp.minimum(left, LONGEST_WAY), 2), text.encode(" slides are enough"))
        lost = text.encode("no way leads to the flag any more")
        return Texts(board, facts, text.concat(text.when(reachable, way), text.when(~reachable, lost)))

    def exercised(self, state: Ice, action: jax.Array, after: Ice) -> dict[str, jax.Array]:
        left, lefts, blocked = _choices(state)
        away = lambda state: jnp.abs(state.flag - state.agent).sum()  # noqa: E731
        towards = (state.flag - state.agent) @ jnp.asarray(grids.STEPS)[action] > 0
        far = jnp.abs(after.agent - state.agent).sum() > 1
        onward = lefts[action] < left
        return {
            "locate_agent": towards,
            "model_sliding_gravity": far & (lefts[action] <= jnp.minimum(left, LONGEST_WAY)),
            "predict_collision": (blocked.sum() > 1) & ~blocked[action],
            # What seems a way round.
            "search_lookahead": onward & (away(after) >= away(state)),
            "plan_path": onward,
        }

    def expert(self, key: jax.Array, state: Ice) -> jax.Array:
        """A first slide of a shortest way."""
        _, lefts, blocked = _choices(state)
        return grids.random_argmin(key, lefts + blocked)

    def _after(self, state: Ice, action: jax.Array) -> jax.Array:
        """int32[2]: where the slide ends."""
        end = _ends(state.rocks, state.side)[action, state.agent[0] * SIDE + state.agent[1]]
        return jnp.stack(jnp.divmod(end, SIDE))


def _choices(state: Ice) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Slides to the flag from here int32[] and after each move int32[4]; which moves are blocked bool[4]."""
    field = _slides_left(state.rocks, state.side, state.flag).reshape(-1)
    here = state.agent[0] * SIDE + state.agent[1]
    ends = _ends(state.rocks, state.side)[:, here]
    return field[here], field[ends], ends == here


def _ends(rocks: jax.Array, side: jax.Array) -> jax.Array:
    """int32[4, 144]: the flat cell in which a slide from each free cell ends, for each of grids.MOVES."""
    blocked = rocks | ~grids.inside(SIDE, side)
    row, col = jnp.indices((SIDE, SIDE), jnp.int32)
    up = jax.lax.cummax(jnp.where(blocked, row + 1, 0), 0)
    down = jax.lax.cummin(jnp.where(blocked, row - 1, SIDE - 1), 0, reverse=True)
    left = jax.lax.cummax(jnp.where(blocked, col + 1, 0), 1)
    right = jax.lax.cummin(jnp.where(blocked, col - 1, SIDE - 1), 1, reverse=True)
    ends = jnp.stack([up * SIDE + col, down * SIDE + col, row * SIDE + left, row * SIDE + right])
    return jnp.where(blocked, row * SIDE + col, ends).reshape(4, CELLS)


def _slides_left(rocks: jax.Array, side: jax.Array, flag: jax.Array) -> jax.Array:
    """int32[12, 12]: slides to the flag from each free cell; UNREACHABLE where no way leads there."""
    ends = _ends(rocks, side)
    start = jnp.where(grids.mask_at(SIDE, flag), 0, grids.UNREACHABLE).reshape(-1).astype(jnp.int32)

    def relax(_: int, field: jax.Array) -> jax.Array:
        return jnp.minimum(field, jnp.minimum(field[ends].min(0) + 1, grids.UNREACHABLE))

    return jax.lax.fori_loop(0, LONGEST_WAY, relax, start).reshape(SIDE, SIDE)
