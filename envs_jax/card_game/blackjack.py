"""Blackjack: take cards or stand against the dealer, with the make-up of the deck in view.

The rules are those of Gymnasium's Blackjack-v1. Chance decides a hand, so its result is not scored but the
decisions are, each against the better one by exact dynamic programming: a hand without a mistake is a success
whatever cards come, and a mistake costs the value that it gives away.
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
from jaxenv.render.pieces.cards import SUITS
from jaxenv.scoring import score

MOST = 10  # cards of a hand; then it ends
HIT, STAND = range(2)
RANKS = ("A", *(str(value) for value in range(2, 11)))
FULL = np.array([4] * 9 + [16], np.int32)  # cards of a whole deck by value; the pictures count as 10
DEALS = np.array([1, 3, 6], np.int32)  # of them, the one with the most even decision is played
TIE = 0.003  # decisions whose values differ by less are equally good
ROWS, COLS = 6, 5
EMPTY, BACK, CARD, TALLY = 0, 1, 2, 2 + len(RANKS) * len(SUITS)
# A hand is its points with every ace as 1, and whether there is an ace; here the total of each.
POINTS = np.arange(32)[:, None]
TOTAL = POINTS + 10 * (np.array([False, True]) & (POINTS <= 11))
# How the dealer ends: with 17 to 21, or over.
ENDS = np.array([17, 18, 19, 20, 21, 0])
STANDS = (TOTAL >= 17)[..., None] & (np.where(TOTAL > 21, 0, TOTAL)[..., None] == ENDS)
PAYS = np.where(TOTAL[..., None] > 21, -1, np.sign(TOTAL[..., None] - ENDS))


@struct.dataclass
class Hand:
    cards: jax.Array  # int8[10], values 1 to 10, 0 after the last
    dealer: jax.Array  # int8[], the value of the open card
    deck: jax.Array  # int8[10], cards of each value
    loss: jax.Array  # float32[], value given away


class Blackjack(TileEnvironment):
    id = "blackjack"
    family = "card_game"
    abilities = (
        "read_symbol",
        "read_digit",
        "compute_arithmetic",
        "estimate_probability",
        "format_answer",
    )
    grammar = Word(("hit", "stand"))
    task = (
        "Blackjack: the dealer's card is on top, yours are below, then the deck by rank. "
        "Decide what is best: <answer>hit</answer> or stand."
    )
    rules = (
        "Come nearer to 21 than the dealer, not over. An ace counts 1 or 11. The dealer draws to 17. "
        "Each card is drawn from the whole deck. Decisions count, not luck."
    )
    max_turns: ClassVar[tuple[int, ...]] = (MOST - 1,) * 3
    tileset = (
        "table",
        "table card:back",
        *(f"table card:{rank}-{suit}" for rank in RANKS for suit in SUITS),
        *(
            f"tally:{rank}-{count}"
            for rank, most in zip(RANKS, FULL, strict=True)
            for count in range(most + 1)
        ),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Hand:
        deck_key, deal_key = jax.random.split(key)
        # No aces in the first scale, the whole deck in the second, some of it in the third.
        some = jnp.floor(jax.random.uniform(deck_key, FULL.shape) * (FULL + 1)).astype(jnp.int32)
        some = some.at[-1].max(1)
        deck = jnp.where(scale == 2, some, jnp.where((scale == 0) & (np.arange(10) == 0), 0, FULL))
        cards = _drawn(grids.noise(deal_key, (int(DEALS.max()), 3)), deck)
        first, second, dealer = cards.T
        ace = (first == 1) | (second == 1)
        stand, hit = _values(deck)[:, first + second, ace.astype(jnp.int32), dealer - 1]
        gap = jnp.abs(stand - hit)
        considered = (gap > TIE) & (np.arange(len(cards)) < jnp.asarray(DEALS)[scale])
        chosen = cards[jnp.where(considered, gap, jnp.inf).argmin()].astype(jnp.int8)
        hand = jnp.zeros(MOST, jnp.int8).at[:2].set(chosen[:2])
        return Hand(hand, chosen[2], deck.astype(jnp.int8), jnp.float32(0.0))

    def transition(self, key: jax.Array, state: Hand, action: jax.Array) -> tuple[Hand, jax.Array, jax.Array]:
        worth = _worth(state)
        card = jnp.where(action == HIT, _drawn(jax.random.uniform(key), state.deck), 0)
        at = (state.cards > 0).sum()
        after = replace(
            state,
            cards=state.cards.at[at].set(card.astype(jnp.int8), mode="drop"),
            loss=state.loss + worth.max() - worth[action],
        )
        over = (action == STAND) | (after.cards.sum() > 21) | (after.cards > 0).all()
        paid = score(after.loss <= TIE, jnp.maximum(1.0 - after.loss, 0.0))
        return after, jnp.where(over, paid, 0.0), over

    def symbolic(self, state: Hand) -> jax.Array:
        slot = jnp.arange(MOST)
        face = CARD + (state.cards - 1) * len(SUITS) + (slot + state.dealer) % len(SUITS)
        hand = jnp.where(state.cards > 0, face, EMPTY)
        dealer = jnp.full(COLS, EMPTY).at[0].set(CARD + (state.dealer - 1) * len(SUITS)).at[1].set(BACK)
        deck = TALLY + 5 * slot + state.deck
        blank = jnp.full(COLS, EMPTY)
        return jnp.concatenate([dealer, blank, hand, deck]).reshape(ROWS, COLS).astype(jnp.uint8)

    def extent(self, state: Hand) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(ROWS), jnp.int32(COLS)

    def describe(self, state: Hand) -> Texts:
        held = (state.cards > 0).sum()
        tallies = tuple(name.removeprefix("tally:").replace("-", ":") for name in self.tileset[TALLY:])
        table = text.concat(
            text.encode("dealer "),
            text.choose(state.dealer - 1, RANKS),
            text.encode("\nyou "),
            text.grid(jnp.maximum(state.cards - 1, 0).astype(jnp.uint8)[None], RANKS, 1, held),
            text.encode("\ndeck "),
            text.grid((5 * jnp.arange(10) + state.deck).astype(jnp.uint8)[None], tallies, 1, 10),
        )
        points, ace = _points(state)
        total = jnp.asarray(TOTAL, jnp.int32)[points, ace]
        facts = text.concat(
            text.encode("your total is "),
            text.number(total, 2),
            text.choose((total > points).astype(jnp.int32), ("", ", with an ace as 11")),
        )
        over = (_chances(state.deck) * (points + np.arange(1, 11) > 21)).sum()
        hint = text.concat(
            text.encode("one more card takes you over 21 in "),
            text.number(jnp.round(100 * over).astype(jnp.int32), 3),
            text.encode(" of 100 cases, the dealer ends over 21 in "),
            text.number(jnp.round(100 * _ends(state.deck)[state.dealer - 1, -1]).astype(jnp.int32), 3),
        )
        return Texts(table, facts, hint)

    def exercised(self, state: Hand, action: jax.Array, after: Hand) -> dict[str, jax.Array]:
        points, ace = _points(state)
        total = jnp.asarray(TOTAL, jnp.int32)[points, ace]
        worth = _values(state.deck)[::-1, points, ace]
        gain = worth[action] - worth[1 - action]  # float32[10], by the dealer's card
        whole = _worth(replace(state, deck=jnp.asarray(FULL)))
        right = gain[state.dealer - 1] > TIE
        return {
            "read_symbol": right & ((gain < -TIE) & (state.deck > 0)).any(),
            "read_digit": right & (whole[action] < whole[1 - action]),
            "compute_arithmetic": right & ((total < 12) | (total > 16)),
            "estimate_probability": right & jnp.where(action == HIT, points > 11, total < 17),
        }

    def expert(self, key: jax.Array, state: Hand) -> jax.Array:
        return grids.random_argmin(key, -_worth(state))


def _points(state: Hand) -> tuple[jax.Array, jax.Array]:
    """The points int32[] of the hand with every ace as 1, and whether there is an ace, int32[]."""
    points = jnp.clip(state.cards.sum(dtype=jnp.int32), 0, len(POINTS) - 1)
    return points, (state.cards == 1).any().astype(jnp.int32)


def _worth(state: Hand) -> jax.Array:
    """float32[2]: the values of a hit and of standing."""
    points, ace = _points(state)
    return _values(state.deck)[::-1, points, ace, state.dealer - 1]


def _chances(deck: jax.Array) -> jax.Array:
    """float32[10]: how likely a card has each value."""
    return deck / deck.sum().astype(jnp.float32)


def _drawn(noise: jax.Array, deck: jax.Array) -> jax.Array:
    """Values int32 of cards for noise float32 in [0, 1)."""
    return 1 + (noise[..., None] * deck.sum() >= jnp.cumsum(deck)).sum(-1, dtype=jnp.int32)


def _after_a_card(table: jax.Array, points: jax.Array, deck: jax.Array) -> jax.Array:
    """float32[2, K]: what table float32[32, 2, K] says on average of the hand after one more card."""
    then = jax.lax.dynamic_slice_in_dim(table, points + 1, 10)
    then = then.at[0, 0].set(then[0, 1])  # an ace
    return (_chances(deck)[:, None, None] * then).sum(0)


def _ends(deck: jax.Array) -> jax.Array:
    """float32[10, 6]: how likely the dealer comes to each of ENDS from each open card."""

    def draw(step: jax.Array, ends: jax.Array) -> jax.Array:
        points = 16 - step
        again = _after_a_card(ends, points, deck)
        return ends.at[points].set(jnp.where(jnp.asarray(TOTAL)[points, :, None] < 17, again, ends[points]))

    ends = jax.lax.fori_loop(0, 16, draw, jnp.asarray(STANDS, jnp.float32))
    return ends[1:11, 0].at[0].set(ends[1, 1])


def _values(deck: jax.Array) -> jax.Array:
    """float32[2, 32, 2, 10]: the result to expect from standing, and from a hit with the best play after it,
    by points, ace and the dealer's open card."""
    stand = (jnp.asarray(PAYS, jnp.float32)[:, :, None] * _ends(deck)).sum(-1)

    def draw(step: jax.Array, hit: jax.Array) -> jax.Array:
        points = 21 - step
        return hit.at[points].set(_after_a_card(jnp.maximum(stand, hit), points, deck))

    hit = jax.lax.fori_loop(0, 21, draw, jnp.full_like(stand, -1.0))
    return jnp.stack([stand, hit])
