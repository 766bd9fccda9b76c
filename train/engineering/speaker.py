"""A policy of ours that is asked something in words and answers in words: the trainee as engineer."""

from collections.abc import Callable

import jax
import numpy as np

from train.batches import NO_PICTURES, bucket, prompt_batch
from train.policy.chat import Chat
from train.policy.generate import generate_jit
from train.policy.weights import Params, Policy

PROMPT_LENGTHS = tuple(256 * 2**n for n in range(7))  # padded, in tokens


def speaker(
    policy: Policy, params: Params, chat: Chat, max_new_tokens: int, temperature: float, key: jax.Array
) -> Callable[[str], str]:
    """A prompt's text -> the policy's reply of at most `max_new_tokens` tokens. `chat` shows no pictures."""

    def say(words: str) -> str:
        (prompt,) = chat.prompts([words])
        batch = prompt_batch([prompt], NO_PICTURES, 1, bucket(len(prompt), PROMPT_LENGTHS))
        said = generate_jit(
            policy.graphdef,
            params,
            batch,
            np.zeros(1, np.int32),
            jax.random.split(key, 1),
            max_new_tokens=max_new_tokens,
            temperature=np.float32(temperature),
            allowed=chat.allowed,
            stop=chat.stop,
        )
        return chat.decode(np.asarray(said.tokens), np.asarray(said.lengths))[0]

    return say
