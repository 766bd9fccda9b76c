"""From episodes to packs: who gets which advantage, and what may be left out."""

import numpy as np
import pytest

from train.advantages import group_advantages
from train.experience import Experience, make_experience
from train.policy.chat import PromptRow
from train.rollout import Rollout, Turn

PICTURES = np.arange(3, dtype=np.uint8)[:, None, None, None] * np.ones((3, 4, 4, 3), np.uint8)


def turn(row: int, said: str, picture: int = 0, tokens: int = 2, mark: int | None = None) -> Turn:
    """An answer of so many tokens, all of them `mark` (the row, by default)."""
    prompt = PromptRow(np.zeros(3, np.int32), np.zeros((3, 3), np.int32), np.full(3, -1, np.int32), 3)
    answer = np.full(tokens, row if mark is None else mark, np.int32)
    return Turn(row, prompt, said, PICTURES[picture], answer, -np.ones(tokens, np.float32), "reply")


def rollout(returns: list[float], turns: list[Turn]) -> Rollout:
    size = len(returns)
    lengths = np.bincount([t.row for t in turns], minlength=size)
    score = np.array(returns, np.float32)
    return Rollout(
        score, score >= 1, lengths, np.zeros(4, np.int32), 0, turns, np.zeros((size, 4, 4, 3), np.uint8)
    )


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


ONE_TYPE = np.zeros(12, int)
RETURNS = [1.0, 0.0, 0.0, 0.0] + [0.5] * 4 + [0.0, 0.25, 0.75, 1.0]


def test_every_turn_has_its_episodes_advantage() -> None:
    turns = [turn(row, f"{row} at {t}") for row in range(12) for t in range(1 + row % 3)]
    found = make_experience(rollout(RETURNS, turns), 4, 100, rng(), ONE_TYPE)
    wanted = np.asarray(group_advantages(np.float32(RETURNS).reshape(3, 4))).reshape(-1)
    answers = [answer for pack in found.packs for answer in pack.answers]
    assert {answer.tokens[0] for answer in answers} == {0, 1, 2, 3, 8, 9, 10, 11}
    for answer in answers:
        assert answer.advantage == pytest.approx(wanted[answer.tokens[0]])
    of_row = np.bincount([answer.tokens[0] for answer in answers], minlength=12)
    assert list(of_row) == [1, 2, 3, 1, 0, 0, 0, 0, 3, 1, 2, 3]


def test_groups_without_a_difference_only_count() -> None:
    turns = [turn(row, f"{row}", tokens=row + 1) for row in range(12)]
    found = make_experience(rollout(RETURNS, turns), 4, 100, rng(), ONE_TYPE)
    assert list(found.mixed) == [True, False, True]
    assert found.tokens == sum(range(1, 13))
    assert sum(pack.answer_length for pack in found.packs) == found.tokens - (5 + 6 + 7 + 8)
    nothing = make_experience(rollout([0.5] * 12, turns), 4, 100, rng(), ONE_TYPE)
    assert (nothing.packs, nothing.tokens, nothing.mixed.any()) == ([], found.tokens, False)


def many_turns() -> Rollout:
    """Three turns of each of four episodes, all to be told apart."""
    turns = [turn(row, f"{row} at {t}", mark=10 * row + t) for row in range(4) for t in range(3)]
    return rollout(RETURNS[:4], turns)


def weights(found: Experience) -> dict[int, float]:
    """The advantage of every answer, by its mark."""
    return {int(answer.tokens[0]): answer.advantage for pack in found.packs for answer in pack.answers}


def test_a_part_of_the_turns_stands_for_all() -> None:
    """The weights make the expected advantage of every turn what it was."""
    whole = weights(make_experience(many_turns(), 4, 100, rng(), ONE_TYPE[:4]))
    draws = [weights(make_experience(many_turns(), 4, 5, rng(seed), ONE_TYPE[:4])) for seed in range(4000)]
    assert {len(draw) for draw in draws} == {5}
    mean = {mark: np.mean([draw.get(mark, 0.0) for draw in draws]) for mark in whole}
    assert mean == pytest.approx(whole, rel=0.1)
    assert make_experience(many_turns(), 4, 5, rng(), ONE_TYPE[:4]).tokens == 24


def test_the_part_is_seeded() -> None:
    kept = [weights(make_experience(many_turns(), 4, 6, rng(seed), ONE_TYPE[:4])) for seed in (1, 1, 2)]
    assert kept[0] == kept[1]
    assert kept[0].keys() != kept[2].keys()


def test_answers_to_the_same_picture_and_text_share_a_pack() -> None:
    turns = [turn(0, "a"), turn(1, "a"), turn(2, "a", picture=1), turn(3, "b"), turn(0, "b"), turn(1, "a")]
    found = make_experience(rollout(RETURNS[:4], turns), 4, 100, rng(), ONE_TYPE[:4])
    assert [[int(a.tokens[0]) for a in pack.answers] for pack in found.packs] == [[0, 1, 1], [2], [3, 0]]
    assert [pack.pixels[0, 0, 0] for pack in found.packs] == [0, 1, 0]


def test_every_type_weighs_alike() -> None:
    """A type with ten times the tokens has a tenth of the weight a token; the sum over types is kept."""
    turns = [turn(row, f"{row}", tokens=2 if row < 4 else 20) for row in range(8)]
    types = np.repeat([0, 1], 4)
    found = make_experience(rollout([1.0, 0.0, 0.0, 0.0] * 2, turns), 4, 100, rng(), types)
    advantage = weights_by_length(found)
    assert 2 * advantage[2] == pytest.approx(20 * advantage[20])


def weights_by_length(found: Experience) -> dict[int, float]:
    """The positive advantage of the answers of each length."""
    return {
        len(answer.tokens): answer.advantage
        for pack in found.packs
        for answer in pack.answers
        if answer.advantage > 0
    }
