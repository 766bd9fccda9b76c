"""Cut the board into rectangles that hold one number each, which is their area.

Shikaku, known as Rectangles in Tatham's collection. The planted rectangles come from cutting the largest one
again and again along a random line that leaves no single cell; each has its number in a random cell. Any cut
that fits the numbers scores.
"""

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

SIDE = 8
SIDES = np.array([4, 6, 8], np.int32)
MOST = 14
COUNTS = np.array([5, 9, 14], np.int32)
SMALLEST, LARGEST = 2, 16  # areas; so many cuts of the largest leave none above


@struct.dataclass
class Areas:
    numbers: jax.Array  # int8[8, 8], 0 where empty
    boxes: (
        jax.Array
    )  # int8[14, 4], the planted ones: lattice lines top, left, bottom, right; 0 after the last
    side: jax.Array  # int32[]


class ShikakuRectangles(TileEnvironment):
    id = "shikaku_rectangles"
    family = "grid_logic"
    abilities = (
        "read_digit",
        "partition_tile",
        "reason_geometry",
        "propagate_constraints",
        "format_structured",
    )
    grammar = Numbers(4 * MOST, SIDE)
    task = (
        "Cut the board into rectangles of one number each, which is their area. Answer top row, left column, "
        "bottom row, right column of every rectangle, like <answer>1 1 2 3, 1 4 4 4</answer>."
    )
    rules = (
        "Every cell belongs to just one rectangle, and a rectangle of k cells has the number k and no other."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("boxes",)
    tileset = ("paper", *(f"given glyph:{area}" for area in range(1, LARGEST + 1)))

    def generate(self, key: jax.Array, scale: jax.Array) -> Areas:
        cuts, cells = jax.random.split(key)
        side = jnp.asarray(SIDES)[scale]
        boxes = _cut(grids.noise(cuts, (MOST - 1, 2 * (SIDE - 1))), side, jnp.asarray(COUNTS)[scale])
        size = boxes[:, 2:] - boxes[:, :2]
        row, col = (boxes[:, :2] + (grids.noise(cells, (MOST, 2)) * size).astype(jnp.int32)).T
        # A slot without a box points to the first cell, and must not clear it.
        numbers = jnp.zeros((SIDE, SIDE), jnp.int8).at[row, col].max(size.prod(1).astype(jnp.int8))
        return Areas(numbers, boxes.astype(jnp.int8), side)

    def legal(self, state: Areas, action: jax.Array) -> jax.Array:
        """Four numbers a rectangle, on the board and in order."""
        corners = action.reshape(MOST, 4)
        on_board = ((corners >= 1) & (corners <= state.side)).all(1)
        in_order = (corners[:, :2] <= corners[:, 2:]).all(1)
        return (on_board & in_order | (corners < 0).all(1)).all()

    def transition(
        self, key: jax.Array, state: Areas, action: jax.Array
    ) -> tuple[Areas, jax.Array, jax.Array]:
        """A rectangle is right when its one number is its area and it overlaps no other. As many right ones
        as there are numbers leave no cell over."""
        covers, single, fits = _checks(state, action)
        apart = ~(covers & (covers.sum(0) > 1)).any((1, 2))
        found, count = (single & fits & apart).sum(), (state.numbers > 0).sum()
        return state, score(found == count, found / count), jnp.bool_(True)

    def symbolic(self, state: Areas) -> jax.Array:
        return state.numbers.astype(jnp.uint8)

    def extent(self, state: Areas) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Areas) -> Texts:
        words = (".", *map(str, range(1, LARGEST + 1)))
        board = text.grid(state.numbers, words, state.side, state.side)
        count = text.concat(text.number((state.numbers > 0).sum(), 2), text.encode(" rectangles"))
        _, _, rows, cols = state.boxes[0]  # cut off from below and the right, it keeps the first cell
        hint = text.concat(
            text.encode("row 1 column 1 is in a rectangle of "),
            text.number(rows, 1),
            text.encode(" by "),
            text.number(cols, 1),
        )
        return Texts(board, count, hint)

    def exercised(self, state: Areas, action: jax.Array, after: Areas) -> dict[str, jax.Array]:
        covers, single, fits = _checks(state, action)
        given, count = covers.any((1, 2)), (state.numbers > 0).sum()
        named = (covers & (covers.sum((1, 2), keepdims=True) == state.numbers)).any(0)
        right = (single & fits | ~given).all()
        once = (covers.sum(0) == grids.inside(SIDE, state.side)).all()
        return {
            "read_digit": 2 * named.sum() > count,
            "partition_tile": once & (single | ~given).all(),
            "reason_geometry": right & (2 * given.sum() > count),
            "propagate_constraints": right & once,
        }

    def expert(self, key: jax.Array, state: Areas) -> jax.Array:
        first_cells = state.boxes + np.array([1, 1, 0, 0], np.int8)
        given = (state.boxes[:, 2] > 0)[:, None]
        return jnp.where(given, first_cells, -1).reshape(-1).astype(jnp.int32)


def _checks(state: Areas, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Of the rectangles of the answer, the cells bool[14, 8, 8]; whether each has one number bool[14], and
    whether its area is the sum of its numbers bool[14]."""
    at = jnp.arange(1, SIDE + 1)
    top, left, bottom, right = action.reshape(MOST, 4, 1).swapaxes(0, 1)
    covers = ((at >= top) & (at <= bottom))[:, :, None] & ((at >= left) & (at <= right))[:, None, :]
    single = (covers & (state.numbers > 0)).sum((1, 2)) == 1
    fits = (covers * state.numbers).sum((1, 2)) == covers.sum((1, 2))
    return covers, single, fits


def _cut(noise: jax.Array, side: jax.Array, count: jax.Array) -> jax.Array:
    """int32[14, 4]: the board cut into `count` boxes, 0 after the last; noise float32[13, 14] ranks the lines
    that each cut may follow, rows before columns."""
    lines = jnp.arange(1, SIDE)

    def cut(boxes: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        number, luck = step
        size = boxes[:, 2:] - boxes[:, :2]
        largest = size.prod(1).argmax()
        box = boxes[largest]
        shorter = jnp.minimum(lines - box[:2, None], box[2:, None] - lines)
        fits = shorter * size[largest, ::-1, None] >= SMALLEST
        axis, at = jnp.divmod(jnp.where(fits.reshape(-1), luck, -1.0).argmax(), SIDE - 1)
        after = boxes.at[number].set(box.at[axis].set(at + 1)).at[largest, 2 + axis].set(at + 1)
        return jnp.where(number < count, after, boxes), None

    whole = jnp.zeros((MOST, 4), jnp.int32).at[0, 2:].set(side)
    return jax.lax.scan(cut, whole, (jnp.arange(1, MOST), noise))[0]
