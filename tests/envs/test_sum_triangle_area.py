"""sum_triangle_area against Pick's theorem, which counts lattice points, and its own picture."""

import itertools
import math

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers
from jaxenv.render import palette

ENV = jaxenv.make("sum_triangle_area")[0]
SIDES, COUNTS = (6, 7, 9), (3, 4, 6)
Point = tuple[int, int]
PAPER = list(itertools.product(range(9), repeat=2))


def side_of(a: Point, b: Point, p: Point) -> int:
    """Which side of the line from a to b the point is on: -1, 0 or 1."""
    turn = (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
    return (turn > 0) - (turn < 0)


def double_area(a: Point, b: Point, c: Point) -> int:
    """Twice the inner lattice points plus those on the edges less 2 (Pick)."""
    if side_of(a, b, c) == 0:
        return 0
    inner = sum(side_of(a, b, p) == side_of(b, c, p) == side_of(c, a, p) != 0 for p in PAPER)
    edges = sum(math.gcd(p[0] - q[0], p[1] - q[1]) for p, q in ((a, b), (b, c), (c, a)))
    return 2 * inner + edges - 2


def read_text(words: str) -> list[Point]:
    return [tuple(map(int, line.split(" "))) for line in words.split("\n")]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_text(words) for words in play.observations(ENV, states)]


def test_points_lie_apart_on_the_paper_and_differ(batch):
    scale, _, instances = batch
    for points in instances:
        assert len(set(points)) == len(points) == COUNTS[scale]
        assert all(0 <= at < SIDES[scale] for point in points for at in point)
    assert len({tuple(sorted(points)) for points in instances}) > (1700, 1950, 1999)[scale]
    for axis in range(2):
        places = np.array(instances)[..., axis]
        np.testing.assert_allclose(np.bincount(places.ravel()) / places.size, 1 / SIDES[scale], atol=0.03)


def test_only_twice_the_sum_pays(batch):
    _, states, instances = batch
    few = play.first(states, play.SOME)
    sums = np.array(
        [
            sum(double_area(*three) for three in itertools.combinations(points, 3))
            for points in instances[: play.SOME]
        ]
    )
    np.testing.assert_array_equal(play.experts(ENV, few)[:, 0], sums)
    assert sums.max() <= ENV.grammar.high
    for replies, right in ((sums, True), (sums + 1, False), (sums // 2, False)):
        verdict, reward = play.read(ENV, few, [str(reply) for reply in replies])
        assert (verdict == answers.ACCEPTED).all()
        assert (reward == (right | ((sums == 0) & (replies == 0)))).all()


def test_the_expert_is_right_for_all(batch):
    _, states, instances = batch
    sums = play.experts(ENV, states)
    x, y = np.array(instances).transpose(2, 0, 1).astype(float)
    wanted = sum(
        np.abs(np.linalg.det(np.stack([x[:, three], y[:, three], np.ones_like(x[:, three])], axis=1)))
        for three in map(list, itertools.combinations(range(x.shape[1]), 3))
    )
    np.testing.assert_allclose(sums[:, 0], wanted, atol=1e-6)
    legal, reward = play.judge(ENV, states, sums)
    assert legal.all()
    assert (reward == 1).all()


def test_the_axes_are_labelled(batch):
    scale, states, instances = batch
    n = SIDES[scale]
    for points, picture in zip(instances, play.tiles(ENV, play.first(states, play.SOME)), strict=False):
        names = [[play.layers(name) for name in row[: n + 1]] for row in picture[: n + 1]]
        ys = [int(row[0]["glyph"]) for row in names[:-1]]
        xs = [int(name["glyph"]) for name in names[-1][1:]]
        assert ys == list(range(n))[::-1]
        assert xs == list(range(n))
        assert "glyph" not in names[-1][0]
        seen = {
            (x, y)
            for y, row in zip(ys, names, strict=False)
            for x, name in zip(xs, row[1:], strict=True)
            if "spot" in name
        }
        assert seen == set(points)


@pytest.mark.parametrize("canvas", [96, 256])
def test_points_are_red_where_lines_cross(batch, canvas):
    scale, states, instances = batch
    n = SIDES[scale]
    cell = canvas // (n + 1)
    margin = (canvas - cell * (n + 1)) // 2
    at = margin + (cell - 1) // 2
    for points, image in zip(instances, play.pictures(ENV, play.first(states, 20), canvas), strict=False):
        for x, y in itertools.product(range(n), repeat=2):
            middle = image[at + (n - 1 - y) * cell, at + (x + 1) * cell]
            assert (middle == palette.rgb("sign" if (x, y) in points else "line")).all()
