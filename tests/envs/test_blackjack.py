"""blackjack against values by plain recursion over cards, and against hands played in Gymnasium."""

import functools

import gymnasium
import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("blackjack")[0]
HIT, STAND = 0, 1
FULL = (4,) * 9 + (16,)
RANKS = ["A", *map(str, range(2, 11))]
TURNS, COUNT = 9, 150
TIE = 0.003


def add(total: int, soft: bool, card: int) -> tuple[int, bool]:
    """The total after a card; soft when an ace in it counts 11."""
    total += card
    if card == 1 and total + 10 <= 21:
        return total + 10, True
    if total > 21 and soft:
        return total - 10, False
    return total, soft


class Book:
    """Exact values with one deck, from which every card is drawn anew."""

    def __init__(self, deck: tuple[int, ...]) -> None:
        self.chances = [(card, count / sum(deck)) for card, count in enumerate(deck, 1) if count]
        self.dealer = functools.cache(self._dealer)
        self.best = functools.cache(self._best)

    def _dealer(self, total: int, soft: bool) -> dict[int, float]:
        if total > 21:
            return {0: 1.0}
        if total >= 17:
            return {total: 1.0}
        ends: dict[int, float] = {}
        for card, chance in self.chances:
            for end, share in self.dealer(*add(total, soft, card)).items():
                ends[end] = ends.get(end, 0.0) + chance * share
        return ends

    def stand(self, total: int, card: int) -> float:
        return sum(
            share * ((total > end) - (total < end))
            for end, share in self.dealer(*add(0, False, card)).items()
        )

    def hit(self, total: int, soft: bool, dealer: int) -> float:
        return sum(chance * self.best(*add(total, soft, card), dealer) for card, chance in self.chances)

    def _best(self, total: int, soft: bool, dealer: int) -> float:
        return -1.0 if total > 21 else max(self.stand(total, dealer), self.hit(total, soft, dealer))

    def values(self, cards: list[int], dealer: int) -> tuple[float, float]:
        """Of a hit and of standing."""
        total, soft = total_of(cards)
        return self.hit(total, soft, dealer), self.stand(total, dealer)


def total_of(cards: list[int]) -> tuple[int, bool]:
    total, soft = 0, False
    for card in cards:
        total, soft = add(total, soft, card)
    return total, soft


def wanted(loss: float) -> float:
    """The reward at the end of a hand."""
    return 1.0 if loss <= TIE else 0.5 * max(0.0, 1 - loss)


def held(cards: np.ndarray) -> list[int]:
    return [card for card in cards.tolist() if card]


book = functools.lru_cache(maxsize=None)(Book)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def test_deals_fit_the_deck_and_leave_a_decision(batch):
    scale, states = batch
    decks = {tuple(deck) for deck in states.deck.tolist()}
    assert decks == {(0, *FULL[1:])} if scale == 0 else decks == {FULL} if scale == 1 else len(decks) > 1900
    assert play.distinct(states) > (400, 400, 1900)[scale]
    for cards, dealer, deck in zip(states.cards, states.dealer.tolist(), states.deck.tolist(), strict=True):
        assert len(held(cards)) == 2
        assert all(0 <= count <= most for count, most in zip(deck, FULL, strict=True))
        assert all(deck[card - 1] for card in [*held(cards), dealer])
        assert scale > 0 or total_of(held(cards))[0] < 21


def test_the_expert_takes_the_better_decision_and_scores_are_its_values(batch):
    _, states = batch
    actions = play.experts(ENV, states)
    _, reward = play.judge(ENV, states, np.full(play.MANY, STAND))
    for i in range(play.SOME):
        cards, dealer = held(states.cards[i]), int(states.dealer[i])
        values = book(tuple(states.deck[i].tolist())).values(cards, dealer)
        assert max(values) - values[actions[i]] < 1e-5
        given_away = max(values) - values[STAND]
        assert abs(given_away - TIE) < 1e-4 or abs(reward[i] - wanted(given_away)) < 1e-4
    assert 0.2 < (actions == HIT).mean() < 0.8


def test_hard_deals_are_close(batch):
    scale, states = batch
    gaps = []
    for i in range(play.SOME):
        values = book(tuple(states.deck[i].tolist())).values(held(states.cards[i]), int(states.dealer[i]))
        gaps.append(abs(values[0] - values[1]))
    assert np.median(gaps) < (0.6, 0.25, 0.16)[scale]
    assert scale == 0 or min(gaps) > 0.5 * TIE


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_hands_follow_the_rules(batch, share):
    _, states = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, drawn = played.length(), 0
    assert (lengths <= TURNS).all()
    for i in range(COUNT):
        deck, dealer, loss = tuple(states.deck[i].tolist()), int(states.dealer[i]), 0.0
        for t in range(lengths[i]):
            cards = held(played.states[t].cards[i])
            then, action = held(played.states[t + 1].cards[i]), played.actions[t, i]
            values = book(deck).values(cards, dealer)
            loss += max(values) - values[action]
            assert then[: len(cards)] == cards
            assert len(then) == len(cards) + (action == HIT)
            assert all(deck[card - 1] for card in then)
            drawn += action == HIT
            over = bool(action == STAND or total_of(then)[0] > 21)
            assert played.terminated[t, i] == over
            if abs(loss - TIE) > 1e-4:
                assert abs(played.rewards[t, i] - over * wanted(loss)) < 1e-4
    assert drawn > COUNT // 3
    assert share < 1 or (played.rewards.sum(0) == 1).all()


def test_cards_come_as_often_as_the_deck_has_them():
    states = play.instances(ENV, 1)
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.4)
    last = played.states[-1].cards[:, 2:]
    assert abs((last == 10).sum() / (last > 0).sum() - 16 / 52) < 0.15
    assert set(last[last > 0].tolist()) == set(range(1, 11))


@pytest.mark.peer("gymnasium", "blackjack")
def test_expert_in_gymnasium():
    """Gymnasium's hands, played by the expert, pay on average what the recursion says."""
    places = [(total, d, soft) for soft in (0, 1) for total in range(4 + 8 * soft, 22) for d in range(1, 11)]
    states = play.instances(ENV, 1)
    cards, dealer = np.zeros_like(states.cards), states.dealer.copy()
    for i, (total, card, soft) in enumerate(places):
        hand = [1, *_split(total - 11)] if soft else _split(total)
        cards[i, : len(hand)], dealer[i] = hand, card
    actions = play.experts(ENV, states.replace(cards=cards, dealer=dealer)).tolist()
    policy = dict(zip(places, actions, strict=False))
    game, results = gymnasium.make("Blackjack-v1").unwrapped, []
    game.reset(seed=0)
    for _ in range(4000):
        seen, over = game.reset()[0], False
        while not over:
            seen, reward, over, _, _ = game.step(int(policy[tuple(map(int, seen))] == HIT))
        results.append(reward)
    exact = 0.0
    for a, b, dealer in np.ndindex(10, 10, 10):
        chance = np.prod([FULL[card] / 52 for card in (a, b, dealer)])
        exact += chance * book(FULL).best(*total_of([a + 1, b + 1]), dealer + 1)
    assert abs(np.mean(results) - exact) < 4 * np.std(results) / np.sqrt(len(results))


def _split(total: int) -> list[int]:
    """Cards from 2 to 10 (or none, or an ace that counts 1) of this total."""
    cards = []
    while total > 0:
        cards.append(9 if total == 11 else min(10, total))
        total -= cards[-1]
    return cards


def test_the_picture_shows_the_cards_and_the_deck(batch):
    _, states = batch
    after = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.4).states[1]
    for i, (picture, words) in enumerate(
        zip(play.tiles(ENV, after), play.observations(ENV, after), strict=True)
    ):
        names = [[play.layers(name) for name in row] for row in picture]
        cards = [tile["card"].partition("-")[0] for row in names[:4] for tile in row if "card" in tile]
        assert cards == [
            RANKS[after.dealer[i] - 1],
            "back",
            *(RANKS[card - 1] for card in held(after.cards[i])),
        ]
        tallies = [tile["tally"] for row in names[4:] for tile in row]
        assert tallies == [f"{rank}-{count}" for rank, count in zip(RANKS, after.deck[i], strict=True)]
        lines = [line.split(" ")[1:] for line in words.split("\n")]
        assert lines == [cards[:1], cards[2:], [tally.replace("-", ":") for tally in tallies]]


def test_answers_in_words(batch):
    _, states = batch
    some = play.first(states, 12)
    verdict, _ = play.read(ENV, some, ["Stand", " hit", "fold", "hit stand"] * 3, 64)
    assert verdict.tolist() == [0, 0, 2, 2] * 3
