"""The text decoder of all families: GQA, rotary positions of one axis or three, SwiGLU, deepstack.

Queries are laid out [B, K, G, T, Dh] (K key heads, G queries a key head): both products of the attention are
then plain batched matrix products with no repeated keys.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx, struct

from train.policy.config import Family, TextConfig
from train.policy.layers import Linear, RMSNorm, Table, over_layers, rotate

_NEVER = -1e30  # finite, so that a row that may see nothing gives numbers and not NaN


class KVCache(struct.PyTreeNode):
    """Keys and values of the tokens so far: row b fills its first `lengths[b]` slots, the rest is free.

    Tokens past the last slot are dropped and never overwrite earlier ones, but they are lost: `grow` first.
    """

    keys: jax.Array  # float32[L, B, K, S, Dh]
    values: jax.Array  # float32[L, B, K, S, Dh]
    lengths: jax.Array  # int32[B]

    def grow(self, slots: int) -> "KVCache":
        """The same cache with `slots` more free slots in every row."""
        pad = [(0, 0)] * 3 + [(0, slots), (0, 0)]
        return self.replace(keys=jnp.pad(self.keys, pad), values=jnp.pad(self.values, pad))


class Rope(NamedTuple):
    """cos and sin of each token's rotation, float32[B, 1, T, Dh / 2]."""

    cos: jax.Array
    sin: jax.Array


_Stored = tuple[jax.Array, jax.Array] | None
_Carry = tuple[jax.Array, _Stored]


class Decoder(nnx.Module):
    """`num_hidden_layers` layers and the last norm; embeddings in, hidden states out."""

    def __init__(self, config: TextConfig, family: Family) -> None:
        self.config = config
        self.embed = Table(config.vocab_size, config.hidden_size)
        self.layers = Layer(config, family, (config.num_hidden_layers,))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def __call__(
        self,
        x: jax.Array,
        positions: jax.Array,
        *,
        deepstack: jax.Array | None = None,
        mask: jax.Array | None = None,
        cache: KVCache | None = None,
        remat: bool = False,
    ) -> tuple[jax.Array, KVCache]:
        """One pass over x float32[B, T, D] at positions int32[3, B, T].

        Args:
            deepstack: float32[L', B, T, D], added to the hidden states after layers 0..L'-1.
            mask: bool[B, T, S], who sees which slot. None: a token sees those before it in its row, which
                is all a right-padded batch needs.
            cache: earlier tokens. These T are written behind each row's `lengths`. None: there are none.
            remat: recompute each layer in the backward pass instead of keeping its activations.

        Returns:
            float32[B, T, D], and the cache with lengths + T (of exactly these T tokens when `cache` is None).
        """
        rows, steps, _ = x.shape
        start = jnp.zeros(rows, jnp.int32) if cache is None else cache.lengths
        slots = start[:, None] + jnp.arange(steps)  # [B, T], where these tokens go
        if mask is None:
            mask = jnp.arange(steps if cache is None else cache.keys.shape[3]) <= slots[..., None]
        bias = jnp.where(mask, 0.0, _NEVER)[:, None, None]  # [B, 1, 1, T, S]
        rope = mrope(positions, self.config)
        levels = 0 if deepstack is None else len(deepstack)

        def layer(carry: _Carry, xs: tuple[Layer, jax.Array]) -> tuple[_Carry, _Stored]:
            (x, stored), (params, index) = carry, xs
            q, k, v = params.heads(x, rope)
            fresh = None
            if stored is None:
                fresh = (k, v)
            else:
                stored = _write(stored[0], index, slots, k), _write(stored[1], index, slots, v)
                k, v = stored[0][index], stored[1][index]
            x = params.finish(x, attend(q, k, v, bias))
            if deepstack is not None and levels:
                x += jnp.where(index < levels, deepstack[jnp.minimum(index, levels - 1)], 0.0)
            return (x, stored), fresh

        depth = self.config.num_hidden_layers
        before = None if cache is None else (cache.keys, cache.values)
        (x, stored), fresh = over_layers(
            jax.checkpoint(layer) if remat else layer, (x, before), (self.layers, jnp.arange(depth)), depth
        )
        keys, values = fresh if cache is None else stored
        return self.norm(x), KVCache(keys, values, start + steps)


class Layer(nnx.Module):
    """Pre-norm attention and SwiGLU. Head h of the key heads serves queries h * G .. h * G + G - 1."""

    def __init__(self, c: TextConfig, family: Family, stack: tuple[int, ...] = ()) -> None:
        d, heads, key_heads = c.hidden_size, c.num_attention_heads, c.num_key_value_heads
        self.key_heads, self.head_dim = key_heads, c.head_dim
        self.attention_norm = RMSNorm(d, c.rms_norm_eps, stack=stack)
        self.query = Linear(d, heads * c.head_dim, bias=family.qkv_bias, stack=stack)
        self.key = Linear(d, key_heads * c.head_dim, bias=family.qkv_bias, stack=stack)
        self.value = Linear(d, key_heads * c.head_dim, bias=family.qkv_bias, stack=stack)
        self.out = Linear(heads * c.head_dim, d, stack=stack)
        norm = partial(RMSNorm, c.head_dim, c.rms_norm_eps, stack=stack)
        self.query_norm = norm() if family.qk_norm else None
        self.key_norm = norm() if family.qk_norm else None
        self.mlp_norm = RMSNorm(d, c.rms_norm_eps, stack=stack)
        self.gate = Linear(d, c.intermediate_size, stack=stack)
        self.up = Linear(d, c.intermediate_size, stack=stack)
        self.down = Linear(c.intermediate_size, d, stack=stack)

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


def attend(q: jax.Array, k: jax.Array, v: jax.Array, bias: jax.Array) -> jax.Array:
    """Softmax attention of q [B, K, G, T, Dh] over k, v [B, K, S, Dh] + bias [B, 1, 1, T, S]; shape of q."""
    rows, key_heads, groups, steps, size = q.shape
    folded = q.reshape(rows, key_heads, groups * steps, size)
    scores = jnp.einsum("bkqd,bksd->bkqs", folded, k) * size**-0.5
    weights = jax.nn.softmax(scores.reshape(rows, key_heads, groups, steps, -1) + bias, axis=-1)
    mixed = jnp.einsum("bkqs,bksd->bkqd", weights.reshape(scores.shape), v)
    return mixed.reshape(q.shape)


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
    return Rope(jnp.cos(angles)[:, None], jnp.sin(angles)[:, None])


def _write(stored: jax.Array, layer: jax.Array, slots: jax.Array, fresh: jax.Array) -> jax.Array:
    """Puts fresh [B, K, T, Dh] at slots [B, T] of a layer of stored [L, B, K, S, Dh]; in place under jit."""
    rows = jnp.arange(len(slots))[:, None]
    return stored.at[layer, rows, :, slots].set(fresh.swapaxes(1, 2), mode="drop", unique_indices=True)
