"""Attention in blocks of queries is attention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from train.policy import decoder
from train.policy.decoder import Segment, attend, attend_in_blocks

ROWS, KEY_HEADS, GROUPS, SIZE, EARLIER = 2, 2, 3, 8, 5


def bias(seen: jax.Array) -> jax.Array:
    """Of bool[B, T, S]."""
    return jnp.where(seen, 0.0, -1e30)[:, None, None]


@pytest.mark.parametrize("steps", [1, 64, 150, 300])
def test_blocks_give_what_the_whole_square_gives(steps: int) -> None:
    """Forwards and backwards, beside an earlier segment, with a mask of each row's own. The mask leaves out
    tokens before, as the answers of a pack do not see each other, and none sees a later one."""
    keys = iter(jax.random.split(jax.random.key(steps), 8))
    q = jax.random.normal(next(keys), (ROWS, KEY_HEADS, GROUPS, steps, SIZE))
    seen = jnp.tril(jax.random.bernoulli(next(keys), 0.5, (ROWS, steps, steps)) | jnp.eye(steps, dtype=bool))
    filled = jnp.arange(EARLIER) < jnp.array([[[2]], [[5]]])
    kv = [jax.random.normal(next(keys), (2, ROWS, KEY_HEADS, slots, SIZE)) for slots in (EARLIER, steps)]
    weights = jax.random.normal(next(keys), q.shape)

    def run(mix, q, kv):
        segments = [Segment(k, v, bias(mask)) for (k, v), mask in zip(kv, (filled, seen), strict=True)]
        mixed = mix(q, segments)
        return (mixed * weights).sum(), mixed

    gradient = jax.jit(jax.grad(run, (1, 2), has_aux=True), static_argnums=0)
    both = (jax.tree.leaves(gradient(mix, q, kv)) for mix in (attend, attend_in_blocks))
    for whole, blocks in zip(*both, strict=True):
        np.testing.assert_allclose(blocks, whole, atol=2e-5)


def test_keys_may_lie_either_way() -> None:
    q, k, v = (jax.random.normal(key, (2, 2, 3, 7, 8)) for key in jax.random.split(jax.random.key(0), 3))
    k, v, whole = k[:, :, 0], v[:, :, 0], jnp.zeros((1, 1, 1, 7, 7))
    upright = attend(q, [Segment(k.swapaxes(2, 3), v, whole, upright=True)])
    np.testing.assert_allclose(upright, attend(q, [Segment(k, v, whole)]), atol=1e-6)


def test_a_long_prompt_is_cut_into_so_many_blocks() -> None:
    q = jnp.zeros((1, 1, 1, 1030, 4))
    k = jnp.zeros((1, 1, 1030, 4))
    square = jnp.zeros((1, 1, 1, 1030, 1030))
    program = jax.make_jaxpr(lambda q, k: attend_in_blocks(q, [Segment(k, k, square)]))(q, k)
    products = [eq for eq in program.eqns if eq.primitive.name == "dot_general"]
    assert len(products) == 2 * decoder.BLOCKS
    squares = sum(eq.outvars[0].aval.size for eq in products[::2])
    assert squares < 0.63 * 1030**2
