"""Slide numbered tiles until equal ones that meet have merged into the wanted number.

The rules of 2048 (after each move a 2 or, once in ten times, a 4 appears), with a number that can be had in
some dozens of moves: a larger one starts from larger tiles, in order along an edge.
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

SIDE = 4
# Tiles are exponents of 2: the wanted one, and those at the start beside two 2s.
GOAL = np.array([5, 7, 9], np.int32)
START = np.array([[0, 0, 0, 0], [6, 0, 0, 0], [8, 7, 6, 0]], np.int8)
HEADER = 1 + int(GOAL.max())  # the first tile of the header; those before are exponents
FOUR_SHARE = 0.1
# The expert likes large tiles early on a way that winds from a corner through all rows (eight such ways).
WINDING = np.array([[0, 1, 2, 3], [7, 6, 5, 4], [8, 9, 10, 11], [15, 14, 13, 12]])
WEIGHTS = np.stack([0.5 ** np.rot90(way, k) for way in (WINDING, WINDING.T) for k in range(4)])
GOAL_WORTH = 10_000.0


@struct.dataclass
class Board:
    tiles: jax.Array  # int8[4, 4], exponents of 2, 0 where empty
    goal: jax.Array  # int32[], an exponent


class Game2048(TileEnvironment):
    id = "game_2048"
    family = "physics_puzzle"
    abilities = (
        "read_digit",
        "model_sliding_gravity",
        "predict_move_effect",
        "search_lookahead",
        "estimate_probability",
        "format_move",
    )
    grammar = Word(grids.MOVES)
    task = (
        "Slide the tiles to merge them into the number in the header. "
        "Answer <answer>up</answer>, down, left or right."
    )
    rules = "All tiles slide; two equal ones that meet become their sum. After a move a 2 or 4 appears."
    max_turns: ClassVar[tuple[int, ...]] = (26, 56, 66)
    expert_success: ClassVar[tuple[float, ...]] = (0.95, 0.85, 0.8)
    tileset = (
        "merged:0",
        *(f"merged:{power} glyph:{2**power}" for power in range(1, HEADER)),
        "header",
        "header target",
        *(f"header glyph:{2**goal}" for goal in GOAL.tolist()),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Board:
        noise = jax.random.uniform(key, (SIDE * SIDE + 3,))
        board = jnp.zeros((SIDE, SIDE), jnp.int8).at[0].set(jnp.asarray(START)[scale])
        rows, cols = grids.pick(noise[3:].reshape(SIDE, SIDE), board == 0, 2).T
        board = board.at[rows, cols].set(1)
        board = jnp.where(noise[0] < 0.5, board[::-1], board)
        board = jnp.where(noise[1] < 0.5, board[:, ::-1], board)
        board = jnp.where(noise[2] < 0.5, board.T, board)
        return Board(board, jnp.asarray(GOAL)[scale])

    def legal(self, state: Board, action: jax.Array) -> jax.Array:
        """Something moves."""
        return (_slid(state.tiles)[action] != state.tiles).any()

    def transition(
        self, key: jax.Array, state: Board, action: jax.Array
    ) -> tuple[Board, jax.Array, jax.Array]:
        slid = _slid(state.tiles)[action]
        noise = jax.random.uniform(key, (SIDE * SIDE + 1,))
        (cell,) = grids.pick(noise[1:].reshape(SIDE, SIDE), slid == 0, 1)
        new = grids.mask_at(SIDE, cell) & (slid == 0)
        tiles = jnp.where(new, jnp.where(noise[0] < FOUR_SHARE, 2, 1), slid).astype(jnp.int8)
        reached = (tiles >= state.goal).any()
        stuck = (_slid(tiles) == tiles).all()
        return replace(state, tiles=tiles), reached.astype(jnp.float32), reached | stuck

    def symbolic(self, state: Board) -> jax.Array:
        goal = HEADER + 2 + (jnp.asarray(GOAL) == state.goal).argmax()
        header = jnp.full((1, SIDE), HEADER).at[0, 0].set(HEADER + 1).at[0, 1].set(goal)
        return jnp.concatenate([header, state.tiles]).astype(jnp.uint8)

    def extent(self, state: Board) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(SIDE + 1), jnp.int32(SIDE)

    def describe(self, state: Board) -> Texts:
        words = (".", *(str(2**power) for power in range(1, HEADER)))
        board = text.grid(state.tiles.astype(jnp.uint8), words, SIDE, SIDE)
        facts = text.concat(
            text.encode("wanted "),
            text.number(2**state.goal, 3),
            text.encode(", largest "),
            text.number(2 ** state.tiles.max().astype(jnp.int32), 3),
        )
        pairs = _merges(state.tiles)
        hint = text.concat(
            text.encode("pairs that merge: "),
            text.number(pairs[0], 1),
            text.encode(" up or down, "),
            text.number(pairs[2], 1),
            text.encode(" left or right"),
        )
        return Texts(board, facts, hint)

    def exercised(self, state: Board, action: jax.Array, after: Board) -> dict[str, jax.Array]:
        slid, merges = _slid(state.tiles), _merges(state.tiles)
        moves = (slid != state.tiles).any((1, 2))
        best = lambda worth: worth[action] >= jnp.where(moves, worth, -jnp.inf).max() - 0.01  # noqa: E731
        left = merges[0] + merges[2] - merges[action]
        return {
            "read_digit": merges[action] > 0,
            # The slide brings equal tiles together.
            "model_sliding_gravity": _merges(slid[action])[jnp.array([0, 2])].sum() > left,
            "predict_move_effect": best(_worth(slid, state.goal)),
            "search_lookahead": best(_prospects(slid, state.goal)),
            "estimate_probability": best(_means(state)),
        }

    def expert(self, key: jax.Array, state: Board) -> jax.Array:
        return grids.random_argmin(key, -_means(state))


def _means(state: Board) -> jax.Array:
    """float32[4]: what the best next move makes of the board, on average over where a 2 appears."""
    slid = _slid(state.tiles)
    cells = jnp.eye(SIDE * SIDE, dtype=jnp.int8).reshape(-1, SIDE, SIDE)
    empty = (slid == 0).reshape(4, -1)
    tried = (slid[:, None] + cells).reshape(-1, SIDE, SIDE)
    worth = _prospects(tried, state.goal).reshape(4, -1)
    mean = jnp.where(empty, worth, 0.0).sum(1) / jnp.maximum(empty.sum(1), 1)
    reached = (slid >= state.goal).any((1, 2))
    moves = (slid != state.tiles).any((1, 2))
    return jnp.where(reached, 2 * GOAL_WORTH, jnp.where(moves, mean, -2 * GOAL_WORTH))


def _prospects(boards: jax.Array, goal: jax.Array) -> jax.Array:
    """float32[n]: the worth of each board int8[n, 4, 4] after its best move."""

    def prospect(board: jax.Array) -> jax.Array:
        moved = _slid(board)
        can = (moved != board).any((1, 2))
        return jnp.where(can, _worth(moved, goal), -GOAL_WORTH).max()

    return jax.vmap(prospect)(boards)


def _merges(board: jax.Array) -> jax.Array:
    """int32[4]: the pairs that merge by each of the four moves."""
    return (board > 0).sum() - (_slid(board) > 0).sum((1, 2))


def _slid(board: jax.Array) -> jax.Array:
    """int8[4, 4, 4]: the board after each of the four moves, before a tile appears."""
    up, left = board.T, board
    rows = _to_left(jnp.stack([up, up[:, ::-1], left, left[:, ::-1]]))
    return jnp.stack([rows[0].T, rows[1, :, ::-1].T, rows[2], rows[3, :, ::-1]])


def _to_left(rows: jax.Array) -> jax.Array:
    """Rows int8[..., 4] slid to the left: of three equal tiles the first two merge."""
    rows = _packed(rows)
    same = (rows[..., :-1] == rows[..., 1:]) & (rows[..., 1:] > 0)
    first = same[..., 0]
    second = same[..., 1] & ~first
    third = same[..., 2] & ~second
    none = jnp.zeros_like(first)
    grows = jnp.stack([first, second, third, none], -1)
    goes = jnp.stack([none, first, second, third], -1)
    return _packed(jnp.where(goes, 0, rows + grows))


def _packed(rows: jax.Array) -> jax.Array:
    """Rows int8[..., 4] without gaps."""
    place = jnp.cumsum(rows > 0, -1) - 1
    lands = (rows > 0)[..., None] & (place[..., None] == np.arange(SIDE))
    return jnp.where(lands, rows[..., None], 0).sum(-2).astype(jnp.int8)


def _worth(boards: jax.Array, goal: jax.Array) -> jax.Array:
    """float32[n]: large tiles in order and empty cells are good, the goal is best."""
    values = jnp.where(boards > 0, 2.0**boards, 0.0).reshape(-1, SIDE * SIDE)
    order = (values @ WEIGHTS.reshape(-1, SIDE * SIDE).T.astype(np.float32)).max(1)
    reached = (boards >= goal).any((1, 2))
    return order + (values == 0).sum(1) + GOAL_WORTH * reached
