"""The vision tower of Qwen3-VL: uint8 pictures of one size to visual tokens.

Patches, positions and merged tokens all follow one order: the 2x2 block of patches that becomes a token is
contiguous, blocks are row-major (`Qwen3VLVisionModel` in transformers 5). Everything that depends only on
the size of the picture is a numpy constant of the trace.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import DTypeLike

from train.policy.config import VisionConfig
from train.policy.layers import LayerNorm, Linear, Table, over_layers, rotate
from train.policy.sharding import by_rows


class Visual(NamedTuple):
    """What the decoder needs of N pictures of V tokens each."""

    embeddings: jax.Array  # float[N, V, D]
    deepstack: jax.Array  # float[L, N, V, D], added after the decoder's first L layers

    def packed(self) -> jax.Array:
        """Both as one array of a row a picture, float[N, 1 + L, V, D]."""
        return jnp.concatenate([self.embeddings[None], self.deepstack]).swapaxes(0, 1)

    @classmethod
    def unpacked(cls, packed: jax.Array) -> "Visual":
        embeddings, *deepstack = packed.swapaxes(0, 1)
        levels = jnp.stack(deepstack) if deepstack else packed[:0].reshape(0, *embeddings.shape)
        return cls(embeddings, levels)


class VisionTower(nnx.Module):
    """Patches, `depth` transformer blocks over each picture alone, and the mergers."""

    def __init__(self, config: VisionConfig, compute: DTypeLike) -> None:
        c, levels = config, len(config.deepstack_visual_indexes)
        self.config, self.compute = c, compute
        frames = c.in_channels * c.temporal_patch_size * c.patch_size**2
        self.patch_embed = Linear(frames, c.hidden_size, bias=True)
        self.positions = Table(c.num_position_embeddings, c.hidden_size)
        self.blocks = Block(c, (c.depth,))
        self.merger = Merger(c, norm_first=True)
        self.deepstack = Merger(c, norm_first=False, stack=(levels,)) if levels else None

    def __call__(self, pixels: jax.Array) -> Visual:
        """pixels uint8[N, H, W, 3] -> `Visual` with V = H * W / (patch * merge)^2; both sides are multiples.

        Raises:
            ValueError: at trace time, when H or W is not such a multiple.
        """
        c = self.config
        x = self._embed(patchify(pixels, c.patch_size, c.spatial_merge_size).astype(self.compute))
        rows, columns = (side // c.patch_size for side in pixels.shape[1:3])
        table = self.positions.rows[...].astype(jnp.float32)
        x += interpolated_positions(table, rows, columns, c.spatial_merge_size).astype(x.dtype)
        cos, sin = rope_2d(rows, columns, c.spatial_merge_size, c.head_dim)

        def layer(x: jax.Array, block: Block) -> tuple[jax.Array, jax.Array]:
            x = by_rows(block(x, cos, sin))
            return x, x

        x, outputs = over_layers(layer, x, self.blocks, c.depth)
        return Visual(self.merger(x), self._deepstack(outputs))

    def _embed(self, patches: jax.Array) -> jax.Array:
        """A still picture fills every frame of the temporal patch, so the frames' kernels add up: one
        small product.

        float[N, P, C, p, p] -> [N, P, D].
        """
        c = self.config
        kernel = (
            self.patch_embed.kernel[...]
            .astype(patches.dtype)
            .reshape(c.in_channels, c.temporal_patch_size, c.patch_size**2, -1)
        )
        flat = patches.reshape(-1, c.in_channels * c.patch_size**2)
        x = flat @ kernel.sum(1).reshape(flat.shape[-1], -1)
        x += _required(self.patch_embed.bias)[...].astype(x.dtype)
        return x.reshape(*patches.shape[:2], -1)

    def _deepstack(self, outputs: jax.Array) -> jax.Array:
        """Merged outputs of the chosen blocks; outputs [depth, N, P, d] -> [L, N, V, D]."""
        if self.deepstack is None:
            empty = jax.eval_shape(self.merger, outputs[0])
            return jnp.zeros((0, *empty.shape), empty.dtype)
        chosen = [outputs[index] for index in self.config.deepstack_visual_indexes]
        pairs = (self.deepstack, jnp.stack(chosen))
        return over_layers(lambda _, pair: (None, pair[0](pair[1])), None, pairs, len(chosen))[1]


class Block(nnx.Module):
    """Pre-norm attention and tanh-GELU MLP; patches of one picture see each other, pictures never do."""

    def __init__(self, c: VisionConfig, stack: tuple[int, ...] = ()) -> None:
        self.heads = c.num_heads
        self.attention_norm = LayerNorm(c.hidden_size, stack=stack)
        self.qkv = Linear(c.hidden_size, 3 * c.hidden_size, bias=True, stack=stack)
        self.out = Linear(c.hidden_size, c.hidden_size, bias=True, stack=stack)
        self.mlp_norm = LayerNorm(c.hidden_size, stack=stack)
        self.up = Linear(c.hidden_size, c.intermediate_size, bias=True, stack=stack)
        self.down = Linear(c.intermediate_size, c.hidden_size, bias=True, stack=stack)

    def __call__(self, x: jax.Array, cos: np.ndarray, sin: np.ndarray) -> jax.Array:
        x += self.out(self._attend(self.attention_norm(x), cos, sin))
        return x + self.down(jax.nn.gelu(self.up(self.mlp_norm(x)), approximate=True))

    def _attend(self, x: jax.Array, cos: np.ndarray, sin: np.ndarray) -> jax.Array:
        n, patches, size = x.shape
        qkv = self.qkv(x).reshape(n, patches, 3, self.heads, -1)
        q, k, v = jnp.moveaxis(qkv, (2, 3), (0, 2))  # each [N, heads, P, d]
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        scores = jnp.einsum("nhqd,nhkd->nhqk", q, k, preferred_element_type=jnp.float32)
        weights = jax.nn.softmax(scores * q.shape[-1] ** -0.5, axis=-1)
        mixed = jnp.einsum("nhqk,nhkd->nhqd", weights.astype(v.dtype), v)
        return jnp.swapaxes(mixed, 1, 2).reshape(n, patches, size)


class Merger(nnx.Module):
    """2x2 patches to one token. The main merger normalises each patch, the deepstack ones each block."""

    def __init__(self, c: VisionConfig, *, norm_first: bool, stack: tuple[int, ...] = ()) -> None:
        merged = c.hidden_size * c.spatial_merge_size**2
        self.norm_first, self.merged = norm_first, merged
        self.norm = LayerNorm(c.hidden_size if norm_first else merged, stack=stack)
        self.up = Linear(merged, merged, bias=True, stack=stack)
        self.down = Linear(merged, c.out_hidden_size, bias=True, stack=stack)

    def __call__(self, x: jax.Array) -> jax.Array:
        """[N, P, d] -> [N, P / 4, D]."""
        if self.norm_first:
            x = self.norm(x)
        x = x.reshape(x.shape[0], -1, self.merged)
        if not self.norm_first:
            x = self.norm(x)
        return self.down(jax.nn.gelu(self.up(x), approximate=False))


def patchify(pixels: jax.Array, patch: int, merge: int) -> jax.Array:
    """uint8[N, H, W, C] -> float32[N, P, C, patch, patch] in -1..1, patches in block order.

    One frame of what `Qwen2VLImageProcessor` gives a picture it does not resize.
    """
    n, height, width, channels = pixels.shape
    block = patch * merge
    if height % block or width % block:
        raise ValueError(
            f"a picture of {height}x{width} pixels does not divide into blocks of {block} pixels"
        )
    x = pixels.reshape(n, height // block, merge, patch, width // block, merge, patch, channels)
    x = x.transpose(0, 1, 4, 2, 5, 7, 3, 6).reshape(n, -1, channels, patch, patch)
    return x.astype(jnp.float32) / 127.5 - 1.0


def interpolated_positions(table: jax.Array, rows: int, columns: int, merge: int) -> jax.Array:
    """The square table [side * side, D] stretched bilinearly, corners on corners -> [rows * columns, D]."""
    side = round(table.shape[0] ** 0.5)
    down, across = (_stretch(side, length) for length in (rows, columns))
    grid = jnp.einsum("ri,cj,ijd->rcd", down, across, table.reshape(side, side, -1), precision="highest")
    return block_order(grid, merge)


def rope_2d(rows: int, columns: int, merge: int, head_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin, float32[rows * columns, head_dim / 2]: half turns by row, half by column."""
    frequencies = 10000.0 ** (-np.arange(0, head_dim // 2, 2, dtype=np.float32) / (head_dim // 2))
    cells = block_order(np.moveaxis(np.indices((rows, columns)), 0, -1), merge)  # [P, 2]
    angles = (cells[..., None] * frequencies).reshape(len(cells), -1).astype(np.float32)
    return np.cos(angles), np.sin(angles)


def block_order(grid: Any, merge: int) -> Any:
    """[rows, columns, ...] (numpy or jax) -> [rows * columns, ...], each merge x merge block contiguous."""
    rows, columns, *rest = grid.shape
    blocks = grid.reshape(rows // merge, merge, columns // merge, merge, *rest)
    return blocks.swapaxes(1, 2).reshape(rows * columns, *rest)


def _stretch(side: int, length: int) -> np.ndarray:
    """float32[length, side]: linear interpolation of `side` values at `length` evenly spaced points."""
    at = np.linspace(0, side - 1, length, dtype=np.float32)
    return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(side))).astype(np.float32)


def _required(bias: nnx.Param | None) -> nnx.Param:
    assert bias is not None
    return bias
