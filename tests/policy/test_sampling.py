"""Tokens are drawn as often as their probabilities say."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from train.policy.sampling import draw, pick

draws = jax.jit(jax.vmap(draw, (None, 0)))


def numbers(count: int) -> jax.Array:
    return jax.random.uniform(jax.random.key(0), (count,))


@pytest.mark.parametrize("size", [1, 2, 7, 30, 31, 857])
def test_draws_are_as_frequent_as_their_weights(size: int) -> None:
    rng = np.random.default_rng(size)
    weights = rng.exponential(size=size) ** 2  # sums to anything
    if size > 2:
        weights[rng.random(size) < 0.3] = 0
        weights[[0, -1]] = [0, 1]
    count = 100_000
    times = np.bincount(draws(jnp.asarray(weights, jnp.float32), numbers(count)), minlength=size)
    assert len(times) == size
    assert not times[weights == 0].any()
    expected = count * weights / weights.sum()
    often = expected >= 5
    statistic = ((times - expected)[often] ** 2 / expected[often]).sum()
    assert stats.chi2.sf(statistic, max(often.sum() - 1, 1)) > 1e-4


def test_what_is_certain_is_drawn_wherever_it_stands() -> None:
    for place in range(31):
        certain = jnp.zeros(31).at[place].set(1e-30)
        assert set(np.asarray(draws(certain, numbers(64)))) == {place}


def test_rare_tokens_of_a_large_vocabulary_are_drawn() -> None:
    """A hundredth of the probability is spread over 151,935 tokens, most of it over the last ones."""
    size, count = 151_936, 20_000
    spread = np.arange(size, dtype=np.float64)
    spread *= 0.01 / spread.sum()
    spread[70_000] = 0.99
    drawn = np.asarray(draws(jnp.asarray(spread, jnp.float32), numbers(count)))
    rare = drawn[drawn != 70_000]
    assert stats.binomtest(len(rare), count, 0.01).pvalue > 1e-4
    assert stats.kstest((rare / size) ** 2, "uniform").pvalue > 1e-4


LOGITS = 3 * jax.random.normal(jax.random.key(1), (50,))
ALLOWED = jnp.arange(50) % 5 > 0


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_pick_has_the_probability_that_it_says(temperature: float) -> None:
    token, logprob = jax.vmap(
        partial(pick, temperature=jnp.float32(temperature), allowed=ALLOWED), (None, 0)
    )(LOGITS, numbers(50_000))
    wanted = np.asarray(jax.nn.log_softmax(jnp.where(ALLOWED, LOGITS / temperature, -jnp.inf)))
    np.testing.assert_allclose(logprob, wanted[token], atol=1e-5)
    np.testing.assert_allclose(np.bincount(token, minlength=50) / 50_000, np.exp(wanted), atol=0.01)


def test_the_greedy_pick_is_the_likeliest_that_is_allowed() -> None:
    token, logprob = pick(LOGITS, jnp.float32(0.9), temperature=jnp.float32(0), allowed=ALLOWED)
    allowed = jnp.where(ALLOWED, LOGITS, -jnp.inf)
    assert token == allowed.argmax()
    np.testing.assert_allclose(logprob, jax.nn.log_softmax(allowed)[token], atol=1e-5)
