"""The whole policy: pictures and tokens in, hidden states and logits out.

`nnx.split` at the edge, plain pytrees in jit:

    policy = load_policy(directory)
    model = nnx.merge(policy.graphdef, policy.params)      # inside jit, graphdef static
    visual = model.encode_images(pixels)
    hidden, _ = model(tokens, positions, visual=visual, image_slots=slots)
    logits = model.logits(hidden)
"""

import jax
import jax.numpy as jnp
from flax import nnx

from train.policy.config import PolicyConfig
from train.policy.decoder import Apart, Decoder, KVCache, Tail
from train.policy.layers import Linear
from train.policy.sharding import by_rows
from train.policy.vision import VisionTower, Visual


class Model(nnx.Module):
    """A policy of any family and size (`train.policy.config.FAMILIES`).

    Built with zeros and ones: `load_policy` or `init_policy` gives it weights. `compute` is the type of the
    activations, whatever that of the parameters; `rank` above 0 puts a LoRA adapter of that rank beside
    every kernel of the decoder.
    """

    def __init__(self, config: PolicyConfig, compute: str = "float32", rank: int = 0) -> None:
        self.config, self.compute = config, compute
        self.vision = None if config.vision is None else VisionTower(config.vision, compute)
        self.decoder = Decoder(config.text, config.family, rank)
        tied = config.tie_word_embeddings
        self.head = None if tied else Linear(config.text.hidden_size, config.text.vocab_size)

    def encode_images(self, pixels: jax.Array) -> Visual:
        """Pictures of one size, uint8[N, H, W, 3] -> `Visual`. One call a size, then `join`.

        Raises ValueError in a family that does not see.
        """
        if self.vision is None:
            raise ValueError(f"a {self.config.family.model_type} model has no vision tower")
        return self.vision(pixels)

    def see(self, pictures: jax.Array) -> Visual | None:
        """Pictures uint8[N, H, W, 3], or `Visual.packed` ones, as the decoder takes them; None of none."""
        if not len(pictures):
            return None
        return self.encode_images(pictures) if pictures.dtype == jnp.uint8 else Visual.unpacked(pictures)

    def __call__(
        self,
        tokens: jax.Array,
        positions: jax.Array,
        *,
        visual: Visual | None = None,
        image_slots: jax.Array | None = None,
        mask: jax.Array | None = None,
        cache: KVCache | None = None,
        tail: Tail | None = None,
        apart: Apart | None = None,
        only: jax.Array | None = None,
        remat: bool = False,
    ) -> tuple[jax.Array, Tail]:
        """Hidden states of tokens int32[B, T] at positions int32[3, B, T].

        Args:
            visual, image_slots: pictures, and int32[B, T] of the flattened N * V visual token that stands
                at each place, -1 where the token is text. Rows may share pictures. Without pictures the
                slots do not matter.
            mask, cache, tail, apart, only, remat: see `Decoder`. Right padding needs no mask.

        Returns:
            float[B, T, D], or [B, 1, D] with `only`, after the last norm, and the tail that includes these
            tokens.
        """
        x = by_rows(self.decoder.embed.rows[...][tokens].astype(self.compute))
        deepstack = None
        if visual is not None and image_slots is not None:
            is_image = (image_slots >= 0)[..., None]
            take = jnp.maximum(image_slots, 0)
            width = x.shape[-1]
            x = jnp.where(is_image, visual.embeddings.reshape(-1, width)[take], x)
            features = visual.deepstack.reshape(len(visual.deepstack), -1, width)
            deepstack = jnp.where(is_image, features[:, take], 0.0)
        return self.decoder(
            x,
            positions,
            deepstack=deepstack,
            mask=mask,
            cache=cache,
            tail=tail,
            apart=apart,
            only=only,
            remat=remat,
        )

    def logits(self, hidden: jax.Array) -> jax.Array:
        """float[..., D] -> float32[..., vocabulary]."""
        flat = hidden.reshape(-1, hidden.shape[-1])
        if self.head is not None:
            kernel, product = self.head.kernel[...], "nd,dv->nv"
        else:
            kernel, product = self.decoder.embed.rows[...], "nd,vd->nv"
        logits = jnp.einsum(product, flat, kernel.astype(flat.dtype), preferred_element_type=jnp.float32)
        return logits.reshape(*hidden.shape[:-1], logits.shape[-1])


def join(*visuals: Visual) -> Visual:
    """Pictures of different sizes as one `Visual` with N = 1: slots count through them in order."""
    width = visuals[0].embeddings.shape[-1]
    embeddings = jnp.concatenate([v.embeddings.reshape(1, -1, width) for v in visuals], 1)
    levels = visuals[0].deepstack.shape[0]
    return Visual(
        embeddings, jnp.concatenate([v.deepstack.reshape(levels, 1, -1, width) for v in visuals], 2)
    )
