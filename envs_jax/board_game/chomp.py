"""Chomp: bite off the chocolate right of and below a square; who must eat the poisoned corner loses."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from envs_jax.board_game.last_move import LastMove, Rows
from jaxenv import text
from jaxenv.answers import Coordinates
from jaxenv.harness import Texts

ROWS, COLS = 5, 7
BARS = np.array([(3, 4), (4, 5), (ROWS, COLS)], np.int32)  # rows and columns by scale
GONE, SQUARE, POISON = range(3)
# The bite at each cell.
ROW, COL = np.indices((ROWS, COLS)).reshape(2, -1)
RADIX = (COLS + 1) ** np.arange(ROWS)


def _solved() -> tuple[np.ndarray, np.ndarray]:
    """All bars int8[n, 5], bitten or whole, that hold the poison, from small to large, and which are lost
    for the one to bite, bool[8**5] by the lengths as digits."""
    shapes = np.indices((COLS + 1,) * ROWS, np.int8).reshape(ROWS, -1).T
    shapes = shapes[(np.diff(shapes) <= 0).all(1) & (shapes[:, 0] > 0)]
    shapes = shapes[np.argsort(shapes.sum(1), kind="stable")]
    lost = np.zeros((COLS + 1) ** ROWS, bool)
    for shape in shapes:
        bites = (shape[ROW] > COL) & (ROW + COL > 0)
        after = np.where(ROW[bites, None] <= np.arange(ROWS), np.minimum(shape, COL[bites, None]), shape)
        lost[shape @ RADIX] = not lost[after @ RADIX].any()
    return shapes, lost


SHAPES, LOST = _solved()
# By scale, the bars that fit it but not the scale before, are won, and have more than one row and column.
FITS = (SHAPES[:, 0] <= BARS[:, 1, None]) & ((SHAPES > 0).sum(1) <= BARS[:, 0, None])
STARTS = np.diff(FITS, axis=0, prepend=False) & ~LOST[SHAPES @ RADIX] & (SHAPES[:, :2] > (1, 0)).all(1)


class Chomp(LastMove):
    id = "chomp"
    family = "board_game"
    abilities = (
        "index_cell",
        "predict_move_effect",
        "search_adversarial",
        "detect_deadlock",
        "format_move",
    )
    grammar = Coordinates(ROWS, COLS)
    task = (
        "Leave the opponent only the poisoned square. You bite in turn: answer row and column, counted from "
        "the top left: <answer>2 3</answer>."
    )
    rules = (
        "A bite eats the square and all that is right of it, below it, or both. Nobody may eat the poison."
    )
    # Each round eats two squares at least.
    max_turns: ClassVar[tuple[int, ...]] = tuple((BARS.prod(1) // 2).tolist())
    tileset = ("paper", "chocolate", "chocolate skull")
    shape = (ROWS, COLS)
    careless = (1.0, 0.3, 0.0)

    def generate(self, key: jax.Array, scale: jax.Array) -> Rows:
        noise = jax.random.uniform(key, (len(SHAPES),))
        chosen = jnp.where(jnp.asarray(STARTS)[scale], noise, -1.0).argmax()
        return Rows(jnp.asarray(SHAPES)[chosen], scale)

    def moves(self, lengths: jax.Array) -> tuple[jax.Array, jax.Array]:
        eaten = ROW[:, None] <= np.arange(ROWS)
        after = jnp.where(eaten, jnp.minimum(lengths, COL[:, None]), lengths)
        return after.astype(jnp.int8), (lengths[ROW] > COL) & (ROW + COL > 0)

    def lost(self, lengths: jax.Array) -> jax.Array:
        return jnp.asarray(LOST)[(lengths * jnp.asarray(RADIX, jnp.int32)).sum(-1)]

    def symbolic(self, state: Rows) -> jax.Array:
        tiles = jnp.where(jnp.arange(COLS) < state.lengths[:, None], SQUARE, GONE)
        return tiles.at[0, 0].set(POISON).astype(jnp.uint8)

    def extent(self, state: Rows) -> tuple[jax.Array, jax.Array]:
        rows, cols = jnp.asarray(BARS)[state.scale]
        return rows, cols

    def describe(self, state: Rows) -> Texts:
        board = text.grid(self.symbolic(state), (".", "#", "P"), *self.extent(state))
        left = text.concat(
            text.number(state.lengths.sum(dtype=jnp.int32) - 1, 2), text.encode(" squares beside the poison")
        )
        ways = text.concat(text.number(self.good_moves(state.lengths), 2), text.encode(" bites win"))
        return Texts(board, left, ways)

    def exercised(self, state: Rows, action: jax.Array, after: Rows) -> dict[str, jax.Array]:
        each, allowed = self.moves(state.lengths)
        at = self._index(action)
        lost = self.lost(each)
        eaten = (state.lengths - each[at]).sum()
        # The other wins at once where a single row or column is left.
        one_line = (each[:, 1] == 0) | (each[:, 0] == 1)
        traps = allowed & one_line & (each.sum(1) > 1)
        return {
            "index_cell": lost[at] | (eaten == 1),
            "predict_move_effect": lost[at] & (eaten > 1),
            "search_adversarial": lost[at] & (allowed & ~lost).any(),
            "detect_deadlock": ~traps[at] & (3 * traps.sum() >= allowed.sum()),
        }
