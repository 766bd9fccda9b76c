"""Playing episodes: the policy answers, the environments move, until every episode is over.

Each turn is its own prompt with the current picture (and with the last answers where there is a memory), or
an episode is one conversation (`train.dialogues`). Of prompts of their own, those that are the same are read
once; a greedy policy, which says the same to the same, is not asked twice. What is to be answered is sorted
by length and cut into calls of a fixed number of prompts and rows, so that a few shapes serve any mixture of
environments, levels and episode lengths.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxenv import text
from jaxenv.mixture import Groups, Mixture, View
from jaxenv.quick_compile import compile_side_by_side
from train.batches import NO_PICTURES, bucket, empty_pictures, prompt_batch
from train.compilation import in_threads
from train.dialogues import Dialogues, enlarge
from train.eyes import Eyes
from train.memory import note, reminder
from train.policy.chat import Chat, PromptRow
from train.policy.decoder import KVCache
from train.policy.generate import Completion, Prompt, converse_jit, generate_jit
from train.policy.sharding import on, replicate
from train.policy.weights import Params, Policy
from train.turns import ActorConfig, Seen, Turn

GREEDY = 0.0


Ask = Callable[[Mapping[int, str], np.ndarray, jax.Array], list[Turn]]
"""(texts by row, pixels uint8[B, H, W, 3], keys key[B]) -> a turn of every row that has a text."""


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
    """A policy's way to play the environments of a mixture.

    `buckets` are the padded lengths of prompts. `capacities` are those of the caches of conversations; with
    none, every turn is a prompt of its own, which names the answers of the last `memory` turns. The first
    holds a turn, the last the longest episode.
    """

    def __init__(
        self,
        policy: Policy,
        chat: Chat,
        mixture: Mixture,
        config: ActorConfig,
        buckets: Sequence[int],
        memory: int = 0,
        capacities: Sequence[int] = (),
    ) -> None:
        self.graphdef = policy.graphdef
        self.chat = chat
        self.mixture = mixture
        self.config = config
        self.buckets = tuple(buckets)
        self.memory = memory
        self.capacities = tuple(capacities)
        self.shared = 0 if self.capacities else chat.shared
        self.mesh = policy.mesh
        self.allowed, self.stop = chat.allowed, chat.stop
        self.eyes = Eyes(policy, mixture.envs[0].canvas, config.prompts) if chat.grids else None
        self.picture = None if self.eyes is None else self.eyes.picture  # what the policy is shown

    def play(
        self,
        params: Params,
        start: tuple[View, Groups],
        sample_key: jax.Array,
        max_turns: jax.Array,
        temperature: float,
        shuffle_pictures: bool = False,
        only: np.ndarray | None = None,
    ) -> Rollout:
        """Plays one episode in every slot, or in those of the types `only` bool[E].

        start is what the mixture gave at its reset; max_turns is as in its step.
        `shuffle_pictures` shows each slot the picture of another slot of its environment: what is scored
        then, is scored without seeing.
        """
        mixture, size = self.mixture, self.mixture.size
        returns, success = np.zeros(size, np.float32), np.zeros(size, bool)
        lengths, verdicts = np.zeros(size, np.int32), np.zeros(4, np.int32)
        asked = np.ones(len(mixture.envs), bool) if only is None else only
        active, turns, cut = np.flatnonzero(np.repeat(asked, mixture.slots)), [], 0
        notes: list[list[str]] = [[] for _ in range(size)]
        ask = (self._in_conversation if self.capacities else self._turn_by_turn)(params, temperature)
        view, groups = start
        for t in range(mixture.longest(max_turns)):
            turn_key = jax.random.fold_in(sample_key, t)
            token_keys = jax.random.split(jax.random.fold_in(turn_key, 0), size)
            step_keys = jax.random.split(jax.random.fold_in(turn_key, 1), (len(mixture.envs), mixture.slots))
            pixels = self._pixels(view, shuffle_pictures)
            played = ask(self._texts(view, active, notes), pixels, token_keys)
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
            for turn in played if self.memory else ():
                notes[turn.row].append(note(turn.reply, int(outcome.verdict[turn.row])))
            active = active[~outcome.done[active]]
            if not len(active):
                break
        return Rollout(returns, success, lengths, verdicts, cut, turns, np.asarray(view.pixels))

    def compile(self, params: Params) -> None:
        """Compiles what is sampled with for every prompt bucket, side by side."""
        if self.eyes is not None:
            self.eyes.compile(params)
        if self.capacities:
            in_threads(partial(self._compile_conversation, params, length) for length in self.buckets)
        else:
            compile_side_by_side(self._lowered(params))

    @property
    def most_turns(self) -> int:
        """Of a conversation."""
        return self.capacities[-1] // self.capacities[0]

    def most_pictures(self, length: int) -> int:
        """Pictures that a prompt with its answers, or a conversation, of so many tokens may show."""
        chat = self.chat
        shortest = min(len(chat.head), len(chat.between)) + len(chat.tail) + 1  # of a turn
        return min(self.most_turns, max(length // shortest, 1)) if self.capacities else 1

    def _lowered(self, params: Params) -> Iterator[jax.stages.Lowered]:
        keys = jax.random.split(jax.random.key(0), self.config.rows)
        for length in self.buckets:
            prompt = self._nothing(self.config.prompts, length)
            yield self._generate(params, prompt, [], keys, 1.0, generate_jit.lower)

    def _compile_conversation(self, params: Params, length: int) -> None:
        """With caches as large as conversations get whose turns read at most `length` tokens."""
        keys = jax.random.split(jax.random.key(0), self.config.rows)
        turn = self._nothing(self.config.rows, length)
        most = self.most_turns * (length + self.config.max_new_tokens)
        cache = None
        for slots in self.capacities[: 1 + self.capacities.index(bucket(most, self.capacities))]:
            if cache is None:
                _, cache = self._converse(params, 1.0, turn, None, keys, slots)
            _, cache = self._converse(params, 1.0, turn, enlarge(cache, slots), keys, slots)
        jax.block_until_ready(cache)

    def _nothing(self, rows: int, length: int) -> Prompt:
        """So many empty prompts."""
        return prompt_batch([], empty_pictures(self.picture), rows, length, self.shared)

    def _show(self, params: Params, pixels: np.ndarray) -> np.ndarray:
        """What the policy is shown of these pictures."""
        return NO_PICTURES if self.eyes is None else self.eyes.show(params, pixels)

    def _pixels(self, view: View, shuffle_pictures: bool) -> np.ndarray:
        """The pictures of all rows, or to each that of the row before it of the same type."""
        pixels = np.asarray(view.pixels)
        if not shuffle_pictures:
            return pixels
        by_env = pixels.reshape(len(self.mixture.envs), self.mixture.slots, *pixels.shape[1:])
        return np.roll(by_env, 1, axis=1).reshape(pixels.shape)

    def _texts(self, view: View, active: np.ndarray, notes: list[list[str]]) -> dict[int, str]:
        """What every active row is told, by row."""
        texts = text.decode_batch(text.Text(view.prompt.data[active], view.prompt.length[active]))
        told = dict(zip(active.tolist(), texts, strict=True))
        if not self.memory:
            return told
        return {row: words + reminder(notes[row][-self.memory :]) for row, words in told.items()}

    def _in_conversation(self, params: Params, temperature: float) -> Ask:
        """Every turn goes on from those before it."""
        single = np.repeat([env.single_turn for env in self.mixture.envs], self.mixture.slots)
        converse = partial(self._converse, params, temperature)
        show = partial(self._show, params)
        sizes = (self.buckets, self.capacities)
        return Dialogues(self.chat, self.config, *sizes, single, converse, show).reply

    def _turn_by_turn(self, params: Params, temperature: float) -> Ask:
        """Every turn is a prompt of its own."""
        known: dict[Seen, Turn] = {}

        def ask(texts: Mapping[int, str], pixels: np.ndarray, keys: jax.Array) -> list[Turn]:
            seen = self._see(texts, pixels)
            if temperature > 0:
                return self._sample(params, seen, pixels, keys, temperature)
            return self._repeat(params, seen, pixels, keys, known)

        return ask

    def _see(self, texts: Mapping[int, str], pixels: np.ndarray) -> dict[Seen, list[int]]:
        """The different things that the rows see, and the rows that see each."""
        seen: dict[Seen, list[int]] = defaultdict(list)
        for row, words in texts.items():
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
            shown = self._show(params, pixels[[rows[i][0] for i in call.prompts]])
            these = [prompts[i] for i in call.prompts]
            batch = prompt_batch(these, shown, self.config.prompts, length, self.shared)
            padded = np.resize(call.rows, self.config.rows)
            answers = self._generate(params, batch, call.source, keys[padded], temperature)
            pending.append((call, shown, answers))
        turns = []
        for call, shown, completion in pending:
            tokens, logprobs, lengths = (
                np.asarray(x) for x in (completion.tokens, completion.logprobs, completion.lengths)
            )
            replies = self.chat.decode(tokens[: len(call.rows)], lengths[: len(call.rows)])
            for j, (row, source) in enumerate(zip(call.rows, call.source, strict=True)):
                i, said = call.prompts[source], slice(lengths[j])
                asked = (row, prompts[i], texts[i], pixels[row])
                features = shown[source] if shown.dtype != np.uint8 else None
                turns.append(Turn(*asked, tokens[j, said], logprobs[j, said], replies[j], features))
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
        self,
        params: Params,
        prompt: Prompt,
        source: list[int],
        keys: jax.Array,
        temperature: float,
        generate: Callable[..., Any] = generate_jit,
    ) -> Any:
        """A `Completion`, or what else `generate`, which is `generate_jit` or its `lower`, gives."""
        sources = np.array(source + [-1] * (self.config.rows - len(source)), np.int32)
        given = replicate(self.mesh, (prompt, sources, keys))
        with on(self.mesh):
            return generate(
                self.graphdef,
                params,
                *given,
                max_new_tokens=self.config.max_new_tokens,
                temperature=np.float32(temperature),
                allowed=self.allowed,
                stop=self.stop,
            )

    def _converse(
        self,
        params: Params,
        temperature: float,
        turn: Prompt,
        cache: KVCache | None,
        keys: jax.Array,
        slots: int,
    ) -> tuple[Completion, KVCache]:
        turn, keys = replicate(self.mesh, (turn, keys))
        with on(self.mesh):
            return converse_jit(
                self.graphdef,
                params,
                turn,
                cache,
                keys,
                slots=slots,
                max_new_tokens=self.config.max_new_tokens,
                temperature=np.float32(temperature),
                allowed=self.allowed,
                stop=self.stop,
            )
