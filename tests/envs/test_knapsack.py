"""knapsack against a table over capacities in plain Python, and its picture against its words."""

import numpy as np
import play
import pytest

import jaxenv

ENV = jaxenv.make("knapsack")[0]
SIZES, HIGHS = (4, 8, 12), (9, 12, 15)
LETTERS = "ABCDEFGHIJKL"
Problem = tuple[list[int], list[int], int]


def read_text(words: str) -> Problem:
    weights, values, sack = words.split("\n")
    return (
        [int(number) for number in weights.removeprefix("weights ").split()],
        [int(number) for number in values.removeprefix("values ").split()],
        int(sack.removeprefix("the sack holds ")),
    )


def best_value(problem: Problem) -> int:
    """By the most that fits in each capacity."""
    weights, values, capacity = problem
    most = [0] * (capacity + 1)
    for weight, value in zip(weights, values, strict=True):
        for room in range(capacity, weight - 1, -1):
            most[room] = max(most[room], most[room - weight] + value)
    return most[capacity]


def worth(problem: Problem, items: list[int]) -> int:
    weights, values, capacity = problem
    return sum(values[i] for i in items) if sum(weights[i] for i in items) <= capacity else 0


def action_of(items: list[int]) -> np.ndarray:
    return np.pad(items, (0, 12 - len(items)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    problems = [read_text(words) for words in play.observations(ENV, states)]
    return request.param, states, problems, [best_value(problem) for problem in problems]


def test_problems_differ_and_greed_often_fails(batch):
    scale, states, problems, best = batch
    assert play.distinct(states) > 1900
    greedy = []
    for weights, values, capacity in problems:
        assert len(weights) == len(values) == SIZES[scale]
        assert min(weights + values) >= 1
        assert max(weights + values) <= HIGHS[scale]
        assert min(weights) <= capacity < sum(weights)
        assert 0.35 * sum(weights) - 1 < capacity <= 0.65 * sum(weights) + 1e-3
        left, total = capacity, 0
        for item in sorted(range(len(weights)), key=lambda i: -values[i] / weights[i]):
            if weights[item] <= left:
                left, total = left - weights[item], total + values[item]
        greedy.append(total)
    assert np.mean(np.array(greedy) < best) > (0.1, 0.25, 0.3)[scale]


def test_the_expert_packs_a_best_choice(batch):
    _, states, problems, best = batch
    actions = play.experts(ENV, states)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()
    for problem, action, value in zip(problems, actions.tolist(), best, strict=True):
        assert worth(problem, [item for item in action if item >= 0]) == value


def test_score_of_any_choice(batch):
    scale, states, problems, best = batch
    noise = np.random.default_rng(0)
    n = SIZES[scale]
    choices = [noise.permutation(n)[: noise.integers(1, n)].tolist() for _ in problems]
    legal, reward = play.judge(ENV, states, np.stack([action_of(items) for items in choices]))
    assert legal.all()
    values = [worth(problem, items) for problem, items in zip(problems, choices, strict=True)]
    wanted = [1.0 if v == b else 0.5 * v / b for v, b in zip(values, best, strict=True)]
    np.testing.assert_allclose(reward, wanted, atol=1e-6)
    assert 0.0 in wanted
    assert len(set(wanted)) > 20


def test_items_that_are_not_there_or_named_twice_are_illegal(batch):
    scale, states, _, _ = batch
    some = play.first(states, 20)
    wrong = [[0, 0], [1, 2, 1]] + ([[0, SIZES[scale]]] if scale < 2 else [])
    for items in wrong:
        assert not play.judge(ENV, some, np.tile(action_of(items), (20, 1)))[0].any()


def test_answers_in_words(batch):
    _, states, _, _ = batch
    some = play.first(states, play.SOME)
    replies = [", ".join(LETTERS[i] for i in row if i >= 0) for row in play.experts(ENV, some).tolist()]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == 0).all()
    assert (reward == 1).all()


def test_the_picture_shows_all_numbers(batch):
    scale, states, problems, _ = batch
    n, columns = SIZES[scale], (4, 4, 6)[scale]
    some = play.first(states, play.SOME)
    for (weights, values, capacity), picture in zip(problems, play.tiles(ENV, some), strict=False):
        names = [[play.layers(name) for name in row] for row in picture]
        digits = [name.get("glyph", "") for name in names[0][1:3]]
        assert ["sack" in name for name in names[0]] == [True] + [False] * 6
        assert int("".join(digits)) == capacity
        for item in range(n):
            line, column = 1 + 3 * (item // columns), 1 + item % columns
            label, heft, coin = (names[line + down][column] for down in range(3))
            assert label == {"wood": LETTERS[item]}
            assert heft == {"given": "", "glyph": str(weights[item])}
            assert coin == {"marked": "", "glyph": str(values[item])}
        icons = [sorted(names[row][0]) for row in range(2, 1 + 3 * n // columns, 3)]
        assert all(icon == ["given", "heft"] for icon in icons)
