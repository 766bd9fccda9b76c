"""addition_table against plain arithmetic, and its solutions counted by trying all of them."""

import itertools

import numpy as np
import play
import pytest

import jaxenv

ENV = jaxenv.make("addition_table")[0]
BASES = (3, 4, 6)
Table = dict[tuple[str, str], str]


def read_text(observation: str) -> Table:
    head, *rows = (line.split(" ") for line in observation.split("\n"))
    assert head[0] == "+"
    return {(row[0], col): word for row in rows for col, word in zip(head[1:], row[1:], strict=True)}


def holds(table: Table, base: int, values: dict[str, int]) -> bool:
    """Every sum is right in this base and has no leading zero."""
    for (a, b), word in table.items():
        number = 0
        for letter in word:
            number = number * base + values[letter]
        if number != values[a] + values[b] or (len(word) > 1 and values[word[0]] == 0):
            return False
    return True


def padded(numbers: list[int]) -> np.ndarray:
    return np.pad(np.array(numbers), (0, 7 - len(numbers)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    assert (states.base == BASES[request.param]).all()
    return states, [read_text(words) for words in play.observations(ENV, states)]


def test_every_instance_has_the_planted_solution_and_they_differ(batch):
    states, tables = batch
    base = int(states.base[0])
    letters = "ABCDEF"[:base]
    for table, digits in zip(tables, states.digits[:, :base].tolist(), strict=True):
        assert sorted(table) == sorted(itertools.product(letters, repeat=2))
        assert sorted(digits) == list(range(base))
        assert holds(table, base, dict(zip(letters, digits, strict=True)))
    assert play.distinct(states) > {3: 5, 4: 23, 6: 660}[base]


def test_the_table_has_one_solution(batch):
    _, tables = batch
    table = tables[0]
    letters = sorted({letter for letter, _ in table})
    n = len(letters)
    solutions = [
        (base, digits)
        for base in range(n, n + 3)
        for digits in itertools.permutations(range(base), n)
        if holds(table, base, dict(zip(letters, digits, strict=True)))
    ]
    assert len(solutions) == 1


def test_expert_is_a_success(batch):
    states, _ = batch
    actions = play.experts(ENV, states)
    base = states.base[0]
    np.testing.assert_array_equal(actions[:, 0], base)
    np.testing.assert_array_equal(actions[:, 1:], states.digits)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_answer(batch):
    states, tables = batch
    base = int(states.base[0])
    letters = "ABCDEF"[:base]
    rng = np.random.default_rng(0)
    guesses = [[rng.integers(base - 1, base + 1), *rng.permutation(base)] for _ in tables]
    tries = np.stack([padded(guess) for guess in guesses])
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    for table, digits, guess, paid in zip(tables, states.digits.tolist(), guesses, reward, strict=True):
        solved = holds(table, guess[0], dict(zip(letters, guess[1:], strict=True)))
        share = np.mean(np.array(guess) == [base, *digits[:base]])
        assert (paid == 1) == solved
        assert paid == pytest.approx(1 if solved else share / 2)


def test_another_count_of_numbers_is_illegal(batch):
    states, tables = batch
    base = int(states.base[0])
    for count in {*range(1, 8)} - {base + 1}:
        action = np.broadcast_to(padded([1] * count), (len(tables), 7))
        assert not play.judge(ENV, states, action)[0].any()


def test_picture_shows_the_table(batch):
    states, tables = batch
    some = play.first(states, 50)
    n = int(states.base[0])
    for table, picture in zip(tables, play.tiles(ENV, some), strict=False):
        (corner, *head), *rows = [
            [name.rpartition(":")[2] for name in row[: n + 1]] for row in picture[: n + 1]
        ]
        assert corner == "+"
        assert table == {(row[0], col): word for row in rows for col, word in zip(head, row[1:], strict=True)}


def test_answers_in_words(batch):
    states, _ = batch
    some = play.first(states, play.SOME)
    base = int(some.base[0])
    replies = [f"{base}, " + " ".join(map(str, digits[:base])) for digits in some.digits.tolist()]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == 0).all()
    assert (reward == 1).all()
