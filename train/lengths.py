"""Padded lengths for the prompts of a mixture, measured on its own instances.

How many tokens a text has depends on the tokenizer, so no list of numbers fits every model. Four lengths
serve well: for texts taken away altogether, in part, not at all, and for the few environments that say most.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.environment import Level
from jaxenv.harness import NUM_HARNESS_LEVELS
from jaxenv.mixture import Mixture
from train.policy.chat import Chat

# Later turns may say a little more than the first one; lengths are multiples of STEP.
MARGIN, STEP = 3, 8


def prompt_buckets(chat: Chat, mixture: Mixture, largest_scale: int) -> tuple[int, ...]:
    """Up to four lengths, shortest first, that hold the prompts at all harness levels and at the scales
    0..largest_scale (of each environment no more than its own)."""
    shape = (len(mixture.envs), mixture.slots)
    keys = jax.random.split(jax.random.key(0), shape)
    own = np.array([env.num_scales - 1 for env in mixture.envs])

    def level(harness: int, scale: int) -> Level:
        scales = np.broadcast_to(np.minimum(own, scale)[:, None], shape)
        return Level(jnp.full(shape, harness, jnp.int32), jnp.asarray(scales, jnp.int32))

    mixture.compile(keys, level(0, 0), jnp.zeros(len(mixture.envs), jnp.int32))
    longest = np.zeros((NUM_HARNESS_LEVELS, len(mixture.envs)), int)
    for harness in range(NUM_HARNESS_LEVELS):
        for scale in range(min(largest_scale, own.max()) + 1):
            view, _ = mixture.reset(keys, level(harness, scale))
            lengths = np.array([len(row) for row in chat.prompts(text.decode_batch(view.prompt))])
            longest[harness] = np.maximum(longest[harness], lengths.reshape(shape).max(1))
    whole = longest[0]
    edges = (longest[-1].max(), longest[1:-1].max(), np.quantile(whole, 0.85, method="lower"), whole.max())
    return tuple(sorted({-(-(int(n) + MARGIN) // STEP) * STEP for n in edges}))
