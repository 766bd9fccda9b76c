"""Rows of fixed shapes: what is packed is what was given, and a pack computes what its parts would."""

from dataclasses import replace

import jax
import numpy as np
import pytest
import tiny

from train.agent import Agent
from train.batches import Answer, Pack, bucket, packed_batch, prompt_batch, split_answers
from train.policy.chat import PromptRow

PICTURE = jax.ShapeDtypeStruct((8, 8, 3), np.uint8)


def pack(prompt: int, *answers: int, seed: int = 0) -> Pack:
    """A prompt of `prompt` tokens, its first four a picture, and answers of these lengths; numbers differ."""
    rng = np.random.default_rng(seed)
    slots = np.where(np.arange(prompt) < 4, np.arange(prompt), -1).astype(np.int32)
    tokens = rng.integers(1, 100, prompt, np.int32)
    row = PromptRow(tokens, np.tile(np.arange(prompt, dtype=np.int32), (3, 1)), slots, prompt)
    return Pack(
        row,
        rng.integers(0, 256, PICTURE.shape, np.uint8),
        [
            Answer(
                rng.integers(1, 100, n, np.int32), rng.normal(size=n).astype(np.float32), float(rng.normal())
            )
            for n in answers
        ],
    )


def test_the_smallest_bucket_that_holds_it() -> None:
    assert [bucket(n, (96, 160)) for n in (1, 96, 97, 160)] == [96, 96, 160, 160]
    assert [bucket(n, (96, 160)) for n in (161, 320, 321)] == [320, 320, 480]


def test_prompts_are_padded_on_the_right() -> None:
    rows = [pack(7).prompt, pack(5, seed=1).prompt]
    pixels = np.stack([pack(7).shown, pack(5, seed=1).shown])
    batch = jax.device_get(prompt_batch(rows, pixels, 4, 9))
    assert batch.tokens.shape == (4, 9)
    assert batch.pictures.shape == (4, 8, 8, 3)
    assert list(batch.lengths) == list(batch.next_position) == [7, 5, 0, 0]
    for i, row in enumerate(rows):
        np.testing.assert_array_equal(batch.tokens[i, : len(row)], row.tokens)
        np.testing.assert_array_equal(batch.positions[:, i, : len(row)], row.positions)
        assert not batch.tokens[i, len(row) :].any()
        assert set(batch.image_slots[i, len(row) :]) == {-1}
    assert list(batch.image_slots[0, :4]) == [0, 1, 2, 3]
    assert list(batch.image_slots[1, :4]) == [4, 5, 6, 7]
    np.testing.assert_array_equal(batch.pictures[:2], pixels)
    assert not batch.pictures[2:].any()


def test_a_packed_batch_says_where_each_token_is_predicted() -> None:
    packs = [pack(6, 3, 2), pack(5, 4, seed=1)]
    batch = jax.device_get(packed_batch(packs, 3, 12, 16, PICTURE))
    answers = [answer for p in packs for answer in p.answers]
    np.testing.assert_array_equal(batch.target[:9], np.concatenate([a.tokens for a in answers]))
    np.testing.assert_array_equal(batch.logprobs[:9], np.concatenate([a.logprobs for a in answers]))
    np.testing.assert_array_equal(
        batch.advantages[:9], np.repeat(np.float32([a.advantage for a in answers]), [3, 2, 4])
    )
    assert list(batch.mask) == [True] * 9 + [False] * 7
    # The last token of the prompt predicts the first of every answer.
    assert list(batch.source[:9]) == [5, 6, 7, 5, 9, 12 + 4, 12 + 5, 12 + 6, 12 + 7]
    assert list(batch.segment[0]) == [0] * 6 + [1] * 3 + [2] * 2 + [-1]
    assert list(batch.positions[0, 0, 6:11]) == [6, 7, 8, 6, 7]
    assert set(batch.segment[2]) == {-1}


def test_tokens_may_be_read_without_being_learnt() -> None:
    given = pack(6, 3, 2)
    weights = np.array([0.5, 0.25, 0.0], np.float32)
    first = replace(given.answers[0], advantage=weights, learnt=np.array([True, False, True]))
    given = replace(given, answers=[first, given.answers[1]])
    batch = jax.device_get(packed_batch([given], 2, 12, 16, PICTURE))
    assert list(batch.mask[:6]) == [True, False, True, True, True, False]
    assert list(batch.segment[0]) == [0] * 6 + [1] * 3 + [2] * 2 + [-1]
    assert batch.advantages[0] == 0.5


def test_split_answers_keeps_order_and_length() -> None:
    whole = pack(10, 5, 5, 3, 9, 2)
    parts = split_answers(whole, 20, 100)
    assert [[len(a.tokens) for a in part.answers] for part in parts] == [[5, 5], [3], [9], [2]]
    assert [id(a) for part in parts for a in part.answers] == [id(a) for a in whole.answers]
    assert all(part.prompt is whole.prompt and part.shown is whole.shown for part in parts)
    assert split_answers(whole, 100, 100) == [whole]
    few = split_answers(whole, 100, 12)
    assert [part.answer_length for part in few] == [10, 12, 2]


@pytest.mark.parametrize("seed", range(5))
def test_micro_batches_keep_their_limits_and_lose_nothing(fresh: Agent, seed: int) -> None:
    learner = tiny.make_learner(fresh, micro_tokens=300, answer_tokens=60)
    learner.lengths = (40, 64, 100)
    rng = np.random.default_rng(seed)
    packs = [
        pack(int(rng.integers(5, 50)), *rng.integers(1, 13, rng.integers(1, 9)), seed=i) for i in range(40)
    ]
    batches = jax.device_get(learner.micro_batches(packs))
    for batch in batches:
        rows, length = batch.tokens.shape
        assert length in learner.lengths
        assert rows * length <= 300
        assert len(batch.target) == 60
    given = sorted((*a.tokens.tolist(), float(np.float32(a.advantage))) for p in packs for a in p.answers)
    assert sorted(answer for batch in batches for answer in answers_in(batch)) == given
    needed = sum(p.length / 300 + p.answer_length / 60 for p in packs)
    assert len(batches) <= 1.5 * needed  # well filled


def answers_in(batch) -> list[tuple[float, ...]]:
    """Tokens and advantage of every answer, cut where the row or the segment changes."""
    n = int(batch.mask.sum())
    assert not batch.mask[n:].any()
    starts = [
        i
        for i in range(n)
        if batch.segment.reshape(-1)[batch.source[i]] == 0  # predicted by the prompt
    ]
    ends = [*starts[1:], n]
    return [
        (*batch.target[a:b].tolist(), float(batch.advantages[a])) for a, b in zip(starts, ends, strict=True)
    ]


def test_a_pack_with_more_answers_than_a_micro_batch_holds_is_cut(fresh: Agent) -> None:
    learner = tiny.make_learner(fresh, micro_tokens=400, answer_tokens=30)
    learner.lengths = (200,)
    batches = learner.micro_batches([pack(10, *[12] * 9)])
    assert [int(batch.mask.sum()) for batch in batches] == [24] * 4 + [12]


def test_packed_answers_compute_what_each_alone_would(fresh: Agent) -> None:
    shown = tiny.demonstrations(fresh, 3)
    answers = [p.answers[0] for p in shown]
    packs = [replace(p, answers=[answers[i], answers[i - 1], answers[i - 5]]) for i, p in enumerate(shown)][
        :6
    ]
    packed = tiny.answer_logprobs(fresh, fresh.policy.params, packs)
    rows = tiny.alone(packs)
    plain = np.asarray(
        jax.jit(tiny.plain_logprobs, static_argnums=0)(
            fresh.policy.graphdef, fresh.policy.params, rows, fresh.actor.allowed
        )
    )
    alone = [
        row[length - len(found) - 1 : length - 1]
        for row, length, found in zip(plain, rows.lengths, packed, strict=True)
    ]
    np.testing.assert_allclose(np.concatenate(packed), np.concatenate(alone), atol=1e-4)
    assert len(packed) == 18
