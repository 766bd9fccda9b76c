"""game_of_life against plain Python and reasoning-gym."""

import itertools
import json
from collections import Counter

import cellpylib
import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.game_of_life import GameOfLifeConfig, GameOfLifeDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("game_of_life")[0]
SIDES, STEPS = (5, 8, 10), (1, 1, 3)
SOME = 70  # of each scale: cellpylib is slow
AROUND = [step for step in itertools.product((-1, 0, 1), repeat=2) if any(step)]


def lived(board: list[list[int]], steps: int) -> list[list[int]]:
    """Every live cell tells the eight around it, across the edges."""
    n = len(board)
    live = {(row, col) for row in range(n) for col in range(n) if board[row][col]}
    for _ in range(steps):
        told = Counter(((r + i) % n, (c + j) % n) for r, c in live for i, j in AROUND)
        live = {cell for cell, count in told.items() if count == 3 or (count == 2 and cell in live)}
    return [[int((row, col) in live) for col in range(n)] for row in range(n)]


def padded(board: list[list[int]]) -> np.ndarray:
    return np.pad(np.array(board), (0, 10 - len(board)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their boards and what becomes of them."""
    scale = request.param
    states = play.instances(ENV, scale)
    n = SIDES[scale]
    assert (states.side == n).all()
    assert (states.steps == STEPS[scale]).all()
    boards = [alive[:n, :n].astype(int).tolist() for alive in states.alive]
    return states, boards, [lived(board, STEPS[scale]) for board in boards]


def test_every_instance_is_a_quarter_to_half_full_and_they_differ(batch):
    states, boards, goals = batch
    shares = np.array([np.mean(board) for board in boards])
    assert (shares.min(), shares.max()) == pytest.approx((0.25, 0.5), abs=0.03)
    assert not any(alive[len(board) :].any() for alive, board in zip(states.alive, boards, strict=True))
    assert play.distinct(states) > 1990
    assert np.mean([np.any(goal) for goal in goals]) > 0.97


def test_expert_is_the_last_board_and_is_a_success(batch):
    states, _, goals = batch
    actions = np.stack([padded(goal) for goal in goals])
    np.testing.assert_array_equal(play.experts(ENV, states), actions)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share_of_the_cells_live_in_either(batch):
    states, boards, goals = batch
    rng = np.random.default_rng(0)
    tries = [
        np.where(rng.random(np.shape(goal)) < rng.random(), board, goal)
        for board, goal in zip(boards, goals, strict=True)
    ]
    legal, reward = play.judge(ENV, states, np.stack([padded(tried) for tried in tries]))
    assert legal.all()
    for goal, tried, paid in zip(goals, tries, reward, strict=True):
        live, named = set(map(tuple, np.argwhere(goal))), set(map(tuple, np.argwhere(tried)))
        assert paid == pytest.approx(1 if live == named else len(live & named) / len(live | named) / 2)


def test_another_size_and_other_digits_are_illegal(batch):
    states, _, goals = batch
    for n in {1, 4, 5, 8, 10} - {len(goals[0])}:
        assert not play.judge(ENV, states, np.broadcast_to(padded([[0] * n] * n), (len(goals), 10, 10)))[
            0
        ].any()
    wrong = np.stack([padded(goal) for goal in goals])
    wrong[:, 1, 2] = np.resize([2, 9, -1], len(goals))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_instance(batch):
    states, boards, _ = batch
    some = play.first(states, 50)
    n, steps = len(boards[0]), int(states.steps[0])
    for board, picture, words in zip(
        boards, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        assert picture[0][:2] == ["header forward", f"header glyph:{steps}"]
        assert [[int(name == "paper alive") for name in row[:n]] for row in picture[1 : n + 1]] == board
        assert words.split("\n") == [f"steps {steps}", *("".join(map(str, row)) for row in board)]


@pytest.mark.peer("reasoning-gym", "game_of_life")
def test_agrees_with_reasoning_gym(batch):
    states, boards, _ = batch
    some = play.first(states, SOME)
    steps = int(states.steps[0])
    dataset = GameOfLifeDataset(GameOfLifeConfig(size=1, seed=0))
    rng = np.random.default_rng(1)
    rule = cellpylib.game_of_life_rule
    rights, wrongs, entries = [], [], []
    for board in boards[:SOME]:
        last = cellpylib.evolve2d(np.array([board]), steps + 1, rule, memoize="recursive")[-1].astype(int)
        rights.append(last.tolist())
        entries.append({"answer": json.dumps(rights[-1])})
        row, col = rng.integers(len(board), size=2)
        last[row, col] = 1 - last[row, col]
        wrongs.append(last.tolist())
    for boards_said, solved in ((rights, True), (wrongs, False)):
        replies = ["\n".join("".join(map(str, row)) for row in board) for board in boards_said]
        verdict, reward = play.read(ENV, some, replies)
        theirs = [
            dataset.score_answer(json.dumps(board), entry)
            for board, entry in zip(boards_said, entries, strict=True)
        ]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
