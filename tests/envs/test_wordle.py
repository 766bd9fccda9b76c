"""wordle against the rule in plain Python."""

from collections import Counter

import numpy as np
import play
import pytest
import rollouts

import jaxenv
from envs_jax.text_symbolic.words import FIVE_LETTERS

ENV = jaxenv.make("wordle")[0]
MADE, ROWS, COUNT, CONSIDERED = (3, 2, 1), 6, 60, 128
SIGNS = {"-": "grey", "?": "yellow", "+": "green"}


def judge(guess: str, answer: str) -> str:
    """Signs of a guess: greens first, then yellows while the answer has the letter once more."""
    left = Counter(a for g, a in zip(guess, answer, strict=True) if g != a)
    signs = ""
    for g, a in zip(guess, answer, strict=True):
        signs += "+" if g == a else "?" if left[g] > 0 else "-"
        left[g] -= g != a
    return signs


def spelled(numbers: np.ndarray) -> str:
    return "".join(chr(ord("a") + number) for number in numbers.tolist())


def read_rows(words: str) -> list[tuple[str, str]]:
    """Guesses and their signs, of the rows that are used."""
    rows = [line.split(" ") for line in words.split("\n")]
    assert len(rows) == ROWS
    return [("".join(w[0] for w in row).lower(), "".join(w[1] for w in row)) for row in rows if row[0] != "."]


def possible(rows: list[tuple[str, str]]) -> list[str]:
    return [word for word in FIVE_LETTERS if all(judge(guess, word) == signs for guess, signs in rows)]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_rows(words) for words in play.observations(ENV, states)]


def test_words_are_of_five_letters_and_each_is_there_once():
    assert all(len(word) == 5 and word.isascii() and word.islower() for word in FIVE_LETTERS)
    assert len(set(FIVE_LETTERS)) == len(FIVE_LETTERS) > 500


def test_instances_begin_with_marked_guesses_and_differ(batch):
    scale, states, boards = batch
    for rows, number in zip(boards, states.answer.tolist(), strict=True):
        answer = FIVE_LETTERS[number]
        assert len(rows) == len({guess for guess, _ in rows} - {answer}) == MADE[scale]
        for guess, signs in rows:
            assert guess in FIVE_LETTERS
            assert signs == judge(guess, answer)
    assert len(set(states.answer.tolist())) > 480
    assert play.distinct(states) > 1990


def test_letters_that_repeat():
    """By hand, so that the rule above is not the only witness."""
    assert judge("eerie", "geese") == "?+--+"
    assert judge("allay", "lemon") == "-?---"


def test_guesses_are_marked_by_the_rule(batch):
    """Any letters, many of them twice."""
    _, states, _ = batch
    noise = np.random.default_rng(0)
    replies = ["".join(noise.choice(list("aeost"), 5)) for _ in range(play.SOME)]
    some = play.first(states, play.SOME)
    actions = np.array([[ord(letter) - ord("a") for letter in reply] for reply in replies])
    legal, reward = play.judge(ENV, some, actions)
    answers = [FIVE_LETTERS[number] for number in some.answer]
    assert legal.all()
    assert (reward == [reply == answer for reply, answer in zip(replies, answers, strict=True)]).all()
    assert not play.judge(ENV, some, np.where(np.arange(5) < 4, actions, -1))[0].any()
    verdict, reward = play.read(ENV, some, [answer.title() for answer in answers])
    assert (verdict == 0).all()
    assert (reward == 1).all()


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_rounds_follow_the_rules_and_the_expert_finds_the_word(batch, share):
    scale, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), ROWS, share)
    lengths = played.length()
    for i, number in enumerate(states.answer[:COUNT].tolist()):
        answer, used = FIVE_LETTERS[number], MADE[scale]
        for t in range(min(ROWS, lengths[i])):
            action = played.actions[t, i]
            legal = bool((action >= 0).all())
            assert (played.verdicts[t, i] == 0) == legal
            after = rollouts.one(played.states[t + 1], i)
            if legal:
                guess = spelled(action)
                assert spelled(after.letters[used]) == guess
                assert "".join("-?+"[mark] for mark in after.marks[used]) == judge(guess, answer)
                assert played.rewards[t, i] == (guess == answer)
                used += 1
                assert played.terminated[t, i] == (guess == answer or used == ROWS)
            assert after.used == used
    assert share < 1 or played.rewards.sum() >= 0.97 * COUNT


def test_the_expert_leaves_the_fewest_words_on_average(batch):
    _, states, boards = batch
    actions = play.experts(ENV, play.first(states, COUNT))
    for rows, action in zip(boards[:12], actions, strict=False):
        fits = possible(rows)
        groups = {guess: Counter(judge(guess, word) for word in fits[:CONSIDERED]) for guess in FIVE_LETTERS}
        pairs = {guess: sum(n * n for n in group.values()) for guess, group in groups.items()}
        best = spelled(action)
        assert pairs[best] == min(pairs.values())
        assert best in fits or all(pairs[word] > pairs[best] for word in fits)


def test_the_picture_shows_letters_and_marks(batch):
    _, states, boards = batch
    for rows, picture in zip(boards, play.tiles(ENV, play.first(states, COUNT)), strict=False):
        shown = [[play.layers(name)["letter"] for name in row] for row in picture]
        wanted = [[f"{SIGNS[s]}-{g.upper()}" for g, s in zip(*row, strict=True)] for row in rows]
        assert shown == wanted + [["slot"] * 5] * (ROWS - len(rows))
