"""tsp against all tours of NumPy, and its picture against its words."""

import itertools

import numpy as np
import play
import pytest

import jaxenv

ENV = jaxenv.make("tsp")[0]
SIZES = (5, 7, 10)
LETTERS = "ABCDEFGHIJ"
BRUTE = (500, 300, 5)  # instances whose tours are all tried


def read_text(words: str, n: int) -> np.ndarray:
    """int[n, 2]"""
    rows = words.split("\n")
    found = {letter: (r, c) for r, row in enumerate(rows) for c, letter in enumerate(row) if letter != "."}
    assert sorted(found) == list(LETTERS[:n])
    assert sum(len(row) - row.count(".") for row in rows) == n
    return np.array([found[letter] for letter in LETTERS[:n]])


def lengths(places: np.ndarray, tours: np.ndarray) -> np.ndarray:
    """float64[...] of tours int[..., n]."""
    away = np.linalg.norm(places[:, None] - places, axis=-1)
    return away[tours, np.roll(tours, -1, axis=-1)].sum(-1)


def padded(tours: np.ndarray) -> np.ndarray:
    return np.pad(tours, ((0, 0), (0, 10 - tours.shape[1])), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    cities = [read_text(words, SIZES[request.param]) for words in play.observations(ENV, states)]
    return request.param, states, cities, play.experts(ENV, states)[:, : SIZES[request.param]]


def test_no_tour_is_shorter_than_the_experts(batch):
    scale, _, cities, tours = batch
    n = SIZES[scale]
    rest = [order for order in itertools.permutations(range(1, n)) if order[0] < order[-1]]
    every = np.pad(np.array(rest), ((0, 0), (1, 0)))
    for places, tour in zip(cities[: BRUTE[scale]], tours, strict=False):
        assert lengths(places, tour) <= lengths(places, every).min() + 0.01


def test_no_exchange_shortens_the_experts_tours(batch):
    """Reversing any part of any tour; for all instances."""
    scale, _, cities, tours = batch
    n = SIZES[scale]
    assert (np.sort(tours, axis=1) == np.arange(n)).all()
    stops = np.stack([places[tour] for places, tour in zip(cities, tours, strict=True)])
    own = np.linalg.norm(stops - np.roll(stops, -1, axis=1), axis=-1).sum(1)
    for first, last in itertools.combinations(range(n + 1), 2):
        other = stops.copy()
        other[:, first:last] = stops[:, first:last][:, ::-1]
        assert (own <= np.linalg.norm(other - np.roll(other, -1, axis=1), axis=-1).sum(1) + 0.01).all()


def test_cities_differ_and_keep_apart(batch):
    scale, states, cities, tours = batch
    assert play.distinct(states) > 1990
    for places in cities:
        assert len({(r // 2, c // 2) for r, c in places.tolist()}) == SIZES[scale]
    # Any of them may come first.
    assert len(set(tours[:, 0].tolist())) == SIZES[scale]


def test_score_of_any_tour(batch):
    scale, states, cities, tours = batch
    legal, reward = play.judge(ENV, states, padded(tours))
    assert legal.all()
    assert (reward == 1).all()
    noise = np.random.default_rng(0)
    others = np.stack([noise.permutation(SIZES[scale]) for _ in cities])
    # Half of them are near the best, two cities in the other order; a quarter are the best backwards.
    others[::2] = tours[::2]
    others[::2, [0, 1]] = tours[::2, [1, 0]]
    others[1::4] = np.roll(tours[1::4], 2, axis=1)[:, ::-1]
    legal, reward = play.judge(ENV, states, padded(others))
    assert legal.all()
    for places, tour, other, paid in zip(cities, tours, others, reward.tolist(), strict=True):
        best, length = lengths(places, tour), lengths(places, other)
        if length > best + 0.02:
            assert paid == pytest.approx(0.5 * best / length, abs=1e-3)
        elif length < best + 0.002:
            assert paid == 1
    assert 0.24 < (reward == 1).mean() < 0.6


def test_tours_that_miss_or_repeat_a_city_are_illegal(batch):
    scale, states, _, tours = batch
    some, n = play.first(states, 20), SIZES[scale]
    short, twice = padded(tours[:20]), padded(tours[:20])
    short[:, n - 1] = -1
    twice[:, 0] = twice[:, 1]
    assert not play.judge(ENV, some, short)[0].any()
    assert not play.judge(ENV, some, twice)[0].any()


def test_answers_in_words(batch):
    _, states, _, tours = batch
    some = play.first(states, play.SOME)
    replies = [", ".join(LETTERS[city] for city in tour) for tour in tours[: play.SOME]]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == 0).all()
    assert (reward == 1).all()


def test_the_picture_shows_the_cities(batch):
    _, states, cities, _ = batch
    for places, picture in zip(cities, play.tiles(ENV, play.first(states, play.SOME)), strict=False):
        names = {(r, c): play.layers(name) for r, row in enumerate(picture) for c, name in enumerate(row)}
        shown = {place: name["city"] for place, name in names.items() if "city" in name}
        assert shown == {tuple(place): LETTERS[i] for i, place in enumerate(places.tolist())}
