"""Padded lengths for the prompts of a mixture, measured on its own instances, and for its conversations.

How many tokens a text has depends on the tokenizer, so no list of numbers fits every model. A few lengths
serve well, those with the least padding; each is one more program to compile.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.environment import Level
from jaxenv.harness import NUM_HARNESS_LEVELS
from jaxenv.mixture import Mixture
from train.memory import longest_reminder
from train.policy.chat import Chat

# Later turns may say a little more than the first one; lengths are multiples of STEP.
MARGIN, STEP = 3, 8


def prompt_buckets(
    chat: Chat, mixture: Mixture, largest_scale: int, conversation: bool = False, memory: int = 0
) -> tuple[int, ...]:
    """Up to five lengths, shortest first, that hold the prompts at all harness levels and at the scales
    0..largest_scale (of each environment no more than its own), in any turn. For conversations two: each is
    compiled for every size of the cache. No others pad less where every environment is as often at each
    harness level."""
    shape = (len(mixture.envs), mixture.slots)
    keys = jax.random.split(jax.random.key(0), shape)
    own = np.array([env.num_scales - 1 for env in mixture.envs])
    # In a conversation's later turns the last token of the reply before is read too.
    again = max(1 + len(chat.closing) - len(chat.head), 0) if conversation else 0
    extra = again + longest_reminder(chat, mixture, memory)
    later = np.array([0 if env.single_turn else extra for env in mixture.envs])

    def level(harness: int, scale: int) -> Level:
        scales = np.broadcast_to(np.minimum(own, scale)[:, None], shape)
        return Level(jnp.full(shape, harness, jnp.int32), jnp.asarray(scales, jnp.int32))

    mixture.compile()
    longest = np.zeros((NUM_HARNESS_LEVELS, len(mixture.envs)), int)
    for harness in range(NUM_HARNESS_LEVELS):
        for scale in range(min(largest_scale, own.max()) + 1):
            view, _ = mixture.reset(keys, level(harness, scale))
            lengths = np.array([len(row) for row in chat.prompts(text.decode_batch(view.prompt))])
            longest[harness] = np.maximum(longest[harness], lengths.reshape(shape).max(1) + later)
    return least_padding(-(-(longest + MARGIN) // STEP) * STEP, 2 if conversation else 5)


def least_padding(lengths: np.ndarray, count: int) -> tuple[int, ...]:
    """Up to `count` of the lengths int[...], shortest first, that hold them all and pad them least."""
    sizes, numbers = np.unique(lengths, return_counts=True)
    below = np.concatenate([[0], np.cumsum(numbers)])
    # By the number of sizes held: (their padded total, the lengths chosen), with one more length each time.
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for _ in range(min(count, len(sizes))):
        best = {
            held: min(
                (total + int(last * (below[held] - below[fewer])), (*chosen, int(last)))
                for fewer, (total, chosen) in best.items()
                if fewer < held
            )
            for held, last in enumerate(sizes, start=1)
            if held > min(best)
        }
    return best[len(sizes)][1]


def most_turns(mixture: Mixture, largest_scale: int) -> int:
    """Turns of the longest episode at the scales 0..largest_scale."""
    return max(max(env.max_turns[: largest_scale + 1]) for env in mixture.envs)


def dialogue_lengths(turn: int, turns: int) -> tuple[int, ...]:
    """Lengths, shortest first, that hold conversations of up to `turns` turns of `turn` tokens each: of one
    turn, and of twice as many as before until all are held."""
    doubled = [2**n for n in range(turns.bit_length()) if 2**n < turns]
    return tuple(turn * n for n in [*doubled, turns])
