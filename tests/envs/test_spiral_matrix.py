"""spiral_matrix against plain Python and reasoning-gym."""

import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.spiral_matrix import SpiralMatrixConfig, SpiralMatrixDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("spiral_matrix")[0]
SIDES = (3, 4, 6)


def spiral(matrix: list[list[int]]) -> list[int]:
    """Walks, and turns right at the edge and before a cell it has been to."""
    n = len(matrix)
    row, col, down, across = 0, 0, 0, 1
    seen, read = set(), []
    while len(read) < n * n:
        seen.add((row, col))
        read.append(matrix[row][col])
        ahead = (row + down, col + across)
        if ahead in seen or not (0 <= ahead[0] < n and 0 <= ahead[1] < n):
            down, across = across, -down
        row, col = row + down, col + across
    return read


def padded(digits: list[int]) -> np.ndarray:
    return np.pad(np.array(digits), (0, 36 - len(digits)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    scale = request.param
    states = play.instances(ENV, scale)
    n = SIDES[scale]
    assert (states.side == n).all()
    return states, [digits[:n, :n].tolist() for digits in states.digits]


def test_every_instance_is_in_range_and_they_differ(batch):
    _, matrices = batch
    assert set(np.unique(matrices)) == set(range(10))
    assert len(set(map(str, matrices))) > 1990


def test_expert_is_the_spiral_and_is_a_success(batch):
    states, matrices = batch
    goals = np.stack([padded(spiral(matrix)) for matrix in matrices])
    np.testing.assert_array_equal(play.experts(ENV, states), goals)
    legal, reward = play.judge(ENV, states, goals)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share(batch):
    states, matrices = batch
    n = len(matrices[0])
    tries = np.random.default_rng(0).integers(0, 10, (len(matrices), 36))
    tries[:, n * n :] = -1
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    for matrix, tried, paid in zip(matrices, tries, reward, strict=True):
        share = np.mean(tried[: n * n] == spiral(matrix))
        assert paid == pytest.approx(1 if share == 1 else share / 2)


def test_another_length_is_illegal(batch):
    states, matrices = batch
    for length in {1, 8, 10, 15, 17, 35, 36} - {len(matrices[0]) ** 2}:
        legal, _ = play.judge(ENV, states, np.broadcast_to(padded([0] * length), (len(matrices), 36)))
        assert not legal.any()


def test_picture_and_text_show_the_instance(batch):
    states, matrices = batch
    some = play.first(states, 50)
    n = len(matrices[0])
    for matrix, picture, observation in zip(
        matrices, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        shown = [[int(name.removeprefix("paper glyph:")) for name in row[:n]] for row in picture[:n]]
        assert shown == matrix
        assert observation.split("\n") == ["".join(map(str, row)) for row in matrix]


@pytest.mark.peer("reasoning-gym", "spiral_matrix")
def test_agrees_with_reasoning_gym(batch):
    states, matrices = batch
    some = play.first(states, play.SOME)
    dataset = SpiralMatrixDataset(SpiralMatrixConfig(size=1, seed=0))
    rng = np.random.default_rng(1)
    rights, wrongs, entries = [], [], []
    for matrix in matrices[: play.SOME]:
        answer = dataset._get_spiral(matrix)
        entries.append({"answer": dataset._list_to_str(answer), "metadata": {"solution": answer}})
        rights.append(entries[-1]["answer"])
        spoilt = list(answer)
        at = rng.integers(len(answer))
        spoilt[at] = (spoilt[at] + int(rng.integers(1, 10))) % 10
        wrongs.append(dataset._list_to_str(spoilt))
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies)
        theirs = [dataset.score_answer(r, e) for r, e in zip(replies, entries, strict=True)]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
