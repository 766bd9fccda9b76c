"""The kinds of parameters of the network, and the loop over stacked layers.

A `stack` puts a leading axis on every parameter: one module then holds all layers of a tower, and
`over_layers` hands the body one layer at a time (modules are pytrees, so `lax.scan` can slice them).

What comes in decides the precision: activations in bfloat16 are multiplied by kernels cast to bfloat16, and
sums that need more (norms, softmax, logits) are taken in float32 whatever comes in.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import ArrayLike

# A short tower is unrolled: on CPU a scan over three layers is about 14 % slower, and compiles no faster.
UNROLL_AT_MOST = 4

Shape = tuple[int, ...]


class Linear(nnx.Module):
    """x @ kernel (+ bias) (+ adapter), kernel [*stack, inputs, outputs]."""

    def __init__(
        self, inputs: int, outputs: int, *, bias: bool = False, rank: int = 0, stack: Shape = ()
    ) -> None:
        self.kernel = nnx.Param(jnp.zeros((*stack, inputs, outputs)))
        self.bias = nnx.Param(jnp.zeros((*stack, outputs))) if bias else None
        self.adapter = Adapter(inputs, outputs, rank, stack) if rank else None

    def __call__(self, x: jax.Array) -> jax.Array:
        flat = x.reshape(-1, x.shape[-1])  # the gradient of a 3-D product is five times slower on CPU
        y = flat @ self.kernel[...].astype(x.dtype)
        if self.bias is not None:
            y += self.bias[...].astype(x.dtype)
        if self.adapter is not None:
            y += self.adapter(flat)
        return y.reshape(*x.shape[:-1], y.shape[-1])


class Adapter(nnx.Module):
    """What LoRA (arXiv:2106.09685) adds to a kernel: a product of rank `rank`, zero at the start.

    Its weight is `ADAPTER_SCALE` / rank, which makes the best step size about the same at every rank.
    """

    def __init__(self, inputs: int, outputs: int, rank: int, stack: Shape) -> None:
        self.down = nnx.Param(jnp.zeros((*stack, inputs, rank)))
        self.up = nnx.Param(jnp.zeros((*stack, rank, outputs)))

    def __call__(self, x: jax.Array) -> jax.Array:
        down, up = self.down[...].astype(x.dtype), self.up[...].astype(x.dtype)
        return (x @ down) @ up * adapter_weight(down)


ADAPTER_SCALE = 32.0


def adapter_weight(down: jax.Array | np.ndarray) -> float:
    """The factor of an adapter's product; down [..., inputs, rank]."""
    return ADAPTER_SCALE / down.shape[-1]


class RMSNorm(nnx.Module):
    """x / rms(x) * scale over the last axis."""

    def __init__(self, size: int, eps: float, *, stack: Shape = ()) -> None:
        self.scale = nnx.Param(jnp.ones((*stack, size)))
        self.eps = eps

    def __call__(self, x: jax.Array) -> jax.Array:
        wide = x.astype(jnp.float32)
        wide *= jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + self.eps)
        return wide.astype(x.dtype) * self.scale[...].astype(x.dtype)


class LayerNorm(nnx.Module):
    """(x - mean) / std * scale + bias over the last axis, eps 1e-6 as everywhere in the vision tower."""

    def __init__(self, size: int, *, stack: Shape = ()) -> None:
        self.scale = nnx.Param(jnp.ones((*stack, size)))
        self.bias = nnx.Param(jnp.zeros((*stack, size)))

    def __call__(self, x: jax.Array) -> jax.Array:
        wide = x.astype(jnp.float32)
        wide -= jnp.mean(wide, -1, keepdims=True)
        wide *= jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
        return (wide * self.scale[...] + self.bias[...]).astype(x.dtype)


class Table(nnx.Module):
    """Learned rows [rows, size]."""

    def __init__(self, rows: int, size: int) -> None:
        self.rows = nnx.Param(jnp.zeros((rows, size)))


def over_layers(
    body: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: Any,
    depth: int,
    last: Callable[[Any, Any], tuple[Any, Any]] | None = None,
) -> tuple[Any, Any]:
    """`lax.scan(body, carry, xs)` over `depth` layers, unrolled when there are few: only then `last`, when
    given, stands in for the body of the last one, and its carry may have another shape."""
    if depth > UNROLL_AT_MOST:
        return jax.lax.scan(body, carry, xs)
    made = []
    for i in range(depth):
        apply = last if last and i == depth - 1 else body
        carry, out = apply(carry, jax.tree.map(lambda leaf: leaf[i], xs))  # noqa: B023
        made.append(out)
    return carry, jax.tree.map(lambda *outs: jnp.stack(outs), *made)


def rotate(x: jax.Array, cos: ArrayLike, sin: ArrayLike) -> jax.Array:
    """Rotary embedding of x[..., D]: halves of the last axis are pairs; cos and sin [..., D/2] broadcast."""
    a, b = jnp.split(x, 2, axis=-1)
    cos, sin = jnp.asarray(cos), jnp.asarray(sin)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)
