"""What the experts would say: prompts and replies from random walks near the experts' paths.

The texts of the prompt are learnt too, as captions of the picture before them: a board of sixteen cells says
far more about a picture than the one word of a reply.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.environment import Environment, Level, Params
from jaxenv.harness import NUM_HARNESS_LEVELS
from jaxenv.quick_compile import quick_jit
from jaxenv.text import Text
from jaxenv.vector import Vector, VectorState
from train.batches import Answer, Pack
from train.compilation import in_threads
from train.policy.chat import Chat, PromptRow


class Demonstration(NamedTuple):
    """A batch of one environment: pixels uint8[n, H, W, 3], prompts and expert replies."""

    pixels: jax.Array
    prompt: Text
    reply: Text


class Demonstrator:
    """`rows[e]` states of environment e at a time. Episodes follow the expert but for a share `noise` of
    random actions, so that states off the path are shown too; the reply is always the expert's. With
    `board` the observation in words stays at every harness level."""

    def __init__(
        self,
        envs: Sequence[Environment],
        rows: Sequence[int],
        scale_weights: Sequence[float],
        noise: float,
        caption: float,
        board: bool,
        key: jax.Array,
    ) -> None:
        self.caption = caption

        def begin(e: int, env: Environment, n: int) -> tuple[Callable[..., Any], VectorState]:
            # An environment that ends every turn needs as many fresh instances as there are rows.
            refill = n if env.single_turn else max(n // 4, 1)
            vector = Vector(env, n, pool_size=max(4 * n, 64), refill=refill)
            level_key, reset_key = jax.random.split(jax.random.fold_in(key, e))
            weights = jnp.log(jnp.asarray(scale_weights[: env.num_scales], jnp.float32) + 1e-9)
            scales = jax.random.categorical(level_key, weights, shape=(vector.pool_size,)).astype(jnp.int32)
            params = Params(Level(jnp.zeros_like(scales), scales), jnp.int32(0))
            _, state = quick_jit(vector.reset)(reset_key, params)
            return quick_jit(partial(_advance, vector, noise, board)), state

        each = zip(range(len(envs)), envs, rows, strict=True)
        begun = in_threads(partial(begin, *one) for one in each)
        self._advance, self._states = zip(*begun, strict=True)

    def packs(self, chat: Chat, key: jax.Array) -> list[Pack]:
        """The next demonstrations of every environment: packs of a picture with a text and its reply."""
        moved = in_threads(
            partial(advance, jax.random.fold_in(key, e), self._states[e])
            for e, advance in enumerate(self._advance)
        )
        batches, self._states = zip(*moved, strict=True)
        prompts = chat.prompts([line for batch in batches for line in text.decode_batch(batch.prompt)])
        replies = chat.replies([line for batch in batches for line in text.decode_batch(batch.reply)])
        pixels = np.concatenate([np.asarray(batch.pixels) for batch in batches])
        return [
            Pack(chat.head, picture, [caption_and_reply(chat, prompt, reply, self.caption)])
            for prompt, picture, reply in zip(prompts, pixels, replies, strict=True)
        ]


def caption_and_reply(chat: Chat, prompt: PromptRow, reply: np.ndarray, caption: float) -> Answer:
    """The text of the prompt at weight `caption`, the reply at 1, the marks between them not learnt."""
    tokens = np.concatenate([prompt.tokens[len(chat.head) :], reply])
    weights = np.full(len(tokens), caption, np.float32)
    weights[-len(reply) :] = 1.0
    learnt = np.ones(len(tokens), bool)
    learnt[-len(reply) - len(chat.tail) : -len(reply)] = False
    return Answer(tokens, np.zeros(len(tokens), np.float32), weights, learnt)


def _advance(
    vector: Vector, noise: float, board: bool, key: jax.Array, state: VectorState
) -> tuple[Demonstration, VectorState]:
    """Shows every slot at a random harness level, then moves it by its expert or at random."""
    env, n = vector.env, vector.num_envs
    harness_key, expert_key, random_key, noise_key, step_key = jax.random.split(key, 5)
    episodes = state.episodes
    harness = jax.random.randint(harness_key, (n,), 0, NUM_HARNESS_LEVELS, jnp.int32)
    shown = replace(episodes, level=Level(harness, episodes.level.scale))
    experts = jax.random.split(expert_key, n)
    demonstration = Demonstration(
        jax.vmap(lambda episode: env.draw(episode.state, env.canvas))(shown),
        jax.vmap(lambda episode: env.prompt(episode, board))(shown),
        jax.vmap(env.expert_text)(experts, shown),
    )
    best = jax.vmap(env.expert)(experts, episodes.state)
    wild = jax.vmap(env.grammar.sample)(jax.random.split(random_key, n))
    astray = jax.random.bernoulli(noise_key, noise, (n,)).reshape((n,) + (1,) * (best.ndim - 1))
    actions = jnp.where(astray, wild, best)
    params = Params(jax.tree.map(jnp.zeros_like, Level(jnp.int32(0), jnp.int32(0))), jnp.int32(0))
    _, moved, *_ = vector.step(step_key, state, actions, params)
    return demonstration, moved
