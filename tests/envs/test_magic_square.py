"""magic_square against plain-Python sums."""

import itertools

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("magic_square")[0]
SIDES, EMPTY, CONSTANTS = (3, 4, 5), (4, 8, 13), (15, 34, 65)
Grid = list[list[int]]


def lines(n: int) -> list[list[tuple[int, int]]]:
    rows = [[(r, c) for c in range(n)] for r in range(n)]
    cols = [[(r, c) for r in range(n)] for c in range(n)]
    return [*rows, *cols, [(i, i) for i in range(n)], [(i, n - 1 - i) for i in range(n)]]


def shares(given: Grid, grid: Grid) -> list[float]:
    """How much of the sums, the numbers and the givens is right."""
    n = len(grid)
    sums = [sum(grid[r][c] for r, c in line) for line in lines(n)]
    kept = [grid[r][c] == given[r][c] for r in range(n) for c in range(n) if given[r][c]]
    right = [total == CONSTANTS[n - 3] for total in sums]
    return [float(np.mean(right)), len({*itertools.chain(*grid)}) / n**2, float(np.mean(kept))]


def flat(grids: np.ndarray) -> np.ndarray:
    """Answers: all numbers row by row."""
    rows = grids.reshape(len(grids), -1).astype(int)
    return np.pad(rows, ((0, 0), (0, 25 - rows.shape[1])), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    puzzles = states.given[:, :n, :n]
    assert ((puzzles == 0).sum((1, 2)) == EMPTY[request.param]).all()
    return states, puzzles.tolist(), n


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles, n = batch
    for given, solution in zip(puzzles, states.solution[:, :n, :n].tolist(), strict=True):
        assert shares(given, solution) == [1, 1, 1]
    assert play.distinct(states) > (800 if n == 3 else 1990)
    squares = len(np.unique(states.solution, axis=0))
    assert squares == 8 if n == 3 else squares > {4: 900, 5: 1800}[n]


def test_expert_is_a_success(batch):
    states, _, n = batch
    actions = play.experts(ENV, states)
    np.testing.assert_array_equal(actions, flat(states.solution[:, :n, :n]))
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_completion_counts(batch):
    """With the diagonal alone given, the mirror image of a square is as good."""
    states, _, n = batch
    diagonal = states.replace(given=states.solution * np.eye(5, dtype=np.int8))
    mirrored = states.solution[:, :n, :n].swapaxes(1, 2)
    legal, reward = play.judge(ENV, diagonal, flat(mirrored))
    assert legal.all()
    assert (reward == 1).all()
    assert not (play.judge(ENV, states, flat(mirrored))[1] == 1).any()


def test_score_of_any_square(batch):
    states, puzzles, n = batch
    rng = np.random.default_rng(0)
    # Some numbers changed, from none to half of them.
    changed = rng.random((len(puzzles), n, n)) < rng.random((len(puzzles), 1, 1)) ** 2 / 2
    tries = np.where(changed, rng.integers(1, n * n + 1, changed.shape), states.solution[:, :n, :n])
    legal, reward = play.judge(ENV, states, flat(tries))
    assert legal.all()
    assert 0.01 < (reward == 1).mean() < 0.9
    for given, tried, paid in zip(puzzles, tries.tolist(), reward, strict=True):
        share = np.prod(shares(given, tried))
        assert paid == pytest.approx(1 if share == 1 else share / 2, abs=1e-6)
        assert (paid == 1) == (share == 1)


def test_another_count_or_number_is_illegal(batch):
    states, puzzles, n = batch
    for count in (1, n, n * n - 1, n * n + 1):
        if count <= 25:
            assert not play.judge(ENV, states, flat(np.ones((len(puzzles), count))))[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 2] = np.resize([0, n * n + 1, -1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_square(batch):
    states, puzzles, n = batch
    some = play.first(states, 50)
    pictures, words = play.tiles(ENV, some), play.observations(ENV, some)
    for given, picture, observation in zip(puzzles, pictures, words, strict=False):
        header, *square = [[play.layers(name) for name in row[:n]] for row in picture[: n + 1]]
        constant = str(CONSTANTS[n - 3])
        assert header[0] == {"header": "", "sigma": ""}
        assert header[1] == {"header": "", "glyph": constant}
        assert [[int(name.get("glyph", 0)) for name in row] for row in square] == given
        lines = [" ".join(str(number or ".") for number in row) for row in given]
        assert observation.split("\n") == [f"sum {constant}", *lines]


def test_answers_in_lines(batch):
    states, _, n = batch
    some = play.first(states, play.SOME)
    grids = some.solution[:, :n, :n].tolist()
    replies = ["\n".join(" ".join(map(str, row)) for row in grid) for grid in grids]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
