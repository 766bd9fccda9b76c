"""binary_matrix against plain Python and reasoning-gym."""

import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.binary_matrix import BinaryMatrixConfig, BinaryMatrixDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("binary_matrix")[0]
SIDES, ZEROS = (3, 5, 9), ((1, 4), (2, 8), (3, 16))


def nearest(matrix: list[list[int]]) -> list[list[int]]:
    """The taxicab distance of each cell to the nearest zero, by looking at them all."""
    zeros = np.argwhere(np.array(matrix) == 0)
    cells = np.indices(np.shape(matrix)).transpose(1, 2, 0)
    return np.abs(cells[:, :, None] - zeros).sum(-1).min(-1).tolist()


def padded(matrix: list[list[int]]) -> np.ndarray:
    return np.pad(np.array(matrix), (0, 9 - len(matrix)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The scale, the states, their matrices and the right answers."""
    scale = request.param
    states = play.instances(ENV, scale)
    n = SIDES[scale]
    assert (states.side == n).all()
    matrices = [ones[:n, :n].astype(int).tolist() for ones in states.ones]
    return scale, states, matrices, [nearest(matrix) for matrix in matrices]


def test_every_instance_is_in_range_and_they_differ(batch):
    scale, states, matrices, goals = batch
    zeros = [sum(row.count(0) for row in matrix) for matrix in matrices]
    fewest, most = ZEROS[scale]
    assert set(zeros) == set(range(fewest, most + 1))
    assert np.mean([matrix[0][0] == 0 for matrix in matrices]) > 0.05
    assert max(np.max(goal) for goal in goals) >= (4, 6, 8)[scale]
    assert play.distinct(states) > (200, 1750, 1970)[scale]


def test_expert_is_right_and_is_a_success(batch):
    _, states, _, goals = batch
    actions = np.stack([padded(goal) for goal in goals])
    np.testing.assert_array_equal(play.experts(ENV, states), actions)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share_of_the_ones(batch):
    _, states, matrices, goals = batch
    rng = np.random.default_rng(0)
    tries = [goal + (rng.random(np.shape(goal)) < rng.random()) for goal in np.array(goals)]
    legal, reward = play.judge(ENV, states, np.minimum(np.stack([padded(tried) for tried in tries]), 9))
    assert legal.all()
    for matrix, goal, tried, paid in zip(matrices, goals, tries, reward, strict=True):
        right = np.minimum(tried, 9) == np.array(goal)
        share = right[np.array(matrix) == 1].mean()
        assert paid == pytest.approx(1 if right.all() else share / 2)


def test_another_size_is_illegal(batch):
    _, states, matrices, _ = batch
    for n in {1, 3, 4, 5, 8, 9} - {len(matrices[0])}:
        board = np.broadcast_to(padded([[0] * n] * n), (len(matrices), 9, 9))
        assert not play.judge(ENV, states, board)[0].any()


def test_picture_and_text_show_the_instance(batch):
    _, states, matrices, _ = batch
    some = play.first(states, 50)
    n = len(matrices[0])
    for matrix, picture, observation in zip(
        matrices, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        assert [[int(play.layers(name)["glyph"]) for name in row[:n]] for row in picture[:n]] == matrix
        assert observation.split("\n") == ["".join(map(str, row)) for row in matrix]


@pytest.mark.peer("reasoning-gym", "binary_matrix")
def test_agrees_with_reasoning_gym(batch):
    _, states, matrices, _ = batch
    some = play.first(states, play.SOME)
    dataset = BinaryMatrixDataset(BinaryMatrixConfig(size=1, seed=0))
    rng = np.random.default_rng(1)
    rights, wrongs, entries = [], [], []
    for matrix in matrices[: play.SOME]:
        answer = dataset._get_distances(matrix)
        rights.append(dataset._matrix_to_str(answer))
        entries.append({"answer": rights[-1]})
        row, col = rng.integers(len(matrix), size=2)
        answer[row][col] = (answer[row][col] + int(rng.integers(1, 10))) % 10
        wrongs.append(dataset._matrix_to_str(answer))
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies, capacity=200)
        theirs = [dataset.score_answer(r, e) for r, e in zip(replies, entries, strict=True)]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
