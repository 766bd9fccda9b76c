"""nonogram against plain-Python runs and a plain-Python solver."""

import itertools
from collections.abc import Iterator

import numpy as np
import play
import pytest

import jaxenv

ENV = jaxenv.make("nonogram")[0]
SIDES, SHADED = (5, 7, 9), (13, 26, 44)
Grid = list[list[int]]
Runs = list[list[int]]
Puzzle = tuple[Runs, Runs]  # of the rows and of the columns


def runs(line: tuple[int, ...]) -> list[int]:
    return [len(list(run)) for shaded, run in itertools.groupby(line) if shaded]


def puzzle_of(grid: Grid) -> Puzzle:
    return [runs(tuple(row)) for row in grid], [runs(col) for col in zip(*grid, strict=True)]


def pictures(puzzle: Puzzle) -> Iterator[Grid]:
    """All solutions, row by row; what is above must be the beginning of a column."""
    rows, cols = puzzle
    n = len(rows)
    lines: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for line in itertools.product((0, 1), repeat=n):
        lines.setdefault(tuple(runs(line)), []).append(line)
    begun = [{line[:k] for line in lines[tuple(col)] for k in range(n + 1)} for col in cols]

    def extend(above: list[tuple[int, ...]]) -> Iterator[Grid]:
        if len(above) == n:
            yield [list(row) for row in above]
            return
        for line in lines[tuple(rows[len(above)])]:
            if all(col in fits for col, fits in zip(zip(*above, line, strict=True), begun, strict=True)):
                yield from extend([*above, line])

    return extend([])


def padded(grids: np.ndarray) -> np.ndarray:
    beyond = 9 - grids.shape[1]
    return np.pad(grids.astype(int), ((0, 0), (0, beyond), (0, beyond)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    assert (states.solution.sum((1, 2)) == SHADED[request.param]).all()
    assert not states.runs[:, :, n:].any()
    puzzles = [
        tuple([[length for length in line if length] for line in lines[:n]] for lines in both)
        for both in states.runs.tolist()
    ]
    return states, puzzles, n


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles, n = batch
    for puzzle, solution in zip(puzzles, states.solution[:, :n, :n].tolist(), strict=True):
        assert puzzle_of(solution) == puzzle
    assert play.distinct(states) > 1990


def test_expert_is_a_success(batch):
    states, _, n = batch
    actions = play.experts(ENV, states)
    np.testing.assert_array_equal(actions, padded(states.solution[:, :n, :n]))
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_solution_counts(batch):
    states, puzzles, n = batch
    tries, several = states.solution[:, :n, :n].astype(int), 0
    for at, puzzle in enumerate(puzzles[:100]):
        ways = list(itertools.islice(pictures(puzzle), 20))
        planted = tries[at].tolist()
        assert planted in ways or len(ways) == 20
        others = [grid for grid in ways if grid != planted]
        several += bool(others)
        if others:
            tries[at] = others[0]
    assert several > 5
    legal, reward = play.judge(ENV, states, padded(tries))
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_picture(batch):
    states, puzzles, n = batch
    rng = np.random.default_rng(0)
    # Some cells changed, from none to half of them.
    changed = rng.random((len(puzzles), n, n)) < rng.random((len(puzzles), 1, 1)) ** 2 / 2
    tries = states.solution[:, :n, :n] ^ changed
    legal, reward = play.judge(ENV, states, padded(tries))
    assert legal.all()
    assert 0.01 < (reward == 1).mean() < 0.9
    for puzzle, tried, paid in zip(puzzles, tries.tolist(), reward, strict=True):
        found = puzzle_of(tried)
        share = np.mean(
            [
                a == b
                for ours, theirs in zip(found, puzzle, strict=True)
                for a, b in zip(ours, theirs, strict=True)
            ]
        )
        assert paid == pytest.approx(1 if share == 1 else share / 2)


def test_another_size_or_digit_is_illegal(batch):
    states, puzzles, n = batch
    for size in {*range(1, 10)} - {n}:
        assert not play.judge(ENV, states, padded(np.zeros((len(puzzles), size, size))))[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 1, 2] = np.resize([2, 9, -1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_runs(batch):
    states, puzzles, n = batch
    some = play.first(states, 50)
    tiles, words = play.tiles(ENV, some), play.observations(ENV, some)
    for (rows, cols), picture, observation in zip(puzzles, tiles, words, strict=False):
        margin = max(map(len, rows + cols))
        head = lambda line, m=margin: [""] * (m - len(line or [0])) + [str(length) for length in line or [0]]  # noqa: E731
        shown = [[play.layers(name) for name in row[: n + margin]] for row in picture[: n + margin]]
        clues = [[name.get("glyph", "") for name in row] for row in shown]
        assert [row[:margin] for row in clues[margin:]] == [head(row) for row in rows]
        assert [[clues[r][margin + c] for r in range(margin)] for c in range(n)] == [
            head(col) for col in cols
        ]
        assert all("paper" in name for row in shown[margin:] for name in row[margin:])
        assert all("slot" in name for row in shown[:margin] for name in row[:margin])
        lists = [
            "\n".join(" ".join([*map(str, line), *"." * (margin - len(line))]) for line in lines)
            for lines in (rows, cols)
        ]
        assert observation == f"rows\n{lists[0]}\ncolumns\n{lists[1]}"
