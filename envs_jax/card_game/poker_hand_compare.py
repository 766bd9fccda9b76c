"""Find the best of several poker hands and name what it is. In the harder scales the hands are close.

Each hand is built for a category; all come from one deck, and what a hand is follows from its cards alone.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.render.pieces.cards import SUITS
from jaxenv.scoring import score

HANDS, CARDS = 5, 5
LETTERS = "ABCDE"
COUNTS = np.array([2, 3, 5], np.int32)  # of hands by scale
SPREAD = np.array([9, 3, 2], np.int32)  # categories among which the hands of one instance are
RANKS = (*(str(rank) for rank in range(2, 11)), "J", "Q", "K", "A")
CATEGORIES = (
    "high-card",
    "pair",
    "two-pair",
    "three",
    "straight",
    "flush",
    "full-house",
    "four",
    "straight-flush",
)
# For each category which of the hand's ranks, in drawn or in running order, each card has.
PLAN = np.array(
    [
        (0, 1, 2, 3, 4),
        (0, 0, 1, 2, 3),
        (0, 0, 1, 1, 2),
        (0, 0, 0, 1, 2),
        (0, 1, 2, 3, 4),
        (0, 1, 2, 3, 4),
        (0, 0, 0, 1, 1),
        (0, 0, 0, 0, 1),
        (0, 1, 2, 3, 4),
    ]
)
COPY = np.array([[row[:at].count(rank) for at, rank in enumerate(row)] for row in PLAN.tolist()])
RUNS = np.isin(CATEGORIES, ("straight", "straight-flush"))
SUITED = np.isin(CATEGORIES, ("flush", "straight-flush"))
TRIES = 16
# The category of ranks by how often the two most frequent ones occur.
BY_COUNTS = np.zeros((5, 5), np.int32)
BY_COUNTS[(2, 2, 3, 3, 4), (1, 2, 1, 2, 1)] = [1, 2, 3, 6, 7]


@struct.dataclass
class Deal:
    cards: jax.Array  # int8[5, 5], suit + 4 * rank, -1 in hands that are not there
    scale: jax.Array  # int32[]


class PokerHandCompare(TileEnvironment):
    id = "poker_hand_compare"
    family = "card_game"
    abilities = (
        "read_symbol",
        "compare_sort",
        "filter_by_attribute",
        "count_objects",
        "format_answer",
    )
    grammar = Moves((*LETTERS.lower(), *CATEGORIES), 2)
    task = (
        "Which poker hand is best, and what is it? Answer its letter and one of high-card, pair, two-pair, "
        "three, straight, flush, full-house, four, straight-flush: <answer>B two-pair</answer>."
    )
    rules = (
        "The later in that list, the better. Hands of one kind are told apart by the ranks that occur most, "
        "then by the rest, highest first; an ace is high, or low in A 2 3 4 5."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        "table",
        *(f"header glyph:{letter}" for letter in LETTERS),
        *(f"table card:{rank}-{suit}" for rank in RANKS for suit in SUITS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Deal:
        top_key, hand_key = jax.random.split(key)
        noise = jax.random.uniform(top_key, (1 + HANDS,))
        spread = jnp.asarray(SPREAD)[scale]
        top = spread - 1 + jnp.floor(noise[0] * (len(CATEGORIES) + 1 - spread))
        wanted = (top - jnp.floor(noise[1:] * spread)).astype(jnp.int32)
        # Tries of a hand, each with a number for every rank, every rank's first suit, the run and the order.
        order = grids.noise(hand_key, (HANDS, TRIES, 2 * len(RANKS) + 1 + CARDS))

        def deal(left: jax.Array, drawn: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            """One more hand from the cards left bool[52]: a try without clash, or just any five cards."""
            category, numbers = drawn
            tries = jax.vmap(_built, (None, 0))(category, numbers)
            fits = left[tries].all(-1)
            rest = jax.lax.top_k(jnp.where(left, numbers.reshape(-1)[: left.shape[0]], -1.0), CARDS)[1]
            hand = jnp.where(fits.any(), tries[fits.argmax()], rest)
            return left.at[hand].set(False), hand

        deck = jnp.ones(len(RANKS) * len(SUITS), bool)
        _, cards = jax.lax.scan(deal, deck, (wanted, order))
        there = jnp.arange(HANDS)[:, None] < jnp.asarray(COUNTS)[scale]
        return Deal(jnp.where(there, cards, -1).astype(jnp.int8), scale)

    def legal(self, state: Deal, action: jax.Array) -> jax.Array:
        """The letter of a hand, and a category."""
        return (action[0] < jnp.asarray(COUNTS)[state.scale]) & (action[1] >= HANDS)

    def transition(self, key: jax.Array, state: Deal, action: jax.Array) -> tuple[Deal, jax.Array, jax.Array]:
        best, named, _ = _checks(state, action)
        return state, score(best & named, best.astype(jnp.float32)), jnp.bool_(True)

    def symbolic(self, state: Deal) -> jax.Array:
        faces = jnp.where(state.cards >= 0, 1 + HANDS + state.cards, 0)
        letters = 1 + jnp.arange(HANDS)[:, None]
        return jnp.concatenate([letters, faces], axis=1).astype(jnp.uint8)

    def extent(self, state: Deal) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(COUNTS)[state.scale], jnp.int32(1 + CARDS)

    def describe(self, state: Deal) -> Texts:
        names = tuple(f"{rank}-{suit}" for rank in RANKS for suit in SUITS)
        words = ("", *(f"{letter}:" for letter in LETTERS), *names)
        category, strength = _judged(state.cards)
        worst = jnp.where(strength >= 0, strength, strength.max()).argmin()
        return Texts(
            text.grid(self.symbolic(state), words, *self.extent(state)),
            text.concat(
                text.number(jnp.asarray(COUNTS)[state.scale], 1), text.encode(" hands of five cards")
            ),
            text.concat(text.encode("the worst one is "), text.choose(category[worst], CATEGORIES)),
        )

    def exercised(self, state: Deal, action: jax.Array, after: Deal) -> dict[str, jax.Array]:
        best, named, category = _checks(state, action)
        return {
            "read_symbol": named,
            "compare_sort": best,
            "filter_by_attribute": named & jnp.asarray(RUNS | SUITED)[category],
            "count_objects": named & jnp.asarray(COPY.any(1))[category],
        }

    def expert(self, key: jax.Array, state: Deal) -> jax.Array:
        category, strength = _judged(state.cards)
        hand = grids.random_argmin(key, -strength)
        return jnp.stack([hand, HANDS + category[hand]])


def _checks(state: Deal, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Whether the chosen hand is the best, bool[], whether it is named rightly, and its category int32[]."""
    category, strength = _judged(state.cards)
    chosen = jnp.clip(action[0], 0, HANDS - 1)
    named = action[1] - HANDS == category[chosen]
    return strength[chosen] == strength.max(), named, category[chosen]


def _built(category: jax.Array, numbers: jax.Array) -> jax.Array:
    """Cards int32[5] of this category (now and then, by chance, of a better one) from noise float32[32]."""
    by_rank, by_suit, rest = jnp.split(numbers, (len(RANKS), 2 * len(RANKS)))
    drawn = jax.lax.top_k(by_rank, CARDS)[1]
    # From the ace, as a 1, to the ten.
    running = (jnp.floor(rest[0] * 10).astype(jnp.int32) - 1 + jnp.arange(CARDS)) % len(RANKS)
    plan = jnp.asarray(PLAN)[category]
    rank = jnp.where(jnp.asarray(RUNS)[category], running, drawn)[plan]
    first = jnp.floor(by_suit * len(SUITS)).astype(jnp.int32)
    suit = jnp.where(jnp.asarray(SUITED)[category], first[0], first[plan] + jnp.asarray(COPY)[category])
    cards = rank * len(SUITS) + suit % len(SUITS)
    return cards[jax.lax.top_k(rest[1:], CARDS)[1]]


def _judged(cards: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The category int32[5] of each hand int8[5, 5], and a strength int32[5] by which they compare, -1 for
    hands that are not there."""
    rank, suit = jnp.divmod(cards.astype(jnp.int32), len(SUITS))
    same = (rank[..., None] == rank[..., None, :]).sum(-1)
    # The most frequent ranks first, then the highest.
    ordered = -jnp.sort(-(same * len(RANKS) + rank), axis=-1)
    counts, ranks = jnp.divmod(ordered, len(RANKS))
    high = ranks[..., 0]
    wheel = (high == len(RANKS) - 1) & (ranks[..., 1] == 3)
    single = counts[..., 0] == 1
    run = single & ((high - ranks[..., -1] == CARDS - 1) | wheel)
    flush = (suit == suit[..., :1]).all(-1)
    second = jnp.take_along_axis(counts, jnp.minimum(counts[..., :1], CARDS - 1), axis=-1)[..., 0]
    category = jnp.where(run, 4, jnp.asarray(BY_COUNTS)[jnp.minimum(counts[..., 0], 4), second])
    category = jnp.where(flush & single, jnp.where(run, 8, 5), category)
    ranks = jnp.where((run & wheel)[..., None], jnp.array([3, 2, 1, 0, 0]), ranks)
    powers = len(RANKS) ** np.arange(CARDS, -1, -1)
    strength = category * powers[0] + (ranks * powers[1:]).sum(-1)
    return category.astype(jnp.int32), jnp.where(cards[..., 0] >= 0, strength, -1).astype(jnp.int32)
