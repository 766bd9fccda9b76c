"""Episodes as conversations: what was read and said stays in a cache, each turn reads only what is new.

The rows of a batch are dealt to calls of a fixed number of rows at their first turn and stay in them, since a
call's cache goes from turn to turn. Who is done rests; where all are done the cache is given back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import jax
import numpy as np

from train.batches import bucket, prompt_batch
from train.policy.chat import Chat, PromptRow
from train.policy.decoder import KVCache
from train.policy.generate import Completion, Prompt
from train.turns import ActorConfig, Turn

NOTHING = PromptRow(np.zeros(0, np.int32), np.zeros((3, 0), np.int32), np.zeros(0, np.int32), 0)

Converse = Callable[[Prompt, KVCache | None, jax.Array, int], tuple[Completion, KVCache]]
"""(what is new, the cache or None, keys [R], the cache's slots) -> what was said and the cache after it."""

_grow = jax.jit(KVCache.grow, static_argnums=1)


def enlarge(cache: KVCache, slots: int) -> KVCache:
    """The cache with so many slots a row."""
    return cache if slots == cache.keys.shape[3] else _grow(cache, slots - cache.keys.shape[3])


@dataclass
class _Call:
    """Conversations that are sampled together, what they read in a turn padded to `length` tokens."""

    rows: list[int]
    length: int = 0
    cache: KVCache | None = None


class Dialogues:
    """The conversations of a batch of episodes, of which those of the rows `single` bool[B] end after a turn.
    `buckets` are padded lengths of what is read in a turn, `capacities` those of the caches. `show` says what
    the policy is shown of pictures uint8[N, H, W, 3]."""

    def __init__(
        self,
        chat: Chat,
        config: ActorConfig,
        buckets: Sequence[int],
        capacities: Sequence[int],
        single: np.ndarray,
        converse: Converse,
        show: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.chat, self.config, self.single = chat, config, single
        self.converse, self.show = converse, show
        self.buckets, self.capacities = buckets, capacities
        self.calls: list[_Call] = []
        self.last: dict[int, Turn] = {}  # of every row
        self.filled = np.zeros(len(single), int)  # slots of its cache

    def reply(self, texts: Mapping[int, str], pixels: np.ndarray, keys: jax.Array) -> list[Turn]:
        """One more turn of the rows that have a text; pixels uint8[B, H, W, 3] and keys key[B] are of all.
        All rows that will ever play must be there the first time."""
        prompts = self._prompts(texts)
        if not self.calls:
            self.calls = self._deal(prompts)
        self.calls = [call for call in self.calls if any(row in texts for row in call.rows)]
        pending = []
        for call in self.calls:
            shown = self.show(pixels[call.rows])
            pending.append((call, shown, self._sample(call, prompts, shown, keys)))
        turns = []
        for call, shown, completion in pending:
            tokens, logprobs, lengths = (
                np.asarray(x) for x in (completion.tokens, completion.logprobs, completion.lengths)
            )
            replies = self.chat.decode(tokens[: len(call.rows)], lengths[: len(call.rows)])
            for j, row in enumerate(call.rows):
                if row in texts:
                    said = slice(lengths[j])
                    asked = (row, prompts[row], texts[row], pixels[row])
                    features = shown[j] if shown.dtype != np.uint8 else None
                    turns.append(Turn(*asked, tokens[j, said], logprobs[j, said], replies[j], features))
                    self.filled[row] += lengths[j] - 1
        self.last |= {turn.row: turn for turn in turns}
        return turns

    def _prompts(self, texts: Mapping[int, str]) -> dict[int, PromptRow]:
        """What is new to every row."""
        words = list(texts.values())
        if not self.calls:
            return dict(zip(texts, self.chat.prompts(words), strict=True))
        last = [self.last[row] for row in texts]
        before, said = [turn.prompt for turn in last], [turn.tokens for turn in last]
        return dict(zip(texts, self.chat.next_prompts(words, before, said), strict=True))

    def _deal(self, prompts: Mapping[int, PromptRow]) -> list[_Call]:
        """All rows, those that go on for several turns first, and long prompts before short ones."""
        order = sorted(
            prompts, key=lambda row: (self.single[row], -bucket(len(prompts[row]), self.buckets), row)
        )
        size = self.config.rows
        return [_Call(order[at : at + size]) for at in range(0, len(order), size)]

    def _sample(
        self, call: _Call, prompts: Mapping[int, PromptRow], shown: np.ndarray, keys: jax.Array
    ) -> Completion:
        """Reads and says what is new in a call's conversations; the cache grows where it must."""
        new = [self._unread(row, prompts[row]) if row in prompts else NOTHING for row in call.rows]
        call.length = max(call.length, bucket(max(map(len, new)), self.buckets))
        self.filled[call.rows] += [len(row) for row in new]
        needed = int(self.filled[call.rows].max()) + self.config.max_new_tokens - 1
        slots = bucket(max(needed, call.length), self.capacities)
        if call.cache is not None:
            slots = max(slots, call.cache.keys.shape[3])
            call.cache = enlarge(call.cache, slots)
        batch = prompt_batch(new, shown, self.config.rows, call.length)
        padded = np.resize(call.rows, self.config.rows)
        completion, call.cache = self.converse(batch, call.cache, keys[padded], slots)
        return completion

    def _unread(self, row: int, prompt: PromptRow) -> PromptRow:
        """The prompt, after the last token that was sampled: no cache holds it yet."""
        if row not in self.last:
            return prompt
        said, at = self.last[row].tokens, self.last[row].prompt.next_position
        return replace(
            prompt,
            tokens=np.concatenate([said[-1:], prompt.tokens]),
            positions=np.pad(prompt.positions, ((0, 0), (1, 0)), constant_values=at + len(said) - 1),
            image_slots=np.pad(prompt.image_slots, (1, 0), constant_values=-1),
        )
