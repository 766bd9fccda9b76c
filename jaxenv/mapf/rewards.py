"""Rewards of MAPF-FrozenLake: for a good answer and for a short one, and how much each weighs.

That an answer with a failed check earns nothing, that a valid one earns 0.3 at least, the 1500 and 4096
tokens and the weights from 0.5 to 0.8 are those of arXiv:2606.17682. The ratio to the optimum, the straight
lines and the running share are this project's choice.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class RewardConfig:
    """`floor`: the least reward of a valid answer. An answer of up to `free_tokens` is short; from there the
    length reward falls to -1 at `full_tokens`. The accuracy's weight goes from `low_weight` to `high_weight`
    while the share of short answers goes from a half to one; `decay` is that of the share, an answer."""

    floor: float = 0.3
    free_tokens: int = 1500
    full_tokens: int = 4096
    low_weight: float = 0.5
    high_weight: float = 0.8
    decay: float = 0.99

    def __post_init__(self) -> None:
        if not 0 <= self.free_tokens < self.full_tokens:
            raise ValueError(
                f"free_tokens: {self.free_tokens} must be below full_tokens ({self.full_tokens})"
            )
        for name in ("floor", "low_weight", "high_weight", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: {getattr(self, name)} must be between 0 and 1")


DEFAULT = RewardConfig()
START_SHARE = 0.5  # of short answers, before any is seen: both rewards weigh the same


def accuracy(
    valid: jax.Array, cost: jax.Array, optimum: jax.Array, config: RewardConfig = DEFAULT
) -> jax.Array:
    """float32[...]: 0 unless valid bool[...], else the least cost int32[...] over the cost int32[...], and
    never below the floor."""
    ratio = optimum / jnp.maximum(cost, 1)
    return jnp.where(valid, jnp.maximum(config.floor, ratio), 0.0).astype(jnp.float32)


def length(tokens: jax.Array, config: RewardConfig = DEFAULT) -> jax.Array:
    """float32[...] of answers of so many tokens int32[...]: 0 when short, -1 from `full_tokens` on."""
    excess = (tokens - config.free_tokens) / (config.full_tokens - config.free_tokens)
    return -jnp.clip(excess, 0.0, 1.0).astype(jnp.float32)


def update_share(share: jax.Array, tokens: jax.Array, config: RewardConfig = DEFAULT) -> jax.Array:
    """The running share float32[] of short answers after some more, tokens int32[n] in their order."""
    short = (tokens <= config.free_tokens).astype(jnp.float32)
    later = jnp.arange(short.shape[0] - 1, -1, -1)
    return share * config.decay ** short.shape[0] + (1 - config.decay) * (short * config.decay**later).sum()


def weights(share: jax.Array, config: RewardConfig = DEFAULT) -> tuple[jax.Array, jax.Array]:
    """(of accuracy, of length), float32[] each and 1 together."""
    progress = jnp.clip((share - 0.5) / 0.5, 0.0, 1.0)
    of_accuracy = config.low_weight + (config.high_weight - config.low_weight) * progress
    return of_accuracy, 1 - of_accuracy


def total(
    accuracy: jax.Array, length: jax.Array, share: jax.Array, config: RewardConfig = DEFAULT
) -> jax.Array:
    """float32[...]: both rewards float32[...], weighted by the running share of short answers."""
    of_accuracy, of_length = weights(share, config)
    return of_accuracy * accuracy + of_length * length
