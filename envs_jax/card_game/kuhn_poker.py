"""Kuhn poker: a card each, a chip each in the pot, one bet, against an opponent whose habits are in view.

Chance decides a hand, so its result is not scored but the decisions are, each against the best reply to these
habits, which is exact: hands without a mistake are a success whatever cards come.
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
from jaxenv.scoring import score

RANKS = ("9", "10", "J", "Q", "K", "A")
LOWEST = np.array([2, 2, 0], np.int32)  # rank of the deck by scale
COUNTS = np.array([3, 3, 6], np.int32)  # of ranks
HANDS = np.array([1, 2, 3], np.int32)
QUARTERS = 4
CHECK, BET, CALL, FOLD = range(4)
BETS, CALLS = range(2)  # the rows of habits
TIE = 0.003  # decisions whose values differ by less are equally good
ROWS, COLS = 5, 1 + len(RANKS)
TABLE, BACK, CARD, CHIPS, SEAT = 0, 1, 2, 8, 10
HEADER, RANK, LETTER, GAUGE, DEALS = 12, 13, 19, 21, 26


@struct.dataclass
class Pot:
    yours: jax.Array  # int8[], your card as an index of RANKS
    theirs: jax.Array  # int8[]
    first: jax.Array  # bool[], you act first
    raised: jax.Array  # bool[], the opponent has bet
    habits: jax.Array  # int8[2, 6], quarters of the times that the opponent bets and calls with each card
    hands: jax.Array  # int32[], left to play with this one
    loss: jax.Array  # float32[], chips given away
    scale: jax.Array  # int32[]


class KuhnPoker(TileEnvironment):
    id = "kuhn_poker"
    family = "card_game"
    abilities = (
        "read_symbol",
        "track_hidden_state",
        "predict_other_agents",
        "estimate_probability",
        "format_answer",
    )
    grammar = Word(("check", "bet", "call", "fold"))
    task = (
        "One-card poker: yours is in row 2. The bars show how often the opponent bets (B) and calls (C) with "
        "each card. Decide what is best: <answer>check</answer>, bet, call or fold."
    )
    rules = (
        "Both put in a chip; a bet or call adds one. The higher card wins, or who did not fold. 1 and 2 say "
        "who acts first. Decisions count, not luck."
    )
    max_turns: ClassVar[tuple[int, ...]] = tuple((2 * HANDS).tolist())
    hidden = ("theirs",)
    tileset = (
        "table",
        "table card:back",
        *(f"table card:{rank}" for rank in RANKS),
        "table chips:1",
        "table chips:2",
        "table glyph:1",
        "table glyph:2",
        "header",
        *(f"header glyph:{rank}" for rank in RANKS),
        "header glyph:B",
        "header glyph:C",
        *(f"paper gauge:{quarters}" for quarters in range(QUARTERS + 1)),
        *(f"table deals:{hands}" for hands in range(HANDS.max() + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Pot:
        habit_key, deal_key = jax.random.split(key)
        noise = grids.noise(habit_key, (2, len(RANKS)))
        # Never or always in the first scale, quarters in the others.
        steps = jnp.where(scale == 0, 2, QUARTERS + 1)
        habits = jnp.where(_in_deck(scale), jnp.floor(noise * steps) * QUARTERS / (steps - 1), 0)
        card, flag, loss = jnp.int8(0), jnp.bool_(False), jnp.float32(0.0)
        hands = jnp.asarray(HANDS)[scale]
        return _deal(deal_key, Pot(card, card, flag, flag, habits.astype(jnp.int8), hands, loss, scale))

    def legal(self, state: Pot, action: jax.Array) -> jax.Array:
        """Call or fold after a bet, check or bet otherwise."""
        return state.raised == (action >= CALL)

    def transition(self, key: jax.Array, state: Pot, action: jax.Array) -> tuple[Pot, jax.Array, jax.Array]:
        reply_key, deal_key = jax.random.split(key)
        worth = _worth(state)
        loss = state.loss + worth.max() - worth[action]
        raises = state.first & (action == CHECK) & _bets(reply_key, state)
        hands = jnp.where(raises, state.hands, state.hands - 1)
        over = hands == 0
        stays = replace(state, raised=state.raised | raises)
        dealt = _deal(deal_key, state)
        after = jax.tree.map(lambda old, new: jnp.where(raises | over, old, new), stays, dealt)
        paid = score(loss <= TIE, jnp.maximum(1.0 - loss / 2, 0.0))
        return replace(after, hands=hands, loss=loss), jnp.where(over, paid, 0.0), over

    def symbolic(self, state: Pot) -> jax.Array:
        rank = jnp.roll(jnp.arange(len(RANKS)), -jnp.asarray(LOWEST)[state.scale])
        seat = SEAT + state.first
        theirs = jnp.stack([jnp.int32(BACK), CHIPS + state.raised, seat, DEALS + state.hands])
        yours = jnp.stack([CARD + state.yours, jnp.int32(CHIPS), 2 * SEAT + 1 - seat])
        tiles = jnp.full((ROWS, COLS), TABLE).at[0, :4].set(theirs).at[1, :3].set(yours)
        tiles = tiles.at[2:, 0].set(jnp.array([HEADER, LETTER, LETTER + 1]))
        tiles = tiles.at[2, 1:].set(RANK + rank).at[3:, 1:].set(GAUGE + state.habits[:, rank])
        return tiles.astype(jnp.uint8)

    def extent(self, state: Pot) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(ROWS), 1 + jnp.asarray(COUNTS)[state.scale]

    def describe(self, state: Pot) -> Texts:
        rank = jnp.roll(jnp.arange(len(RANKS)), -jnp.asarray(LOWEST)[state.scale])
        shares = tuple(f"{quarters}/{QUARTERS}" for quarters in range(QUARTERS + 1))
        rows = jnp.concatenate([rank[None], len(RANKS) + state.habits[:, rank]]).astype(jnp.uint8)
        words = text.grid(rows, (*RANKS, *shares), 3, jnp.asarray(COUNTS)[state.scale])
        acts = 2 * state.raised + state.first
        situations = (
            ". The opponent checks. It bets and calls by card:\n",
            ". You are first. The opponent bets and calls by card:\n",
            ". The opponent bets first. It bets and calls by card:\n",
            ". You checked, the opponent bets. It bets and calls by card:\n",
        )
        table = text.concat(
            text.encode("you have "),
            text.choose(state.yours, RANKS),
            text.choose(acts.astype(jnp.int32), situations),
            words,
        )
        facts = text.concat(
            text.encode("hands left: "),
            text.number(state.hands, 1),
            text.choose(state.raised.astype(jnp.int32), (", check or bet", ", call or fold")),
        )
        ahead = (_beliefs(state) * (state.yours > np.arange(len(RANKS)))).sum()
        hint = text.concat(
            text.encode("your card is the higher in "),
            text.number(jnp.round(100 * ahead).astype(jnp.int32), 3),
            text.encode(" of 100 cases"),
        )
        return Texts(table, facts, hint)

    def exercised(self, state: Pot, action: jax.Array, after: Pot) -> dict[str, jax.Array]:
        other = action ^ 1
        worth, count = _worth(state), jnp.asarray(COUNTS)[state.scale]
        # What an opponent without any habits would call for.
        blind = _worth(replace(state, habits=jnp.full_like(state.habits, QUARTERS // 2)))
        right = worth[action] > worth[other] + TIE
        rank = state.yours - jnp.asarray(LOWEST)[state.scale]
        extreme = (rank == 0) | (rank == count - 1)
        return {
            "read_symbol": right & extreme,
            # What the opponent did rules out a card.
            "track_hidden_state": right & ((_beliefs(state) > 0).sum() < count - 1),
            "predict_other_agents": right & (blind[action] < blind[other]),
            "estimate_probability": right & ~extreme,
        }

    def expert(self, key: jax.Array, state: Pot) -> jax.Array:
        return grids.random_argmin(key, -_worth(state))


def _in_deck(scale: jax.Array) -> jax.Array:
    """bool[6]"""
    start, rank = jnp.asarray(LOWEST)[scale], jnp.arange(len(RANKS))
    return (rank >= start) & (rank < start + jnp.asarray(COUNTS)[scale])


def _deal(key: jax.Array, state: Pot) -> Pot:
    """Two other cards; the opponent acts when it is first."""
    noise_key, bet_key = jax.random.split(key)
    noise = jax.random.uniform(noise_key, (3,))
    start, count = jnp.asarray(LOWEST)[state.scale], jnp.asarray(COUNTS)[state.scale]
    yours = jnp.floor(noise[0] * count).astype(jnp.int32)
    theirs = (yours + 1 + jnp.floor(noise[1] * (count - 1)).astype(jnp.int32)) % count
    yours, theirs = (start + yours).astype(jnp.int8), (start + theirs).astype(jnp.int8)
    dealt = replace(state, yours=yours, theirs=theirs, first=noise[2] < 0.5)
    return replace(dealt, raised=~dealt.first & _bets(bet_key, dealt))


def _bets(key: jax.Array, state: Pot) -> jax.Array:
    """bool[]: the opponent bets now if it may."""
    return jax.random.uniform(key) * QUARTERS < state.habits[BETS, state.theirs]


def _beliefs(state: Pot) -> jax.Array:
    """float32[6]: how likely each card of the opponent is after what it did."""
    bets = state.habits[BETS] / QUARTERS
    told = jnp.where(state.raised, bets, jnp.where(state.first, 1.0, 1.0 - bets))
    weights = jnp.where(_in_deck(state.scale) & (state.yours != np.arange(len(RANKS))), told, 0.0)
    return weights / weights.sum()


def _worth(state: Pot) -> jax.Array:
    """float32[4]: chips to expect from each action and the best ones after it, -inf if it is not allowed."""
    belief, (bets, calls) = _beliefs(state), state.habits / QUARTERS
    ahead = jnp.sign(state.yours - np.arange(len(RANKS)))
    call, fold = (belief * 2 * ahead).sum(), jnp.float32(-1.0)
    bet = (belief * (1 - calls + calls * 2 * ahead)).sum()
    # After a check the first player may have a bet to answer.
    answer = jnp.maximum((belief * bets * 2 * ahead).sum(), -(belief * bets).sum())
    check = jnp.where(state.first, (belief * (1 - bets) * ahead).sum() + answer, (belief * ahead).sum())
    worth = jnp.stack([check, bet, call, fold])
    return jnp.where(state.raised == (np.arange(4) >= CALL), worth, -jnp.inf)
