"""Rows of fixed shapes for the compiled functions: prompts to answer, and packs to learn from.

A pack is one prompt with all answers given to it: the prompt is computed once, and each answer sees the
prompt and itself but no other answer. A dialogue is an episode played as one conversation: every answer sees
all that was said before. Lengths fall into a few buckets so that few shapes are compiled.
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
    """A prompt, what the policy was shown of its picture (`train.eyes`) and its answers."""

    prompt: PromptRow
    shown: np.ndarray
    answers: list[Answer]

    @property
    def length(self) -> int:
        return len(self.prompt) + self.answer_length

    @property
    def answer_length(self) -> int:
        return sum(len(answer.tokens) for answer in self.answers)

    @property
    def picture(self) -> jax.ShapeDtypeStruct | None:
        """Shape and type of what is shown of a picture, None where none is."""
        return jax.ShapeDtypeStruct(self.shown.shape, self.shown.dtype) if self.prompt.pictured else None


@dataclass(frozen=True)
class Dialogue:
    """An episode of one conversation: in every turn a prompt that goes on from all before it, what was shown
    of its picture [turns, ...], and one answer."""

    prompts: list[PromptRow]
    shown: np.ndarray
    answers: list[Answer]

    @property
    def length(self) -> int:
        return sum(map(len, self.prompts)) + self.answer_length

    @property
    def answer_length(self) -> int:
        return sum(len(answer.tokens) for answer in self.answers)

    @property
    def picture(self) -> jax.ShapeDtypeStruct | None:
        pictured = self.prompts[0].pictured
        return jax.ShapeDtypeStruct(self.shown.shape[1:], self.shown.dtype) if pictured else None


class PackedBatch(NamedTuple):
    """M packs or dialogues of L tokens with N answer tokens in all; what is beyond those given is empty."""

    tokens: jax.Array  # int32[M, L]
    positions: jax.Array  # int32[3, M, L]
    image_slots: jax.Array  # int32[M, L]
    segment: jax.Array  # int32[M, L]: 0 prompt or dialogue, k the k-th answer to a prompt, -1 padding
    pictures: jax.Array  # what `Model.see` takes of M * K, K a row, or of none where none are shown
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


def empty_pictures(picture: jax.ShapeDtypeStruct | None, count: int = 0) -> np.ndarray:
    """So many blank pictures of this shape and type; NO_PICTURES where none is shown."""
    return NO_PICTURES if picture is None else np.zeros((count, *picture.shape), picture.dtype)


def prompt_batch(
    rows: Sequence[PromptRow], shown: np.ndarray, size: int, length: int, shared: int = 0
) -> Prompt:
    """`size` right-padded prompts of `length` tokens; those beyond the rows given are empty. `shown` is what
    is shown of their pictures [rows, ...], or NO_PICTURES. All begin with the same `shared` tokens."""
    tokens = np.zeros((size, length), np.int32)
    positions = np.zeros((3, size, length), np.int32)
    slots = np.full((size, length), -1, np.int32)
    lengths, following = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for i, row in enumerate(rows):
        n = len(row)
        tokens[i, :n], positions[:, i, :n] = row.tokens, row.positions
        slots[i, :n] = _batch_slots(row, i)
        lengths[i], following[i] = n, row.next_position
    pictures = shown
    if shown is not NO_PICTURES:
        pictures = np.zeros((size, *shown.shape[1:]), shown.dtype)
        pictures[: len(rows)] = shown
    arrays = (tokens, positions, slots, lengths, following, pictures)
    return Prompt(*map(jnp.asarray, arrays), shared=shared)


def packed_batch(
    packs: Sequence[Pack | Dialogue],
    size: int,
    length: int,
    answer_tokens: int,
    picture: jax.ShapeDtypeStruct | None,
    pictures: int = 1,
) -> PackedBatch:
    """Up to `size` packs as one batch, with room for so many pictures in each; `picture` is the shape and
    type of what is shown of one, None where none is."""
    buffers = {
        "tokens": np.zeros((size, length), np.int32),
        "positions": np.zeros((3, size, length), np.int32),
        "image_slots": np.full((size, length), -1, np.int32),
        "segment": np.full((size, length), -1, np.int32),
        "pictures": empty_pictures(picture, size * pictures),
        "source": np.zeros(answer_tokens, np.int32),
        "target": np.zeros(answer_tokens, np.int32),
        "logprobs": np.zeros(answer_tokens, np.float32),
        "advantages": np.zeros(answer_tokens, np.float32),
        "mask": np.zeros(answer_tokens, bool),
    }
    done = 0
    for i, pack in enumerate(packs):
        if isinstance(pack, Dialogue):
            done = _place_dialogue(buffers, i, pack, done)
        else:
            done = _place_pack(buffers, i, pack, done)
    return PackedBatch(**{name: jnp.asarray(buffer) for name, buffer in buffers.items()})


def split_answers(pack: Pack | Dialogue, longest: int, answer_tokens: int) -> list[Pack | Dialogue]:
    """The pack as packs of at most `longest` tokens, of which at most `answer_tokens` are in answers; each
    repeats the prompt. A dialogue stays whole."""
    if isinstance(pack, Dialogue):
        return [pack]
    parts: list[list[Answer]] = [[]]
    most = min(longest - len(pack.prompt), answer_tokens)
    room = most
    for answer in pack.answers:
        if parts[-1] and len(answer.tokens) > room:
            parts.append([])
            room = most
        parts[-1].append(answer)
        room -= len(answer.tokens)
    return [Pack(pack.prompt, pack.shown, part) for part in parts]


def _place_pack(batch: dict[str, np.ndarray], i: int, pack: Pack, done: int) -> int:
    """Writes a pack into row i, its answers after the `done` answer tokens there are; the new number."""
    prompt = pack.prompt
    _place_prompt(batch, i, 0, prompt, pack.shown, 0)
    at, last = len(prompt), len(prompt) - 1
    for k, answer in enumerate(pack.answers, start=1):
        _place_answer(batch, i, at, answer, k, last, prompt.next_position, done)
        at, done = at + len(answer.tokens), done + len(answer.tokens)
    return done


def _place_dialogue(batch: dict[str, np.ndarray], i: int, dialogue: Dialogue, done: int) -> int:
    """The same of a dialogue."""
    at = 0
    for t, (prompt, shown, answer) in enumerate(
        zip(dialogue.prompts, dialogue.shown, dialogue.answers, strict=True)
    ):
        _place_prompt(batch, i, at, prompt, shown, t)
        at += len(prompt)
        _place_answer(batch, i, at, answer, 0, at - 1, prompt.next_position, done)
        at, done = at + len(answer.tokens), done + len(answer.tokens)
    return done


def _place_prompt(
    batch: dict[str, np.ndarray], i: int, at: int, prompt: PromptRow, shown: np.ndarray, picture: int
) -> None:
    """Writes a prompt at place `at` of row i and its picture as the row's `picture`-th."""
    here = slice(at, at + len(prompt))
    number = i * (len(batch["pictures"]) // len(batch["tokens"])) + picture
    batch["tokens"][i, here], batch["positions"][:, i, here] = prompt.tokens, prompt.positions
    batch["image_slots"][i, here] = _batch_slots(prompt, number)
    batch["segment"][i, here] = 0
    if len(batch["pictures"]):
        batch["pictures"][number] = shown


def _place_answer(
    batch: dict[str, np.ndarray],
    i: int,
    at: int,
    answer: Answer,
    segment: int,
    before: int,
    position: int,
    done: int,
) -> None:
    """Writes an answer at place `at` of row i, from `position` on; the token at `before` predicts its
    first."""
    m, row = len(answer.tokens), i * batch["tokens"].shape[1]
    here, out = slice(at, at + m), slice(done, done + m)
    batch["tokens"][i, here], batch["segment"][i, here] = answer.tokens, segment
    batch["positions"][:, i, here] = position + np.arange(m)
    batch["source"][out] = row + np.concatenate([[before], np.arange(at, at + m - 1)])
    batch["target"][out], batch["logprobs"][out] = answer.tokens, answer.logprobs
    batch["advantages"][out] = answer.advantage
    batch["mask"][out] = True if answer.learnt is None else answer.learnt


def _batch_slots(row: PromptRow, number: int) -> np.ndarray:
    """Slots into the flattened visual tokens of a batch of a row whose picture is this one of the batch."""
    tokens_per_image = int(row.image_slots.max(initial=-1)) + 1
    return np.where(row.image_slots >= 0, row.image_slots + number * tokens_per_image, -1)
