"""submatrix_sum against plain Python, which reads the picture and the words."""

import re

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("submatrix_sum")[0]
SIDES, LONGEST = (4, 6, 9), (3, 4, 5)


def read_words(observation: str) -> tuple[list[int], list[list[int]]]:
    """The corners (counted from 1: top, bottom, left, right) and the digits."""
    title, *lines = observation.split("\n")
    corners = re.fullmatch(r"rows (\d) to (\d), columns (\d) to (\d)", title)
    assert corners
    return [int(number) for number in corners.groups()], [[int(digit) for digit in line] for line in lines]


def add_up(corners: list[int], matrix: list[list[int]]) -> int:
    top, bottom, left, right = corners
    return sum(sum(row[left - 1 : right]) for row in matrix[top - 1 : bottom])


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The scale, the states, what the words say, and the sums."""
    states = play.instances(ENV, request.param)
    said = [read_words(words) for words in play.observations(ENV, states)]
    return request.param, states, said, np.array([add_up(*one) for one in said])


def test_every_rectangle_lies_on_the_board_and_all_sizes_occur(batch):
    scale, states, said, _ = batch
    n, longest = SIDES[scale], LONGEST[scale]
    sizes, tops, lefts = set(), set(), set()
    for (top, bottom, left, right), matrix in said:
        assert [len(row) for row in matrix] == [n] * n
        assert 1 <= top <= bottom <= n
        assert 1 <= left <= right <= n
        sizes.add((bottom - top + 1, right - left + 1))
        tops.add(top)
        lefts.add(left)
    assert sizes == {(height, width) for height in range(2, longest + 1) for width in range(2, longest + 1)}
    assert tops == lefts == set(range(1, n))
    assert play.distinct(states) > 1990


def test_only_the_sum_pays(batch):
    _, states, _, sums = batch
    np.testing.assert_array_equal(play.experts(ENV, states)[:, 0], sums)
    for change in (-1, 0, 1, 9):
        legal, reward = play.judge(ENV, states, (sums + change)[:, None])
        assert legal.all()
        assert (reward == (change == 0)).all()


def test_picture_shows_the_digits_and_the_rectangle(batch):
    scale, states, said, _ = batch
    n = SIDES[scale]
    for ((top, bottom, left, right), matrix), picture in zip(
        said, play.tiles(ENV, play.first(states, 50)), strict=False
    ):
        for row, col in np.ndindex(n, n):
            marked = top <= row + 1 <= bottom and left <= col + 1 <= right
            assert picture[row][col] == f"{'marked' if marked else 'paper'} glyph:{matrix[row][col]}"


def test_a_reply_is_one_number(batch):
    _, states, _, sums = batch
    replies = [
        ("{0}", " {0}\n", "{0}.", "{0} 1", "{0}a", "")[n % 6].format(sums[n]) for n in range(play.SOME)
    ]
    verdict, reward = play.read(ENV, play.first(states, play.SOME), replies)
    good = np.arange(play.SOME) % 6 < 2
    np.testing.assert_array_equal(verdict == answers.ACCEPTED, good)
    np.testing.assert_array_equal(reward == 1, good)
