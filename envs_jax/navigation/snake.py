"""Steer a snake to apples, of which each makes it longer, until it is as long as asked.

A turn gives up to four moves and ends at an apple. The head may enter the cell that the tail leaves. The
expert goes the shortest way to the apple that keeps its tail within reach.
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

SIDE, LIMIT, START = 10, 4, 3
SIDES = np.array([6, 8, 10], np.int32)
LENGTHS = np.array([5, 8, 13], np.int32)
# No shortest way around a snake is longer.
LONGEST_WAY = 50
UNREACHABLE = int(grids.UNREACHABLE)
# Bits of the sides by which a cell of the body is joined to others, for the moves up, down, left and right.
BITS = np.array([1, 4, 8, 2], np.uint8)
APPLE, BODY, HEAD = 1, 2, 18


@struct.dataclass
class Snake:
    body: jax.Array  # uint8[10, 10], 1 at the tail, counting up to the head; 0 where it is not
    apple: jax.Array  # int32[2]
    side: jax.Array  # int32[]
    wanted: jax.Array  # int32[], the length


class SnakeGame(TileEnvironment):
    id = "snake"
    family = "navigation"
    abilities = (
        "locate_agent",
        "read_orientation",
        "predict_move_effect",
        "predict_collision",
        "detect_deadlock",
        "plan_path",
    )
    grammar = Moves(grids.MOVES, LIMIT)
    task = "Steer the snake to the apple. Answer 1 to 4 of up, down, left, right: <answer>up left</answer>."
    rules = "An apple makes the snake longer and ends the turn. The edge and its own body kill it."
    max_turns: ClassVar[tuple[int, ...]] = (8, 20, 44)
    expert_success: ClassVar[tuple[float, ...]] = (0.98, 0.95, 0.9)
    tileset = (
        "floor",
        "floor apple",
        *(f"floor snake:{joints}" for joints in range(16)),
        *(f"floor snake:{joints} face:{joints}" for joints in range(16)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Snake:
        side = jnp.asarray(SIDES)[scale]
        noise = jax.random.uniform(key, (2 * SIDE * SIDE + 3,))
        cells, apples = noise[3:].reshape(2, SIDE, SIDE)
        # A snake that goes right, then mirrored and turned at random.
        inside = grids.inside(SIDE, side)
        (head,) = grids.pick(cells, inside & (jnp.arange(SIDE) >= START - 1), 1)
        body = jnp.stack([jnp.full(START, head[0]), head[1] - np.arange(START)])
        body = jnp.where(noise[:2, None] < 0.5, side - 1 - body, body)
        rows, cols = jnp.where(noise[2] < 0.5, body[::-1], body)
        ages = np.arange(START, 0, -1, dtype=np.uint8)
        snake = jnp.zeros((SIDE, SIDE), jnp.uint8).at[rows, cols].set(ages)
        (apple,) = grids.pick(apples, inside & (snake == 0), 1)
        return Snake(snake, apple, side, jnp.asarray(LENGTHS)[scale])

    def transition(
        self, key: jax.Array, state: Snake, action: jax.Array
    ) -> tuple[Snake, jax.Array, jax.Array]:
        after, dead = _steered(state, action)
        grown = after.body.max() > state.body.max()
        noise = grids.noise(key, (SIDE, SIDE))
        (apple,) = grids.pick(noise, grids.inside(SIDE, state.side) & (after.body == 0), 1)
        after = replace(after, apple=jnp.where(grown, apple, state.apple))
        reached = after.body.max() >= state.wanted
        return after, reached.astype(jnp.float32), reached | dead

    def symbolic(self, state: Snake) -> jax.Array:
        body = state.body.astype(jnp.int32)
        joined = (body > 0) & (grids.neighbours(body, 0) > 0)
        joined &= jnp.abs(grids.neighbours(body, 0) - body) == 1
        joints = jnp.where(joined, BITS[:, None, None], 0).sum(0)
        snake = jnp.where(body == body.max(), HEAD, BODY) + joints
        tiles = jnp.where(grids.mask_at(SIDE, state.apple), APPLE, 0)
        return jnp.where(body > 0, snake, tiles).astype(jnp.uint8)

    def extent(self, state: Snake) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Snake) -> Texts:
        body = state.body
        parts = jnp.where(body == 0, 0, jnp.where(body == 1, 1, jnp.where(body == body.max(), 3, 2)))
        parts = jnp.where(grids.mask_at(SIDE, state.apple) & (body == 0), 4, parts)
        board = text.grid(parts.astype(jnp.uint8), (".", "t", "o", "H", "A"), state.side, state.side)
        head = _head(body)
        facts = text.concat(
            text.encode("head "),
            grids.place(head, 2),
            text.encode(", length "),
            text.number(body.max().astype(jnp.int32), 2),
            text.encode(" of "),
            text.number(state.wanted, 2),
        )
        hint = text.concat(text.encode("the apple is "), grids.offset(state.apple - head))
        return Texts(board, facts, hint)

    def exercised(self, state: Snake, action: jax.Array, after: Snake) -> dict[str, jax.Array]:
        alive, ate = ~_steered(state, action)[1], after.body.max() > state.body.max()
        first, count = jnp.maximum(action[0], 0), (action >= 0).sum()
        costs, head, to = _costs(state), _head(state.body), _head(after.body)
        near = jnp.abs(to - state.apple).sum() < jnp.abs(head - state.apple).sum()
        heading = head - _head(jnp.where(state.body < state.body.max(), state.body, 0))
        deadly, shut_in = costs >= 2 * UNREACHABLE, costs >= UNREACHABLE
        return {
            "locate_agent": (to != head).any(),
            "read_orientation": alive & ((heading * jnp.asarray(grids.STEPS)[first]).sum() == 0),
            "predict_move_effect": alive & near & (count > 1),
            # One move is always deadly: back into the neck.
            "predict_collision": alive & (deadly.sum() > 1),
            "detect_deadlock": (shut_in & ~deadly).any() & ~shut_in[first],
            "plan_path": ate | (alive & (_costs(after).min() + count <= costs.min())),
        }

    def expert(self, key: jax.Array, state: Snake) -> jax.Array:
        def follow(snake: Snake, noise: jax.Array) -> tuple[Snake, jax.Array]:
            costs = _costs(snake)
            best = jnp.where(costs <= costs.min(), noise, -1.0).argmax().astype(jnp.int32)
            ate = snake.body.max() > state.body.max()
            after, _ = _moved(snake, best)
            after = jax.tree.map(lambda new, old: jnp.where(ate, old, new), after, snake)
            return after, jnp.where(ate, -1, best)

        return jax.lax.scan(follow, state, grids.noise(key, (LIMIT, 4)))[1]


def _head(body: jax.Array) -> jax.Array:
    """int32[2]: the cell of the head."""
    return jnp.stack(jnp.divmod(body.reshape(-1).argmax(), SIDE)).astype(jnp.int32)


def _moved(state: Snake, move: jax.Array) -> tuple[Snake, jax.Array]:
    """The snake one cell on, the apple still in its place, and whether it died, which leaves it as it was."""
    to = _head(state.body) + jnp.asarray(grids.STEPS)[move]
    eats = (to == state.apple).all()
    rest = jnp.where(eats, state.body, state.body - (state.body > 0)).astype(jnp.uint8)
    inside = ((to >= 0) & (to < state.side)).all()
    cell = grids.mask_at(SIDE, to)
    dies = ~inside | (cell & (rest > 0)).any()
    grown = jnp.where(cell, rest.max() + 1, rest).astype(jnp.uint8)
    return replace(state, body=jnp.where(dies, state.body, grown)), dies


def _steered(state: Snake, action: jax.Array) -> tuple[Snake, jax.Array]:
    """The snake after all moves of an action, or up to the apple, still in its place, and whether it died."""
    length = state.body.max()

    def move(turn: jax.Array, carry: tuple[Snake, jax.Array]) -> tuple[Snake, jax.Array]:
        goes = (action[turn] >= 0) & ~carry[1] & (carry[0].body.max() == length)
        after = _moved(carry[0], jnp.maximum(action[turn], 0))
        return jax.tree.map(lambda new, old: jnp.where(goes, new, old), after, carry)

    return jax.lax.fori_loop(0, LIMIT, move, (state, jnp.bool_(False)))


def _costs(state: Snake) -> jax.Array:
    """int32[4]: how bad each move is: the way to the apple that is left; worse without one or without a way
    back to the tail; worst into a wall or the body."""
    body = state.body
    tail, apple = body == 1, grids.mask_at(SIDE, state.apple)
    free = grids.inside(SIDE, state.side) & (body <= 1)
    targets = jnp.stack([apple, tail])
    ways = jax.vmap(lambda to: grids.distances(to, grids.open_moves(free), LONGEST_WAY))(targets)
    blocked = 2 * UNREACHABLE
    onward = jax.vmap(lambda way: grids.neighbours(jnp.where(free, way, blocked), blocked))(ways)
    row, col = _head(body)
    to_apple, to_tail = onward[:, :, row, col]
    # Without a way to the apple wait: keep far from the tail.
    wait = jnp.where(to_tail < UNREACHABLE, UNREACHABLE // 2 - to_tail, to_tail)
    return jnp.where((to_apple < UNREACHABLE) & (to_tail < UNREACHABLE), to_apple, wait)
