"""langton_ant against an ant of complex numbers in plain Python."""

import itertools

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("langton_ant")[0]
SIDES, FEWEST, MOST = (5, 7, 9), (2, 6, 15), (4, 10, 24)
NAMES = {1: "right", -1j: "down", -1: "left", 1j: "up"}
Place = tuple[int, int, str]  # row and column from 0, heading


def walked(black: set[complex], cell: complex, way: complex, steps: int, n: int | None) -> list[Place]:
    """Where the ant stands after each of the steps; the edges touch if the board has a side."""
    black, places = set(black), []
    for _ in range(steps):
        way *= 1j if cell in black else -1j
        black ^= {cell}
        cell += way
        if n:
            cell = complex(cell.real % n, cell.imag % n)
        places.append((int(-cell.imag % n if n else -cell.imag), int(cell.real), NAMES[way]))
    return places


def at(row: int, col: int, n: int) -> complex:
    return complex(col, -row % n)


def words(place: Place) -> str:
    return f"{place[0] + 1} {place[1] + 1} {place[2]}"


def action(row: int, col: int, heading: str) -> list[int]:
    return [row, col, 9 + list(NAMES.values()).index(heading)]


def test_the_reference_builds_the_highway():
    """On an empty plane the ant repeats itself every 104 steps after about 10,000."""
    places = walked(set(), 0, 1j, 10_800, None)
    moves = [(places[k][0] - places[k - 104][0], places[k][1] - places[k - 104][1]) for k in (-1, -7, -300)]
    assert len(set(moves)) == 1
    assert {abs(change) for change in moves[0]} == {2}


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their black cells, and the ant's places along its way from the first on."""
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    assert not states.black[:, n:].any()
    assert not states.black[:, :, n:].any()
    blacks = [[(int(r), int(c)) for r, c in np.argwhere(black)] for black in states.black]
    ways = []
    for black, (row, col), heading, steps in zip(
        blacks, states.cell.tolist(), states.heading.tolist(), states.steps.tolist(), strict=True
    ):
        name = list(NAMES.values())[heading]
        cells, way = {at(r, c, n) for r, c in black}, list(NAMES)[heading]
        ways.append([(row, col, name), *walked(cells, at(row, col, n), way, steps, n)])
    return states, blacks, ways


def test_every_instance_is_in_range_and_they_differ(batch):
    states, blacks, ways = batch
    scale = SIDES.index(int(states.side[0]))
    n = SIDES[scale]
    assert set(np.unique(states.steps)) == set(range(FEWEST[scale], MOST[scale] + 1))
    starts = {(row, col) for (row, col, _), *_ in ways}
    assert starts == set(itertools.product(range(n // 2 - 1, n // 2 + 2), repeat=2))
    assert {heading for (_, _, heading), *_ in ways} == set(NAMES.values())
    assert np.mean([len(black) for black in blacks]) == pytest.approx(n * n / 2, rel=0.02)
    assert play.distinct(states) > 1990
    crossings = [any(abs(a[0] - b[0]) > 1 for a, b in itertools.pairwise(way)) for way in ways]
    assert np.mean(crossings) > (0.01 if n < 9 else 0.1)


def test_expert_is_the_last_place_and_is_a_success(batch):
    states, _, ways = batch
    goals = np.array([action(*way[-1]) for way in ways])
    np.testing.assert_array_equal(play.experts(ENV, states), goals)
    legal, reward = play.judge(ENV, states, goals)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share(batch):
    """Places on the way, the last among them."""
    states, _, ways = batch
    rng = np.random.default_rng(0)
    tries = [way[-rng.integers(1, len(way) + 1)] for way in ways]
    legal, reward = play.judge(ENV, states, np.array([action(*tried) for tried in tries]))
    assert legal.all()
    for way, tried, paid in zip(ways, tries, reward, strict=True):
        share = np.mean([a == b for a, b in zip(way[-1], tried, strict=True)])
        assert paid == pytest.approx(1 if share == 1 else share / 2)
    assert len(set(np.round(reward, 3).tolist())) == 4


def test_what_is_no_place_is_illegal(batch):
    states, _, ways = batch
    n = int(states.side[0])
    wrongs = [[0, 1, -1], [0, -1, -1], [9, 0, 1], [0, 9, 9], [1, 1, 8], [n, 0, 9], [0, n, 9]]
    for wrong in wrongs:
        assert not play.judge(ENV, states, np.broadcast_to(wrong, (len(ways), 3)))[0].any()


def test_picture_and_text_show_the_instance(batch):
    states, blacks, ways = batch
    some = play.first(states, 50)
    n = int(states.side[0])
    for black, way, steps, picture, told in zip(
        blacks, ways, some.steps, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        row, col, heading = way[0]
        assert picture[0][:2] == ["header forward", f"header glyph:{steps}"]
        cells = {(r, c): play.layers(picture[r + 1][c]) for r in range(n) for c in range(n)}
        assert sorted(place for place, cell in cells.items() if cell.get("coloured") == "black") == black
        arrow = {place: cell["arrow"] for place, cell in cells.items() if "arrow" in cell}
        assert arrow == {(row, col): str(list(NAMES.values()).index(heading))}
        lines = ["".join(".#"[(r, c) in black] for c in range(n)) for r in range(n)]
        assert told.split("\n") == [
            f"steps {steps}",
            f"ant row {row + 1} column {col + 1}, {heading}",
            *lines,
        ]


def test_answers_in_words(batch):
    states, _, ways = batch
    some = play.first(states, play.SOME)
    verdict, reward = play.read(ENV, some, [words(way[-1]) for way in ways[: play.SOME]])
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
    verdict, reward = play.read(ENV, some, [words(way[-2]) for way in ways[: play.SOME]])
    assert (verdict == answers.ACCEPTED).all()
    assert not (reward == 1).any()
