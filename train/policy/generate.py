"""Sampling answers: pictures, prefill and the decode loop as one compiled call.

`generate` answers prompts that stand alone, `converse` gives conversations their next turn: it goes on from
their cache, so that nothing is read twice.

Every row has its own key, and step t of a row uses `fold_in(key, t)`: what a row samples does not depend
on the rows beside it (with threefry keys; JAX does not promise it for `rbg` ones).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx, struct

from train.policy.decoder import KVCache, Tail
from train.policy.model import Model
from train.policy.sampling import pick
from train.policy.sharding import everywhere


class Prompt(struct.PyTreeNode):
    """B right-padded prompts and the N pictures they show. A prompt of length 0 is padding.

    All begin with the same `shared` tokens, none of them a picture's, which are then read once for all. In a
    turn that goes on from a cache there are none.
    """

    tokens: jax.Array  # int32[B, P]
    positions: jax.Array  # int32[3, B, P]
    image_slots: jax.Array  # int32[B, P], into the flattened N * V visual tokens, -1 at text
    lengths: jax.Array  # int32[B]
    next_position: jax.Array  # int32[B], where the first sampled token stands
    pictures: jax.Array  # what `Model.see` takes, of N pictures; rows may share them, N may be 0
    shared: int = struct.field(pytree_node=False, kw_only=True, default=0)


class Completion(NamedTuple):
    """What was sampled. After `lengths` tokens and log-probabilities are 0; the stop token counts."""

    tokens: jax.Array  # int32[B, M]
    logprobs: jax.Array  # float32[B, M], at the sampling temperature (at 1 when greedy)
    lengths: jax.Array  # int32[B]
    stopped: jax.Array  # bool[B], false where max_new_tokens cut the row


class _Loop(NamedTuple):
    """State of the decode loop after `step` tokens, of which all but the last are in the tail."""

    step: jax.Array
    last: jax.Array  # int32[B]
    tail: Tail
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
    logits, cache = _read(model, prompt, None)
    logits, cache, next_position = _take(jnp.maximum(source, 0), logits, cache, prompt.next_position)
    choose = partial(pick, temperature=jnp.asarray(temperature, jnp.float32), allowed=allowed)
    return _say(model, logits, cache, next_position, source >= 0, keys, choose, stop, max_new_tokens)[0]


generate_jit = jax.jit(generate, static_argnums=0, static_argnames="max_new_tokens")


def converse(
    graphdef: nnx.GraphDef,
    params: Any,
    turn: Prompt,
    cache: KVCache | None,
    keys: jax.Array,
    *,
    slots: int,
    max_new_tokens: int,
    temperature: jax.Array | float,
    allowed: jax.Array,
    stop: jax.Array,
) -> tuple[Completion, KVCache]:
    """The next turn of R conversations; other arguments as in `generate`.

    Args:
        turn: what each reads first, a row each. After the first turn it begins with the last token that was
            sampled, which is in no cache yet. A row of length 0 has nothing to say and stays as it is.
        cache: what was read and said so far, of `slots` slots a row; donated. None before the first turn.
            It must have room for the turn and `max_new_tokens - 1` more.

    Returns:
        `Completion` of R rows, and the cache with this turn and its reply except its last token.
    """
    model: Model = nnx.merge(graphdef, params)
    logits, before = _read(model, turn, cache)
    before = before.grow(slots - before.keys.shape[3])
    choose = partial(pick, temperature=jnp.asarray(temperature, jnp.float32), allowed=allowed)
    awake = turn.lengths > 0
    done, tail = _say(model, logits, before, turn.next_position, awake, keys, choose, stop, max_new_tokens)
    # The loop goes on for the rows beside it when a row has ended: what it wrote then is not part of it.
    return done, before.absorb(tail, jnp.maximum(done.lengths - 1, 0))


converse_jit = jax.jit(
    converse, static_argnums=0, static_argnames=("slots", "max_new_tokens"), donate_argnames="cache"
)


def _read(model: Model, prompt: Prompt, cache: KVCache | None) -> tuple[jax.Array, KVCache]:
    """Logits [B, vocabulary] after each prompt's last token, and the cache with the prompts in it."""
    earlier = _read_start(model, prompt) if prompt.shared else cache
    rest = slice(prompt.shared, None)
    lengths = jnp.maximum(prompt.lengths - prompt.shared, 0)
    hidden, tail = model(
        prompt.tokens[:, rest],
        prompt.positions[:, :, rest],
        visual=model.see(prompt.pictures),
        image_slots=prompt.image_slots[:, rest],
        cache=earlier,
        only=jnp.maximum(lengths - 1, 0),
    )
    if earlier is None:
        read = KVCache.of(tail, lengths)
    elif prompt.shared:
        read = earlier.followed_by(tail, lengths)
    else:
        read = earlier.absorb(tail, lengths)
    return model.logits(hidden[:, 0]), read


def _read_start(model: Model, prompt: Prompt) -> KVCache:
    """A full cache of B rows that holds what all prompts begin with."""
    start = slice(prompt.shared)
    _, tail = model(prompt.tokens[:1, start], prompt.positions[:, :1, start])
    return KVCache.of(tail, jnp.array([prompt.shared])).repeat(len(prompt.lengths))


def _say(
    model: Model,
    logits: jax.Array,
    cache: KVCache,
    next_position: jax.Array,
    awake: jax.Array,
    keys: jax.Array,
    choose: Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]],
    stop: jax.Array,
    max_new_tokens: int,
) -> tuple[Completion, Tail]:
    """The decode loop over the rows that are awake bool[R], from the logits [R, vocabulary] after what was
    read. The tail returned holds all tokens that were said but the last."""

    apart = model.decoder.cut(cache)
    numbers = _numbers(keys, max_new_tokens)

    def record(done: Completion, step: jax.Array, logits: jax.Array) -> tuple[Completion, jax.Array]:
        live = awake & ~done.stopped
        token, logprob = jax.vmap(choose)(logits, numbers[:, step])
        token, logprob = jnp.where(live, token, 0), jnp.where(live, logprob, 0.0)
        return Completion(
            done.tokens.at[:, step].set(token),
            done.logprobs.at[:, step].set(logprob),
            done.lengths + live,
            done.stopped | (live & stop[token]),
        ), token

    def unfinished(loop: _Loop) -> jax.Array:
        return (loop.step < max_new_tokens) & jnp.any(awake & ~loop.done.stopped)

    def advance(loop: _Loop) -> _Loop:
        at = next_position + loop.step - 1
        positions = jnp.broadcast_to(at[:, None], (3, len(at), 1))
        hidden, tail = model(loop.last[:, None], positions, cache=cache, tail=loop.tail, apart=apart)
        done, token = record(loop.done, loop.step, model.logits(hidden[:, 0]))
        return _Loop(loop.step + 1, token, tail, done)

    rows = keys.shape[0]
    nothing = Completion(
        jnp.zeros((rows, max_new_tokens), jnp.int32),
        jnp.zeros((rows, max_new_tokens)),
        jnp.zeros(rows, jnp.int32),
        jnp.zeros(rows, bool),
    )
    first, token = record(nothing, jnp.int32(0), logits)
    tail = model.decoder.new_tail(rows, max(max_new_tokens - 1, 1), cache, apart)
    end = jax.lax.while_loop(unfinished, advance, _Loop(jnp.int32(1), token, tail, first))
    return everywhere(end.done), end.tail


def _take(
    source: jax.Array, logits: jax.Array, cache: KVCache, next_position: jax.Array
) -> tuple[jax.Array, KVCache, jax.Array]:
    """What the decode loop needs of each row's prompt."""
    kept = KVCache(cache.keys[:, source], cache.values[:, source], cache.lengths[source])
    return logits[source], kept, next_position[source]


def _numbers(keys: jax.Array, count: int) -> jax.Array:
    """float32[R, count] uniform numbers of [0, 1), the t-th of a row from `fold_in(key, t)`. All at once:
    the few of one step would take as long."""
    at_step = jax.vmap(jax.random.fold_in, (None, 0))
    return jax.vmap(lambda key: jax.vmap(jax.random.uniform)(at_step(key, jnp.arange(count))))(keys)
