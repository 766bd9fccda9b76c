"""binairo against plain-Python rules and a plain-Python solver."""

import itertools
from collections.abc import Iterator

import numpy as np
import play
import pytest

import jaxenv

ENV = jaxenv.make("binairo")[0]
SIDES, GIVENS = (4, 6, 10), (5, 12, 40)
Grid = list[list[int]]
EMPTY = 2


def line_is_valid(line: tuple[int, ...], others: list[tuple[int, ...]]) -> bool:
    """Whether a full line of 0 and 1 keeps the rules, beside all lines of its direction (itself too)."""
    runs = [len(list(run)) for _, run in itertools.groupby(line)]
    return line.count(0) == line.count(1) and max(runs) < 3 and others.count(line) == 1


def valid_lines(grid: Grid) -> list[bool]:
    rows, cols = [tuple(row) for row in grid], list(zip(*grid, strict=True))
    return [line_is_valid(line, lines) for lines in (rows, cols) for line in lines]


def kept(given: Grid, grid: Grid) -> list[bool]:
    pairs = zip(itertools.chain(*given), itertools.chain(*grid), strict=True)
    return [a == b for a, b in pairs if a != EMPTY]


def solved(given: Grid, grid: Grid) -> bool:
    return all(valid_lines(grid)) and all(kept(given, grid))


def completions(given: Grid) -> Iterator[Grid]:
    """All solutions, row by row."""
    n = len(given)
    lines = [line for line in itertools.product((0, 1), repeat=n) if line_is_valid(line, [line])]

    def extend(grid: Grid) -> Iterator[Grid]:
        if len(grid) == n:
            yield from [grid] if solved(given, grid) else []
            return
        for line in lines:
            if all(kept([given[len(grid)]], [list(line)])):
                cols = zip(*grid, line, strict=True)
                if all(max(col.count(0), col.count(1)) * 2 <= n for col in cols):
                    yield from extend([*grid, list(line)])

    return extend([])


def padded(grids: np.ndarray) -> np.ndarray:
    beyond = 10 - grids.shape[1]
    return np.pad(grids.astype(int), ((0, 0), (0, beyond), (0, beyond)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    assert ((states.given != EMPTY).sum((1, 2)) == GIVENS[request.param]).all()
    return states, states.given[:, :n, :n].tolist(), n


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles, n = batch
    for given, solution in zip(puzzles, states.solution[:, :n, :n].tolist(), strict=True):
        assert solved(given, solution)
    assert play.distinct(states) > 1950


def test_many_grids_occur(batch):
    """All 72 grids of side 4, and of the others more than the bank holds."""
    states, _, n = batch
    count = len(np.unique(states.solution, axis=0))
    assert count == 72 if n == 4 else count > 1000


def test_expert_is_a_success(batch):
    states, _, n = batch
    actions = play.experts(ENV, states)
    np.testing.assert_array_equal(actions, padded(states.solution[:, :n, :n]))
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_completion_counts(batch):
    states, puzzles, n = batch
    tries = play.experts(ENV, states).copy()
    several = 0
    for at, given in enumerate(puzzles[: 0 if n == 10 else 80]):
        ways = list(itertools.islice(completions(given), 20))
        planted = tries[at, :n, :n].tolist()
        assert planted in ways or len(ways) == 20
        others = [grid for grid in ways if grid != planted]
        several += bool(others)
        if others:
            tries[at, :n, :n] = others[0]
    assert several > {4: 20, 6: 20, 10: -1}[n]
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_grid(batch):
    states, puzzles, n = batch
    rng = np.random.default_rng(0)
    # Some stones changed, from none to half of them; every fourth grid with a row copied.
    changed = rng.random((len(puzzles), n, n)) < rng.random((len(puzzles), 1, 1)) ** 2 / 2
    tries = states.solution[:, :n, :n] ^ changed
    tries[::4, 1] = tries[::4, 0]
    legal, reward = play.judge(ENV, states, padded(tries))
    assert legal.all()
    assert 0.01 < (reward == 1).mean() < 0.9
    for given, tried, paid in zip(puzzles, tries.tolist(), reward, strict=True):
        share = np.mean(valid_lines(tried)) * np.mean(kept(given, tried))
        assert paid == pytest.approx(1 if solved(given, tried) else share / 2)
        assert (paid == 1) == solved(given, tried)


def test_another_size_or_digit_is_illegal(batch):
    states, puzzles, n = batch
    for size in {*range(1, 11)} - {n}:
        assert not play.judge(ENV, states, padded(np.zeros((len(puzzles), size, size))))[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 1, 2] = np.resize([2, 9, -1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_stones(batch):
    states, puzzles, n = batch
    some = play.first(states, 50)
    for given, picture, words in zip(
        puzzles, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        stones = [[play.layers(name).get("stone") for name in row[:n]] for row in picture[:n]]
        assert [[("white", "black", None).index(stone) for stone in row] for row in stones] == given
        assert words == "\n".join("".join("01."[cell] for cell in row) for row in given)
