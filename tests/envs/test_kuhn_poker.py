"""kuhn_poker against exact values by plain recursion over deals, whose payments are those of pgx."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("kuhn_poker")[0]
RANKS = ("9", "10", "J", "Q", "K", "A")
DECKS = ((2, 3, 4), (2, 3, 4), (0, 1, 2, 3, 4, 5))
HANDS = (1, 2, 3)
CHECK, BET, CALL, FOLD = range(4)
TURNS, COUNT = 6, 150
TIE = 0.003


def pays(history: str, first: int, second: int) -> int | None:
    """What the first player wins by the two cards after passes (p) and bets (b); None while it goes on."""
    ahead = 1 if first > second else -1
    return {"pp": ahead, "bp": 1, "pbp": -1, "bb": 2 * ahead, "pbb": 2 * ahead}.get(history)


def history_of(first: bool, raised: bool) -> str:
    """Before you act."""
    return ("pb" if raised else "") if first else ("b" if raised else "p")


def value(history: str, seat: int, card: int, odds: dict[int, Fraction], habits) -> Fraction:
    """What you in this seat win with best play against cards of these odds, which need not add up to 1."""
    cards = [(card, other) if seat == 0 else (other, card) for other in odds]
    if pays(history, *cards[0]) is not None:
        return sum(odd * pays(history, *pair) for odd, pair in zip(odds.values(), cards, strict=True)) * (
            1 - 2 * seat
        )
    if len(history) % 2 == seat:
        return max(value(history + act, seat, card, odds, habits) for act in "pb")
    row = 1 if history.endswith("b") else 0
    shares = {other: Fraction(int(habits[row][other]), 4) for other in odds}
    total = Fraction(0)
    for act in "pb":
        then = {
            other: odd * (shares[other] if act == "b" else 1 - shares[other]) for other, odd in odds.items()
        }
        total += value(history + act, seat, card, then, habits)
    return total


def values(state, scale: int) -> list[float | None]:
    """Of check, bet, call and fold."""
    card, habits, raised, first = int(state.yours), state.habits, bool(state.raised), bool(state.first)
    odds = {}
    for other in set(DECKS[scale]) - {card}:
        share = Fraction(int(habits[0][other]), 4)
        odds[other] = share if raised else Fraction(1) if first else 1 - share
    total = sum(odds.values())
    odds = {other: odd / total for other, odd in odds.items()}
    history, seat = history_of(first, raised), 0 if first else 1
    acts = {CALL: "b", FOLD: "p"} if raised else {CHECK: "p", BET: "b"}
    return [
        float(value(history + acts[a], seat, card, odds, habits)) if a in acts else None for a in range(4)
    ]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


@pytest.mark.peer("pgx", "kuhn_poker")
def test_payments_are_those_of_pgx():
    peer = pgx.make("kuhn_poker")
    step = jax.jit(peer.step)
    start = peer.init(jax.random.key(0))
    for history in ("pp", "bp", "pbp", "bb", "pbb"):
        for first, second in itertools.permutations(range(3), 2):
            state = start.replace(current_player=jnp.int32(0), _cards=jnp.array([first, second], jnp.int32))
            for act in history:
                assert not state.terminated
                state = step(state, jnp.int32("bp".index(act)))
            assert state.terminated
            assert state.rewards[0] == pays(history, first, second)


def test_deals_and_habits(batch):
    scale, states = batch
    deck = DECKS[scale]
    assert set(states.yours.tolist()) == set(states.theirs.tolist()) == set(deck)
    assert (states.yours != states.theirs).all()
    used = states.habits[:, :, list(deck)]
    assert set(np.unique(used).tolist()) == ({0, 4} if scale == 0 else set(range(5)))
    assert play.distinct(states) > (350, 1800, 1990)[scale]
    # An opponent that is first has bet as often as it does.
    second = ~states.first
    habit = states.habits[np.arange(play.MANY), 0, states.theirs] / 4
    assert not states.raised[states.first].any()
    assert not states.raised[habit == 0].any()
    assert states.raised[second & (habit == 1)].all()
    assert abs(states.raised[second].mean() - habit[second].mean()) < 0.05


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_hands_follow_the_rules(batch, share):
    scale, states = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    mistakes, answered = 0, 0
    for i in range(COUNT):
        loss, hands = 0.0, HANDS[scale]
        for t in range(TURNS):
            state, after = (rollouts.one(s, i) for s in played.states[t : t + 2])
            assert state.hands == hands
            if hands == 0:
                assert played.rewards[t, i] == 0
                continue
            worth, action = values(state, scale), int(played.actions[t, i])
            assert (played.verdicts[t, i] == 0) == (worth[action] is not None)
            if worth[action] is None:
                continue
            given_away = max(v for v in worth if v is not None) - worth[action]
            loss += given_away
            mistakes += given_away > TIE
            goes_on = action == CHECK and state.first and after.raised and after.hands == hands
            answered += goes_on
            if goes_on:
                assert after.yours == state.yours
                assert after.first
                assert state.habits[0, state.theirs] > 0
            else:
                hands -= 1
            assert played.terminated[t, i] == (hands == 0)
            paid = 1.0 if loss <= TIE else 0.5 * max(0.0, 1 - loss / 2)
            assert abs(played.rewards[t, i] - (hands == 0) * paid) < 1e-4
    assert answered > 5
    if share < 1:
        assert mistakes > COUNT // 10
        assert 0.05 < (played.rewards == 1).any(0).mean() < 0.95
    else:
        assert (played.rewards.sum(0) == 1).all()


def test_picture_and_words_show_the_hand(batch):
    scale, states = batch
    some, deck = play.first(states, COUNT), DECKS[scale]
    shown = zip(play.tiles(ENV, some), play.observations(ENV, some), strict=True)
    for i, (picture, words) in enumerate(shown):
        names = [[play.layers(name) for name in row[: 1 + len(deck)]] for row in picture]
        (back, theirs, seat, deals), (card, yours, mine, *_) = names[0][:4], names[1]
        assert (back["card"], card["card"]) == ("back", RANKS[some.yours[i]])
        assert (theirs["chips"], yours["chips"]) == ("2" if some.raised[i] else "1", "1")
        assert (seat["glyph"], mine["glyph"]) == (("2", "1") if some.first[i] else ("1", "2"))
        assert deals["deals"] == str(some.hands[i])
        assert [tile["glyph"] for tile in names[2][1:]] == [RANKS[rank] for rank in deck]
        habits = [[tile["gauge"] for tile in row[1:]] for row in names[3:]]
        assert habits == some.habits[i][:, list(deck)].astype(str).tolist()
        head, *rows = words.split("\n")
        assert head.startswith(f"you have {RANKS[some.yours[i]]}.")
        assert ("opponent bets" in head.split(" by ")[0].split(". ")[1]) == some.raised[i]
        assert [row.replace("/4", "").split(" ") for row in rows] == [[RANKS[rank] for rank in deck], *habits]


def test_answers_in_words(batch):
    _, states = batch
    some = play.first(states, 12)
    verdict, _ = play.read(ENV, some, ["Check", "call", "raise", "bet bet"] * 3, 64)
    raised = some.raised.reshape(3, 4)
    wanted = np.stack([3 * raised[:, 0], 3 * ~raised[:, 1], *[np.full(3, 2)] * 2], axis=1)
    assert verdict.tolist() == wanted.reshape(-1).tolist()
