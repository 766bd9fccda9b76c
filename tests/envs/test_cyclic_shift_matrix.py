"""cyclic_shift_matrix against rotating deques."""

from collections import deque

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("cyclic_shift_matrix")[0]
SIDES, COUNTS, FARTHEST = (3, 4, 6), (1, 3, 6), (2, 3, 3)
Matrix = list[list[int]]


def rotated(lines: Matrix, by: list[int]) -> Matrix:
    turned = [deque(line) for line in lines]
    for line, distance in zip(turned, by, strict=True):
        line.rotate(distance)
    return [list(line) for line in turned]


def transposed(matrix: Matrix) -> Matrix:
    return [list(col) for col in zip(*matrix, strict=True)]


def shifted(matrix: Matrix, rows: list[int], cols: list[int]) -> Matrix:
    return transposed(rotated(transposed(rotated(matrix, rows)), cols))


def sign(by: int, back: str, forth: str) -> str:
    """What shows a shift, with its distance; nothing for none."""
    return f"{forth if by > 0 else back}{abs(by)}" if by else ""


def padded(matrix: Matrix) -> np.ndarray:
    return np.pad(np.array(matrix), (0, 6 - len(matrix)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their matrices, the shifts of rows and columns, and what comes out."""
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    matrices = states.digits[:, :n, :n].tolist()
    shifts = states.shifts[:, :, :n].tolist()
    goals = [shifted(matrix, *both) for matrix, both in zip(matrices, shifts, strict=True)]
    return states, matrices, shifts, goals


def test_every_instance_is_in_range_and_they_differ(batch):
    states, matrices, _, goals = batch
    n = len(matrices[0])
    scale = SIDES.index(n)
    far = FARTHEST[scale]
    assert ((states.shifts != 0).sum((1, 2)) == COUNTS[scale]).all()
    assert not states.shifts[:, :, n:].any()
    values, counts = np.unique(states.shifts[states.shifts != 0], return_counts=True)
    assert values.tolist() == [*range(-far, 0), *range(1, far + 1)]
    assert counts.min() > 0.8 * counts.mean()
    lines = (states.shifts != 0).mean(0)[:, :n]
    assert np.allclose(lines, COUNTS[scale] / (2 * n), atol=0.05)
    assert set(np.unique(matrices)) == set(range(10))
    assert play.distinct(states) > 1990
    assert np.mean([goal != matrix for goal, matrix in zip(goals, matrices, strict=True)]) > 0.97


def test_expert_is_the_shifted_matrix_and_is_a_success(batch):
    states, _, _, goals = batch
    actions = np.stack([padded(goal) for goal in goals])
    np.testing.assert_array_equal(play.experts(ENV, states), actions)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share_of_the_cells_in_shifted_lines(batch):
    states, matrices, shifts, goals = batch
    rng = np.random.default_rng(0)
    tries = [
        np.where(rng.random(np.shape(goal)) < rng.choice([0, 0.1, 0.5, 1]), matrix, goal)
        for matrix, goal in zip(matrices, goals, strict=True)
    ]
    legal, reward = play.judge(ENV, states, np.stack([padded(tried.tolist()) for tried in tries]))
    assert legal.all()
    for (rows, cols), goal, tried, paid in zip(shifts, goals, tries, reward, strict=True):
        right = [
            tried[r, c] == goal[r][c]
            for r, row in enumerate(rows)
            for c, col in enumerate(cols)
            if row or col
        ]
        assert paid == pytest.approx(1 if tried.tolist() == goal else np.mean(right) / 2)


def test_another_order_is_wrong(batch):
    """Columns before rows give another matrix when two shifted lines cross."""
    states, matrices, shifts, goals = batch
    columns_first = [
        rotated(transposed(rotated(transposed(matrix), cols)), rows)
        for matrix, (rows, cols) in zip(matrices, shifts, strict=True)
    ]
    _, reward = play.judge(ENV, states, np.stack([padded(matrix) for matrix in columns_first]))
    same = [matrix == goal for matrix, goal in zip(columns_first, goals, strict=True)]
    np.testing.assert_array_equal(reward == 1, same)
    assert np.mean(same) < {3: 1.1, 4: 0.6, 6: 0.2}[len(matrices[0])]


def test_another_size_is_illegal(batch):
    states, matrices, _, _ = batch
    for size in {*range(1, 7)} - {len(matrices[0])}:
        action = np.broadcast_to(padded([[0] * size] * size), (len(matrices), 6, 6))
        assert not play.judge(ENV, states, action)[0].any()


def test_picture_and_text_show_the_instance(batch):
    states, matrices, shifts, _ = batch
    some = play.first(states, 50)
    n = len(matrices[0])
    for matrix, (rows, cols), picture, words in zip(
        matrices, shifts, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        (corner, *top), *lines = [[play.layers(name) for name in row[: n + 1]] for row in picture[: n + 1]]
        assert corner == {"slot": ""}
        assert [cell.get("shift", "") for cell in top] == [sign(col, "up-", "down-") for col in cols]
        left = [line[0].get("shift", "") for line in lines]
        assert left == [sign(row, "left-", "right-") for row in rows]
        assert [[int(cell["glyph"]) for cell in line[1:]] for line in lines] == matrix
        assert words.split("\n") == [
            f"rows {', '.join(sign(row, 'left ', 'right ') or '0' for row in rows)}",
            f"columns {', '.join(sign(col, 'up ', 'down ') or '0' for col in cols)}",
            *("".join(map(str, row)) for row in matrix),
        ]


def test_answers_in_lines(batch):
    states, _, _, goals = batch
    some = play.first(states, play.SOME)
    replies = ["\n".join("".join(map(str, row)) for row in goal) for goal in goals[: play.SOME]]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
