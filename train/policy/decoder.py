"""The text decoder of all families: GQA, rotary positions of one axis or three, SwiGLU, deepstack.

Queries are laid out [B, K, G, T, Dh] (K key heads, G queries a key head): both products of the attention are
then plain batched matrix products with no repeated keys.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx, struct

from train.policy.config import Family, TextConfig
from train.policy.layers import Linear, RMSNorm, Table, over_layers, rotate
from train.policy.sharding import by_rows

_NEVER = -1e30  # finite, so that a row that may see nothing gives numbers and not NaN


class Tail(NamedTuple):
    """Keys and values of the newest tokens, in the same slots for every row: `used` of them are filled.

    By layer: one array [L, B, K, S, Dh] each, or beside `Apart` layers L arrays, the keys [B, K, Dh, S] and
    the values [B, K, S, Dh].
    """

    keys: jax.Array | tuple[jax.Array, ...]
    values: jax.Array | tuple[jax.Array, ...]
    used: jax.Array | int  # int32[]

    def stacked(self) -> "_KeysAndValues":
        """Keys and values [L, B, K, S, Dh]."""
        if isinstance(self.keys, tuple) or isinstance(self.values, tuple):
            return jnp.stack(self.keys).swapaxes(3, 4), jnp.stack(self.values)
        return self.keys, self.values


class KVCache(struct.PyTreeNode):
    """Keys and values of earlier tokens: row b fills its first `lengths[b]` slots, the rest is free."""

    keys: jax.Array  # [L, B, K, S, Dh], as precise as the activations
    values: jax.Array  # [L, B, K, S, Dh]
    lengths: jax.Array  # int32[B]

    @classmethod
    def of(cls, tail: Tail, lengths: jax.Array) -> "KVCache":
        """The cache of rows of which the first lengths[b] tokens of the tail count."""
        return cls(*tail.stacked(), lengths)

    def repeat(self, rows: int) -> "KVCache":
        """The cache of one row, for so many."""
        keys, values = (jnp.repeat(old, rows, axis=1) for old in (self.keys, self.values))
        return KVCache(keys, values, jnp.repeat(self.lengths, rows))

    def followed_by(self, tail: Tail, counts: jax.Array) -> "KVCache":
        """What `absorb` does, where no row has a free slot: the tail's become new slots."""
        keys, values = (
            jnp.concatenate(both, axis=3)
            for both in zip((self.keys, self.values), tail.stacked(), strict=True)
        )
        return KVCache(keys, values, self.lengths + counts)

    def grow(self, slots: int) -> "KVCache":
        """The same cache with `slots` more free slots in every row."""
        pad = [(0, 0)] * 3 + [(0, slots), (0, 0)]
        return self.replace(keys=jnp.pad(self.keys, pad), values=jnp.pad(self.values, pad))

    def absorb(self, tail: Tail, counts: jax.Array) -> "KVCache":
        """With the first counts[b] tokens of the tail behind each row's own. What is past the last slot is
        lost, and never overwrites earlier tokens: `grow` first."""
        slots, (keys, values) = self.keys.shape[3], tail.stacked()
        new = jnp.arange(keys.shape[3])
        at = jnp.where(new < counts[:, None], self.lengths[:, None] + new, slots)  # [B, S']
        rows = jnp.arange(len(counts))[:, None]

        def write(old: jax.Array, fresh: jax.Array) -> jax.Array:
            moved = fresh.transpose(1, 3, 0, 2, 4)  # [B, S', L, K, Dh]
            return old.at[:, rows, :, at].set(moved, mode="drop", unique_indices=True)

        return KVCache(write(self.keys, keys), write(self.values, values), self.lengths + counts)


class Segment(NamedTuple):
    """Tokens that queries attend to, and how much: the bias broadcasts to [B, K, G, T, S]."""

    keys: jax.Array  # [B, K, S, Dh], or [B, K, Dh, S] where they are upright
    values: jax.Array  # [B, K, S, Dh]
    bias: jax.Array
    upright: bool = False


class Rope(NamedTuple):
    """cos and sin of each token's rotation, float32[B, 1, T, Dh / 2]."""

    cos: jax.Array
    sin: jax.Array


_KeysAndValues = tuple[jax.Array, jax.Array]


class Decoder(nnx.Module):
    """`num_hidden_layers` layers and the last norm; embeddings in, hidden states out."""

    def __init__(self, config: TextConfig, family: Family, rank: int = 0) -> None:
        self.config = config
        self.embed = Table(config.vocab_size, config.hidden_size)
        self.layers = Layer(config, family, rank, (config.num_hidden_layers,))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def __call__(
        self,
        x: jax.Array,
        positions: jax.Array,
        *,
        deepstack: jax.Array | None = None,
        mask: jax.Array | None = None,
        cache: KVCache | None = None,
        tail: Tail | None = None,
        apart: "Apart | None" = None,
        only: jax.Array | None = None,
        remat: bool = False,
    ) -> tuple[jax.Array, Tail]:
        """One pass over x float[B, T, D] at positions int32[3, B, T].

        Args:
            deepstack: float[L', B, T, D], added to the hidden states after layers 0..L'-1.
            mask: bool[B, T, T], who of these tokens sees which; without a tail none may see a later one.
                None: a token sees those before it in its row, which is all a right-padded batch needs.
            cache: earlier tokens; all of these see them.
            tail: tokens after those, with room for these T. None: there are none.
            apart: the layers and the cache once more, as `cut` gives them, for a tail made with them.
            only: int32[B], the one token of each row whose hidden state is wanted. Of the others a short
                decoder's last layer makes keys and values alone.
            remat: recompute each layer in the backward pass instead of keeping its activations.

        Returns:
            float[B, T, D], or [B, 1, D] with `only`, and the tail with these tokens in it (exactly these T
            when `tail` is None).
        """
        steps = x.shape[1]
        used = 0 if tail is None else tail.used
        if mask is None:
            slots = steps if tail is None else tail.values[0].shape[-2]
            mask = jnp.arange(slots) <= used + jnp.arange(steps)[:, None]  # [T, S]
        own = jnp.where(mask, 0.0, _NEVER).reshape(-1, 1, 1, *mask.shape[-2:])  # [B or 1, 1, 1, T, S]
        before = None
        if cache is not None:
            filled = jnp.arange(cache.keys.shape[3]) < cache.lengths[:, None]
            before = jnp.where(filled, 0.0, _NEVER)[:, None, None, None]  # [B, 1, 1, 1, S]
        rope = mrope(positions, self.config)
        levels = 0 if deepstack is None else len(deepstack)
        upright = apart is not None

        def layer(
            x: jax.Array, xs: "_Slice", only: jax.Array | None = None
        ) -> tuple[jax.Array, _KeysAndValues]:
            here = partial(_token, at=only)
            q, k, v = xs.params.heads(x, rope)
            x, q = here(x), here(q)
            k = k.swapaxes(2, 3) if upright else k
            if xs.tail is not None:
                write = jax.lax.dynamic_update_slice_in_dim
                k = write(xs.tail[0], k, used, axis=3 if upright else 2)
                v = write(xs.tail[1], v, used, axis=2)
            segments = [Segment(k, v, here(own), upright)]
            if xs.cache is not None and before is not None:
                segments = [Segment(xs.cache[0], xs.cache[1], before, upright), *segments]
            mix = attend_in_blocks if xs.tail is None and only is None else attend
            x = xs.params.finish(x, mix(q, segments))
            if deepstack is not None and levels:
                added = deepstack[jnp.minimum(xs.index, levels - 1)]
                x += jnp.where(xs.index < levels, here(added), 0.0)
            return by_rows(x), (k, v)

        depth = self.config.num_hidden_layers
        kept = None if tail is None else (tail.keys, tail.values)
        if apart is not None and kept is not None:
            made = []
            for i, (params, read) in enumerate(zip(*apart, strict=True)):
                x, written = layer(x, _Slice(params, jnp.int32(i), read, (kept[0][i], kept[1][i])))
                made.append(written)
            keys, values = zip(*made, strict=True)
        else:
            read = None if cache is None else (cache.keys, cache.values)
            stacked = _Slice(self.layers, jnp.arange(depth), read, kept)
            body = jax.checkpoint(layer) if remat else layer
            last = None if only is None else partial(layer, only=only)
            x, (keys, values) = over_layers(body, x, stacked, depth, last)
            if x.shape[1] > 1:  # where no layer did it
                x = _token(x, only)
        return self.norm(x), Tail(keys, values, used + steps)

    def cut(self, cache: KVCache) -> "Apart | None":
        """The layers one by one, each with its part of the cache; None where they are so large that a second
        copy of them would be felt."""
        if sum(leaf.size for leaf in jax.tree.leaves(self.layers)) > CUT_AT_MOST:
            return None
        indices = range(self.config.num_hidden_layers)
        layers = tuple(jax.tree.map(lambda leaf: leaf[i], self.layers) for i in indices)  # noqa: B023
        return Apart(layers, tuple((cache.keys[i].swapaxes(2, 3), cache.values[i]) for i in indices))

    def new_tail(self, rows: int, slots: int, like: KVCache, apart: "Apart | None") -> Tail:
        """An empty tail for rows that have a cache like this."""
        c = self.config
        values = jnp.zeros((rows, c.num_key_value_heads, slots, c.head_dim), like.keys.dtype)
        if apart is None:
            empty = jnp.broadcast_to(values, (c.num_hidden_layers, *values.shape))
            return Tail(empty, empty, jnp.int32(0))
        depth = c.num_hidden_layers
        return Tail((values.swapaxes(2, 3),) * depth, (values,) * depth, jnp.int32(0))


CUT_AT_MOST = 2**28  # parameters


class Apart(NamedTuple):
    """What a decode loop reads at every step, cut out of its stacks before the loop: XLA would copy each
    layer's kernels and keys out of them at every step, which takes longer than the step's arithmetic."""

    layers: "tuple[Layer, ...]"
    cache: tuple[_KeysAndValues, ...]  # the keys [B, K, Dh, S], as the product with one query wants them


class _Slice(NamedTuple):
    """What one layer, or all stacked, need: keys and values of the cache and of the tail, or None."""

    params: "Layer"
    index: jax.Array
    cache: Any
    tail: Any


def _token(x: jax.Array, at: jax.Array | None) -> jax.Array:
    """[B or 1, ..., T, N] -> [B, ..., 1, N], of every row the token at int32[B]; as it is with no place."""
    if at is None:
        return x
    return jnp.take_along_axis(x, at.reshape(-1, *[1] * (x.ndim - 1)), axis=-2)


class Layer(nnx.Module):
    """Pre-norm attention and SwiGLU. Head h of the key heads serves queries h * G .. h * G + G - 1."""

    def __init__(self, c: TextConfig, family: Family, rank: int, stack: tuple[int, ...]) -> None:
        d, heads, key_heads = c.hidden_size, c.num_attention_heads, c.num_key_value_heads
        self.key_heads, self.head_dim = key_heads, c.head_dim
        linear = partial(Linear, rank=rank, stack=stack)
        self.attention_norm = RMSNorm(d, c.rms_norm_eps, stack=stack)
        self.query = linear(d, heads * c.head_dim, bias=family.qkv_bias)
        self.key = linear(d, key_heads * c.head_dim, bias=family.qkv_bias)
        self.value = linear(d, key_heads * c.head_dim, bias=family.qkv_bias)
        self.out = linear(heads * c.head_dim, d)
        norm = partial(RMSNorm, c.head_dim, c.rms_norm_eps, stack=stack)
        self.query_norm = norm() if family.qk_norm else None
        self.key_norm = norm() if family.qk_norm else None
        self.mlp_norm = RMSNorm(d, c.rms_norm_eps, stack=stack)
        self.gate = linear(d, c.intermediate_size)
        self.up = linear(d, c.intermediate_size)
        self.down = linear(c.intermediate_size, d)

    def heads(self, x: jax.Array, rope: "Rope") -> tuple[jax.Array, jax.Array, jax.Array]:
        """x [B, T, D] -> queries [B, K, G, T, Dh], keys and values [B, K, T, Dh], rotated."""
        x = self.attention_norm(x)
        rows, steps, _ = x.shape
        q = self.query(x).reshape(rows, steps, self.key_heads, -1, self.head_dim).transpose(0, 2, 3, 1, 4)
        k, v = (
            project(x).reshape(rows, steps, self.key_heads, self.head_dim).swapaxes(1, 2)
            for project in (self.key, self.value)
        )
        if self.query_norm is not None and self.key_norm is not None:
            q, k = self.query_norm(q), self.key_norm(k)
        cos, sin = rope
        return rotate(q, cos[:, None], sin[:, None]), rotate(k, cos, sin), v

    def finish(self, x: jax.Array, mixed: jax.Array) -> jax.Array:
        """The layer's output from its input [B, T, D] and the attended values [B, K, G, T, Dh]."""
        x += self.out(mixed.transpose(0, 3, 1, 2, 4).reshape(*x.shape[:2], -1))
        h = self.mlp_norm(x)
        return x + self.down(jax.nn.silu(self.gate(h)) * self.up(h))


def attend(q: jax.Array, segments: Sequence[Segment]) -> jax.Array:
    """Softmax attention of q [B, K, G, T, Dh] over all segments together; shape of q."""
    rows, key_heads, groups, steps, size = q.shape
    folded = q.reshape(rows, key_heads, groups * steps, size)

    def score(segment: Segment) -> jax.Array:
        product = "bkqd,bkds->bkqs" if segment.upright else "bkqd,bksd->bkqs"
        scores = jnp.einsum(product, folded, segment.keys, preferred_element_type=jnp.float32) * size**-0.5
        return scores.reshape(rows, key_heads, groups, steps, -1) + segment.bias

    scores = jnp.concatenate([score(segment) for segment in segments], axis=-1)
    weights = jax.nn.softmax(scores, axis=-1).reshape(rows, key_heads, groups * steps, -1)
    ends = np.cumsum([segment.values.shape[2] for segment in segments])[:-1]
    mixed = sum(
        jnp.einsum("bkqs,bksd->bkqd", part.astype(segment.values.dtype), segment.values)
        for part, segment in zip(jnp.split(weights, ends, axis=-1), segments, strict=True)
    )
    return jnp.asarray(mixed).reshape(q.shape)


def attend_in_blocks(q: jax.Array, segments: Sequence[Segment]) -> jax.Array:
    """`attend` where the last segment are the queries' own tokens, which see none after them: the queries in
    turn by blocks, each over the keys up to its end, so that most of the empty half is not computed."""
    *whole, (k, v, bias, _) = segments
    steps = q.shape[-2]
    size = max(-(-steps // BLOCKS), SMALLEST_BLOCK)
    mixed = []
    for start in range(0, steps, size):
        end = min(start + size, steps)
        own = Segment(k[:, :, :end], v[:, :, :end], bias[..., start:end, :end])
        mixed.append(attend(q[..., start:end, :], [*whole, own]))
    return jnp.concatenate(mixed, axis=-2)


BLOCKS, SMALLEST_BLOCK = 4, 64


def mrope(positions: jax.Array, c: TextConfig) -> Rope:
    """Rotations of tokens at positions int32[3, B, T] of (time, row, column).

    Without sections only the time counts: the ordinary rope of a model of text alone. With them, frequencies
    are dealt to the axes in turn (time, row, column, time, ...) until row and column have their section; the
    rest, the slowest, are time's. Text has three equal positions, so for it this is the ordinary rope too.
    """
    turn = np.arange(c.head_dim // 2)
    axis = turn % 3
    axis[turn >= 3 * np.array(c.mrope_section or (0, 0, 0))[axis]] = 0
    frequencies = c.rope_theta ** (-2.0 * turn / c.head_dim)
    dealt = np.where(axis == np.arange(3)[:, None], frequencies, 0.0).astype(np.float32)  # [3, Dh / 2]
    angles = sum(positions[a, :, :, None] * dealt[a] for a in range(3))
    return Rope(_once(jnp.cos(angles))[:, None], _once(jnp.sin(angles))[:, None])


def _once(x: jax.Array) -> jax.Array:
    """x [..., n] itself, by a product with ones on the diagonal: what comes of a product is computed once.
    XLA on a CPU would take cosines and sines again in every head and layer, an eighth of the time in which a
    small model reads. (It drops `optimization_barrier` too early.)"""
    return jnp.matmul(x, jnp.eye(x.shape[-1]), precision="highest")
