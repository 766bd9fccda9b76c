"""From episodes to packs: who gets which advantage, and what may be left out."""

from functools import partial

import numpy as np
import pytest

from train.advantages import group_advantages
from train.experience import CreditConfig, Experience, equal_shares, make_experience, turn_advantages
from train.policy.chat import PromptRow
from train.rollout import Rollout, Turn

PICTURES = np.arange(3, dtype=np.uint8)[:, None, None, None] * np.ones((3, 4, 4, 3), np.uint8)


def turn(
    row: int, said: str, picture: int = 0, tokens: int = 2, mark: int | None = None, pictured: bool = True
) -> Turn:
    """An answer of so many tokens, all of them `mark` (the row, by default)."""
    slots = np.array([0 if pictured else -1, -1, -1], np.int32)
    prompt = PromptRow(np.zeros(3, np.int32), np.zeros((3, 3), np.int32), slots, 3)
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
GRPO = CreditConfig(turn_weight=0.0, partial=1.0, scale="group")
RETURNS = [1.0, 0.0, 0.0, 0.0] + [0.5] * 4 + [0.0, 0.25, 0.75, 1.0]


def test_every_turn_has_its_episodes_advantage() -> None:
    turns = [turn(row, f"{row} at {t}") for row in range(12) for t in range(1 + row % 3)]
    found = make_experience(rollout(RETURNS, turns), 4, 100, rng(), ONE_TYPE, GRPO)
    wanted = np.asarray(group_advantages(np.float32(RETURNS).reshape(3, 4))).reshape(-1)
    answers = [answer for pack in found.packs for answer in pack.answers]
    assert {answer.tokens[0] for answer in answers} == {0, 1, 2, 3, 8, 9, 10, 11}
    for answer in answers:
        assert answer.advantage == pytest.approx(wanted[answer.tokens[0]])
    of_row = np.bincount([answer.tokens[0] for answer in answers], minlength=12)
    assert list(of_row) == [1, 2, 3, 1, 0, 0, 0, 0, 3, 1, 2, 3]


def test_groups_without_a_difference_only_count() -> None:
    turns = [turn(row, f"{row}", tokens=row + 1) for row in range(12)]
    found = make_experience(rollout(RETURNS, turns), 4, 100, rng(), ONE_TYPE, GRPO)
    assert list(found.mixed) == [True, False, True]
    assert found.tokens == sum(range(1, 13))
    assert sum(pack.answer_length for pack in found.packs) == found.tokens - (5 + 6 + 7 + 8)
    nothing = make_experience(rollout([0.5] * 12, turns), 4, 100, rng(), ONE_TYPE, GRPO)
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
    whole = weights(make_experience(many_turns(), 4, 100, rng(), ONE_TYPE[:4], GRPO))
    draws = [
        weights(make_experience(many_turns(), 4, 5, rng(seed), ONE_TYPE[:4], GRPO)) for seed in range(4000)
    ]
    assert {len(draw) for draw in draws} == {5}
    mean = {mark: np.mean([draw.get(mark, 0.0) for draw in draws]) for mark in whole}
    assert mean == pytest.approx(whole, rel=0.1)
    assert make_experience(many_turns(), 4, 5, rng(), ONE_TYPE[:4], GRPO).tokens == 24


def test_the_part_is_seeded() -> None:
    kept = [weights(make_experience(many_turns(), 4, 6, rng(seed), ONE_TYPE[:4], GRPO)) for seed in (1, 1, 2)]
    assert kept[0] == kept[1]
    assert kept[0].keys() != kept[2].keys()


def test_a_type_with_few_prompts_keeps_them_all() -> None:
    """The other has twelve prompts and keeps four, each for three."""
    single = [turn(row, f"{row}") for row in range(4)]
    several = [turn(4 + row, f"{row} at {t}", mark=10 * row + 10 + t) for row in range(4) for t in range(3)]
    played, types = rollout(RETURNS[:4] * 2, single + several), np.repeat([0, 1], 4)
    whole = weights(make_experience(played, 4, 100, rng(), types, GRPO))
    kept = [weights(make_experience(played, 4, 8, rng(seed), types, GRPO)) for seed in range(2000)]
    assert all({0, 1, 2, 3} < set(draw) and len(draw) == 8 for draw in kept)
    assert all(
        value == pytest.approx(whole[mark] * (1 if mark < 10 else 3))
        for draw in kept
        for mark, value in draw.items()
    )
    mean = {mark: np.mean([draw.get(mark, 0.0) for draw in kept]) for mark in whole}
    assert mean == pytest.approx(whole, rel=0.15)


def test_all_answers_to_a_prompt_are_kept_or_left_out() -> None:
    turns = [turn(row, f"{row // 2}") for row in range(8)]
    found = make_experience(rollout(RETURNS[:4] * 2, turns), 4, 2, rng(), ONE_TYPE[:8], GRPO)
    assert [len(pack.answers) for pack in found.packs] == [2, 2]


@pytest.mark.parametrize(
    ("wanted", "most", "got"),
    [
        ([3, 10, 0, 10], 15, [3, 6, 0, 6]),
        ([3, 10, 0, 10], 23, [3, 10, 0, 10]),
        ([5, 5, 5], 4, [1, 1, 2]),
        ([], 4, []),
    ],
)
def test_shares_are_equal_where_all_do_not_fit(wanted: list[int], most: int, got: list[int]) -> None:
    assert equal_shares(np.array(wanted, int), most).tolist() == got


def test_marks_of_failures_count_less_than_a_success() -> None:
    """One group fails with marks of 0 and 0.4, the other succeeds once: as plain GRPO both say as much."""
    turns = [turn(row, f"{row}") for row in range(8)]
    played = rollout([0.4, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], turns)

    def best(credit: CreditConfig) -> tuple[float, float]:
        found = weights(make_experience(played, 4, 100, rng(), ONE_TYPE[:8], credit))
        return found[0], found[4]

    failure, success = best(GRPO)
    assert failure == pytest.approx(success, rel=1e-4)
    failure, success = best(CreditConfig(partial=1.0))
    assert failure == pytest.approx(0.4 * success, rel=1e-4)
    failure, success = best(CreditConfig(partial=0.25))
    assert failure == pytest.approx(0.1 * success, rel=1e-4)
    silent = make_experience(played, 4, 100, rng(), ONE_TYPE[:8], CreditConfig(partial=0.0))
    assert list(silent.mixed) == [False, True]


def test_answers_to_the_same_picture_and_text_share_a_pack() -> None:
    turns = [turn(0, "a"), turn(1, "a"), turn(2, "a", picture=1), turn(3, "b"), turn(0, "b"), turn(1, "a")]
    found = make_experience(rollout(RETURNS[:4], turns), 4, 100, rng(), ONE_TYPE[:4], GRPO)
    packs = sorted(found.packs, key=lambda pack: -len(pack.answers))
    assert [[int(a.tokens[0]) for a in pack.answers] for pack in packs] == [[0, 1, 1], [3, 0], [2]]
    assert [pack.shown[0, 0, 0] for pack in packs] == [0, 0, 1]


def test_every_type_weighs_alike() -> None:
    """A type with ten times the tokens has a tenth of the weight a token; the sum over types is kept."""
    turns = [turn(row, f"{row}", tokens=2 if row < 4 else 20) for row in range(8)]
    types = np.repeat([0, 1], 4)
    found = make_experience(rollout([1.0, 0.0, 0.0, 0.0] * 2, turns), 4, 100, rng(), types, GRPO)
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


def test_turns_that_saw_the_same_are_compared() -> None:
    """Two groups of two. Row 0 wins in two turns from "a" over "b"; row 1 goes by "c" and "a" again and never
    wins. The other group sees "a" too, but is another instance."""
    turns = [turn(0, "a"), turn(1, "a"), turn(2, "a"), turn(3, "x"), turn(0, "b"), turn(1, "c"), turn(1, "a")]
    turns += [turn(2, "y")]
    own = turn_advantages(rollout([1.0, 0.0, 1.0, 1.0], turns), 2, discount=0.5)
    mean = (0.5 + 0 + 0) / 3
    np.testing.assert_allclose(own, [0.5 - mean, -mean, 0, 0, 0, 0, -mean, 0])


def test_a_faster_success_is_worth_more() -> None:
    turns = [turn(0, "a"), turn(1, "a"), turn(1, "b"), turn(1, "a")]
    own = turn_advantages(rollout([1.0, 1.0], turns), 2, discount=0.9)
    worth = np.array([1.0, 0.81, 1.0])
    np.testing.assert_allclose(own[[0, 1, 3]], worth - worth.mean())
    assert own[2] == 0
    assert not turn_advantages(rollout([1.0, 1.0], turns), 2, discount=1.0).any()


def test_another_picture_is_another_state() -> None:
    turns = [turn(0, "a"), turn(1, "a", picture=1), turn(0, "b"), turn(1, "c")]
    assert not turn_advantages(rollout([1.0, 0.0], turns), 2, discount=0.9).any()


def test_a_policy_that_is_shown_no_picture_cannot_tell_two_apart() -> None:
    blind = partial(turn, pictured=False)
    turns = [blind(0, "a"), blind(1, "a", picture=1), blind(0, "b"), blind(1, "c")]
    own = turn_advantages(rollout([1.0, 0.0], turns), 2, discount=0.9)
    np.testing.assert_allclose(own, [0.45, -0.45, 0, 0])


def test_a_turns_own_advantage_is_added_before_the_types_are_weighed() -> None:
    """Single-turn games are as in plain GRPO; of the others both parts count."""
    single = [turn(row, "q") for row in range(4, 8)]
    several = [turn(row, "a") for row in range(4)] + [turn(0, "b"), turn(1, "b")]
    played, types = rollout([1.0, 0.0, 0.0, 0.0] * 2, several + single), np.repeat([0, 1], 4)

    def found(credit: CreditConfig) -> dict[tuple[int, str], float]:
        packs = make_experience(played, 4, 100, rng(), types, credit).packs
        return {
            (int(a.tokens[0]), i): a.advantage
            for i, pack in enumerate(sorted_packs(packs))
            for a in pack.answers
        }

    plain, both = found(GRPO), found(CreditConfig(turn_weight=2.0, discount=0.5))
    own = turn_advantages(played, 4, 0.5)
    share = 20 / 2 / 12  # tokens of all, of a type on average, of the game of several turns
    for i, t in enumerate(several):
        number = 0 if t.text == "a" else 2
        assert both[t.row, number] == pytest.approx(plain[t.row, number] + 2.0 * own[i] * share)
    for row in range(4, 8):
        assert both[row, 1] == pytest.approx(plain[row, 1])


def sorted_packs(packs: list) -> list:
    """Most answers first, then by the first row."""
    return sorted(packs, key=lambda pack: (-len(pack.answers), int(pack.answers[0].tokens[0])))
