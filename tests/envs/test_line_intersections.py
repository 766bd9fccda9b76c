"""line_intersections against exact intersection of all segments, and its own pictures."""

import itertools
from fractions import Fraction

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers
from jaxenv.render import palette

ENV = jaxenv.make("line_intersections")[0]
SEGMENTS = (2, 5, 9)
Point = tuple[int, int]


def meet(a: Point, b: Point, c: Point, d: Point) -> tuple[Fraction, Fraction] | None:
    """The point that two segments share, if any; they are not parallel where they touch."""
    across = (b[0] - a[0]) * (d[1] - c[1]) - (b[1] - a[1]) * (d[0] - c[0])
    if across == 0:
        return None
    first = Fraction((c[0] - a[0]) * (d[1] - c[1]) - (c[1] - a[1]) * (d[0] - c[0]), across)
    second = Fraction((c[0] - a[0]) * (b[1] - a[1]) - (c[1] - a[1]) * (b[0] - a[0]), across)
    if not (0 <= first <= 1 and 0 <= second <= 1):
        return None
    return a[0] + first * (b[0] - a[0]), a[1] + first * (b[1] - a[1])


def meetings(knots: list[tuple[int, int]]) -> set[tuple[Fraction, Fraction]]:
    red, blue = ([(at, pair[side]) for at, pair in enumerate(knots)] for side in (0, 1))
    pairs = itertools.product(itertools.pairwise(red), itertools.pairwise(blue))
    return {point for one, other in pairs if (point := meet(*one, *other))}


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    knots = [
        [tuple(map(int, line.split(" "))) for line in words.split("\n")]
        for words in play.observations(ENV, states)
    ]
    return request.param, states, knots, list(map(meetings, knots))


def test_lines_cross_between_their_bends_any_number_of_times(batch):
    scale, states, all_knots, crossings = batch
    segments = SEGMENTS[scale]
    for knots, points in zip(all_knots, crossings, strict=True):
        assert len(knots) == segments + 1
        assert all(abs(red - blue) >= 3 and {red, blue} <= set(range(9)) for red, blue in knots)
        for x, _ in points:
            assert Fraction(1, 4) <= x % 1 <= Fraction(3, 4)
    counts = np.bincount([len(points) for points in crossings], minlength=segments + 1)
    np.testing.assert_allclose(counts / len(crossings), 1 / (segments + 1), atol=0.04)
    assert play.distinct(states) > (1850, 1990, 1990)[scale]


def test_only_the_number_of_crossings_pays(batch):
    _, states, _, crossings = batch
    counts = np.array([len(points) for points in crossings])
    np.testing.assert_array_equal(play.experts(ENV, states)[:, 0], counts)
    for change in (0, 1, 4):
        legal, reward = play.judge(ENV, states, (counts + change)[:, None])
        assert legal.all()
        assert (reward == (change == 0)).all()
    verdict, reward = play.read(ENV, play.first(states, 3), [str(counts[0]), "10", "two"])
    assert verdict.tolist() == [answers.ACCEPTED, answers.NOT_IN_GRAMMAR, answers.NOT_IN_GRAMMAR]
    assert reward.tolist() == [1, 0, 0]


@pytest.mark.parametrize("canvas", [96, 256])
def test_both_lines_are_seen_through_all_columns(batch, canvas):
    """Their order where they bend, as it is in the picture, gives the number of crossings."""
    scale, _, all_knots, crossings = batch
    images = play.pictures(ENV, play.first(batch[1], 40), canvas)
    margin = canvas // 16
    for image, knots, points in zip(images, all_knots, crossings, strict=False):
        inked = [(image == palette.rgb(colour)).all(-1) for colour in ("red", "blue")]
        assert all(ink[:, margin : canvas - margin].any(0).all() for ink in inked[1:])
        order = []
        for at, levels in enumerate(knots):
            x = margin + at * (canvas - 2 * margin) // SEGMENTS[scale]
            depths = [np.flatnonzero(ink[:, x]).mean() for ink in inked]
            for depth, level in zip(depths, levels, strict=True):
                assert abs(depth - margin - level * (canvas - 2 * margin) / 8) < canvas / 18
            order.append(depths[0] < depths[1])
        assert sum(a != b for a, b in itertools.pairwise(order)) == len(points)
