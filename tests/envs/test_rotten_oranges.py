"""rotten_oranges against plain Python, which reads the words, and reasoning-gym."""

import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.rotten_oranges import RottenOrangesConfig, RottenOrangesDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("rotten_oranges")[0]
SIDES, MOST_ROTTEN = (3, 6, 10), (1, 2, 3)
TILES = {"crate": ".", "crate orange:fresh": "o", "crate orange:rotten": "x"}


def minutes(board: list[str]) -> int:
    """Lets the oranges rot, minute by minute."""
    cells = {(r, c): cell for r, line in enumerate(board) for c, cell in enumerate(line)}
    fresh = {place for place, cell in cells.items() if cell == "o"}
    front = {place for place, cell in cells.items() if cell == "x"}
    passed = 0
    while fresh and front:
        near = {(r + i, c + j) for r, c in front for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))}
        front = near & fresh
        fresh -= front
        passed += bool(front)
    return -1 if fresh else passed


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The scale, the states, their boards in words and the right answers."""
    scale = request.param
    states = play.instances(ENV, scale)
    boards = [words.split("\n") for words in play.observations(ENV, states)]
    assert {len(line) for board in boards for line in board} == {SIDES[scale]} == set(map(len, boards))
    return scale, states, boards, np.array([minutes(board) for board in boards])


def test_one_in_four_never_rots_and_the_rest_takes_its_time(batch):
    scale, states, boards, goals = batch
    assert {"".join(board).count("x") for board in boards} == set(range(1, MOST_ROTTEN[scale] + 1))
    assert (goals < 0).mean() == pytest.approx(0.22, abs=0.06)
    assert (goals == 0).mean() < 0.05
    assert np.bincount(goals[goals > 0]).max() < (0.6, 0.35, 0.25)[scale] * len(goals)
    assert goals.max() >= (6, 10, 18)[scale]
    assert play.distinct(states) > (700, 1990, 1990)[scale]


def test_only_the_right_answer_pays(batch):
    _, states, _, goals = batch
    np.testing.assert_array_equal(play.experts(ENV, states), goals + 1)
    for change in (0, 1, 2, 50):
        legal, reward = play.judge(ENV, states, goals + 1 + change)
        assert legal.all()
        assert (reward == (change == 0)).all()


def test_picture_shows_the_oranges(batch):
    _, states, boards, _ = batch
    for board, picture in zip(boards, play.tiles(ENV, play.first(states, 50)), strict=False):
        n = len(board)
        assert ["".join(TILES[name] for name in row[:n]) for row in picture[:n]] == board


@pytest.mark.peer("reasoning-gym", "rotten_oranges")
def test_agrees_with_reasoning_gym(batch):
    _, states, boards, goals = batch
    some = play.first(states, play.SOME)
    dataset = RottenOrangesDataset(RottenOrangesConfig(size=1, seed=0))
    theirs = [
        dataset._get_answer([[".ox".index(cell) for cell in line] for line in board]) for board in boards
    ]
    np.testing.assert_array_equal(theirs, goals)
    for change in (0, 1, 9):
        replies = [str(goal + change) for goal in goals[: play.SOME]]
        verdict, reward = play.read(ENV, some, replies)
        marks = [
            dataset.score_answer(reply, {"answer": str(goal)})
            for reply, goal in zip(replies, theirs, strict=False)
        ]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == (change == 0)).all()
        assert ((np.array(marks) == 1) == (change == 0)).all()
