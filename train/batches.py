"""Rows of fixed shapes for the compiled functions: prompts to answer, and packs to learn from.

A pack is one prompt with all answers given to it: the prompt is computed once, and each answer sees the
prompt and itself but no other answer. Lengths fall into a few buckets so that few shapes are compiled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from train.policy.chat import PromptRow
from train.policy.generate import Prompt


@dataclass(frozen=True)
class Answer:
    """One reply to a prompt: tokens int32[n], their log-probabilities when sampled float32[n] and the
    advantage of all of them, or of each float32[n]. `learnt` bool[n] says which count, by default all: the
    others are read only."""

    tokens: np.ndarray
    logprobs: np.ndarray
    advantage: float | np.ndarray
    learnt: np.ndarray | None = None


@dataclass(frozen=True)
class Pack:
    """A prompt, its picture uint8[H, W, 3] and its answers."""

    prompt: PromptRow
    pixels: np.ndarray
    answers: list[Answer]

    @property
    def length(self) -> int:
        return len(self.prompt) + self.answer_length

    @property
    def answer_length(self) -> int:
        return sum(len(answer.tokens) for answer in self.answers)


class PackedBatch(NamedTuple):
    """M packs of L tokens with N answer tokens in all; what is beyond the packs given is empty."""

    tokens: jax.Array  # int32[M, L]
    positions: jax.Array  # int32[3, M, L]
    image_slots: jax.Array  # int32[M, L]
    segment: jax.Array  # int32[M, L]: 0 prompt, k the k-th answer, -1 padding
    pixels: jax.Array  # uint8[M, H, W, 3], or none where the policy is shown no pictures
    source: jax.Array  # int32[N]: the place, of M * L, whose hidden state predicts the target
    target: jax.Array  # int32[N]
    logprobs: jax.Array  # float32[N], when sampled
    advantages: jax.Array  # float32[N]
    mask: jax.Array  # bool[N], True at answer tokens to learn


def bucket(length: int, buckets: Sequence[int]) -> int:
    """The smallest bucket that holds `length`; beyond the largest, a multiple of that."""
    for size in buckets:
        if length <= size:
            return size
    return -(-length // buckets[-1]) * buckets[-1]


NO_PICTURES = np.zeros((0, 1, 1, 3), np.uint8)


def prompt_batch(rows: Sequence[PromptRow], pixels: np.ndarray, size: int, length: int) -> Prompt:
    """`size` right-padded prompts of `length` tokens; those beyond the rows given are empty. `pixels`
    uint8[rows, H, W, 3], or NO_PICTURES."""
    tokens = np.zeros((size, length), np.int32)
    positions = np.zeros((3, size, length), np.int32)
    slots = np.full((size, length), -1, np.int32)
    lengths, following = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for i, row in enumerate(rows):
        n = len(row)
        tokens[i, :n], positions[:, i, :n] = row.tokens, row.positions
        slots[i, :n] = _batch_slots(row, i)
        lengths[i], following[i] = n, row.next_position
    pictures = pixels
    if pixels is not NO_PICTURES:
        pictures = np.zeros((size, *pixels.shape[1:]), np.uint8)
        pictures[: len(rows)] = pixels
    arrays = (tokens, positions, slots, lengths, following, pictures)
    return Prompt(*map(jnp.asarray, arrays))


def packed_batch(
    packs: Sequence[Pack], size: int, length: int, answer_tokens: int, picture: tuple[int, ...] | None
) -> PackedBatch:
    """Up to `size` packs as one batch; `picture` is the shape of a picture, None where none is shown."""
    buffers = {
        "tokens": np.zeros((size, length), np.int32),
        "positions": np.zeros((3, size, length), np.int32),
        "image_slots": np.full((size, length), -1, np.int32),
        "segment": np.full((size, length), -1, np.int32),
        "pixels": NO_PICTURES if picture is None else np.zeros((size, *picture), np.uint8),
        "source": np.zeros(answer_tokens, np.int32),
        "target": np.zeros(answer_tokens, np.int32),
        "logprobs": np.zeros(answer_tokens, np.float32),
        "advantages": np.zeros(answer_tokens, np.float32),
        "mask": np.zeros(answer_tokens, bool),
    }
    done = 0
    for i, pack in enumerate(packs):
        done = _place(buffers, i, pack, done)
    return PackedBatch(**{name: jnp.asarray(buffer) for name, buffer in buffers.items()})


def split_answers(pack: Pack, longest: int, answer_tokens: int) -> list[Pack]:
    """The pack as packs of at most `longest` tokens, of which at most `answer_tokens` are in answers; each
    repeats the prompt."""
    parts: list[list[Answer]] = [[]]
    most = min(longest - len(pack.prompt), answer_tokens)
    room = most
    for answer in pack.answers:
        if parts[-1] and len(answer.tokens) > room:
            parts.append([])
            room = most
        parts[-1].append(answer)
        room -= len(answer.tokens)
    return [Pack(pack.prompt, pack.pixels, part) for part in parts]


def _place(batch: dict[str, np.ndarray], i: int, pack: Pack, done: int) -> int:
    """Writes a pack into row i, its answers after the `done` answer tokens there are; the new number."""
    prompt, n = pack.prompt, len(pack.prompt)
    batch["tokens"][i, :n], batch["positions"][:, i, :n] = prompt.tokens, prompt.positions
    batch["image_slots"][i, :n] = _batch_slots(prompt, i)
    batch["segment"][i, :n] = 0
    if len(batch["pixels"]):
        batch["pixels"][i] = pack.pixels
    at, row = n, i * batch["tokens"].shape[1]
    for k, answer in enumerate(pack.answers, start=1):
        m = len(answer.tokens)
        here, out = slice(at, at + m), slice(done, done + m)
        batch["tokens"][i, here], batch["segment"][i, here] = answer.tokens, k
        batch["positions"][:, i, here] = prompt.next_position + np.arange(m)
        batch["source"][out] = row + np.concatenate([[n - 1], np.arange(at, at + m - 1)])
        batch["target"][out], batch["logprobs"][out] = answer.tokens, answer.logprobs
        batch["advantages"][out] = answer.advantage
        batch["mask"][out] = True if answer.learnt is None else answer.learnt
        at, done = at + m, done + m
    return done


def _batch_slots(row: PromptRow, i: int) -> np.ndarray:
    """Slots into the flattened visual tokens of a batch with one picture a row."""
    tokens_per_image = int(row.image_slots.max(initial=-1)) + 1
    return np.where(row.image_slots >= 0, row.image_slots + i * tokens_per_image, -1)
