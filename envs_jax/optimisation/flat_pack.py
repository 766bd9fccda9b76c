"""Fill a board with blocks that may be turned: a jigsaw of polyominoes, one block a turn.

Rules of Jumanji's FlatPack: the board of (2 R + 1) x (2 C + 1) cells is cut into R x C blocks, each in a
frame of 3 x 3 around a cell of its own; the lines of cells between two frames fall to either. A placed block
stays. The game ends when the board is full or none of the blocks left fits; the expert follows the cut.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE, MOST, FRAME, TURNS = 7, 9, 3, 4
FEW = 12  # places of a block, in all its turns
SHAPES = np.array([[2, 2], [2, 3], [3, 3]], np.int32)  # rows and columns of frames
COUNTS = SHAPES.prod(1, dtype=np.int32)
COLOURS = (
    "paint_red",
    "paint_blue",
    "paint_yellow",
    "paint_green",
    "paint_purple",
    "sticker_orange",
    "skin",
    "box_dark",
    "water_light",
)
# A block is a number of 9 bits, bit 3 row + column for each cell of its frame; those of all numbers:
BITS = 1 << np.arange(FRAME**2, dtype=np.int32)
CELLS = (np.arange(2**FRAME**2)[:, None] & BITS) > 0


def _turned(quarters: int) -> np.ndarray:
    """int32[512]: each block after quarter turns clockwise, in the upper left of its frame."""
    cells = np.rot90(CELLS.reshape(-1, FRAME, FRAME), -quarters, (1, 2))
    at = np.arange(FRAME)
    rows = (cells.any(2).argmax(1)[:, None] + at) % FRAME
    cols = (cells.any(1).argmax(1)[:, None] + at) % FRAME
    moved = cells[np.arange(len(cells))[:, None, None], rows[:, :, None], cols[:, None, :]]
    return (moved.reshape(-1, FRAME**2) * BITS).sum(1, dtype=np.int32)


TURNED = np.stack([_turned(quarters) for quarters in range(TURNS)])

# Tiles.
NOTHING, EMPTY, BLOCK, NUMBER, LABEL = 0, 1, 2, 2 + MOST, 2 + 2 * MOST
# The picture: slots of 4 x 4 cells. Four of them hold the board and its numbers, the others a block each.
SLOT, ACROSS = 4, 4
SLOTS = (
    ((0, 2), (1, 2), (2, 0), (2, 1)),
    ((0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1)),
    ((0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0)),
)
EXTENTS = np.array([(12, 12), (12, 16), (16, 16)], np.int32)


def _layout(scale: int) -> np.ndarray:
    """For each cell of the picture its index in NOTHING, the numbers of rows and columns, the labels of the
    blocks, the board, the frames of the blocks."""
    layout = np.zeros((SLOT * ACROSS, SLOT * ACROSS), np.int32)
    rows, cols = 2 * SHAPES[scale] + 1
    layout[0, 1 : cols + 1] = 1 + np.arange(cols)
    layout[1 : rows + 1, 0] = 1 + np.arange(rows)
    board = 1 + 2 * MOST + np.arange(SIDE**2).reshape(SIDE, SIDE)
    layout[1 : rows + 1, 1 : cols + 1] = board[:rows, :cols]
    for block, (down, across) in enumerate(SLOTS[scale]):
        top, left = SLOT * down, SLOT * across
        frame = board[-1, -1] + 1 + FRAME**2 * block + np.arange(FRAME**2)
        layout[top, left] = 1 + MOST + block
        layout[top : top + FRAME, left + 1 : left + 1 + FRAME] = frame.reshape(FRAME, FRAME)
    return layout


LAYOUTS = np.stack([_layout(scale) for scale in range(len(SHAPES))])


@struct.dataclass
class Pack:
    board: jax.Array  # int8[7, 7], the number of the block in each cell, 0 where empty
    blocks: jax.Array  # int16[9], 0 after the last
    plan: jax.Array  # int8[7, 7], the board as it was cut
    scale: jax.Array  # int32[]


class FlatPack(TileEnvironment):
    id = "flat_pack"
    family = "optimisation"
    abilities = (
        "recognise_shape",
        "rotate_mentally",
        "partition_tile",
        "search_lookahead",
        "optimise_combinatorial",
        "format_move",
    )
    grammar = Numbers(4, MOST)
    task = (
        "Fill the board with the blocks, one a turn. Answer four numbers: block, quarter turns clockwise "
        "(0 to 3), row and column of the upper left corner of its box, like <answer>2 1 1 3</answer>."
    )
    rules = "Blocks must not overlap or leave the board, and stay where they are put. All are needed."
    max_turns: ClassVar[tuple[int, ...]] = (6, 9, 13)
    hidden = ("plan",)
    tileset = (
        "plain:backdrop",
        "floor",
        *(f"coloured:{colour}" for colour in COLOURS),
        *(f"plain:header glyph:{number}" for number in range(1, MOST + 1)),
        *(f"letter:grey-{number}" for number in range(1, MOST + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Pack:
        cut_key, name_key, turn_key = jax.random.split(key, 3)
        name = jnp.where(
            jnp.arange(MOST) < jnp.asarray(COUNTS)[scale], jax.random.uniform(name_key, (MOST,)), 2.0
        )
        numbers = 1 + (name[:, None] > name).sum(1)
        inside = _inside(scale)
        plan = jnp.where(inside, numbers[_cut(grids.noise(cut_key, (6, SIDE, SIDE)), scale)], 0)
        turns = jax.random.randint(turn_key, (MOST,), 0, TURNS)
        blocks = jnp.asarray(TURNED)[turns, _outlines(plan)[0]]
        empty = jnp.zeros((SIDE, SIDE), jnp.int8)
        return Pack(empty, blocks.astype(jnp.int16), plan.astype(jnp.int8), scale)

    def legal(self, state: Pack, action: jax.Array) -> jax.Array:
        """Where a block that is left fits."""
        at, meant = _placement(action)
        return meant & _fits(state)[at]

    def transition(self, key: jax.Array, state: Pack, action: jax.Array) -> tuple[Pack, jax.Array, jax.Array]:
        (block, turns, row, col), _ = _placement(action)
        cells = jnp.asarray(CELLS)[jnp.asarray(TURNED)[turns, state.blocks[block]]].reshape(FRAME, FRAME)
        at = np.arange(FRAME)
        wide = jnp.pad(state.board, (0, FRAME - 1))
        put = jnp.where(cells, block + 1, 0).astype(jnp.int8)
        board = wide.at[row + at[:, None], col + at].max(put)[:SIDE, :SIDE]
        after = replace(state, board=board)
        inside = _inside(state.scale)
        share = (board > 0).sum() / inside.sum()
        ended = ~_fits(after).any()
        return after, jnp.where(ended, score((board > 0).sum() == inside.sum(), share), 0.0), ended

    def symbolic(self, state: Pack) -> jax.Array:
        left = jnp.where(_left(state), state.blocks, 0)
        cells = jnp.asarray(CELLS)[left] * (BLOCK + np.arange(MOST)[:, None])
        board = jnp.where(state.board > 0, BLOCK - 1 + state.board, EMPTY)
        fixed = np.concatenate([[NOTHING], NUMBER + np.arange(MOST), LABEL + np.arange(MOST)])
        tiles = jnp.concatenate([fixed, board.reshape(-1), cells.reshape(-1)])
        return tiles[jnp.asarray(LAYOUTS)[state.scale]].astype(jnp.uint8)

    def extent(self, state: Pack) -> tuple[jax.Array, jax.Array]:
        rows, cols = jnp.asarray(EXTENTS)[state.scale]
        return rows, cols

    def describe(self, state: Pack) -> Texts:
        rows, cols = 2 * jnp.asarray(SHAPES)[state.scale] + 1
        digits = tuple(str(number) for number in range(1, MOST + 1))
        board = text.grid(state.board, (".", *digits), rows, cols, between="")
        # A line a block: its number, then the rows of its frame.
        cells = jnp.asarray(CELLS)[jnp.where(_left(state), state.blocks, 0)].astype(jnp.uint8)
        frames = jnp.pad(cells.reshape(MOST, FRAME, FRAME), ((0, 0), (0, 0), (1, 0)), constant_values=2)
        numbers = jnp.arange(3, 3 + MOST, dtype=jnp.uint8)[:, None]
        lines = jnp.concatenate([numbers, frames.reshape(MOST, -1)], axis=1)
        count = jnp.asarray(COUNTS)[state.scale]
        blocks = text.grid(lines, (".", "#", " ", *digits), count, lines.shape[1], between="")
        left = text.concat(text.number(_left(state).sum(), 1), text.encode(" blocks left"))
        _, corners = _outlines(state.plan)
        free = _as_planned(state)
        block = free.argmax()
        hint = text.concat(
            text.encode("block "),
            text.number(block + 1, 1),
            text.encode(" can go to "),
            grids.place(corners[block]),
        )
        return Texts(text.concat(board, text.encode("\n"), blocks), left, text.when(free.any(), hint))

    def exercised(self, state: Pack, action: jax.Array, after: Pack) -> dict[str, jax.Array]:
        (block, _, row, col), _ = _placement(action)
        put = after.board != state.board
        full = (state.board > 0) | ~_inside(state.scale)
        touching = put & grids.neighbours(full, True)
        free = put & ~touching & ~grids.neighbours(put, False)
        left, fits = _left(after), _fits(after)
        places = fits.sum((1, 2, 3))
        return {
            "recognise_shape": touching.sum() >= free.sum(),
            "rotate_mentally": ~_fits(state)[block, 0, row, col],
            "partition_tile": ((after.board > 0) | _in_reach(after, fits) | ~_inside(state.scale)).all(),
            # It is tight, and still each of the others has a place.
            "search_lookahead": (left & (places < FEW)).any() & ~(left & (places == 0)).any(),
            # All the others can still be put as they were cut.
            "optimise_combinatorial": (_as_planned(after) == left).all(),
        }

    def expert(self, key: jax.Array, state: Pack) -> jax.Array:
        """A random block put as it was cut; anywhere if others are in the way of all that are left."""
        outlines, corners = _outlines(state.plan)
        turned = outlines[:, None] == jnp.asarray(TURNED)[:, state.blocks].T
        at = jnp.arange(SIDE)
        row, col = (corners[:, axis, None] == at for axis in range(2))
        there = row[:, None, :, None] & col[:, None, None, :]
        planned = _as_planned(state)[:, None, None, None] & turned[:, :, None, None] & there
        options = jnp.where(planned.any(), planned, _fits(state))
        best = jnp.where(options, grids.noise(key, options.shape), -1.0).argmax()
        block, turns, row, col = jnp.unravel_index(best, options.shape)
        return jnp.stack([block + 1, turns, row + 1, col + 1]).astype(jnp.int32)


def _inside(scale: jax.Array) -> jax.Array:
    rows, cols = 2 * jnp.asarray(SHAPES)[scale] + 1
    at = jnp.arange(SIDE)
    return (at < rows)[:, None] & (at < cols)


def _placement(action: jax.Array) -> tuple[tuple[jax.Array, ...], jax.Array]:
    """The index in `_fits` of an action, and whether it has one (bool[])."""
    index = action - np.array([1, 0, 1, 1], np.int32)
    shape = np.array([MOST, TURNS, SIDE, SIDE], np.int32)
    return tuple(jnp.clip(index, 0, shape - 1)), ((index >= 0) & (index < shape)).all()


def _left(state: Pack) -> jax.Array:
    """bool[9]: the blocks that are there and not on the board."""
    numbers = np.arange(1, MOST + 1)
    return (state.blocks > 0) & ~(state.board.reshape(-1) == numbers[:, None]).any(1)


def _fits(state: Pack) -> jax.Array:
    """bool[9, 4, 7, 7]: block, quarter turns, row and column of the frame."""
    taken = jnp.pad((state.board > 0) | ~_inside(state.scale), (0, FRAME - 1), constant_values=True)
    at = np.arange(SIDE)[:, None] + np.arange(FRAME)
    windows = taken[at[:, None, :, None], at[None, :, None, :]].reshape(SIDE**2, FRAME**2)
    cells = jnp.asarray(CELLS)[jnp.asarray(TURNED)[:, state.blocks].T].reshape(MOST * TURNS, FRAME**2)
    overlaps = cells.astype(jnp.int32) @ windows.T.astype(jnp.int32)
    return (overlaps == 0).reshape(MOST, TURNS, SIDE, SIDE) & _left(state)[:, None, None, None]


def _in_reach(state: Pack, fits: jax.Array) -> jax.Array:
    """bool[7, 7]: the cells that some block covers where it fits."""
    cells = jnp.asarray(CELLS)[jnp.asarray(TURNED)[:, state.blocks].T].reshape(MOST * TURNS, FRAME**2)
    ways = fits.reshape(MOST * TURNS, SIDE**2).T.astype(jnp.int32) @ cells.astype(jnp.int32)
    windows = (ways > 0).reshape(SIDE, SIDE, FRAME, FRAME)
    at = np.arange(SIDE)[:, None] + np.arange(FRAME)
    wide = jnp.zeros((SIDE + FRAME - 1,) * 2, bool)
    return wide.at[at[:, None, :, None], at[None, :, None, :]].max(windows)[:SIDE, :SIDE]


def _outlines(plan: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The blocks int32[9] as they lie in the plan, and the upper left corners int32[9, 2] of their frames."""
    cells = plan == np.arange(1, MOST + 1)[:, None, None]
    corners = jnp.stack([cells.any(2).argmax(1), cells.any(1).argmax(1)], axis=1)
    at = np.arange(FRAME)
    wide = jnp.pad(cells, ((0, 0), (0, FRAME - 1), (0, FRAME - 1)))
    rows, cols = corners[:, 0, None, None] + at[:, None], corners[:, 1, None, None] + at
    frames = wide[np.arange(MOST)[:, None, None], rows, cols].reshape(MOST, -1)
    return (frames * BITS).sum(1), corners.astype(jnp.int32)


def _as_planned(state: Pack) -> jax.Array:
    """bool[9]: the blocks left whose cells in the plan are all free."""
    numbers = np.arange(1, MOST + 1)[:, None, None]
    return _left(state) & ~((state.plan == numbers) & (state.board > 0)).any((1, 2))


def _cut(noise: jax.Array, scale: jax.Array) -> jax.Array:
    """int32[7, 7]: the frame, row by row, that each cell of the board falls to; noise float32[6, 7, 7].

    A cell between two frames falls to one of them, which it touches in their middle. A cell between four goes
    with one of its neighbours, so that every block hangs together.
    """
    rows, cols = jnp.asarray(SHAPES)[scale]
    up, left = (noise[:2] < 0.5).astype(jnp.int32)
    row, col = np.indices((SIDE, SIDE))
    down = jnp.clip(jnp.where(row % 2 == 1, row // 2, row // 2 - up), 0, rows - 1)
    across = jnp.clip(jnp.where(col % 2 == 1, col // 2, col // 2 - left), 0, cols - 1)
    frame = down * cols + across
    near = grids.neighbours(_inside(scale), False)
    chosen = jnp.where(near, noise[2:], -1.0).argmax(0)
    beside = jnp.take_along_axis(grids.neighbours(frame, 0), chosen[None], axis=0)[0]
    return jnp.where((row % 2 == 0) & (col % 2 == 0), beside, frame)
