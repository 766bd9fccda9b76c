"""Playing episodes: the policy answers, the environments move, until every episode is over.

Each turn is its own prompt with the current picture. Episodes that see the same share one reading of it; a
greedy policy, which says the same to the same, is not asked twice. What is to be answered is sorted by length
and cut into calls of a fixed number of prompts and rows, so that a few shapes serve any mixture of
environments, levels and episode lengths.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.environment import Level
from jaxenv.mixture import Mixture, View
from train.batches import NO_PICTURES, bucket, prompt_batch
from train.compilation import in_threads
from train.policy.chat import Chat, PromptRow
from train.policy.generate import Completion, Prompt, generate_jit
from train.policy.weights import Params, Policy

GREEDY = 0.0


@dataclass(frozen=True)
class ActorConfig:
    """How answers are sampled."""

    max_new_tokens: int = 48
    """Tokens of one reply at most."""
    temperature: float = 1.0
    """Sampling temperature while training; evaluation is greedy and sampled."""
    rows: int = 32
    """Replies sampled in one generation call."""
    prompts: int = 16
    """Different prompts read in one generation call."""
    prefix: str = ""
    """What every reply begins with, as part of the prompt: `<answer>` helps models that forget the tags."""
    prompt_buckets: tuple[int, ...] = ()
    """Padded prompt lengths, in tokens; by default they are measured on the environments."""


Seen = tuple[str, bytes]
"""A prompt's text and its picture's bytes, none where the policy is shown no pictures."""


@dataclass(frozen=True)
class Turn:
    """One answered prompt: of batch row `row`, with the sampled tokens int32[n] and log-probabilities. The
    picture `pixels` is kept for replays also where the policy was not shown it."""

    row: int
    prompt: PromptRow
    text: str
    pixels: np.ndarray
    tokens: np.ndarray
    logprobs: np.ndarray
    reply: str

    @property
    def seen(self) -> Seen:
        return self.text, self.pixels.tobytes() if self.prompt.pictured else b""


class Call(NamedTuple):
    """What one generation call answers: batch rows, and for each the number of its prompt among `prompts`,
    which are indices into the prompts of the turn."""

    prompts: list[int]
    rows: list[int]
    source: list[int]


class Rollout(NamedTuple):
    """B episodes: returns float32[B], success bool[B], number of turns int32[B] (0 where none was played),
    verdicts int32[4] (how many turns had each of jaxenv.answers' verdicts), replies cut by the length limit,
    the turns in order, and the pictures after the last turns uint8[B, H, W, 3].
    """

    returns: np.ndarray
    success: np.ndarray
    lengths: np.ndarray
    verdicts: np.ndarray
    cut: int
    turns: list[Turn]
    last_pixels: np.ndarray


def join(rollouts: Sequence[Rollout]) -> Rollout:
    """Several rollouts as one of all their rows, in order."""
    size = len(rollouts[0].returns)
    turns = [
        replace(turn, row=turn.row + i * size) for i, played in enumerate(rollouts) for turn in played.turns
    ]
    return Rollout(
        returns=np.concatenate([played.returns for played in rollouts]),
        success=np.concatenate([played.success for played in rollouts]),
        lengths=np.concatenate([played.lengths for played in rollouts]),
        verdicts=np.sum([played.verdicts for played in rollouts], axis=0),
        cut=sum(played.cut for played in rollouts),
        turns=turns,
        last_pixels=np.concatenate([played.last_pixels for played in rollouts]),
    )


class Actor:
    """A policy's way to play the environments of a mixture."""

    def __init__(
        self, policy: Policy, chat: Chat, mixture: Mixture, config: ActorConfig, buckets: Sequence[int]
    ) -> None:
        self.graphdef = policy.graphdef
        self.chat = chat
        self.mixture = mixture
        self.config = config
        self.buckets = tuple(buckets)  # padded prompt lengths
        self.allowed, self.stop = jnp.asarray(chat.allowed), jnp.asarray(chat.stop)
        canvas = mixture.envs[0].canvas
        self.picture = (canvas, canvas, 3) if chat.grids else None  # what the policy is shown

    def play(
        self,
        params: Params,
        reset_keys: jax.Array,
        sample_key: jax.Array,
        level: Level,
        max_turns: jax.Array,
        temperature: float,
        shuffle_pictures: bool = False,
        only: np.ndarray | None = None,
    ) -> Rollout:
        """Plays one episode in every slot, or in those of the types `only` bool[E].

        reset_keys key[E, slots]; level leaves int32[E, slots]; max_turns int32[E], 0 for the environment's
        own. `shuffle_pictures` shows each slot the picture of another slot of its environment: what is
        scored then, is scored without seeing.
        """
        mixture, size = self.mixture, self.mixture.size
        returns, success = np.zeros(size, np.float32), np.zeros(size, bool)
        lengths, verdicts = np.zeros(size, np.int32), np.zeros(4, np.int32)
        asked = np.ones(len(mixture.envs), bool) if only is None else only
        active, turns, cut = np.flatnonzero(np.repeat(asked, mixture.slots)), [], 0
        known: dict[Seen, Turn] = {}
        view, groups = mixture.reset(reset_keys, level)
        for t in range(mixture.longest(max_turns)):
            turn_key = jax.random.fold_in(sample_key, t)
            token_keys = jax.random.split(jax.random.fold_in(turn_key, 0), size)
            step_keys = jax.random.split(jax.random.fold_in(turn_key, 1), (len(mixture.envs), mixture.slots))
            pixels = self._pixels(view, shuffle_pictures)
            seen = self._see(view, pixels, active)
            if temperature > 0:
                played = self._sample(params, seen, pixels, token_keys, temperature)
            else:
                played = self._repeat(params, seen, pixels, token_keys, known)
            turns += played
            cut += sum(turn.tokens[-1:].size > 0 and not self.chat.stop[turn.tokens[-1]] for turn in played)
            replies = [""] * size
            for turn in played:
                replies[turn.row] = turn.reply
            view, groups, outcome = mixture.step(
                step_keys, groups, text.encode_batch(replies, mixture.reply_capacity), max_turns
            )
            lengths[active] += 1
            returns[active] += outcome.reward[active]
            success[active] |= outcome.success[active]
            verdicts += np.bincount(outcome.verdict[active], minlength=4)
            active = active[~outcome.done[active]]
            if not len(active):
                break
        return Rollout(returns, success, lengths, verdicts, cut, turns, np.asarray(view.pixels))

    def compile(self, params: Params) -> None:
        """Compiles generation for every prompt bucket, side by side."""
        config = self.config
        nothing = NO_PICTURES if self.picture is None else np.zeros((0, *self.picture), np.uint8)

        def compile_one(length: int) -> None:
            prompt = prompt_batch([], nothing, config.prompts, length)
            keys = jax.random.split(jax.random.key(0), config.rows)
            jax.block_until_ready(self._generate(params, prompt, [], keys, 1.0))

        in_threads(partial(compile_one, length) for length in self.buckets)

    def _pixels(self, view: View, shuffle_pictures: bool) -> np.ndarray:
        """The pictures of all rows, or to each that of the row before it of the same type."""
        pixels = np.asarray(view.pixels)
        if not shuffle_pictures:
            return pixels
        by_env = pixels.reshape(len(self.mixture.envs), self.mixture.slots, *pixels.shape[1:])
        return np.roll(by_env, 1, axis=1).reshape(pixels.shape)

    def _see(self, view: View, pixels: np.ndarray, active: np.ndarray) -> dict[Seen, list[int]]:
        """The different things that the active rows see, and the rows that see each."""
        texts = text.decode_batch(text.Text(view.prompt.data[active], view.prompt.length[active]))
        seen: dict[Seen, list[int]] = defaultdict(list)
        for row, words in zip(active.tolist(), texts, strict=True):
            seen[words, pixels[row].tobytes() if self.picture else b""].append(row)
        return seen

    def _repeat(
        self,
        params: Params,
        seen: dict[Seen, list[int]],
        pixels: np.ndarray,
        keys: jax.Array,
        known: dict[Seen, Turn],
    ) -> list[Turn]:
        """The greedy policy's turns; `known` is what it said so far."""
        new = {what: rows[:1] for what, rows in seen.items() if what not in known}
        by_row = {rows[0]: what for what, rows in new.items()}
        known |= {by_row[turn.row]: turn for turn in self._sample(params, new, pixels, keys, GREEDY)}
        return [
            replace(known[what], row=row, pixels=pixels[row]) for what, rows in seen.items() for row in rows
        ]

    def _sample(
        self,
        params: Params,
        seen: dict[Seen, list[int]],
        pixels: np.ndarray,
        keys: jax.Array,
        temperature: float,
    ) -> list[Turn]:
        """One turn of every row."""
        texts, rows = [words for words, _ in seen], list(seen.values())
        prompts = self.chat.prompts(texts)
        pending = []
        for call in self._calls(prompts, rows):
            length = bucket(len(prompts[call.prompts[0]]), self.buckets)
            shown = NO_PICTURES if self.picture is None else pixels[[rows[i][0] for i in call.prompts]]
            batch = prompt_batch([prompts[i] for i in call.prompts], shown, self.config.prompts, length)
            padded = np.resize(call.rows, self.config.rows)
            pending.append((call, self._generate(params, batch, call.source, keys[padded], temperature)))
        turns = []
        for call, completion in pending:
            tokens, logprobs, lengths = (
                np.asarray(x) for x in (completion.tokens, completion.logprobs, completion.lengths)
            )
            replies = self.chat.decode(tokens[: len(call.rows)], lengths[: len(call.rows)])
            for j, (row, source) in enumerate(zip(call.rows, call.source, strict=True)):
                i, said = call.prompts[source], slice(lengths[j])
                shown = (row, prompts[i], texts[i], pixels[row])
                turns.append(Turn(*shown, tokens[j, said], logprobs[j, said], replies[j]))
        return turns

    def _calls(self, prompts: list[PromptRow], rows: list[list[int]]) -> list[Call]:
        """The rows of every prompt in as few calls as hold them, long prompts first; within a bucket in the
        order of their rows, so that replies of one kind, about as long as each other, stay together."""
        order = sorted(
            range(len(prompts)), key=lambda i: (-bucket(len(prompts[i]), self.buckets), rows[i][0])
        )
        calls: list[Call] = []
        for i in order:
            for row in rows[i]:
                if (
                    not calls
                    or len(calls[-1].rows) == self.config.rows
                    or (calls[-1].prompts[-1] != i and len(calls[-1].prompts) == self.config.prompts)
                ):
                    calls.append(Call([], [], []))
                call = calls[-1]
                if call.prompts[-1:] != [i]:
                    call.prompts.append(i)
                call.rows.append(row)
                call.source.append(len(call.prompts) - 1)
        return calls

    def _generate(
        self, params: Params, prompt: Prompt, source: list[int], keys: jax.Array, temperature: float
    ) -> Completion:
        return generate_jit(
            self.graphdef,
            params,
            prompt,
            np.array(source + [-1] * (self.config.rows - len(source)), np.int32),
            keys,
            max_new_tokens=self.config.max_new_tokens,
            temperature=np.float32(temperature),
            allowed=self.allowed,
            stop=self.stop,
        )
