"""Smooth edges in integers, so that every device draws the same."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.render import palette

SHADES = 16  # of a pixel at an edge
_BITS = 26


def shade(covered: jax.Array, whole: jax.Array) -> jax.Array:
    """SHADES * covered / whole, rounded down and kept in 0..SHADES; int32 arrays that broadcast, whole > 0.

    A multiplication: processors do many at once, but divide integers one by one. Where whole is above 2047
    it is now and then one shade too much.
    """
    reciprocal = 2**_BITS // whole + 1
    return jnp.clip(covered, 0, whole) * SHADES * reciprocal >> _BITS


def blend(image: jax.Array, colour: str, shades: jax.Array) -> jax.Array:
    """int32[H, W, 3] with the colour laid over it, as thick as shades int32[H, W] in 0..SHADES."""
    thick = shades[..., None]
    return (image * (SHADES - thick) + palette.rgb(colour).astype(np.int32) * thick) // SHADES
