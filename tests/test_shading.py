"""Shades without a division are those with it."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.render.shading import SHADES, blend, shade


def test_shades_are_rounded_down() -> None:
    """Of every whole up to 2047, at each edge between two shades and beside it, and beyond both ends."""
    whole = np.arange(1, 2048)[:, None]
    edges = -(-whole * np.arange(SHADES + 1) // SHADES)  # where a shade begins
    covered = np.concatenate([edges - 1, edges, edges + 1, -7 * whole, 9 * whole], axis=1).astype(np.int32)
    exact = np.clip(covered * SHADES // whole, 0, SHADES)
    np.testing.assert_array_equal(jax.jit(shade)(covered, whole.astype(np.int32)), exact)


def test_beyond_that_a_shade_is_one_too_much_at_most() -> None:
    whole = np.array([[2048], [10_000], [100_000]])
    covered = np.linspace(0, whole[:, 0], 999, axis=1).astype(np.int32)
    more = np.asarray(jax.jit(shade)(covered, whole.astype(np.int32))) - covered * SHADES // whole
    assert set(np.unique(more)) <= {0, 1}


def test_a_full_shade_is_the_colour_and_none_the_picture() -> None:
    image = jnp.full((2, 2, 3), 200, jnp.int32)
    thick = jnp.array([[0, SHADES], [0, SHADES // 2]])
    mixed = np.asarray(blend(image, "red", thick))
    np.testing.assert_array_equal(mixed[:, 0], image[:, 0])
    assert (mixed[0, 1] != mixed[1, 1]).any()
    np.testing.assert_allclose(mixed[1, 1], (mixed[0, 1] + 200) / 2, atol=1)
