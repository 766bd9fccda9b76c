"""The game of pairs: turn over two cards a turn, and remember where you have seen which.

After TextArena's memory game. Two cards lie open at the start. The limit is a turn a card, which suffices for
who forgets nothing: half as many turns show them all, and half as many take the pairs.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

ROWS = np.array([2, 3, 4], np.int32)
COLS = np.array([3, 4, 6], np.int32)
SHAPE = 4, 6
CELLS = SHAPE[0] * SHAPE[1]
SYMBOLS = tuple(
    f"{colour}-{shape}"
    for shape in ("disc", "square", "triangle", "plus")
    for colour in ("red", "blue", "black")
)
# What is shown of a card: its back, or its symbol, and further on its symbol when the pair is found.
BACK, OPEN, FOUND = 0, 1, 1 + len(SYMBOLS)


@struct.dataclass
class Table:
    cards: jax.Array  # uint8[24], symbols by row and column
    seen: jax.Array  # bool[24], cards that have been open
    shown: jax.Array  # uint8[24]
    scale: jax.Array  # int32[]


class MemoryPairs(TileEnvironment):
    id = "memory_pairs"
    family = "memory"
    abilities = ("read_symbol", "recall_past_view", "explore_systematically", "index_cell", "format_move")
    grammar = Numbers(4, max(SHAPE))
    task = "Find all pairs: open two cards, row and column of each, like <answer>1 2 3 1</answer>."
    rules = "Two equal cards stay open, on green. Others are turned back by your next move; remember them."
    max_turns: ClassVar[tuple[int, ...]] = (6, 12, CELLS)
    hidden = ("cards", "seen")
    tileset = (
        "pair_back",
        *(f"pair_face:open-{symbol}" for symbol in SYMBOLS),
        *(f"pair_face:found-{symbol}" for symbol in SYMBOLS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Table:
        noise = jax.random.uniform(key, (2 * CELLS + len(SYMBOLS),))
        order, first, names = jnp.split(noise, (CELLS, 2 * CELLS))
        on_table = _on_table(scale)
        symbols = _ranks(names)[_ranks(jnp.where(on_table, order, jnp.inf)) // 2]
        cards = jnp.where(on_table, symbols, 0).astype(jnp.uint8)
        down = Table(cards, jnp.zeros(CELLS, bool), jnp.full(CELLS, BACK, jnp.uint8), scale)
        return _open(down, _ranks(jnp.where(on_table, first, jnp.inf)) < 2)

    def legal(self, state: Table, action: jax.Array) -> jax.Array:
        """Two different cards of the table whose pairs are not found."""
        cells, inside = _cells(state, action)
        return inside & ((cells & (state.shown < FOUND)).sum() == 2)

    def transition(
        self, key: jax.Array, state: Table, action: jax.Array
    ) -> tuple[Table, jax.Array, jax.Array]:
        after = _open(state, _cells(state, action)[0])
        won = ((after.shown >= FOUND) | ~_on_table(state.scale)).all()
        return after, won.astype(jnp.float32), won

    def symbolic(self, state: Table) -> jax.Array:
        return state.shown.reshape(SHAPE)

    def extent(self, state: Table) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(ROWS)[state.scale], jnp.asarray(COLS)[state.scale]

    def describe(self, state: Table) -> Texts:
        words = ("back", *SYMBOLS, *(f"found:{symbol}" for symbol in SYMBOLS))
        board = text.grid(self.symbolic(state), words, *self.extent(state))
        found = text.number((state.shown >= FOUND).sum() // 2, 2)
        pairs = text.choose(
            state.scale, [f" of {pairs} pairs found" for pairs in (ROWS * COLS // 2).tolist()]
        )
        known = text.number(_known(state).sum() // 2, 2)
        hint = text.concat(text.encode("pairs left of which you have seen both cards: "), known)
        return Texts(board, text.concat(found, pairs), hint)

    def exercised(self, state: Table, action: jax.Array, after: Table) -> dict[str, jax.Array]:
        cells, known = _cells(state, action)[0], _known(state)
        face_up = (state.shown >= OPEN) & (state.shown < FOUND)
        found = ((after.shown >= FOUND) & (state.shown < FOUND)).any()
        recalled = (known & cells & cells[:, None]).any()
        unseen = ~(cells & state.seen).any()
        return {
            "read_symbol": found & (cells & face_up).any(),
            "recall_past_view": recalled,
            # There were cards, now face down, that it could have opened again.
            "explore_systematically": unseen & (state.seen & (state.shown == BACK)).any(),
            "index_cell": recalled | unseen & ~known.any(),
        }

    def expert(self, key: jax.Array, state: Table) -> jax.Array:
        """Takes a pair it has seen, else opens two cards it has not."""
        left = _on_table(state.scale) & (state.shown < FOUND)
        known = _known(state).any(1)
        noise = jax.random.uniform(key, (2, CELLS)) + jnp.where(state.seen, 0, 1)
        first = jnp.where(left, noise[0] + 2 * known, -1.0).argmax()
        partner = _known(state)[first]
        second = jnp.where(left & (jnp.arange(CELLS) != first), noise[1] + 2 * partner, -1.0).argmax()
        return jnp.stack([*jnp.divmod(first, SHAPE[1]), *jnp.divmod(second, SHAPE[1])]).astype(jnp.int32) + 1


def _ranks(noise: jax.Array) -> jax.Array:
    """How many of noise[n] are smaller, int32[n]."""
    return (noise[:, None] > noise).sum(1, dtype=jnp.int32)


def _on_table(scale: jax.Array) -> jax.Array:
    """bool[24]: the places where cards lie."""
    row, col = jnp.divmod(jnp.arange(CELLS), SHAPE[1])
    return (row < jnp.asarray(ROWS)[scale]) & (col < jnp.asarray(COLS)[scale])


def _cells(state: Table, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The places bool[24] that an action names, and whether all that it names are on the table."""
    row, col = action.reshape(2, 2).T - 1
    inside = (row >= 0) & (row < jnp.asarray(ROWS)[state.scale])
    inside &= (col >= 0) & (col < jnp.asarray(COLS)[state.scale])
    named = jnp.arange(CELLS) == jnp.where(inside, row * SHAPE[1] + col, CELLS)[:, None]
    return named.any(0), inside.all()


def _open(state: Table, cells: jax.Array) -> Table:
    """Two cards bool[24] are turned over, others that have no partner back."""
    equal = jnp.where(cells, state.cards, 0).max() == jnp.where(cells, state.cards, len(SYMBOLS)).min()
    kept = jnp.where(state.shown >= FOUND, state.shown, BACK)
    shown = jnp.where(cells, jnp.where(equal, FOUND, OPEN) + state.cards, kept).astype(jnp.uint8)
    return replace(state, shown=shown, seen=state.seen | cells)


def _known(state: Table) -> jax.Array:
    """bool[24, 24]: both cards have been seen, are equal and not found."""
    known = state.seen & (state.shown < FOUND)
    pairs = known[:, None] & known & (state.cards[:, None] == state.cards)
    return pairs & ~np.eye(CELLS, dtype=bool)
