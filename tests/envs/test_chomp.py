"""chomp against plain search over sets of squares."""

import functools

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("chomp")[0]
BARS = ((3, 4), (4, 5), (5, 7))
TURNS, COUNT = 18, 100
Bar = frozenset[tuple[int, int]]
POISON = (0, 0)


def bite(bar: Bar, square: tuple[int, int]) -> Bar:
    return frozenset((r, c) for r, c in bar if r < square[0] or c < square[1])


@functools.cache
def won(bar: Bar) -> bool:
    """Who is to bite can leave the other the poison alone."""
    return any(not won(bite(bar, square)) for square in bar - {POISON})


def bars(states) -> list[Bar]:
    return [
        frozenset((r, c) for r, length in enumerate(row) for c in range(length))
        for row in states.lengths.tolist()
    ]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, bars(states)


def test_the_player_can_always_win(batch):
    scale, _, all_bars = batch
    rows, cols = BARS[scale]
    for bar in set(all_bars):
        assert won(bar)
        assert {(0, 0), (0, 1), (1, 0)} <= bar
        assert all(r < rows and c < cols for r, c in bar)
        assert all({(r - 1, c), (r, c - 1)} & bar or (r, c) == POISON for r, c in bar)
    assert len(set(all_bars)) >= (22, 80, 550)[scale]


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_games_follow_the_rules(batch, share):
    scale, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, now, chances, missed = played.length(), bars(played.states[0]), 0, 0
    for t in range(TURNS):
        then = bars(played.states[t + 1])
        for i in np.flatnonzero(lengths > t):
            square = tuple(played.actions[t, i].tolist())
            legal = square in now[i] - {POISON}
            assert (played.verdicts[t, i] == 0) == legal
            if not legal:
                assert then[i] == now[i]
                continue
            mine = bite(now[i], square)
            assert played.rewards[t, i] == (mine == {POISON})
            assert played.terminated[t, i] == (then[i] == {POISON})
            if mine == {POISON}:
                assert then[i] == mine
                continue
            assert then[i] in {bite(mine, reply) for reply in mine - {POISON}}
            chances += won(mine)
            missed += won(mine) and won(then[i])
        now = then
    if share < 1:
        assert chances > COUNT // 6
        assert missed == 0 if scale == 2 else missed > 0
    else:
        assert (played.rewards.sum(0) == 1).all()


def test_picture_and_words_show_the_bar(batch):
    scale, states, all_bars = batch
    rows, cols = BARS[scale]
    some = play.first(states, COUNT)
    for bar, picture, words in zip(
        all_bars, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        shown = {(r, c): picture[r][c] for r in range(rows) for c in range(cols)}
        assert {cell for cell, name in shown.items() if name.startswith("chocolate")} == bar
        assert [cell for cell, name in shown.items() if name == "chocolate skull"] == [POISON]
        lines = [line.split(" ") for line in words.split("\n")]
        assert {(r, c) for r in range(rows) for c in range(cols) if lines[r][c] != "."} == bar


def test_answers_in_words(batch):
    _, states, _ = batch
    some = play.first(states, 12)
    verdict, _ = play.read(ENV, some, ["1 2", "(2, 1)", "1 1", "2"] * 3, 64)
    assert verdict.tolist() == [0, 0, 3, 2] * 3
