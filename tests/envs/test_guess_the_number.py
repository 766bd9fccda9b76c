"""guess_the_number against bisection in plain Python and its own picture."""

import re

import numpy as np
import play
import pytest
import rollouts

import jaxenv
from jaxenv.render import palette

ENV = jaxenv.make("guess_the_number")[0]
LENGTHS, HIGHEST, MOST_TURNS = (20, 100, 1000), (99, 999, 9999), (5, 7, 10)
TURNS, COUNT = 16, 200


def read_text(words: str) -> tuple[int, int, int, int]:
    """The ends of the line and of what is left."""
    first, last, low, high = re.fullmatch(r"line (\d+) to (\d+), left (\d+) to (\d+)", words).groups()
    return int(first), int(last), int(low), int(high)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_text(words) for words in play.observations(ENV, states)]


def test_the_number_is_anywhere_on_the_line_and_lines_differ(batch):
    scale, states, lines = batch
    places = []
    for (first, last, low, high), number in zip(lines, states.number.tolist(), strict=True):
        assert (first, last) == (low, high)
        assert last - first + 1 == LENGTHS[scale]
        assert 1 <= first <= number <= last <= HIGHEST[scale]
        places.append((number - first) / (last - first))
    np.testing.assert_allclose(np.histogram(places, 5)[0] / len(places), 0.2, atol=0.05)
    assert play.distinct(states) > (1000, 1900, 1990)[scale]


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_guesses_rule_numbers_out(batch, share):
    scale, states, lines = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, refused = played.length(), 0
    for i, (first, last, low, high) in enumerate(lines[:COUNT]):
        left, number = set(range(low, high + 1)), int(states.number[i])
        for t in range(min(TURNS, lengths[i])):
            guess = int(played.actions[t, i, 0])
            legal = first <= guess <= last
            refused += not legal
            assert (played.verdicts[t, i] == 0) == legal
            found = guess == number
            assert played.terminated[t, i] == found == played.rewards[t, i]
            if legal and not found:
                left = {n for n in left if (n > guess) == (number > guess) and n != guess}
            after = rollouts.one(played.states[t + 1], i)
            assert found or (after.low, after.high) == (min(left), max(left))
    if share == 1.0:
        assert lengths.max() <= MOST_TURNS[scale] <= ENV.max_turns[scale]
    assert refused == 0 if share == 1.0 else refused > 0


def test_the_expert_halves_what_is_left(batch):
    _, states, lines = batch
    middles = set()
    for (_, _, low, high), guess in zip(lines, play.experts(ENV, states)[:, 0].tolist(), strict=True):
        assert abs((guess - low) - (high - guess)) <= 1
        middles.add((guess - low) - (high - guess))
    assert middles == {-1, 1}


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_shows_what_is_left(batch, canvas):
    _, states, _ = batch
    some = play.first(rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.5).states[3], 40)
    lines = [read_text(words) for words in play.observations(ENV, some)]
    for (first, last, low, high), image in zip(lines, play.pictures(ENV, some, canvas), strict=True):
        green = (image == palette.rgb("goal")).all(-1)
        rows, cols = green.any(1), np.flatnonzero(green.any(0))
        cell, length = canvas // 9, last - first + 1
        margin, width = (canvas - 9 * cell) // 2, 9 * cell
        assert rows.sum() == 2 * cell
        assert green.sum() == rows.sum() * len(cols)
        assert abs(cols[0] - margin - (low - first) / length * width) <= 1.5
        assert abs(cols[-1] + 1 - margin - (high + 1 - first) / length * width) <= 1.5


def test_the_labels_are_the_ends(batch):
    _, states, _ = batch
    some = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.5).states[3]
    for words, picture in zip(play.observations(ENV, some), play.tiles(ENV, some), strict=True):
        ends, *_, left = ([play.layers(name).get("glyph", " ") for name in row] for row in picture)
        shown = ["".join(part) for row in (ends, left) for part in (row[:4], row[5:])]
        assert shown[0] == shown[0].strip().ljust(4)
        assert shown[1] == shown[1].strip().rjust(4)
        assert tuple(map(int, shown)) == read_text(words)
