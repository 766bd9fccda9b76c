"""pool_matrix against plain Python and reasoning-gym."""

import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.pool_matrix import PoolMatrixConfig, PoolMatrixDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("pool_matrix")[0]
SIDES, POOLS = (4, 6, 8), (2, 3, 2)


def pooled(matrix: list[list[int]], pool: int, average: bool) -> list[list[float]]:
    starts = range(0, len(matrix), pool)
    blocks = [
        [[digit for row in matrix[r : r + pool] for digit in row[c : c + pool]] for c in starts]
        for r in starts
    ]
    return [[sum(block) / pool**2 if average else max(block) for block in row] for row in blocks]


def padded(matrix: list) -> np.ndarray:
    return np.pad(np.array(matrix, int), (0, 4 - len(matrix)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The size of a block, the states, their matrices and the right answers."""
    scale = request.param
    states = play.instances(ENV, scale)
    n, pool = SIDES[scale], POOLS[scale]
    assert (states.side == n).all()
    assert (states.pool == pool).all()
    matrices = [digits[:n, :n].tolist() for digits in states.digits]
    goals = [pooled(matrix, pool, average) for matrix, average in zip(matrices, states.average, strict=True)]
    return pool, states, matrices, goals


def test_every_average_is_whole_and_the_instances_differ(batch):
    pool, states, matrices, _ = batch
    for matrix in matrices:
        assert all(mean == int(mean) for row in pooled(matrix, pool, True) for mean in row)
    shares = np.bincount(np.ravel(matrices), minlength=10) / np.size(matrices)
    np.testing.assert_allclose(shares, 0.1, atol=0.03)
    assert states.average.mean() == pytest.approx(0.5, abs=0.05)
    assert play.distinct(states) > 1990


def test_expert_is_right_and_is_a_success(batch):
    _, states, _, goals = batch
    actions = np.stack([padded(goal) for goal in goals])
    np.testing.assert_array_equal(play.experts(ENV, states), actions)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share(batch):
    _, states, _, goals = batch
    rng = np.random.default_rng(0)
    tries = [np.where(rng.random(np.shape(goal)) < 0.5, rng.integers(10), goal) for goal in goals]
    legal, reward = play.judge(ENV, states, np.stack([padded(tried) for tried in tries]))
    assert legal.all()
    for goal, tried, paid in zip(goals, tries, reward, strict=True):
        share = np.mean(tried == goal)
        assert paid == pytest.approx(1 if share == 1 else share / 2)


def test_another_size_is_illegal(batch):
    _, states, _, goals = batch
    for n in {1, 2, 3, 4} - {len(goals[0])}:
        board = np.broadcast_to(padded([[0] * n] * n), (len(goals), 4, 4))
        assert not play.judge(ENV, states, board)[0].any()


def test_picture_and_text_show_the_instance(batch):
    pool, states, matrices, _ = batch
    some = play.first(states, 50)
    n = len(matrices[0])
    for matrix, average, picture, observation in zip(
        matrices, states.average, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        head = "".join(play.layers(name).get("glyph", "") for name in picture[0])
        assert head == ("AVG" if average else "MAX")
        for row, col in np.ndindex(n, n):
            ground = ("paper", "header")[(row // pool + col // pool) % 2]
            assert picture[row + 1][col] == f"{ground} glyph:{matrix[row][col]}"
        assert observation.split("\n") == [head, *("".join(map(str, row)) for row in matrix)]


@pytest.mark.peer("reasoning-gym", "pool_matrix")
def test_agrees_with_reasoning_gym(batch):
    pool, states, matrices, _ = batch
    some = play.first(states, play.SOME)
    dataset = PoolMatrixDataset(PoolMatrixConfig(size=1, seed=0))
    rng = np.random.default_rng(1)
    rights, wrongs, entries = [], [], []
    for matrix, average in zip(matrices[: play.SOME], states.average, strict=False):
        theirs = dataset._average_pool if average else dataset._max_pool
        answer = theirs(np.array(matrix), pool)
        entries.append({"answer": dataset._matrix_to_str(answer)})
        said = answer.astype(int)
        rights.append("\n".join(" ".join(map(str, row)) for row in said))
        row, col = rng.integers(len(said), size=2)
        said[row, col] = (said[row, col] + rng.integers(1, 10)) % 10
        wrongs.append("\n".join(" ".join(map(str, row)) for row in said))
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies)
        theirs = [dataset.score_answer(r, e) for r, e in zip(replies, entries, strict=True)]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
