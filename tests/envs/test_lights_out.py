"""lights_out against a plain-Python board."""

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("lights_out")[0]
SIDES, PRESSES = (3, 4, 6), ((1, 3), (2, 5), (3, 8))
TURNS, COUNT = 20, 200


def press(lit: frozenset, n: int, row: int, col: int) -> frozenset:
    plus = {(row, col), (row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)}
    return lit ^ {(r, c) for r, c in plus if 0 <= r < n and 0 <= c < n}


def cells(mask: np.ndarray) -> frozenset:
    return frozenset(map(tuple, np.argwhere(mask).tolist()))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def test_every_instance_is_solved_by_its_presses_and_they_differ(batch):
    scale, states = batch
    n, (fewest, most) = SIDES[scale], PRESSES[scale]
    counts = set()
    for lit, presses in zip(map(cells, states.lit), map(cells, states.presses), strict=True):
        assert lit
        counts.add(len(presses))
        for row, col in presses:
            assert max(row, col) < n
            lit = press(lit, n, row, col)
        assert not lit
    assert counts - {fewest - 1} == set(range(fewest, most + 1))
    assert (states.side == n).all()
    assert play.distinct(states) == 129 if scale == 0 else play.distinct(states) > 1000


def test_the_words_show_the_lamps(batch):
    _, states = batch
    some = play.first(states, COUNT)
    for lit, n, words in zip(some.lit, some.side, play.observations(ENV, some), strict=True):
        rows = [line.split(" ") for line in words.split("\n")]
        assert [[cell == "1" for cell in row] for row in rows] == lit[:n, :n].tolist()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_presses_follow_the_rules(batch, share):
    scale, states = batch
    n = SIDES[scale]
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths = played.length()
    for i in range(COUNT):
        lit = cells(some.lit[i])
        for t in range(min(TURNS, lengths[i])):
            row, col = played.actions[t, i].tolist()
            outside = max(row, col) >= n
            assert (played.verdicts[t, i] == 3) == outside
            lit = lit if outside else press(lit, n, row, col)
            assert cells(played.states[t + 1].lit[i]) == lit
            assert played.terminated[t, i] == (not lit) == played.rewards[t, i]
    if share == 1.0:
        assert (lengths == some.presses.sum((1, 2))).all()
        assert lengths.max() <= ENV.max_turns[scale]


def test_the_expert_works_from_anywhere(batch):
    _, states = batch
    wandered = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.0, seed=1).states[12]
    ended = ~wandered.lit.any((1, 2))
    played = rollouts.roll(ENV, wandered, TURNS, 1.0)
    left = wandered.presses.sum((1, 2))[~ended]
    assert (played.length()[~ended] <= np.minimum(left, TURNS)).all()
