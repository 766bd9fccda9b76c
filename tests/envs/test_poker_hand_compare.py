"""poker_hand_compare against a plain-Python ranking of hands."""

import itertools
from collections import Counter

import numpy as np
import play
import pytest

import jaxenv

ENV = jaxenv.make("poker_hand_compare")[0]
COUNTS = (2, 3, 5)
RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")
NAMES = (
    "high-card", "pair", "two-pair", "three", "straight", "flush", "full-house", "four", "straight-flush"
)  # fmt: skip
COUNT = 100
Card = tuple[str, str]


def ranked(hand: list[Card]) -> tuple[int, list[int]]:
    """Category and the ranks that tell hands of it apart."""
    ranks = sorted((RANKS.index(rank) for rank, _ in hand), reverse=True)
    groups = sorted(Counter(ranks).items(), key=lambda item: (item[1], item[0]), reverse=True)
    shape, order = [n for _, n in groups], [rank for rank, _ in groups]
    if ranks == [12, 3, 2, 1, 0]:
        ranks = order = [3, 2, 1, 0, -1]
    straight = len(groups) == 5 and all(a == b + 1 for a, b in itertools.pairwise(ranks))
    flush = len({suit for _, suit in hand}) == 1
    if straight or flush:
        return (8 if straight and flush else 5 if flush else 4), order
    return {(1, 1): 0, (2, 1): 1, (2, 2): 2, (3, 1): 3, (3, 2): 6, (4, 1): 7}[tuple(shape[:2])], order


def read_hands(words: str) -> list[list[Card]]:
    return [[tuple(card.split("-")) for card in line.split(" ")[1:]] for line in words.split("\n")]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_hands(words) for words in play.observations(ENV, states)]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("2s 3s 4s 5s 6s", "Ah Ad Ac As Kd"),
        ("2h 2d 2c 2s 3d", "Ah Ad Ac Kh Kd"),
        ("2h 2d 2c 3h 3d", "Ah Kh Jh 9h 8h"),
        ("2h 3h 4h 5h 7h", "Ad Kh Qs Jc 10d"),
        ("Ah 2s 3h 4h 5h", "Ah Ad Ac Kh Qd"),
        ("2h 3s 4h 5h 6h", "Ah 2s 3h 4h 5h"),
        ("3h 3s 2h 2s 4h", "3c 3d Ah Kh Qh"),
        ("3h 3s Ah 5h 4d", "3c 3d Kh Qh Jd"),
    ],
)
def test_the_reference_knows_poker(better, worse):
    read = lambda hand: ranked([(card[:-1], card[-1]) for card in hand.split()])  # noqa: E731
    assert read(better) > read(worse)


def test_hands_come_from_one_deck_and_are_close(batch):
    scale, states, deals = batch
    tops, spread = Counter(), 0
    for hands in deals:
        assert [len(hand) for hand in hands] == [5] * COUNTS[scale]
        assert len({card for hand in hands for card in hand}) == 5 * COUNTS[scale]
        kinds = [ranked(hand)[0] for hand in hands]
        tops[max(kinds)] += 1
        spread += max(kinds) - min(kinds)
    assert min(tops[kind] for kind in range(1, 9)) > play.MANY / 50
    assert spread / play.MANY < (9, 2.5, 1.8)[scale]
    assert play.distinct(states) > 1990


def test_the_expert_names_the_best_hand(batch):
    _, states, deals = batch
    actions = play.experts(ENV, states)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()
    for hands, (letter, name) in zip(deals, actions.tolist(), strict=True):
        assert ranked(hands[letter]) == max(map(ranked, hands))
        assert ranked(hands[letter])[0] == name - 5


def test_score_of_any_answer(batch):
    scale, states, deals = batch
    noise = np.random.default_rng(0)
    actions = np.stack([noise.integers(0, 6, play.MANY), noise.integers(3, 14, play.MANY)], axis=1)
    known = [[ranked(hand) for hand in hands] for hands in deals]
    # Half of the answers name the hand that they choose.
    for i in range(0, play.MANY, 2):
        actions[i, 0] %= COUNTS[scale]
        actions[i, 1] = 5 + known[i][actions[i, 0]][0]
    legal, reward = play.judge(ENV, states, actions)
    for (letter, name), hands, allowed, paid in zip(actions.tolist(), known, legal, reward, strict=True):
        assert allowed == (letter < COUNTS[scale] and name >= 5)
        if allowed:
            best = hands[letter] == max(hands)
            assert paid == (1.0 if best and hands[letter][0] == name - 5 else 0.5 if best else 0.0)
    assert {0.0, 0.5, 1.0} <= set(reward.tolist())


def test_equal_hands_are_both_best(batch):
    _, states, _ = batch
    suits = np.arange(play.MANY) % 4
    tied = np.full_like(states.cards, -1)
    for hand in range(2):
        tied[:, hand] = (
            np.array([0, 12, 20, 28, 40]) + (suits[:, None] + hand + np.array([0, 0, 0, 0, 1])) % 4
        )
    letters = np.arange(play.MANY) // 4 % 2
    _, reward = play.judge(
        ENV, states.replace(cards=tied), np.stack([letters, np.full(play.MANY, 5)], axis=1)
    )
    assert (reward == 1).all()


def test_picture_and_words_show_the_cards(batch):
    scale, states, deals = batch
    for hands, picture in zip(deals, play.tiles(ENV, play.first(states, COUNT)), strict=False):
        rows = [[play.layers(name) for name in row] for row in picture[: COUNTS[scale]]]
        assert [row[0]["glyph"] for row in rows] == list("ABCDE"[: COUNTS[scale]])
        assert [[tuple(tile["card"].split("-")) for tile in row[1:]] for row in rows] == hands


def test_answers_in_words(batch):
    _, states, deals = batch
    some = play.first(states, 12)
    best = [max((ranked(hand), "ABCDE"[i]) for i, hand in enumerate(hands)) for hands in deals[:12]]
    replies = [f"{letter.lower()}, {NAMES[kind].upper()}" for (kind, _), letter in best]
    verdict, reward = play.read(ENV, some, [*replies[:9], "pair", "A", "A B"], 64)
    assert (reward[:9] == 1).all()
    assert verdict.tolist() == [0] * 9 + [3] * 3
