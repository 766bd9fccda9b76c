"""The policy-gradient loss on tokens, and what it needs from the logits.

Shapes: B sequences of T positions over V tokens. All results are sums over tokens divided by a number the
caller gives, so that the micro-batches of one optimiser step add up to the loss of the whole batch.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

FORBIDDEN = -1e9  # finite, so that gradients stay finite where every token is forbidden (padding)
MAX_LOG_RATIO = 20.0  # exp overflows float32 beyond 88; a ratio of e^20 is broken anyway
MAX_K3 = 10.0


def _scaled(
    logits: jax.Array, allowed: jax.Array | np.ndarray | None, temperature: float | jax.Array
) -> jax.Array:
    """The logits the sampler drew from, in float32: forbidden tokens out, divided by the temperature."""
    scaled = logits.astype(jnp.float32) / temperature
    return scaled if allowed is None else jnp.where(allowed, scaled, FORBIDDEN)


def token_log_probs(
    logits: jax.Array,
    tokens: jax.Array,
    allowed: jax.Array | np.ndarray | None = None,
    temperature: float | jax.Array = 1.0,
) -> jax.Array:
    """Log-probability of each token under the distribution it was sampled from: float32[..., T].

    logits: float[..., T, V]; tokens: int32[..., T]; allowed: bool, broadcast to the logits, None for all;
    temperature: above 0, the sampler's. Computed in float32. A forbidden token gets about -1e9.
    """
    scaled = _scaled(logits, allowed, temperature)
    chosen = jnp.take_along_axis(scaled, tokens[..., None], axis=-1)[..., 0]
    return chosen - jax.nn.logsumexp(scaled, axis=-1)


def token_entropies(
    logits: jax.Array, allowed: jax.Array | np.ndarray | None = None, temperature: float | jax.Array = 1.0
) -> jax.Array:
    """Entropy in nats of the sampling distribution at each position: float32[..., T]; arguments as above."""
    log_p = jax.nn.log_softmax(_scaled(logits, allowed, temperature), axis=-1)
    return -(jnp.exp(log_p) * log_p).sum(-1)


def token_statistics(
    project: Callable[[jax.Array], jax.Array],
    hidden: jax.Array,
    tokens: jax.Array,
    allowed: jax.Array | np.ndarray | None,
    temperature: float | jax.Array,
    chunk: int,
) -> tuple[jax.Array, jax.Array]:
    """`token_log_probs` and (without a gradient) `token_entropies` of hidden states float[N, D]: float32[N].

    project: float[n, D] -> logits float[n, V]. Of more than `chunk` tokens the logits of one chunk exist at a
    time, in the backward pass too, which makes them anew: at a vocabulary of 150,000 they are most of a
    step's memory.
    """

    def one(hidden: jax.Array, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = project(hidden)
        entropies = token_entropies(jax.lax.stop_gradient(logits), allowed, temperature)
        return token_log_probs(logits, tokens, allowed, temperature), entropies

    n = len(hidden)
    if n <= chunk:
        return one(hidden, tokens)
    parts = -(-n // chunk)
    fill = parts * chunk - n
    split = (
        jnp.pad(hidden, ((0, fill), (0, 0))).reshape(parts, chunk, -1),
        jnp.pad(tokens, (0, fill)).reshape(parts, chunk),
    )
    logprobs, entropies = jax.lax.map(lambda part: jax.checkpoint(one)(*part), split)
    return logprobs.reshape(-1)[:n], entropies.reshape(-1)[:n]


def k3(log_ratio: jax.Array) -> jax.Array:
    """Schulman's k3 estimate exp(d) - d - 1 of the KL divergence, never negative, clamped against overflow.

    With d = log(reference / policy) on tokens of the policy it estimates KL(policy || reference).
    """
    d = jnp.clip(log_ratio, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    return jnp.minimum(jnp.expm1(d) - d, MAX_K3)


def grpo_loss(
    logprobs: jax.Array,
    old_logprobs: jax.Array | None,
    advantages: jax.Array,
    mask: jax.Array,
    normaliser: float | jax.Array,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    kl_coefficient: float = 0.0,
    ref_logprobs: jax.Array | None = None,
    entropies: jax.Array | None = None,
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """The clipped GRPO objective with clip-higher and token-mean (DAPO, arXiv:2503.14476, 3.1 and 3.3).

    logprobs, advantages: float32[B, T]; mask: bool[B, T], the policy's own tokens.
    old_logprobs: float32[B, T], the sampling policy's; None says this is the one update on these samples:
        the ratio is 1 and its gradient that of logprobs.
    normaliser: the number of masked tokens in the whole batch, over all micro-batches and devices.
    clip_low, clip_high: the ratio is clipped to [1 - clip_low, 1 + clip_high].
    kl_coefficient, ref_logprobs: weight of k3 to a reference policy (float32[B, T]); None leaves it out.
    entropies: float32[B, T], only reported.

    Returns the loss, float32[], and metrics, float32[] each, all sums over the masked tokens (divide by
    `tokens`): tokens, clipped_low, clipped_high (how many lost their gradient to each bound), old_kl (k3 to
    the sampling policy), log_ratio (absolute) and, where given, ref_kl and entropy. Outside the mask anything
    may stand, NaN too. Raises ValueError for a KL coefficient without a reference.
    """
    if kl_coefficient and ref_logprobs is None:
        raise ValueError("a KL coefficient needs the reference policy's log-probabilities")

    def total(values: jax.Array) -> jax.Array:
        return jnp.where(mask, values, 0.0).sum()

    logprobs = jnp.where(mask, logprobs, 0.0)  # before any arithmetic: NaN * 0 is NaN in the gradient too
    advantages = jnp.where(mask, advantages, 0.0)
    old = jax.lax.stop_gradient(logprobs if old_logprobs is None else jnp.where(mask, old_logprobs, 0.0))
    log_ratio = jnp.clip(logprobs - old, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1.0 - clip_low, 1.0 + clip_high)
    loss = -total(jnp.minimum(ratio * advantages, clipped * advantages))
    metrics = {
        "tokens": total(jnp.ones_like(logprobs)),
        "clipped_low": total((ratio < 1.0 - clip_low) & (advantages < 0)),
        "clipped_high": total((ratio > 1.0 + clip_high) & (advantages > 0)),
        "old_kl": total(k3(log_ratio)),
        "log_ratio": total(jnp.abs(log_ratio)),
    }
    if ref_logprobs is not None:
        metrics["ref_kl"] = total(k3(jnp.where(mask, ref_logprobs, 0.0) - logprobs))
        loss = loss + kl_coefficient * metrics["ref_kl"]
    if entropies is not None:
        metrics["entropy"] = total(entropies)
    return loss / normaliser, jax.lax.stop_gradient(metrics)
