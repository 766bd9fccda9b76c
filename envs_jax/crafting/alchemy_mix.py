"""Mix two elements at a time to find out what they make, until the wanted one is there.

A hidden table says what each pair makes, if anything. The wanted element is at the end of a chain in which
each needs the one before; no other pair makes an element of the chain. There are turns enough to try every
pair once.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.environment import TileEnvironment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts

MOST, BASE = 9, 3
COUNTS = np.array([5, 7, 9], np.int32)  # of elements
DEPTHS = np.array([2, 3, 4], np.int32)  # of the chain
MOST_DEPTH, MOST_ASIDE = 4, 2  # elements that are neither there at first nor of the chain
CHANCE = 0.3  # that a pair which is not needed makes something
LETTERS = "ABCDEFGHI"
COLOURS = (
    "sticker_red",
    "sticker_orange",
    "sticker_yellow",
    "grass",
    "sticker_green",
    "sky",
    "sticker_blue",
    "paint_purple",
    "skin",
)
UNTRIED, NOTHING = -2, -1
LOWER = np.tril(np.ones((MOST, MOST), bool), -1)
# Tiles of the table; what a pair makes follows at ELEMENT, the corner with the wanted element at WANTED.
CLOSED, UNKNOWN, PAIR, FAILED, ELEMENT, WANTED = 0, 1, 2, 3, 4, 4 + MOST


@struct.dataclass
class Laboratory:
    products: jax.Array  # int8[9, 9], what each pair makes, NOTHING for none
    tried: jax.Array  # int8[9, 9], the same of the pairs that were mixed, UNTRIED of others
    known: jax.Array  # bool[9]
    wanted: jax.Array  # int32[]
    scale: jax.Array  # int32[]


class AlchemyMix(TileEnvironment):
    id = "alchemy_mix"
    family = "crafting"
    abilities = (
        "infer_hidden_dynamics",
        "explore_systematically",
        "read_symbol",
        "recall_past_view",
        "query_actively",
        "format_move",
    )
    grammar = Letters(2, LETTERS, between=" ")
    task = (
        "Find the element of the golden corner by mixing two that you have. Answer like <answer>A C</answer>."
    )
    rules = (
        "The table shows what each pair of your elements made; a cross is nothing, a white cell untried. "
        "What is made joins your elements. Each pair can be mixed once."
    )
    max_turns: ClassVar[tuple[int, ...]] = tuple(int(n - 1) * int(n - 2) // 2 for n in COUNTS)
    hidden = ("products",)
    tileset = (
        "plain:line",
        "covered",
        "paper",
        "paper cross",
        *(f"coloured:{colour} glyph:{letter}" for colour, letter in zip(COLOURS, LETTERS, strict=True)),
        *(f"marked glyph:{letter}" for letter in LETTERS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Laboratory:
        letter_key, table_key = jax.random.split(key)
        count, depth = jnp.asarray(COUNTS)[scale], jnp.asarray(DEPTHS)[scale]
        # In the order in which elements come up: those at first, the chain, those aside; then by letters.
        products = _products(grids.noise(table_key, (3, MOST, MOST)), count, depth)
        noise = jax.random.uniform(letter_key, (MOST,))
        letters = jnp.where(jnp.arange(MOST) < count, noise, -1.0)
        _, letter = jax.lax.top_k(letters, MOST)
        order = (letter == jnp.arange(MOST)[:, None]).argmax(1)
        products = products[order][:, order]
        products = jnp.where(products >= 0, letter[products], NOTHING)
        return Laboratory(
            products.astype(jnp.int8),
            jnp.full((MOST, MOST), UNTRIED, jnp.int8),
            order < BASE,
            letter[BASE + depth - 1].astype(jnp.int32),
            scale,
        )

    def legal(self, state: Laboratory, action: jax.Array) -> jax.Array:
        """Two elements that are there, and were not mixed before."""
        first, second = action
        return (
            (second >= 0)
            & (first != second)
            & state.known[first]
            & state.known[second]
            & (state.tried[first, second] == UNTRIED)
        )

    def transition(
        self, key: jax.Array, state: Laboratory, action: jax.Array
    ) -> tuple[Laboratory, jax.Array, jax.Array]:
        here = action[:, None] == jnp.arange(MOST)
        pair = (here[0][:, None] & here[1]) | (here[1][:, None] & here[0])
        tried = jnp.where(pair, state.products, state.tried)
        made = jnp.where(pair, state.products, NOTHING).max()
        known = state.known | (jnp.arange(MOST) == made)
        found = known[state.wanted]
        return replace(state, tried=tried, known=known), found.astype(jnp.float32), found

    def symbolic(self, state: Laboratory) -> jax.Array:
        at = jnp.arange(MOST)
        names = jnp.where(state.known, ELEMENT + at, UNKNOWN)
        usable = state.known[:, None] & state.known & (at[:, None] != at)
        cells = jnp.where(state.tried >= 0, ELEMENT + state.tried, FAILED)
        cells = jnp.where(state.tried == UNTRIED, jnp.where(usable, PAIR, CLOSED), cells)
        corner = (WANTED + state.wanted)[None, None]
        head = jnp.concatenate([corner, names[None]], axis=1)
        return jnp.concatenate([head, jnp.concatenate([names[:, None], cells], axis=1)]).astype(jnp.uint8)

    def extent(self, state: Laboratory) -> tuple[jax.Array, jax.Array]:
        side = 1 + jnp.asarray(COUNTS)[state.scale]
        return side, side

    def describe(self, state: Laboratory) -> Texts:
        words = ("-", "?", ".", "x", *LETTERS, *(f"{letter}!" for letter in LETTERS))
        table = text.grid(self.symbolic(state), words, *self.extent(state))
        names, _ = text.word_table([f" {letter}" for letter in LETTERS])
        facts = text.concat(
            text.choose(state.wanted, tuple(f"find {letter}, you have" for letter in LETTERS)),
            text.pack(jnp.asarray(names), jnp.where(state.known, 2, 0)),
            text.encode(", "),
            text.number((state.tried != UNTRIED).sum() // 2, 2),
            text.encode(" pairs mixed"),
        )
        hint = text.choose(_needed(state).max(), tuple(f"mix {letter} with another" for letter in LETTERS))
        return Texts(table, facts, hint)

    def exercised(self, state: Laboratory, action: jax.Array, after: Laboratory) -> dict[str, jax.Array]:
        mixed = state.tried != UNTRIED
        made = (state.tried == jnp.arange(MOST)[:, None, None]).any((1, 2))
        often = mixed.sum(1)
        usable = state.known[:, None] & state.known & ~mixed & ~jnp.eye(MOST, dtype=bool)
        fewest = jnp.where(usable, often[:, None] + often, 2 * MOST).min()
        return {
            "infer_hidden_dynamics": after.known.sum() > state.known.sum(),
            "explore_systematically": mixed.any() & (often[action].sum() <= fewest),
            # The table said which pairs not to mix again.
            "read_symbol": (often[action] > 0).any(),
            "recall_past_view": made[action].any(),
            "query_actively": (made & (often == 0))[action].any(),
        }

    def expert(self, key: jax.Array, state: Laboratory) -> jax.Array:
        pair = _needed(state)
        return jnp.where(jax.random.bernoulli(key), pair, pair[::-1]).astype(jnp.int32)


def _needed(state: Laboratory) -> jax.Array:
    """int32[2]: the pair that makes the next element of the chain."""

    def ask(_: int, wanted: jax.Array) -> jax.Array:
        pair = _pair_of(state, wanted)
        lacking = ~state.known[pair]
        return jnp.where(lacking.any(), pair[lacking.argmax()], wanted)

    return _pair_of(state, jax.lax.fori_loop(0, MOST_DEPTH, ask, state.wanted))


def _pair_of(state: Laboratory, wanted: jax.Array) -> jax.Array:
    return jnp.stack(jnp.divmod((state.products == wanted).reshape(-1).argmax(), MOST)).astype(jnp.int32)


def _products(noise: jax.Array, count: jax.Array, depth: jax.Array) -> jax.Array:
    """int32[9, 9]: a symmetric table of elements in the order of coming up; noise float32[3, 9, 9]."""
    at = jnp.arange(MOST)
    first, second = at[:, None], at[None, :]
    # The chain: element BASE + k of the one before and any earlier one.
    step = first - (BASE - 1)
    partner = (noise[0, :, :1] * first).astype(jnp.int32)
    chain = (step >= 0) & (step < depth) & (second == partner)
    products = jnp.where(chain, first + 1, NOTHING)
    # An element aside comes of a pair that is not needed for the chain.
    last = BASE + depth - 1
    free = LOWER & ~chain & (first < count) & (first != last) & (second != last)
    _, pairs = jax.lax.top_k(jnp.where(free & (first < last), noise[1], -1.0).reshape(-1), MOST_ASIDE)
    aside = jnp.arange(MOST_ASIDE) < count - last - 1
    spots = (jnp.arange(MOST * MOST) == pairs[:, None]) & aside[:, None]
    made = jnp.where(spots, last + 1 + jnp.arange(MOST_ASIDE)[:, None], NOTHING).max(0).reshape(MOST, MOST)
    products = jnp.maximum(products, made)
    # Some other pairs make what is there at first, or aside.
    which = (noise[2] / CHANCE * (count - depth)).astype(jnp.int32)
    other = jnp.where(which < BASE, which, which + depth)
    makes = free & (made < 0) & (noise[2] < CHANCE)
    products = jnp.where(makes, other, products)
    return jnp.maximum(products, products.T)
