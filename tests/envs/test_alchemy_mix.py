"""alchemy_mix against its rules in plain Python, and a player who tries every pair."""

import itertools

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("alchemy_mix")[0]
LETTERS, COUNTS, DEPTHS = "ABCDEFGHI", (5, 7, 9), (2, 3, 4)
TURNS, COUNT = 28, 80
ACCEPTED, NOT_IN_GRAMMAR, ILLEGAL = 0, 2, 3
Pair = frozenset[str]


class Laboratory:
    """Products by pairs of letters, what is known and what was mixed."""

    def __init__(self, state) -> None:
        self.products = {
            frozenset((LETTERS[a], LETTERS[b])): LETTERS[state.products[a, b]]
            for a, b in np.argwhere(state.products >= 0).tolist()
        }
        self.known = {LETTERS[i] for i in np.flatnonzero(state.known)}
        self.wanted = LETTERS[state.wanted]
        self.mixed: dict[Pair, str] = {}

    def mix(self, first: str, second: str) -> bool:
        pair = frozenset((first, second))
        if len(pair) < 2 or not pair <= self.known or pair in self.mixed:
            return False
        self.mixed[pair] = self.products.get(pair, "x")
        self.known |= {self.mixed[pair]} - {"x"}
        return True

    def untried(self) -> list[tuple[str, str]]:
        return [
            pair
            for pair in itertools.combinations(sorted(self.known), 2)
            if frozenset(pair) not in self.mixed
        ]

    def fewest_mixes(self) -> int:
        """By breadth-first search over what is known."""
        level, seen, mixes = {frozenset(self.known)}, set(), 0
        while not any(self.wanted in known for known in level):
            seen |= level
            level = {
                known | {made} for known in level for pair, made in self.products.items() if pair <= known
            } - seen
            mixes += 1
        return mixes


def read(words: str) -> tuple[str, set[str], dict[Pair, str], set[Pair]]:
    """The wanted element, those that are known, what was mixed and what can be, of an observation."""
    head, *rows = [line.split(" ") for line in words.split("\n")]
    corner, *names = head
    assert [row[0] for row in rows] == names
    mixed, free = {}, set()
    for (i, row), (j, name) in itertools.product(enumerate(rows), enumerate(names)):
        cell = row[1 + j]
        assert cell == rows[j][1 + i]
        if cell != "-":
            assert "?" not in (name, row[0])
            assert i != j
            if cell == ".":
                free.add(frozenset((name, row[0])))
            else:
                mixed[frozenset((name, row[0]))] = cell
    return corner.removesuffix("!"), set(names) - {"?"}, mixed, free


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Laboratory(rollouts.one(states, i)) for i in range(play.MANY)]


def test_the_wanted_element_is_a_chain_away_and_can_be_found_by_trying(batch):
    scale, states, games = batch
    assert (states.products == states.products.transpose(0, 2, 1)).all()
    assert (np.diagonal(states.products, axis1=1, axis2=2) < 0).all()
    spare, turns = 0, []
    for i, game in enumerate(games):
        there = set(LETTERS[: COUNTS[scale]])
        assert set().union(*game.products) | set(game.products.values()) <= there
        assert len(game.known) == 3
        assert game.wanted not in game.known
        assert not any(game.wanted in pair for pair in game.products)
        assert i >= play.SOME or game.fewest_mixes() == DEPTHS[scale]
        spare += len(game.products) - (COUNTS[scale] - 3)
        tried = Laboratory(rollouts.one(states, i))
        while tried.wanted not in tried.known:
            assert tried.mix(*tried.untried()[0])
        turns.append(len(tried.mixed))
    assert spare > play.MANY
    assert max(turns) <= ENV.max_turns[scale]
    assert np.mean(turns) > 1.5 * DEPTHS[scale]
    assert len({game.wanted for game in games}) == COUNTS[scale]
    assert play.distinct(states) > (1000 if scale == 0 else 1990)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_mixes_do_what_the_table_says(batch, share):
    scale, states, _ = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths, found = played.length(), 0
    for i in range(COUNT):
        game = Laboratory(rollouts.one(some, i))
        for t in range(min(TURNS, lengths[i])):
            first, second = played.actions[t, i]
            mixed = second >= 0 and game.mix(LETTERS[first], LETTERS[second])
            assert (played.verdicts[t, i] == ACCEPTED) == mixed
            assert played.terminated[t, i] == played.rewards[t, i] == (game.wanted in game.known)
            found += played.terminated[t, i]
        assert share < 1 or lengths[i] == DEPTHS[scale]
    assert found == COUNT if share == 1 else found > 0 or share == 0


def test_words_and_picture_show_what_was_mixed(batch):
    scale, states, _ = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, 0.3)
    games, n = [Laboratory(rollouts.one(some, i)) for i in range(COUNT)], 1 + COUNTS[scale]
    for t in range(TURNS):
        if t in (0, 4, 12):
            shown = zip(
                play.observations(ENV, played.states[t]), play.tiles(ENV, played.states[t]), strict=True
            )
            for game, (words, picture) in zip(games, shown, strict=True):
                wanted, known, mixed, free = read(words)
                assert (wanted, known, mixed) == (game.wanted, game.known, game.mixed)
                assert free == set(map(frozenset, game.untried()))
                for line, row in zip(words.split("\n"), picture, strict=False):
                    for word, name in zip(line.split(" "), row[:n], strict=True):
                        layers = play.layers(name)
                        wished = {"?": "covered", ".": "paper", "x": "cross", "-": "plain"}.get(word, "glyph")
                        assert layers.get("glyph", "") == (word[0] if wished == "glyph" else "")
                        assert wished in layers
                        assert ("cross" in layers) == (word == "x")
                        assert ("marked" in layers) == word.endswith("!")
        for i, game in enumerate(games):
            if game.wanted not in game.known:
                first, second = played.actions[t, i]
                assert second < 0 or game.mix(LETTERS[first], LETTERS[second]) == (played.verdicts[t, i] == 0)


def test_wrong_replies_are_refused(batch):
    _, states, games = batch
    some = play.first(states, play.SOME)
    known = [sorted(game.known) for game in games]
    for first, second, verdict in ((0, 1, ACCEPTED), (2, 0, ACCEPTED), (1, 1, ILLEGAL)):
        replies = [f"{row[first]} {row[second].lower()}" for row in known[: play.SOME]]
        assert (play.read(ENV, some, replies)[0] == verdict).all()
    unknown = [f"{row[0]} {game.wanted}" for row, game in zip(known[: play.SOME], games, strict=False)]
    assert (play.read(ENV, some, unknown)[0] == ILLEGAL).all()
    assert (play.read(ENV, some, ["A"] * play.SOME)[0] == ILLEGAL).all()
    assert (play.read(ENV, some, ["A B C"] * play.SOME)[0] == NOT_IN_GRAMMAR).all()
