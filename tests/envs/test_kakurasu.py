"""kakurasu against plain Python and reasoning-gym."""

import itertools
from collections.abc import Iterator

import numpy as np
import play
import pytest
from reasoning_gym.games.kakurasu import KakurasuConfig, KakurasuDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("kakurasu")[0]
SIDES = (3, 5, 8)
Grid = list[list[int]]
Sums = tuple[list[int], list[int]]  # of rows, of columns


def sums(grid: Grid) -> Sums:
    weigh = lambda line: sum(at for at, cell in enumerate(line, 1) if cell)  # noqa: E731
    return [weigh(row) for row in grid], [weigh(col) for col in zip(*grid, strict=True)]


def shadings(puzzle: Sums) -> Iterator[Grid]:
    """All solutions, row by row."""
    rows, cols = puzzle
    n = len(rows)
    lines = [list(line) for line in itertools.product((0, 1), repeat=n)]

    def extend(grid: Grid, left: list[int]) -> Iterator[Grid]:
        at = len(grid)
        if at == n:
            yield from [grid] if not any(left) else []
            return
        for line in lines:
            after = [total - (at + 1) * cell for total, cell in zip(left, line, strict=True)]
            if min(after) >= 0 and sum(i for i, cell in enumerate(line, 1) if cell) == rows[at]:
                yield from extend([*grid, line], after)

    return extend([], cols)


def padded(grids: np.ndarray) -> np.ndarray:
    beyond = 8 - grids.shape[1]
    return np.pad(grids, ((0, 0), (0, beyond), (0, beyond)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    return states, list(zip(states.rows[:, :n].tolist(), states.cols[:, :n].tolist(), strict=True)), n


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles, n = batch
    assert not states.solution[:, n:].any()
    assert not states.solution[:, :, n:].any()
    for puzzle, solution in zip(puzzles, states.solution[:, :n, :n].tolist(), strict=True):
        assert sums(solution) == puzzle
    assert play.distinct(states) > (480 if n == 3 else 1990)


def test_expert_is_a_success(batch):
    states, puzzles, n = batch
    actions = play.experts(ENV, states)
    for puzzle, action in zip(puzzles, actions[:, :n, :n].tolist(), strict=True):
        assert sums(action) == puzzle
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_solution_counts(batch):
    states, puzzles, n = batch
    tries = play.experts(ENV, states).copy()
    several = 0
    for at, puzzle in enumerate(puzzles[: 0 if n == 8 else 300]):
        others = [grid for grid in shadings(puzzle) if grid != tries[at, :n, :n].tolist()]
        several += bool(others)
        if others:
            tries[at, :n, :n] = others[0]
    assert several > {3: 0, 5: 10, 8: -1}[n]
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_shading(batch):
    states, puzzles, n = batch
    rng = np.random.default_rng(0)
    # Some cells changed, from none to half of them.
    changed = rng.random((len(puzzles), n, n)) < rng.random((len(puzzles), 1, 1)) ** 2 / 2
    tries = states.solution[:, :n, :n] ^ changed
    legal, reward = play.judge(ENV, states, padded(tries.astype(int)))
    assert legal.all()
    assert 0.01 < (reward == 1).mean() < 0.9
    for puzzle, tried, paid in zip(puzzles, tries.tolist(), reward, strict=True):
        right = np.mean(np.array(sums(tried)) == np.array(puzzle))
        assert paid == pytest.approx(1 if right == 1 else right / 2)


def test_another_size_or_digit_is_illegal(batch):
    states, puzzles, n = batch
    for size in {*range(1, 9)} - {n}:
        assert not play.judge(ENV, states, padded(np.zeros((len(puzzles), size, size), int)))[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 1, 2] = np.resize([2, 9, -1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_sums(batch):
    states, puzzles, n = batch
    some = play.first(states, 50)
    pictures, words = play.tiles(ENV, some), play.observations(ENV, some)
    weights = [f"header glyph:{at}" for at in range(1, n + 1)]
    for (rows, cols), picture, observation in zip(puzzles, pictures, words, strict=False):
        top, *middle, bottom = [row[: n + 2] for row in picture[: n + 2]]
        assert top == ["slot", *weights, "slot"]
        assert bottom == ["slot", *(f"given glyph:{total}" for total in cols), "slot"]
        for weight, total, row in zip(weights, rows, middle, strict=True):
            assert row == [weight, *["paper"] * n, f"given glyph:{total}"]
        assert observation == f"row sums {' '.join(map(str, rows))}\ncolumn sums {' '.join(map(str, cols))}"


@pytest.mark.peer("reasoning-gym", "kakurasu")
def test_agrees_with_reasoning_gym(batch):
    states, puzzles, n = batch
    some = play.first(states, play.SOME)
    dataset = KakurasuDataset(KakurasuConfig(size=1, seed=0))
    flip = np.random.default_rng(1).integers(n, size=(play.SOME, 2))
    wrongs = some.solution[:, :n, :n].copy()
    wrongs[np.arange(play.SOME), flip[:, 0], flip[:, 1]] ^= True
    for grids, solved in ((some.solution[:, :n, :n], True), (wrongs, False)):
        replies = ["\n".join("".join(map(str, row)) for row in grid) for grid in grids.astype(int).tolist()]
        metadata = [{"row_sums": rows, "col_sums": cols, "n_rows": n, "n_cols": n} for rows, cols in puzzles]
        theirs = [
            dataset.score_answer(reply, {"metadata": entry})
            for reply, entry in zip(replies, metadata, strict=False)
        ]
        verdict, reward = play.read(ENV, some, replies)
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
