"""Sampling answers: pictures, prefill and the decode loop as one compiled call.

Every row has its own key, and step t of a row uses `fold_in(key, t)`: what a row samples does not depend
on the rows beside it (with threefry keys; JAX does not promise it for `rbg` ones).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx, struct

from train.policy.decoder import KVCache
from train.policy.model import Model


class Prompt(struct.PyTreeNode):
    """B right-padded prompts and the N pictures they show. A prompt of length 0 is padding."""

    tokens: jax.Array  # int32[B, P]
    positions: jax.Array  # int32[3, B, P]
    image_slots: jax.Array  # int32[B, P], into the flattened N * V visual tokens, -1 at text
    lengths: jax.Array  # int32[B]
    next_position: jax.Array  # int32[B], where the first sampled token stands
    pixels: jax.Array  # uint8[N, H, W, 3]; rows may share pictures, N may be 0


class Completion(NamedTuple):
    """What was sampled. After `lengths` tokens and log-probabilities are 0; the stop token counts."""

    tokens: jax.Array  # int32[B, M]
    logprobs: jax.Array  # float32[B, M], at the sampling temperature (at 1 when greedy)
    lengths: jax.Array  # int32[B]
    stopped: jax.Array  # bool[B], false where max_new_tokens cut the row


class _Loop(NamedTuple):
    """State of the decode loop after `step` tokens."""

    step: jax.Array
    last: jax.Array  # int32[B]
    cache: KVCache
    done: Completion


def generate(
    graphdef: nnx.GraphDef,
    params: Any,
    prompt: Prompt,
    source: jax.Array,
    keys: jax.Array,
    *,
    max_new_tokens: int,
    temperature: jax.Array | float,
    allowed: jax.Array,
    stop: jax.Array,
) -> Completion:
    """Samples up to `max_new_tokens` tokens a row; ends as soon as every row has stopped.

    Args:
        graphdef, params: a `Policy`'s; graphdef and max_new_tokens are static.
        prompt: the different prompts; each is read once.
        source: int32[R], the prompt that each of R rows answers, -1 for a row that is padding.
        keys: typed PRNG keys [R].
        temperature: traced; 0 is greedy.
        allowed: bool[vocabulary]; other tokens get probability 0, and the rest sum to 1.
        stop: bool[vocabulary], tokens that end a row.

    Returns:
        `Completion` of R rows.
    """
    model: Model = nnx.merge(graphdef, params)
    pick = partial(_pick, temperature=jnp.asarray(temperature, jnp.float32), allowed=allowed)
    logits, cache = _prefill(model, prompt)
    real = source >= 0
    logits, cache, next_position = _take(jnp.maximum(source, 0), logits, cache, prompt.next_position)

    def record(done: Completion, step: jax.Array, logits: jax.Array) -> tuple[Completion, jax.Array]:
        live = real & ~done.stopped
        token, logprob = jax.vmap(pick)(logits, jax.vmap(jax.random.fold_in, (0, None))(keys, step))
        token, logprob = jnp.where(live, token, 0), jnp.where(live, logprob, 0.0)
        return Completion(
            done.tokens.at[:, step].set(token),
            done.logprobs.at[:, step].set(logprob),
            done.lengths + live,
            done.stopped | (live & stop[token]),
        ), token

    def unfinished(loop: _Loop) -> jax.Array:
        return (loop.step < max_new_tokens) & jnp.any(real & ~loop.done.stopped)

    def advance(loop: _Loop) -> _Loop:
        at = next_position + loop.step - 1
        positions = jnp.broadcast_to(at[:, None], (3, len(at), 1))
        hidden, cache = model(loop.last[:, None], positions, cache=loop.cache)
        done, token = record(loop.done, loop.step, model.logits(hidden[:, 0]))
        return _Loop(loop.step + 1, token, cache, done)

    rows = keys.shape[0]
    nothing = Completion(
        jnp.zeros((rows, max_new_tokens), jnp.int32),
        jnp.zeros((rows, max_new_tokens)),
        jnp.zeros(rows, jnp.int32),
        jnp.zeros(rows, bool),
    )
    first, token = record(nothing, jnp.int32(0), logits)
    start = _Loop(jnp.int32(1), token, cache.grow(max_new_tokens - 1), first)
    return jax.lax.while_loop(unfinished, advance, start).done


generate_jit = jax.jit(generate, static_argnums=0, static_argnames="max_new_tokens")


def _prefill(model: Model, prompt: Prompt) -> tuple[jax.Array, KVCache]:
    """Logits [B, vocabulary] after each prompt's last token, and the cache."""
    pictured = {}
    if prompt.pixels.shape[0]:
        pictured = {"visual": model.encode_images(prompt.pixels), "image_slots": prompt.image_slots}
    hidden, cache = model(prompt.tokens, prompt.positions, **pictured)
    last = jnp.maximum(prompt.lengths - 1, 0)
    hidden = jnp.take_along_axis(hidden, last[:, None, None], 1)[:, 0]
    return model.logits(hidden), cache.replace(lengths=prompt.lengths)


def _take(
    source: jax.Array, logits: jax.Array, cache: KVCache, next_position: jax.Array
) -> tuple[jax.Array, KVCache, jax.Array]:
    """What the decode loop needs of each row's prompt."""
    kept = KVCache(cache.keys[:, source], cache.values[:, source], cache.lengths[source])
    return logits[source], kept, next_position[source]


def _pick(
    logits: jax.Array, key: jax.Array, *, temperature: jax.Array, allowed: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """One token of float32[vocabulary] logits and its log-probability, by the Gumbel-max trick."""
    greedy = temperature <= 0
    scaled = jnp.where(allowed, logits / jnp.where(greedy, 1.0, temperature), -jnp.inf)
    noise = jnp.where(greedy, 0.0, jax.random.gumbel(key, logits.shape))
    token = jnp.argmax(scaled + noise).astype(jnp.int32)
    return token, scaled[token] - jax.nn.logsumexp(scaled)
