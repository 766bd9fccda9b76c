"""rotate_matrix against plain Python and reasoning-gym."""

import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.rotate_matrix import RotateMatrixConfig, RotateMatrixDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("rotate_matrix")[0]
SIDES = (2, 3, 5)


def rotated(matrix: list[list[int]], turns: int) -> list[list[int]]:
    for _ in range(turns):
        matrix = [list(row) for row in zip(*matrix[::-1], strict=True)]
    return matrix


def padded(matrix: list[list[int]]) -> np.ndarray:
    n = len(matrix)
    return np.pad(np.array(matrix), (0, 5 - n), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    scale = request.param
    states = play.instances(ENV, scale)
    n = SIDES[scale]
    assert (states.side == n).all()
    return states, [digits[:n, :n].tolist() for digits in states.digits]


def test_every_instance_is_in_range_and_they_differ(batch):
    states, matrices = batch
    n = len(matrices[0])
    assert set(np.unique(matrices)) == set(range(10))
    assert set(np.unique(states.turns)) == set(range(1, 11 if n == 5 else 4))
    assert len({str((m, t)) for m, t in zip(matrices, states.turns, strict=True)}) > 1900


def test_expert_is_the_rotation_and_is_a_success(batch):
    states, matrices = batch
    goals = np.stack([padded(rotated(m, t)) for m, t in zip(matrices, states.turns, strict=True)])
    np.testing.assert_array_equal(play.experts(ENV, states), goals)
    legal, reward = play.judge(ENV, states, goals)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share(batch):
    states, matrices = batch
    n = len(matrices[0])
    tries = np.random.default_rng(0).integers(0, 10, (len(matrices), 5, 5))
    tries[:, n:], tries[:, :, n:] = -1, -1
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    for m, t, tried, paid in zip(matrices, states.turns, tries, reward, strict=True):
        share = (tried == padded(rotated(m, t)))[:n, :n].mean()
        assert paid == pytest.approx(1 if share == 1 else share / 2)


def test_another_size_is_illegal(batch):
    states, matrices = batch
    n = len(matrices[0])
    sizes = [np.pad(np.zeros((k, k), int), (0, 5 - k), constant_values=-1) for k in range(1, 6) if k != n]
    for size in sizes:
        legal, _ = play.judge(ENV, states, np.broadcast_to(size, (len(matrices), 5, 5)))
        assert not legal.any()


def test_picture_and_text_show_the_instance(batch):
    states, matrices = batch
    some = play.first(states, 50)
    n = len(matrices[0])
    pictures, words = play.tiles(ENV, some), play.observations(ENV, some)
    for matrix, turns, picture, observation in zip(matrices, some.turns, pictures, words, strict=False):
        assert picture[0][:2] == ["header turn", f"header glyph:{90 * turns}"]
        shown = [[int(name.removeprefix("paper glyph:")) for name in row[:n]] for row in picture[1 : n + 1]]
        assert shown == matrix
        lines = ["".join(map(str, row)) for row in matrix]
        assert observation.split("\n") == [f"turn {90 * turns}", *lines]


@pytest.mark.peer("reasoning-gym", "rotate_matrix")
def test_agrees_with_reasoning_gym(batch):
    states, matrices = batch
    some = play.first(states, play.SOME)
    dataset = RotateMatrixDataset(RotateMatrixConfig(size=1, seed=0))
    rng = np.random.default_rng(1)
    rights, wrongs, entries = [], [], []
    for matrix, turns in zip(matrices, some.turns.tolist(), strict=False):
        answer = dataset._get_rotated(matrix, turns)
        entries.append({"answer": dataset._matrix_to_str(answer), "metadata": {"solution": answer}})
        rights.append(entries[-1]["answer"])
        spoilt = [list(row) for row in answer]
        row, col = rng.integers(len(answer), size=2)
        spoilt[row][col] = (spoilt[row][col] + rng.integers(1, 10)) % 10
        wrongs.append(dataset._matrix_to_str(spoilt))
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies)
        theirs = [dataset.score_answer(r, e) for r, e in zip(replies, entries, strict=True)]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
