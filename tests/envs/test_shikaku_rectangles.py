"""shikaku_rectangles against sets of cells and a plain-Python solver."""

import itertools
from collections.abc import Iterator

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("shikaku_rectangles")[0]
SIDES, COUNTS = (4, 6, 8), (5, 9, 14)
Box = tuple[int, int, int, int]  # first row, first column, last row, last column, counted from 1
Cells = frozenset[tuple[int, int]]


def cells(box: Box) -> Cells:
    top, left, bottom, right = box
    return frozenset(itertools.product(range(top, bottom + 1), range(left, right + 1)))


def clues(numbers: np.ndarray) -> dict[tuple[int, int], int]:
    return {(r + 1, c + 1): int(numbers[r, c]) for r, c in np.argwhere(numbers)}


def right_boxes(puzzle: dict[tuple[int, int], int], boxes: list[Box]) -> int:
    """How many boxes have one number, their area, and share no cell with another."""
    areas = [cells(box) for box in boxes]
    return sum(
        [puzzle[cell] for cell in area if cell in puzzle] == [len(area)]
        and not any(area & other for at, other in enumerate(areas) if at != number)
        for number, area in enumerate(areas)
    )


def cuts(puzzle: dict[tuple[int, int], int], n: int) -> Iterator[list[Box]]:
    """All solutions: the first free cell is the top left of the next box."""

    def extend(boxes: list[Box], free: Cells) -> Iterator[list[Box]]:
        if not free:
            yield boxes
            return
        top, left = min(free)
        for bottom, right in itertools.product(range(top, n + 1), range(left, n + 1)):
            box = (top, left, bottom, right)
            area = cells(box)
            if area <= free and [puzzle[cell] for cell in area if cell in puzzle] == [len(area)]:
                yield from extend([*boxes, box], free - area)

    return extend([], cells((1, 1, n, n)))


def flat(boxes: list[Box]) -> np.ndarray:
    numbers = [number for box in boxes for number in box]
    return np.array(numbers + [-1] * (56 - len(numbers)))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their numbers, the planted boxes and the side."""
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    planted = states.boxes + np.array([1, 1, 0, 0])
    assert not states.boxes[:, COUNTS[request.param] :].any()
    boxes = [[tuple(box) for box in rows] for rows in planted[:, : COUNTS[request.param]].tolist()]
    return states, [clues(numbers) for numbers in states.numbers], boxes, n


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles, planted, n = batch
    for puzzle, boxes in zip(puzzles, planted, strict=True):
        assert set().union(*map(cells, boxes)) == cells((1, 1, n, n))
        assert len(puzzle) == len(boxes) == right_boxes(puzzle, boxes)
        assert 2 <= min(puzzle.values()) <= max(puzzle.values()) <= 16
    shapes = {(b - t, r - left) for boxes in planted for t, left, b, r in boxes}
    assert len(shapes) > {4: 8, 6: 12, 8: 14}[n]
    assert len(np.unique(states.numbers, axis=0)) > (1000 if n == 4 else 1990)


def test_expert_is_a_success(batch):
    states, _, planted, _ = batch
    actions = play.experts(ENV, states)
    np.testing.assert_array_equal(actions, np.stack([flat(boxes) for boxes in planted]))
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_solution_counts(batch):
    states, puzzles, planted, n = batch
    several = 0
    tries = list(planted)
    for at, puzzle in enumerate(puzzles[: 0 if n == 8 else 200]):
        ways = [set(boxes) for boxes in itertools.islice(cuts(puzzle, n), 50)]
        assert set(planted[at]) in ways or len(ways) == 50
        others = [way for way in ways if way != set(planted[at])]
        several += bool(others)
        tries[at] = sorted(others[0], reverse=True) if others else tries[at]
    assert several > {4: 20, 6: 20, 8: -1}[n]
    legal, reward = play.judge(ENV, states, np.stack([flat(boxes) for boxes in tries]))
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_cut(batch):
    """Boxes in another order, some left out, doubled or moved at one side."""
    states, puzzles, planted, n = batch
    rng = np.random.default_rng(0)
    tries = []
    for boxes in planted:
        tried = [boxes[at] for at in rng.permutation(len(boxes))]
        for _ in range(rng.integers(3)):
            at, side, line = rng.integers([len(tried), 4, n])
            box = list(tried[at])
            box[side] = line + 1
            tried[at] = (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3]))
        if rng.random() < 0.2:
            tried.pop()
        elif rng.random() < 0.2 and n < 8:
            tried.append(tried[0])
        tries.append(tried)
    legal, reward = play.judge(ENV, states, np.stack([flat(tried) for tried in tries]))
    assert legal.all()
    assert 0.05 < (reward == 1).mean() < 0.9
    for puzzle, tried, paid in zip(puzzles, tries, reward, strict=True):
        share = right_boxes(puzzle, tried) / len(puzzle)
        solved = share == 1 and set().union(*map(cells, tried)) == cells((1, 1, n, n))
        assert paid == pytest.approx(1 if solved else share / 2)


def test_what_is_no_list_of_boxes_is_illegal(batch):
    states, _, planted, n = batch
    right = np.stack([flat(boxes) for boxes in planted])
    cut_off = np.where(np.arange(56) < 4 * len(planted[0]) - 1, right, -1)
    outside, low, swapped = right.copy(), right.copy(), right.copy()
    outside[:, 3] = n + 1
    low[:, 0] = 0
    swapped[:, :4] = [2, 1, 1, 3]
    for wrong in (cut_off, outside, low, swapped):
        assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_numbers(batch):
    states, puzzles, _, n = batch
    some = play.first(states, 50)
    for puzzle, picture, words in zip(
        puzzles, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        shown = [[play.layers(name) for name in row[:n]] for row in picture[:n]]
        assert all(("given" in name) == ("glyph" in name) for row in shown for name in row)
        grid = [[int(name.get("glyph", 0)) for name in row] for row in shown]
        assert clues(np.array(grid)) == puzzle
        assert words == "\n".join(" ".join(str(number or ".") for number in row) for row in grid)


def test_answers_in_words(batch):
    states, _, planted, _ = batch
    some = play.first(states, play.SOME)
    replies = ["\n".join(" ".join(map(str, box)) for box in boxes) for boxes in planted[: play.SOME]]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
    verdict, _ = play.read(ENV, some, [reply.replace(" ", " - ") for reply in replies], capacity=400)
    assert (verdict == answers.NOT_IN_GRAMMAR).all()
