"""A pass that is asked for one token of each row gives that token's state, and the same keys and values."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from train.agent import SMALL_POLICY
from train.policy.config import read_config
from train.policy.decoder import Decoder

AT = jnp.array([0, 4, 8])


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_one_token_is_that_of_the_whole_pass(depth: int) -> None:
    """Of decoders short and deep, with pictures' features added after the last layer and before."""
    policy = read_config(SMALL_POLICY)
    config = dataclasses.replace(policy.text, num_hidden_layers=depth)
    graphdef, params = nnx.split(Decoder(config, policy.family))
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(0), len(leaves) + 2)
    drawn = [leaf + 0.1 * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=False)]
    decoder = nnx.merge(graphdef, jax.tree.unflatten(tree, drawn))
    x = jax.random.normal(keys[-1], (3, 9, config.hidden_size))
    deepstack = jax.random.normal(keys[-2], (min(depth, 2), *x.shape))
    positions = jnp.broadcast_to(jnp.arange(9), (3, 3, 9))
    whole, tail = decoder(x, positions, deepstack=deepstack)
    one, same = decoder(x, positions, deepstack=deepstack, only=AT)
    assert one.shape == (3, 1, config.hidden_size)
    np.testing.assert_allclose(one[:, 0], whole[jnp.arange(3), AT], atol=1e-5)
    np.testing.assert_allclose(same.keys, tail.keys, atol=1e-5)
    np.testing.assert_allclose(same.values, tail.values, atol=1e-5)
    assert not np.allclose(whole[:, 0], whole[:, 8], atol=1e-2)
