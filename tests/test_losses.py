"""Advantages and losses against plain NumPy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from train.advantages import group_advantages, mixed_groups
from train.losses import grpo_loss, k3, token_entropies, token_log_probs, token_statistics

RNG = np.random.default_rng(0)


def test_group_advantages_match_numpy():
    rewards = RNG.random((6, 5)).astype(np.float32)
    expected = (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, ddof=1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(group_advantages(jnp.array(rewards)), expected, rtol=1e-4)


def test_a_pooled_deviation_is_that_of_the_groups_that_differ() -> None:
    rewards = RNG.random((6, 5)).astype(np.float32)
    rewards[2] = 0.25
    rest = np.delete(rewards, 2, axis=0)
    pooled = np.sqrt(rest.var(1, ddof=1).mean())
    found = group_advantages(jnp.array(rewards), pooled=True)
    np.testing.assert_allclose(
        found, (rewards - rewards.mean(1, keepdims=True)) / pooled, rtol=1e-4, atol=1e-6
    )
    assert not np.any(group_advantages(jnp.full((2, 8), 0.5), pooled=True))


def test_only_valid_members_count():
    rewards, valid = RNG.random((4, 6)).astype(np.float32), np.ones((4, 6), bool)
    valid[0, 2:4] = valid[1, 1:] = valid[2] = False
    rewards[~valid] = np.nan
    advantages = group_advantages(jnp.array(rewards), jnp.array(valid))
    rest = rewards[0, valid[0]]
    np.testing.assert_allclose(advantages[0, valid[0]], (rest - rest.mean()) / rest.std(ddof=1), rtol=1e-4)
    assert not np.any(advantages[~valid])
    assert not np.any(advantages[1:3])  # one valid member, none
    assert mixed_groups(jnp.array(rewards), jnp.array(valid)).tolist() == [True, False, False, True]


@pytest.mark.parametrize("reward", [0.0, 0.1, 1.0, 1e4])
def test_equal_rewards_give_exactly_zero(reward):
    assert not np.any(group_advantages(jnp.full((2, 8), reward, jnp.float32)))


def test_noise_is_not_a_signal():
    noisy = jnp.array([[0.1, 0.1 + 1e-7, 0.1, 0.1]], jnp.float32)
    assert not np.any(group_advantages(noisy))


def test_token_log_probs_and_entropies_match_numpy():
    logits = RNG.normal(size=(2, 3, 7)).astype(np.float32)
    allowed = RNG.random((2, 3, 7)) < 0.6
    allowed[..., 0] = True
    tokens = allowed.argmax(-1)
    z = np.where(allowed, logits / 0.7, -np.inf).astype(np.float64)
    p = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    log_p = np.log(np.take_along_axis(p, tokens[..., None], -1)[..., 0])
    entropy = -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(-1)
    np.testing.assert_allclose(token_log_probs(logits, tokens, allowed, 0.7), log_p, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(token_entropies(logits, allowed, 0.7), entropy, rtol=1e-5, atol=1e-6)
    assert token_log_probs(jnp.array(logits, jnp.bfloat16), tokens).dtype == jnp.float32


def test_gradients_stay_finite_where_everything_is_forbidden():
    def loss(logits):
        allowed = jnp.array([[True, True, False], [False, False, False]])
        tokens = jnp.array([2, 1])
        return (token_log_probs(logits, tokens, allowed) + token_entropies(logits, allowed)).sum()

    assert np.isfinite(jax.grad(loss)(jnp.ones((2, 3)))).all()


def batch(b=4, t=6):
    logprobs, old, ref = (np.float32(-RNG.gamma(2.0, 0.5, (b, t))) for _ in range(3))
    return logprobs, old, np.float32(RNG.normal(size=(b, t))), RNG.random((b, t)) < 0.7, ref


def numpy_loss(logprobs, old, advantages, mask, ref, low=0.2, high=0.28, beta=0.1):
    loss = kl = clipped_low = clipped_high = 0.0
    for p, q, a, m, r in zip(
        *(x.ravel().tolist() for x in (logprobs, old, advantages, mask, ref)), strict=True
    ):
        if m:
            ratio = np.exp(p - q)
            loss -= min(ratio * a, min(max(ratio, 1 - low), 1 + high) * a)
            kl += min(np.exp(r - p) - (r - p) - 1, 10)
            clipped_low += a < 0 and ratio < 1 - low
            clipped_high += a > 0 and ratio > 1 + high
    return (loss + beta * kl) / mask.sum(), kl, clipped_low, clipped_high


def test_loss_and_metrics_match_numpy():
    logprobs, old, advantages, mask, ref = batch(8, 10)
    loss, metrics = grpo_loss(
        logprobs,
        old,
        advantages,
        mask,
        float(mask.sum()),
        kl_coefficient=0.1,
        ref_logprobs=ref,
        entropies=-old,
    )
    expected, kl, low, high = numpy_loss(logprobs, old, advantages, mask, ref)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(metrics["ref_kl"], kl, rtol=1e-5)
    np.testing.assert_allclose(metrics["entropy"], -old[mask].sum(), rtol=1e-5)
    np.testing.assert_allclose(metrics["log_ratio"], np.abs(logprobs - old)[mask].sum(), rtol=1e-5)
    assert (metrics["clipped_low"], metrics["clipped_high"], metrics["tokens"]) == (low, high, mask.sum())
    assert min(low, high) > 0


def test_gradient_is_clipped_on_one_side_only():
    ratio = jnp.array([[0.5, 0.5, 1.2, 1.4, 1.4]])
    advantages = jnp.array([[1.0, -1.0, 1.0, 1.0, -1.0]])
    old = jnp.full_like(ratio, -1.0)
    mask = jnp.ones_like(ratio, bool)
    grad = jax.grad(lambda x: grpo_loss(x, old, advantages, mask, 1.0)[0])(old + jnp.log(ratio))
    np.testing.assert_allclose(grad, [[-0.5, 0.0, -1.2, 0.0, 1.4]], rtol=1e-5)


def test_micro_batches_add_up_to_the_whole_batch():
    logprobs, old, advantages, mask, ref = batch(6, 8)
    mask[:2] = False  # an empty micro-batch
    n = float(mask.sum())

    def loss(x, part):
        extra = {"kl_coefficient": 0.1, "ref_logprobs": ref[part], "entropies": -x}
        return grpo_loss(x, old[part], advantages[part], mask[part], n, **extra)

    value = jax.value_and_grad(loss, has_aux=True)
    (whole, metrics), gradient = value(jnp.array(logprobs), slice(None))
    parts = [value(jnp.array(logprobs[i : i + 2]), slice(i, i + 2)) for i in (0, 2, 4)]
    np.testing.assert_allclose(sum(p[0][0] for p in parts), whole, rtol=1e-5)
    np.testing.assert_allclose(np.concatenate([p[1] for p in parts]), gradient, rtol=1e-5, atol=1e-7)
    for name, total in metrics.items():
        np.testing.assert_allclose(sum(p[0][1][name] for p in parts), total, rtol=1e-5)


def test_without_old_log_probs_the_gradient_is_the_plain_policy_gradient():
    logprobs, _, advantages, mask, _ = batch()
    n = float(mask.sum())
    (loss, metrics), gradient = jax.value_and_grad(
        lambda x: grpo_loss(x, None, advantages, mask, n), has_aux=True
    )(jnp.array(logprobs))
    np.testing.assert_allclose(gradient, np.where(mask, -advantages / n, 0), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(loss, -(advantages * mask).sum() / n, rtol=1e-5)
    assert metrics["log_ratio"] == metrics["old_kl"] == 0


def test_nothing_outside_the_mask_leaks():
    logprobs, old, advantages, mask, _ = batch()
    n = float(mask.sum())
    dirty = [np.where(mask, x, bad) for x, bad in ((logprobs, np.nan), (old, -np.inf), (advantages, np.nan))]
    grad = jax.grad(lambda x, o, a: grpo_loss(x, o, a, mask, n)[0])
    clean = grad(jnp.array(logprobs), old, advantages)
    np.testing.assert_array_equal(grad(jnp.array(dirty[0]), *dirty[1:]), clean)


def test_kl_survives_extreme_ratios():
    values, gradients = jax.vmap(jax.value_and_grad(k3))(jnp.array([-1e4, -1.0, 0.0, 1.0, 1e4]))
    assert np.isfinite(values).all()
    assert np.isfinite(gradients).all()
    assert values[2] == 0
    assert (values >= 0).all()
    assert values.max() == 10


def test_a_coefficient_needs_a_reference():
    x = jnp.zeros((1, 1))
    with pytest.raises(ValueError, match="reference"):
        grpo_loss(x, None, x, x == 0, 1.0, kl_coefficient=0.1)


def head(vocabulary: int, tokens: int, width: int = 16) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Weights of a head, hidden states and the tokens said."""
    keys = jax.random.split(jax.random.key(0), 3)
    weights = jax.random.normal(keys[0], (width, vocabulary)) / 4
    said = jax.random.randint(keys[2], (tokens,), 0, vocabulary)
    return weights, jax.random.normal(keys[1], (tokens, width)), said


def loss_of(weights: jax.Array, hidden: jax.Array, said: jax.Array, chunk: int) -> jax.Array:
    logprobs, _ = token_statistics(lambda h: h @ weights, hidden, said, None, 0.7, chunk)
    return (logprobs * jnp.linspace(-1, 1, len(said))).sum()


@pytest.mark.parametrize("chunk", [1, 4, 10, 11, 50])
def test_chunks_change_no_statistic_and_no_gradient(chunk: int) -> None:
    weights, hidden, said = head(37, 11)
    allowed = jnp.arange(37) != said[0] + 1
    wanted = token_statistics(lambda h: h @ weights, hidden, said, allowed, 0.7, 11)
    got = token_statistics(lambda h: h @ weights, hidden, said, allowed, 0.7, chunk)
    np.testing.assert_allclose(wanted[0], token_log_probs(hidden @ weights, said, allowed, 0.7), atol=1e-5)
    np.testing.assert_allclose(wanted[1], token_entropies(hidden @ weights, allowed, 0.7), atol=1e-5)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    gradients = [jax.grad(loss_of, (0, 1))(weights, hidden, said, n) for n in (chunk, 11)]
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_chunks_need_a_third_of_the_memory_at_a_real_vocabulary() -> None:
    """512 answer tokens over Qwen's 151,936: temporary memory of the compiled gradient, and its values."""
    arguments = head(151_936, 512)
    programs = [
        jax.jit(jax.grad(partial(loss_of, chunk=chunk), 1)).lower(*arguments).compile() for chunk in (512, 64)
    ]
    plain, chunked = (program.memory_analysis().temp_size_in_bytes for program in programs)
    assert 3 * chunked < plain, f"{plain / 2**20:.0f} MiB plain, {chunked / 2**20:.0f} MiB chunked"
    whole, parts = (program(*arguments) for program in programs)
    np.testing.assert_allclose(parts, whole, atol=1e-5)
