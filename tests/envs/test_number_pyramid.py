"""number_pyramid against linear equations and sums in plain Python."""

import math

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers
from jaxenv.render import palette
from jaxenv.render.tiles import paint

ENV = jaxenv.make("number_pyramid")[0]
ROWS, HIGHS = (3, 4, 6), (9, 9, 6)
Pyramid = list[list[int]]  # from the top


def triangle(square: np.ndarray, n: int) -> Pyramid:
    return [row[: r + 1] for r, row in enumerate(square[:n].tolist())]


def built(base: list[int]) -> Pyramid:
    levels = [base]
    while len(levels[0]) > 1:
        levels.insert(0, [a + b for a, b in zip(levels[0], levels[0][1:], strict=False)])
    return levels


def missing(given: Pyramid, solution: Pyramid) -> list[int]:
    return [
        number
        for shown, row in zip(given, solution, strict=True)
        for known, number in zip(shown, row, strict=True)
        if not known
    ]


def flat(numbers: list[int]) -> np.ndarray:
    return np.array(numbers + [-1] * (15 - len(numbers)))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, what is given and the whole pyramids."""
    n = ROWS[request.param]
    states = play.instances(ENV, request.param)
    assert (states.rows == n).all()
    return (
        states,
        [triangle(given, n) for given in states.given],
        [triangle(square, n) for square in states.solution],
    )


def test_every_instance_has_one_solution_and_they_differ(batch):
    states, givens, solutions = batch
    n = len(givens[0])
    for given, solution in zip(givens, solutions, strict=True):
        assert solution == built(solution[-1])
        known = [(r, c) for r in range(n) for c in range(r + 1) if given[r][c]]
        # A brick holds each number of the base as often as there are ways down to it.
        ways = [[math.comb(n - 1 - r, at - c) if at >= c else 0 for at in range(n)] for r, c in known]
        base = np.linalg.solve(np.array(ways), [given[r][c] for r, c in known])
        assert len(known) == n
        np.testing.assert_allclose(base, solution[-1], atol=1e-6)
    bases = np.array([solution[-1] for solution in solutions])
    assert (bases.min(), bases.max()) == (1, HIGHS[ROWS.index(n)])
    outside = np.ones((6, 6), bool)
    outside[:n] = np.arange(6) > np.arange(n)[:, None]
    assert not states.solution[:, outside].any()
    assert len({str(given) for given in givens}) > {3: 1000, 4: 1900, 6: 1990}[n]


def test_expert_is_a_success(batch):
    states, givens, solutions = batch
    goals = np.stack([flat(missing(*both)) for both in zip(givens, solutions, strict=True)])
    np.testing.assert_array_equal(play.experts(ENV, states), goals)
    legal, reward = play.judge(ENV, states, goals)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share(batch):
    states, givens, solutions = batch
    rng = np.random.default_rng(0)
    goals = np.stack([flat(missing(*both)) for both in zip(givens, solutions, strict=True)])
    spoilt = rng.random(goals.shape) < rng.choice([0, 0.1, 0.5, 1], (len(goals), 1))
    tries = np.where(spoilt & (goals >= 0), rng.integers(0, 193, goals.shape), goals)
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    for goal, tried, paid in zip(goals, tries, reward, strict=True):
        share = (tried == goal)[goal >= 0].mean()
        assert paid == pytest.approx(1 if share == 1 else share / 2)


def test_another_count_is_illegal(batch):
    states, givens, _ = batch
    n = len(givens[0])
    for count in {*range(1, 16)} - {n * (n - 1) // 2}:
        action = np.broadcast_to(flat([5] * count), (len(givens), 15))
        assert not play.judge(ENV, states, action)[0].any()


def test_text_shows_the_givens(batch):
    states, givens, _ = batch
    for given, words in zip(givens, play.observations(ENV, play.first(states, 50)), strict=False):
        assert words == "\n".join(" ".join(str(number or "?") for number in row) for row in given)


@pytest.mark.parametrize("canvas", [96, 256])
def test_picture_shows_the_bricks(batch, canvas):
    states, givens, _ = batch
    n = len(givens[0])
    size = canvas // n
    top = (canvas - n * size) // 2
    for given, image in zip(givens, play.pictures(ENV, play.first(states, 20), canvas), strict=False):
        left_over = image.copy()
        for r, row in enumerate(given):
            left = (canvas - (r + 1) * size) // 2
            for c, number in enumerate(row):
                place = slice(top + r * size, None), slice(left + c * size, None)
                brick = image[place][:size, :size]
                np.testing.assert_array_equal(brick, paint(f"wood:{number}" if number else "paper", size))
                left_over[place][:size, :size] = palette.rgb("backdrop")
        assert (left_over == palette.rgb("backdrop")).all()


def test_answers_in_words(batch):
    states, givens, solutions = batch
    some = play.first(states, play.SOME)
    replies = [", ".join(map(str, missing(*both))) for both in zip(givens, solutions, strict=True)]
    verdict, reward = play.read(ENV, some, replies[: play.SOME])
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
