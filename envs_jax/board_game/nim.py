"""Nim: take stones from one pile in turn; who takes the last stone wins."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from envs_jax.board_game.last_move import LastMove, Rows
from jaxenv import text
from jaxenv.answers import Coordinates
from jaxenv.harness import Texts

PILES, MOST = 5, 9
PILE_COUNTS = np.array([3, 4, 5], np.int32)
MOST_STONES = np.array([4, 6, 9], np.int32)
BITS = np.arange(4)
# The move of each cell: as many stones as its column says, from the pile of its row.
PILE, TAKEN = np.indices((PILES, MOST)).reshape(2, -1)
TRAY, STONE, LABEL = 0, 1, 2


class Nim(LastMove):
    id = "nim"
    family = "board_game"
    abilities = (
        "count_objects",
        "compute_modular",
        "search_adversarial",
        "predict_other_agents",
        "format_move",
    )
    grammar = Coordinates(PILES, MOST)
    task = (
        "Take stones from one pile, in turn with the opponent; whoever takes the last stone wins. "
        "Answer the pile's number and how many: <answer>2 3</answer>."
    )
    rules = "A turn takes one stone or more, all from the same pile. Piles are rows, numbered at the left."
    # Each round takes two stones at least.
    max_turns: ClassVar[tuple[int, ...]] = tuple(((PILE_COUNTS * MOST_STONES + 1) // 2).tolist())
    tileset = ("tray", "tray stone:black", *(f"header glyph:{pile + 1}" for pile in range(PILES)))
    shape = (PILES, MOST)
    careless = (1.0, 0.3, 0.0)

    def generate(self, key: jax.Array, scale: jax.Array) -> Rows:
        noise = jax.random.uniform(key, (PILES,))
        there = jnp.arange(PILES) < jnp.asarray(PILE_COUNTS)[scale]
        lengths = jnp.where(there, 1 + jnp.floor(noise * jnp.asarray(MOST_STONES)[scale]), 0).astype(jnp.int8)
        # One pile changed makes any lost position another.
        other = lengths.at[0].set(jnp.where(lengths[0] > 1, lengths[0] - 1, 2))
        return Rows(jnp.where(self.lost(lengths), other, lengths), scale)

    def moves(self, lengths: jax.Array) -> tuple[jax.Array, jax.Array]:
        taken = jnp.where(PILE[:, None] == np.arange(PILES), 1 + TAKEN[:, None], 0)
        return (lengths - taken).astype(jnp.int8), lengths[PILE] > TAKEN

    def lost(self, lengths: jax.Array) -> jax.Array:
        """Each power of two is in an even number of piles."""
        return ((lengths[..., None] >> BITS & 1).sum(-2) % 2 == 0).all(-1)

    def symbolic(self, state: Rows) -> jax.Array:
        stones = jnp.where(jnp.arange(MOST) < state.lengths[:, None], STONE, TRAY)
        labels = LABEL + jnp.arange(PILES)[:, None]
        return jnp.concatenate([labels, stones], axis=1).astype(jnp.uint8)

    def extent(self, state: Rows) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(PILE_COUNTS)[state.scale], 1 + jnp.asarray(MOST_STONES)[state.scale]

    def describe(self, state: Rows) -> Texts:
        words = (".", "o", *(f"pile {pile + 1}:" for pile in range(PILES)))
        board = text.grid(self.symbolic(state), words, *self.extent(state))
        numbers = tuple(map(str, range(MOST + 1)))
        counts = text.grid(state.lengths.astype(jnp.uint8)[None], numbers, 1, self.extent(state)[0])
        ways = text.number(self.good_moves(state.lengths), 2)
        return Texts(
            board,
            text.concat(text.encode("stones in the piles: "), counts),
            text.concat(ways, text.encode(" moves leave every power of two in an even number of piles")),
        )

    def exercised(self, state: Rows, action: jax.Array, after: Rows) -> dict[str, jax.Array]:
        each, allowed = self.moves(state.lengths)
        mine = each[self._index(action)]
        good, piles, left = self.lost(mine), (mine > 0).sum(), mine[action[0]]
        # A pile is taken whole or made as high as another; with single stones that needs no counting.
        exact = jnp.where(left > 1, (mine == left).sum() > 1, (left == 0) & (action[1] > 0))
        return {
            "count_objects": good | exact,
            "compute_modular": good & (piles > 2),
            "search_adversarial": good & (self.good_moves(state.lengths) < allowed.sum()),
            # What the other takes from one of two equal piles can be taken from the other one.
            "predict_other_agents": good & (piles <= 2),
        }
