"""skyscrapers against plain-Python views and all Latin squares of side 4."""

import itertools

import numpy as np
import play
import pytest
from reference_latin import Puzzle

import jaxenv

ENV = jaxenv.make("skyscrapers")[0]
SIDES = (4, 5, 6)
Grid = list[list[int]]


def seen(line: tuple[int, ...]) -> int:
    """How many towers of a line are seen from its start."""
    return sum(height > max(line[:at], default=0) for at, height in enumerate(line))


def views(grid: Grid) -> Grid:
    """From the top, bottom, left and right."""
    rows, cols = [tuple(row) for row in grid], list(zip(*grid, strict=True))
    return [[seen(line[::way]) for line in lines] for lines in (cols, rows) for way in (1, -1)]


def full_lines(grid: Grid) -> list[bool]:
    return Puzzle([[0] * len(grid) for _ in grid]).full_groups(grid)


def padded(grids: np.ndarray) -> np.ndarray:
    beyond = 6 - grids.shape[1]
    return np.pad(grids.astype(int), ((0, 0), (0, beyond), (0, beyond)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    return states, states.views[:, :, :n].tolist(), n


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles, n = batch
    assert not states.views[:, :, n:].any()
    for puzzle, solution in zip(puzzles, states.solution[:, :n, :n].tolist(), strict=True):
        assert all(full_lines(solution))
        assert views(solution) == puzzle
    assert play.distinct(states) > {4: 400, 5: 1900, 6: 1990}[n]


def test_expert_is_a_success(batch):
    states, _, n = batch
    actions = play.experts(ENV, states)
    np.testing.assert_array_equal(actions, padded(states.solution[:, :n, :n]))
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_solution_counts():
    states = play.instances(ENV, 0)
    squares = [(square, views(square)) for square in Puzzle([[0] * 4 for _ in range(4)]).completions()]
    assert len(squares) == 576
    tries, several = states.solution[:, :4, :4].copy(), 0
    for at, puzzle in enumerate(states.views[:200, :, :4].tolist()):
        planted = tries[at].tolist()
        others = [square for square, seen in squares if seen == puzzle and square != planted]
        several += bool(others)
        if others:
            tries[at] = others[0]
    assert several > 10
    legal, reward = play.judge(ENV, states, padded(tries))
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_grid(batch):
    states, puzzles, n = batch
    rng = np.random.default_rng(0)
    # Some towers changed, from none to half of them.
    changed = rng.random((len(puzzles), n, n)) < rng.random((len(puzzles), 1, 1)) ** 2 / 2
    tries = np.where(changed, rng.integers(1, n + 1, changed.shape), states.solution[:, :n, :n])
    legal, reward = play.judge(ENV, states, padded(tries))
    assert legal.all()
    assert 0.01 < (reward == 1).mean() < 0.9
    for puzzle, tried, paid in zip(puzzles, tries.tolist(), reward, strict=True):
        share = np.mean(full_lines(tried)) * np.mean(np.array(views(tried)) == np.array(puzzle))
        assert paid == pytest.approx(1 if share == 1 else share / 2)


def test_another_size_or_digit_is_illegal(batch):
    states, puzzles, n = batch
    for size in {*range(1, 7)} - {n}:
        assert not play.judge(ENV, states, padded(np.ones((len(puzzles), size, size))))[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 1, 0] = np.resize([0, n + 1, -1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_views(batch):
    states, puzzles, n = batch
    some = play.first(states, 50)
    pictures, words = play.tiles(ENV, some), play.observations(ENV, some)
    for (top, bottom, left, right), picture, observation in zip(puzzles, pictures, words, strict=False):
        tiles = [row[: n + 2] for row in picture[: n + 2]]
        clues = {f"header glyph:{count}": str(count) for count in range(1, n + 1)}
        shown = [[{"slot": " ", "paper": "."}.get(name) or clues[name] for name in row] for row in tiles]
        assert shown[0] == [" ", *map(str, top), " "]
        assert shown[-1] == [" ", *map(str, bottom), " "]
        for row, first, last in zip(shown[1:-1], left, right, strict=True):
            assert row == [str(first), *itertools.repeat(".", n), str(last)]
        assert observation == "\n".join(map("".join, shown))
