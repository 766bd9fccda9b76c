"""largest_island against plain Python, which reads the words, and reasoning-gym."""

import numpy as np
import play
import pytest
from reasoning_gym.graphs.largest_island import LargestIslandConfig, LargestIslandDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("largest_island")[0]
SIDES = (4, 7, 12)


def islands(lines: list[str]) -> list[int]:
    """The areas, by flooding."""
    land = {(r, c) for r, line in enumerate(lines) for c, cell in enumerate(line) if cell == "#"}
    areas = []
    while land:
        shore, area = [land.pop()], 0
        while shore:
            row, col = shore.pop()
            area += 1
            near = {(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)} & land
            land -= near
            shore += near
        areas.append(area)
    return areas


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their lines in words and the areas of their islands."""
    scale = request.param
    states = play.instances(ENV, scale)
    boards = [words.split("\n") for words in play.observations(ENV, states)]
    assert {len(line) for board in boards for line in board} == {SIDES[scale]} == set(map(len, boards))
    return states, boards, [islands(board) for board in boards]


def test_islands_are_many_and_of_all_sizes(batch):
    states, boards, areas = batch
    n = len(boards[0])
    largest = np.array([max(some) for some in areas])
    shares = np.array([sum(some) for some in areas]) / n**2
    assert (shares.min(), shares.max()) == pytest.approx((0.3, 0.55), abs=0.07)
    assert set(largest.tolist()) >= set(range(n // 2 + 2, n**2 // 3))
    assert np.bincount(largest).max() < 0.25 * len(largest)
    assert np.mean([len(some) for some in areas]) > n / 3
    assert play.distinct(states) > (1500 if n == 4 else 1990)


def test_only_the_area_pays(batch):
    states, _, areas = batch
    largest = np.array([max(some) for some in areas])
    np.testing.assert_array_equal(play.experts(ENV, states)[:, 0], largest)
    for change in (-1, 0, 1, 9):
        legal, reward = play.judge(ENV, states, (largest + change)[:, None])
        assert legal.all()
        assert (reward == (change == 0)).all()


def test_a_winding_island_is_one(batch):
    states, boards, _ = batch
    land = np.zeros((12, 12), bool)
    land[::2] = True
    land[1::4, -1] = land[3::4, 0] = True
    winding = states.replace(land=np.broadcast_to(land, (len(boards), 12, 12)))
    assert (play.experts(ENV, winding) == 78).all()


def test_picture_shows_the_land(batch):
    states, boards, _ = batch
    for board, picture in zip(boards, play.tiles(ENV, play.first(states, 50)), strict=False):
        assert ["".join(".#"[name == "land"] for name in row[: len(board)]) for row in picture][
            : len(board)
        ] == board


@pytest.mark.peer("reasoning-gym", "largest_island")
def test_agrees_with_reasoning_gym(batch):
    states, boards, _ = batch
    some = play.first(states, play.SOME)
    dataset = LargestIslandDataset(LargestIslandConfig(size=1, seed=0))
    goals = [
        dataset._get_largest_island([[int(cell == "#") for cell in line] for line in board])
        for board in boards[: play.SOME]
    ]
    for change in (0, 1, 7):
        replies = [str(goal + change) for goal in goals]
        verdict, reward = play.read(ENV, some, replies)
        theirs = [
            dataset.score_answer(reply, {"answer": str(goal)})
            for reply, goal in zip(replies, goals, strict=True)
        ]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == (change == 0)).all()
        assert ((np.array(theirs) == 1) == (change == 0)).all()
