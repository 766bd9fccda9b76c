"""Playing episodes: the policy answers, the environments move, until every episode is over.

Each turn is its own prompt with the current picture. The prompts of the episodes still running are sorted by
length and answered in chunks of a fixed number of rows, so that a few shapes serve any mixture of
environments, levels and episode lengths.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.environment import Level
from jaxenv.mixture import Mixture, View
from train.batches import bucket, prompt_batch
from train.policy.chat import Chat, PromptRow
from train.policy.generate import generate_jit
from train.policy.weights import Params, Policy


@dataclass(frozen=True)
class ActorConfig:
    """How answers are sampled."""

    max_new_tokens: int = 48
    """Tokens of one reply at most."""
    temperature: float = 1.0
    """Sampling temperature while training; evaluation is greedy and sampled."""
    rows: int = 32
    """Rows of one generation call."""
    prompt_buckets: tuple[int, ...] = (104, 184, 256)
    """Padded prompt lengths, in tokens; the last must hold the longest prompt of the set."""


@dataclass(frozen=True)
class Turn:
    """One answered prompt: of batch row `row`, with the sampled tokens int32[n] and log-probabilities."""

    row: int
    prompt: PromptRow
    text: str
    pixels: np.ndarray
    tokens: np.ndarray
    logprobs: np.ndarray
    reply: str


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

    def __init__(self, policy: Policy, chat: Chat, mixture: Mixture, config: ActorConfig) -> None:
        self.graphdef = policy.graphdef
        self.chat = chat
        self.mixture = mixture
        self.config = config
        self.allowed, self.stop = jnp.asarray(chat.allowed), jnp.asarray(chat.stop)

    def play(
        self,
        params: Params,
        reset_keys: jax.Array,
        sample_key: jax.Array,
        level: Level,
        max_turns: jax.Array,
        temperature: float,
        copies: int = 1,
        shuffle_pictures: bool = False,
        only: np.ndarray | None = None,
    ) -> Rollout:
        """Plays one episode in every slot, or in those of the types `only` bool[E].

        reset_keys key[E, slots]; level leaves int32[E, slots]; max_turns int32[E], 0 for the environment's
        own. With `copies` > 1, runs of that many neighbouring slots have equal keys and levels: their first
        prompt is computed once. `shuffle_pictures` shows each slot the picture of another slot of its
        environment: what is scored then, is scored without seeing.
        """
        mixture, size = self.mixture, self.mixture.size
        returns, success = np.zeros(size, np.float32), np.zeros(size, bool)
        lengths, verdicts = np.zeros(size, np.int32), np.zeros(4, np.int32)
        asked = np.ones(len(mixture.envs), bool) if only is None else only
        active, turns, cut = np.flatnonzero(np.repeat(asked, mixture.slots)), [], 0
        view, groups = mixture.reset(reset_keys, level)
        for t in range(mixture.longest(max_turns)):
            turn_key = jax.random.fold_in(sample_key, t)
            token_keys = jax.random.split(jax.random.fold_in(turn_key, 0), size)
            step_keys = jax.random.split(jax.random.fold_in(turn_key, 1), (len(mixture.envs), mixture.slots))
            played = self._answer(
                params, view, active, token_keys, temperature, copies if t == 0 else 1, shuffle_pictures
            )
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

    def compile(self, params: Params, copies: Sequence[int]) -> None:
        """Compiles generation for every prompt bucket and number of copies."""
        canvas = self.mixture.envs[0].canvas
        for length in self.config.prompt_buckets:
            for n in copies:
                nothing = np.zeros((0, canvas, canvas, 3), np.uint8)
                prompt = prompt_batch([], nothing, self.config.rows // n, length)
                keys = jax.random.split(jax.random.key(0), self.config.rows)
                jax.block_until_ready(self._generate(params, prompt, keys, 1.0))

    def _answer(
        self,
        params: Params,
        view: View,
        active: np.ndarray,
        keys: jax.Array,
        temperature: float,
        copies: int,
        shuffle_pictures: bool,
    ) -> list[Turn]:
        pixels = np.asarray(view.pixels)
        if shuffle_pictures:
            pixels = self._shifted(pixels)
        asked = active[::copies]
        texts = text.decode_batch(text.Text(view.prompt.data[asked], view.prompt.length[asked]))
        prompts = self.chat.prompts(texts)
        # From the longest prompt down, so that only the last chunk is not full.
        order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
        size = self.config.rows // copies
        pending = []
        for at in range(0, len(order), size):
            chunk = order[at : at + size]
            length = bucket(len(prompts[chunk[0]]), self.config.prompt_buckets)
            rows = (asked[chunk][:, None] + np.arange(copies)).reshape(-1)
            padded = np.resize(rows, self.config.rows)
            batch = prompt_batch([prompts[i] for i in chunk], pixels[asked[chunk]], size, length)
            pending.append((chunk, rows, self._generate(params, batch, keys[padded], temperature)))
        turns = []
        for chunk, rows, completion in pending:
            tokens, logprobs, lengths = (
                np.asarray(x) for x in (completion.tokens, completion.logprobs, completion.lengths)
            )
            replies = self.chat.decode(tokens[: len(rows)], lengths[: len(rows)])
            for j, row in enumerate(rows):
                i, said = chunk[j // copies], slice(lengths[j])
                seen = (int(row), prompts[i], texts[i], pixels[asked[i]])
                turns.append(Turn(*seen, tokens[j, said], logprobs[j, said], replies[j]))
        return turns

    def _generate(self, params: Params, prompt, keys: jax.Array, temperature: float):
        return generate_jit(
            self.graphdef,
            params,
            prompt,
            keys,
            max_new_tokens=self.config.max_new_tokens,
            temperature=np.float32(temperature),
            allowed=self.allowed,
            stop=self.stop,
        )

    def _shifted(self, pixels: np.ndarray) -> np.ndarray:
        by_env = pixels.reshape(len(self.mixture.envs), self.mixture.slots, *pixels.shape[1:])
        return np.roll(by_env, 1, axis=1).reshape(pixels.shape)
