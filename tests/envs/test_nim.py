"""nim against plain search of all positions."""

import functools

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("nim")[0]
PILES, MOST = (3, 4, 5), (4, 6, 9)
TURNS, COUNT = 20, 100
Piles = tuple[int, ...]


def moves(piles: Piles) -> set[Piles]:
    return {
        (*piles[:at], left, *piles[at + 1 :]) for at, stones in enumerate(piles) for left in range(stones)
    }


@functools.cache
def wins(piles: Piles) -> bool:
    """Who is to move can take the last stone; the order of the piles does not matter."""
    return any(not wins(tuple(sorted(after))) for after in moves(piles))


def won(piles: Piles) -> bool:
    return wins(tuple(sorted(piles)))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def test_the_player_can_always_win(batch):
    scale, states = batch
    positions = list(map(tuple, states.lengths.tolist()))
    for piles in positions:
        assert won(piles)
        assert all(1 <= stones <= MOST[scale] for stones in piles[: PILES[scale]])
        assert not any(piles[PILES[scale] :])
    assert len(set(positions)) > (40, 800, 1900)[scale]


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_games_follow_the_rules(batch, share):
    scale, states = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, chances, missed = played.length(), 0, 0
    for i in range(COUNT):
        for t in range(min(TURNS, lengths[i])):
            before, after = (tuple(s.lengths[i].tolist()) for s in played.states[t : t + 2])
            pile, stones = played.actions[t, i] + (0, 1)
            assert (played.verdicts[t, i] == 0) == (before[pile] >= stones)
            if before[pile] < stones:
                assert after == before
                continue
            mine = (*before[:pile], before[pile] - stones, *before[pile + 1 :])
            assert played.rewards[t, i] == (not any(mine))
            assert played.terminated[t, i] == (not any(after))
            if not any(mine):
                assert after == mine
                continue
            assert after in moves(mine)
            chances += won(mine)
            missed += won(mine) and won(after)
    if share < 1:
        assert chances > COUNT // 6
        assert missed > 0 if scale < 2 else missed == 0
    else:
        assert (played.rewards.sum(0) == 1).all()


def test_expert_and_opponent_vary(batch):
    _, states = batch
    same = states.replace(
        lengths=np.tile(states.lengths[:1] * 0 + [1, 2, 2, 0, 0], (play.MANY, 1)).astype(np.int8)
    )
    assert {tuple(action) for action in play.experts(ENV, same).tolist()} == {(0, 0)}
    two = same.replace(lengths=np.tile(np.array([1, 1, 1, 0, 0], np.int8), (play.MANY, 1)))
    assert {tuple(action) for action in play.experts(ENV, two).tolist()} == {(0, 0), (1, 0), (2, 0)}


def test_picture_and_words_show_the_piles(batch):
    scale, states = batch
    some = play.first(states, COUNT)
    for piles, picture, words in zip(
        some.lengths.tolist(), play.tiles(ENV, some), play.observations(ENV, some), strict=True
    ):
        rows = [row[: MOST[scale] + 1] for row in picture[: PILES[scale]]]
        assert [row[0] for row in rows] == [f"header glyph:{n + 1}" for n in range(PILES[scale])]
        assert [row.count("tray stone:black") for row in rows] == piles[: PILES[scale]]
        assert [row[1 : 1 + n].count("tray") for row, n in zip(rows, piles, strict=False)] == [0] * len(rows)
        assert [line.count("o") for line in words.split("\n")] == piles[: PILES[scale]]


def test_answers_in_words(batch):
    _, states = batch
    some = play.first(states, 12)
    verdict, _ = play.read(ENV, some, ["1 1", "(2, 1)", "1 0", "2"] * 3, 64)
    assert verdict.tolist() == [0, 0, 2, 2] * 3
