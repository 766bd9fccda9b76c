"""snake against plain-Python rules on a list of cells."""

import itertools

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("snake")[0]
SIDES, LENGTHS = (6, 8, 10), (5, 8, 13)
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
TURNS, COUNT = 44, 64
Cell = tuple[int, int]


def cells(body: np.ndarray) -> list[Cell]:
    """From the tail to the head."""
    return [tuple(np.argwhere(body == age)[0].tolist()) for age in range(1, body.max() + 1)]


def turn(snake: list[Cell], apple: Cell, n: int, moves: list[int]) -> tuple[list[Cell], bool, bool]:
    """The snake after the moves, whether it ate, whether it died (then it is as before the fatal move)."""
    for move in moves:
        if move < 0:
            break
        to = snake[-1][0] + STEPS[move][0], snake[-1][1] + STEPS[move][1]
        rest = snake if to == apple else snake[1:]
        if to in rest or min(to) < 0 or max(to) >= n:
            return snake, False, True
        snake = [*rest, to]
        if to == apple:
            return snake, True, False
    return snake, False, False


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def test_instances_are_straight_snakes_anywhere(batch):
    scale, states = batch
    n = SIDES[scale]
    headings, heads = set(), set()
    for body, apple in zip(states.body, states.apple.tolist(), strict=True):
        assert body[n:].sum() == body[:, n:].sum() == 0
        snake = cells(body)
        steps = {(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(snake)}
        assert len(snake) == 3
        assert len(steps) == 1
        assert tuple(apple) not in snake
        assert max(apple) < n
        headings |= steps
        heads.add(snake[-1])
    assert headings == set(STEPS)
    assert len(heads) == n * n
    assert (states.wanted == LENGTHS[scale]).all()


def test_words_and_picture_show_the_snake(batch):
    scale, states = batch
    n = SIDES[scale]
    some = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 1.0).states[5]
    shown = zip(
        some.body, some.apple.tolist(), play.observations(ENV, some), play.tiles(ENV, some), strict=True
    )
    for body, apple, words, picture in shown:
        snake = cells(body)
        expected = [["."] * n for _ in range(n)]
        expected[apple[0]][apple[1]] = "A"
        for row, col in snake:
            expected[row][col] = "o"
        expected[snake[0][0]][snake[0][1]] = "t"
        expected[snake[-1][0]][snake[-1][1]] = "H"
        assert [line.split(" ") for line in words.split("\n")] == expected
        # Follow the joints from the head to the tail.
        at, came, found = snake[-1], None, []
        while at is not None:
            found.append(at)
            name = play.layers(picture[at[0]][at[1]])
            assert ("face" in name) == (len(found) == 1)
            sides = [move for move, bit in enumerate((1, 4, 8, 2)) if int(name["snake"]) & bit]
            onward = [move for move in sides if came is None or move != came ^ 1]
            assert len(onward) <= 1
            came = onward[0] if onward else None
            at = None if came is None else (at[0] + STEPS[came][0], at[1] + STEPS[came][1])
        assert found == snake[::-1]


@pytest.mark.parametrize("share", [0.0, 0.8, 1.0])
def test_moves_follow_the_rules(batch, share):
    scale, states = batch
    n = SIDES[scale]
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, eaten, died = played.length(), 0, 0
    for i in range(COUNT):
        for t in range(min(TURNS, lengths[i])):
            before, after = (rollouts.one(played.states[at], i) for at in (t, t + 1))
            snake, ate, dead = turn(
                cells(before.body), tuple(before.apple.tolist()), n, played.actions[t, i].tolist()
            )
            assert cells(after.body) == snake
            apple = tuple(after.apple.tolist())
            assert (apple != tuple(before.apple.tolist())) == ate
            assert apple not in snake
            assert max(apple) < n
            reached = len(snake) == LENGTHS[scale]
            assert played.rewards[t, i] == reached
            assert played.terminated[t, i] == (reached or dead)
            eaten, died = eaten + ate, died + dead
    assert eaten > 0
    assert died > 0 or share == 1.0
    if share == 1.0:
        won = (played.rewards.sum(0) == 1) & (lengths <= ENV.max_turns[scale])
        assert won.mean() >= ENV.expert_success[scale]


def shortest(snake: list[Cell], apple: Cell, n: int) -> int | None:
    """Steps to the apple around the snake as it lies."""
    reached, frontier, steps = {snake[-1]}, {snake[-1]}, 0
    blocked = set(snake[1:])
    while frontier and apple not in frontier:
        onward = {(r + dr, c + dc) for r, c in frontier for dr, dc in STEPS}
        frontier = {cell for cell in onward - reached - blocked if min(cell) >= 0 and max(cell) < n}
        reached |= frontier
        steps += 1
    return steps if frontier else None


def test_the_expert_goes_the_shortest_way(batch):
    """At the start nothing is in the way for long: the first turn is the beginning of a shortest way."""
    scale, states = batch
    n = SIDES[scale]
    some = play.first(states, COUNT)
    for i, moves in enumerate(play.experts(ENV, some)):
        snake, apple = cells(some.body[i]), tuple(some.apple[i].tolist())
        way = shortest(snake, apple, n)
        after, ate, dead = turn(snake, apple, n, moves.tolist())
        assert not dead
        count = int((moves >= 0).sum())
        if way <= 4:
            assert ate
            assert count <= way
        else:
            assert count == 4
            assert shortest(after, apple, n) <= way - 4
