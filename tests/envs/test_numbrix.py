"""numbrix against walks in plain Python."""

from collections.abc import Iterator

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("numbrix")[0]
SIDES, EMPTY = (3, 5, 7), (4, 14, 32)
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
Grid = list[list[int]]


def led(grid: Grid) -> int:
    """How many numbers have their next one beside one of their cells."""
    n = len(grid)
    places: dict[int, set[tuple[int, int]]] = {number: set() for number in range(1, n * n + 1)}
    for r, row in enumerate(grid):
        for c, number in enumerate(row):
            places[number].add((r, c))
    return sum(
        any((r + i, c + j) in places[number + 1] for r, c in places[number] for i, j in STEPS)
        for number in range(1, n * n)
    )


def completions(given: Grid) -> Iterator[Grid]:
    """All solutions, walked from 1 on."""
    n = len(given)
    place = {number: (r, c) for r, row in enumerate(given) for c, number in enumerate(row) if number}

    def walk(cells: list[tuple[int, int]]) -> Iterator[Grid]:
        number = len(cells)
        if number == n * n:
            yield [[cells.index((r, c)) + 1 for c in range(n)] for r in range(n)]
            return
        ahead = min((there for there in place if there > number), default=None)
        for i, j in STEPS:
            r, c = cells[-1][0] + i, cells[-1][1] + j
            if not (0 <= r < n and 0 <= c < n) or (r, c) in cells or given[r][c] not in (0, number + 1):
                continue
            if ahead is not None:
                to_row, to_col = place[ahead]
                if abs(to_row - r) + abs(to_col - c) > ahead - number - 1:
                    continue
            yield from walk([*cells, (r, c)])

    for r in range(n):
        for c in range(n):
            if given[r][c] == 1 or (given[r][c] == 0 and 1 not in place):
                yield from walk([(r, c)])


def flat(grids: np.ndarray) -> np.ndarray:
    """Answers: all numbers row by row."""
    rows = grids.reshape(len(grids), -1).astype(int)
    return np.pad(rows, ((0, 0), (0, 49 - rows.shape[1])), constant_values=-1)


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
    solutions = states.solution[:, :n, :n]
    assert not states.solution[:, n:].any()
    assert not states.solution[:, :, n:].any()
    assert (np.sort(solutions.reshape(-1, n * n)) == np.arange(1, n * n + 1)).all()
    assert all(led(solution) == n * n - 1 for solution in solutions.tolist())
    givens = np.array(puzzles)
    assert ((givens == 0) | (givens == solutions)).all()
    assert len(np.unique(givens, axis=0)) > (1400 if n == 3 else 1990)


def test_paths_are_of_every_kind(batch):
    """All 40 paths through 3 x 3 occur, and larger ones seldom begin in a corner as snakes do."""
    states, _, n = batch
    solutions = states.solution[:, :n, :n]
    kinds = len(np.unique(solutions, axis=0))
    assert kinds == 40 if n == 3 else kinds > {5: 450, 7: 1950}[n]
    corners = solutions[:, [0, 0, -1, -1], [0, -1, 0, -1]] == 1
    assert np.allclose(corners.mean(0), corners.mean(), atol=0.03)
    assert corners.any(1).mean() < {3: 0.9, 5: 0.7, 7: 0.5}[n]


def test_expert_is_a_success(batch):
    states, _, n = batch
    actions = play.experts(ENV, states)
    np.testing.assert_array_equal(actions, flat(states.solution[:, :n, :n]))
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_completion_counts(batch):
    states, puzzles, n = batch
    tries, several = states.solution[:, :n, :n].copy(), 0
    for at, puzzle in enumerate(puzzles[: {3: 300, 5: 100, 7: 0}[n]]):
        ways = list(completions(puzzle))
        planted = tries[at].tolist()
        assert planted in ways
        others = [grid for grid in ways if grid != planted]
        several += bool(others)
        if others:
            tries[at] = others[0]
    assert several > {3: 10, 5: 10, 7: -1}[n]
    legal, reward = play.judge(ENV, states, flat(tries))
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_board(batch):
    states, puzzles, n = batch
    rng = np.random.default_rng(0)
    # Some numbers changed, from none to half of them; in some boards all are turned round.
    changed = rng.random((len(puzzles), n, n)) < rng.random((len(puzzles), 1, 1)) ** 2 / 2
    tries = np.where(changed, rng.integers(1, n * n + 1, changed.shape), states.solution[:, :n, :n])
    tries[::7] = n * n + 1 - tries[::7]
    legal, reward = play.judge(ENV, states, flat(tries))
    assert legal.all()
    assert 0.01 < (reward == 1).mean() < 0.9
    for given, tried, paid in zip(puzzles, tries.tolist(), reward, strict=True):
        kept = np.mean([tried[r][c] == given[r][c] for r in range(n) for c in range(n) if given[r][c]])
        found = led(tried)
        solved = kept == 1 and found == n * n - 1
        assert paid == pytest.approx(1 if solved else kept * found / (n * n - 1) / 2, abs=1e-6)
        assert (paid == 1) == solved


def test_another_count_or_number_is_illegal(batch):
    states, puzzles, n = batch
    for count in (1, n, n * n - 1, n * n + 1):
        if count <= 49:
            assert not play.judge(ENV, states, flat(np.ones((len(puzzles), count))))[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 2] = np.resize([0, n * n + 1, -1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_givens(batch):
    states, puzzles, n = batch
    some = play.first(states, 50)
    for given, picture, words in zip(
        puzzles, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        shown = [[play.layers(name) for name in row[:n]] for row in picture[:n]]
        assert all(("given" in name) == ("glyph" in name) for row in shown for name in row)
        assert [[int(name.get("glyph", 0)) for name in row] for row in shown] == given
        assert words == "\n".join(" ".join(str(number or ".") for number in row) for row in given)


def test_answers_in_lines(batch):
    states, _, n = batch
    some = play.first(states, play.SOME)
    grids = some.solution[:, :n, :n].tolist()
    replies = ["\n".join(" ".join(map(str, row)) for row in grid) for grid in grids]
    verdict, reward = play.read(ENV, some, replies, capacity=200)
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
