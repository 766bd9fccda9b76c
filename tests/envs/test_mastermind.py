"""mastermind against the rule in plain Python."""

import itertools
from collections import Counter

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("mastermind")[0]
SLOTS, IN_USE, ROWS = (3, 4, 4), (4, 5, 6), (6, 7, 8)
COLOURS = ("red", "green", "blue", "yellow", "purple", "white")
COUNT = 100
Code = tuple[str, ...]


def judge(guess: Code, code: Code) -> tuple[int, int]:
    """Black and white pins."""
    black = sum(g == c for g, c in zip(guess, code, strict=True))
    return black, (Counter(guess) & Counter(code)).total() - black


def named(numbers: np.ndarray) -> Code:
    return tuple(COLOURS[number] for number in numbers.tolist() if number >= 0)


def read_rows(words: str) -> list[tuple[Code, tuple[int, int]]]:
    rows = []
    for line in words.split("\n"):
        guess, _, pins = line.partition(" : ")
        black, _, white, _ = pins.split(" ")
        rows.append((tuple(guess.split(" ")), (int(black), int(white))))
    return rows


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_rows(words) for words in play.observations(ENV, states)]


def test_instances_begin_with_a_judged_guess_and_differ(batch):
    scale, states, boards = batch
    seen = Counter()
    for rows, numbers in zip(boards, states.code, strict=True):
        code = named(numbers)
        ((guess, pins),) = rows
        assert len(code) == len(guess) == SLOTS[scale]
        assert guess != code
        assert set(guess) | set(code) <= set(COLOURS[: IN_USE[scale]])
        assert pins == judge(guess, code)
        seen[code] += 1
    assert len(seen) > 0.75 * IN_USE[scale] ** SLOTS[scale]
    assert max(seen.values()) < 0.03 * len(boards)
    assert play.distinct(states) > (1000, 1900, 1990)[scale]


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_rounds_follow_the_rules_and_the_expert_finds_the_code(batch, share):
    scale, states, _ = batch
    turns = max(ROWS)
    played = rollouts.roll(ENV, play.first(states, COUNT), turns, share)
    lengths, refused = played.length(), 0
    for i in range(COUNT):
        code, used = named(states.code[i]), 1
        for t in range(min(turns, lengths[i])):
            guess = named(played.actions[t, i])
            legal = len(guess) == SLOTS[scale] and set(guess) <= set(COLOURS[: IN_USE[scale]])
            assert (played.verdicts[t, i] == 0) == legal
            after = rollouts.one(played.states[t + 1], i)
            refused += not legal
            if legal:
                assert named(after.guesses[used]) == guess
                assert tuple(after.pins[used].tolist()) == judge(guess, code)
                assert played.rewards[t, i] == (guess == code)
                used += 1
                assert played.terminated[t, i] == (guess == code or used == ROWS[scale])
            assert after.used == used
    assert refused == 0 if share == 1 else refused > 0
    assert share < 1 or played.rewards.sum() >= 0.95 * COUNT


def test_the_expert_answers_any_code_that_is_still_possible(batch):
    scale, states, boards = batch
    codes = list(itertools.product(COLOURS[: IN_USE[scale]], repeat=SLOTS[scale]))
    actions = play.experts(ENV, states)
    answers = Counter()
    for rows, action in zip(boards, actions, strict=True):
        ((guess, pins),) = rows
        answer = named(action)
        assert judge(guess, answer) == pins
        answers[answer] += 1
    assert len(answers) > 0.7 * len(codes)


def test_the_picture_shows_pegs_pins_and_the_colours_in_use(batch):
    scale, states, boards = batch
    n = SLOTS[scale]
    for rows, picture in zip(boards, play.tiles(ENV, play.first(states, COUNT)), strict=False):
        ((guess, (black, white)),) = rows
        first, second = ([play.layers(name) for name in row] for row in picture[:2])
        assert tuple(tile["peg"] for tile in first[:n]) == guess
        assert first[n]["pins"] == f"{black}-{white}"
        assert [tile.get("peg") for tile in second[:n]] == ["hole"] * n
        in_use = [play.layers(row[n + 1])["swatches"] for row in picture[: ROWS[scale]]]
        assert in_use == [*COLOURS[: IN_USE[scale]], *[""] * (ROWS[scale] - IN_USE[scale])]


def test_answers_in_words(batch):
    _, states, _ = batch
    some = play.first(states, play.SOME)
    verdict, reward = play.read(ENV, some, [", ".join(named(code)).upper() for code in some.code])
    assert (verdict == 0).all()
    assert (reward == 1).all()
