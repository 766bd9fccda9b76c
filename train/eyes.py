"""What the policy is shown of a picture: its pixels, or what a vision tower that never changes makes of them.

A frozen tower gives the same for the same picture, so that is computed once, in the rollout, and learnt from
again as it is. It is much larger than the pixels, and much cheaper than the tower.
"""

from functools import partial

import jax
import numpy as np
from flax import nnx

from train.policy.model import Model
from train.policy.sharding import everywhere, on, replicate
from train.policy.weights import Params, Policy

KEPT = 2048
"""Different pictures remembered, at most: 1.3 MB each for Qwen3-VL-4B at 256 pixels in bfloat16."""


class Eyes:
    """Shows pictures of `canvas` pixels a side, at most `size` new ones in a call of the tower."""

    def __init__(self, policy: Policy, canvas: int, size: int) -> None:
        self.policy, self.canvas, self.size = policy, canvas, size
        self.picture = picture_of(policy, canvas)  # shape and type of what is shown
        self.known: dict[bytes, np.ndarray] = {}

    def show(self, params: Params, pixels: np.ndarray) -> np.ndarray:
        """pixels uint8[N, H, W, 3] -> what is shown [N, ...]."""
        if not self.policy.sees_fixedly:
            return pixels
        names = [picture.tobytes() for picture in pixels]
        if len(self.known) > KEPT:
            self.known.clear()
        new = list({name: i for i, name in enumerate(names) if name not in self.known}.items())
        for at in range(0, len(new), self.size):
            part = new[at : at + self.size]
            seen = self._look(params, pixels[[i for _, i in part]])
            self.known |= {name: features for (name, _), features in zip(part, seen, strict=True)}
        return np.stack([self.known[name] for name in names])

    def compile(self, params: Params) -> None:
        if self.policy.sees_fixedly:
            self._look(params, np.zeros((1, self.canvas, self.canvas, 3), np.uint8))

    def _look(self, params: Params, pixels: np.ndarray) -> np.ndarray:
        padded = np.zeros((self.size, *pixels.shape[1:]), np.uint8)
        padded[: len(pixels)] = pixels
        given = replicate(self.policy.mesh, padded)
        with on(self.policy.mesh):
            return np.asarray(look_jit(self.policy.graphdef, params, given))[: len(pixels)]


def picture_of(policy: Policy, canvas: int) -> jax.ShapeDtypeStruct:
    """What one picture of so many pixels a side is shown as."""
    pixels = jax.ShapeDtypeStruct((1, canvas, canvas, 3), np.uint8)
    shown = pixels
    if policy.sees_fixedly:
        shown = jax.eval_shape(partial(look, policy.graphdef), policy.params, pixels)
    return jax.ShapeDtypeStruct(shown.shape[1:], shown.dtype)


def look(graphdef: nnx.GraphDef, params: Params, pixels: jax.Array) -> jax.Array:
    """uint8[N, H, W, 3] -> all that the decoder needs of each, float[N, 1 + L, V, D]."""
    model: Model = nnx.merge(graphdef, params)
    return everywhere(model.encode_images(pixels).packed())


look_jit = jax.jit(look, static_argnums=0)
