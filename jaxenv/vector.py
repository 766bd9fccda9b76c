"""A batch of one environment type that resets in the same step, from a pool.

Under vmap a reset inside `step` generates a new instance for every slot at every step, wanted or not. Here
finished slots take ready-made instances from a pool by one gather, and a few entries of the pool are made
anew each step, so that a step costs a step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv.environment import Environment, Episode, Level, Params
from jaxenv.text import Text

StepResult = tuple[dict[str, Any], "VectorState", jax.Array, jax.Array, jax.Array, dict[str, Any]]


@struct.dataclass
class VectorState:
    """Episodes [num_envs] in play; the pool [pool_size] of fresh ones; `taken` and `refilled` int32[] are
    the pool's next entry to hand out and to renew."""

    episodes: Episode
    pool: Episode
    taken: jax.Array
    refilled: jax.Array


@dataclass(frozen=True)
class Vector:
    """`num_envs` slots of `env`. `refill` pool entries are renewed at each step; when more episodes end
    than that for long, instances come back (after at least pool_size - num_envs others)."""

    env: Environment
    num_envs: int
    pool_size: int = 1024
    refill: int = 8

    def __post_init__(self) -> None:
        if self.pool_size < self.num_envs or not 0 <= self.refill <= self.pool_size:
            raise ValueError(
                f"pool_size: {self.pool_size} must be at least num_envs ({self.num_envs}) and refill "
                f"({self.refill}) between 0 and pool_size"
            )

    def reset(self, key: jax.Array, params: Params) -> tuple[dict[str, Any], VectorState]:
        """Fills the pool and starts every slot: (obs with leading axis num_envs, state).

        The leaves of params.level are int32[] or int32[pool_size], one level for each entry of the pool; an
        entry keeps its level when it is renewed.
        """
        level = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.pool_size,)), params.level)
        pool = self._generate(jax.random.split(key, self.pool_size), level, params)
        episodes = jax.tree.map(lambda leaf: leaf[: self.num_envs], pool)
        state = VectorState(episodes, pool, jnp.int32(self.num_envs % self.pool_size), jnp.int32(0))
        return jax.vmap(self.env.observation)(episodes), state

    def step(self, key: jax.Array, state: VectorState, actions: jax.Array, params: Params) -> StepResult:
        """One turn of every slot with actions [num_envs, ...].

        A slot whose episode ends shows the first observation of its next episode; the last one of the old
        is in info["final_observation"] (for the other slots: their observation).
        """
        return self._advance(self.env.step, key, state, actions, params)

    def step_text(self, key: jax.Array, state: VectorState, replies: Text, params: Params) -> StepResult:
        """`step` with replies in words."""
        return self._advance(self.env.step_text, key, state, replies, params)

    def _advance(
        self, step: Callable[..., Any], key: jax.Array, state: VectorState, actions: Any, params: Params
    ) -> StepResult:
        step_key, refill_key = jax.random.split(key)
        keys = jax.random.split(step_key, self.num_envs)
        batched = jax.vmap(step, in_axes=(0, 0, 0, None))
        final, stepped, reward, terminated, truncated, info = batched(keys, state.episodes, actions, params)
        ended = terminated | truncated
        entry = (state.taken + jnp.cumsum(ended) - 1) % self.pool_size
        fresh = jax.tree.map(lambda leaf: leaf[entry], state.pool)
        episodes = jax.tree.map(lambda new, old: _where(ended, new, old), fresh, stepped)
        after = VectorState(
            episodes,
            self._refilled(refill_key, state, params),
            (state.taken + ended.sum()) % self.pool_size,
            (state.refilled + self.refill) % self.pool_size,
        )
        info = {**info, "final_observation": final}
        return jax.vmap(self.env.observation)(episodes), after, reward, terminated, truncated, info

    def _refilled(self, key: jax.Array, state: VectorState, params: Params) -> Episode:
        if not self.refill:
            return state.pool
        entries = (state.refilled + jnp.arange(self.refill)) % self.pool_size
        level = jax.tree.map(lambda leaf: leaf[entries], state.pool.level)
        fresh = self._generate(jax.random.split(key, self.refill), level, params)
        return jax.tree.map(lambda pool, new: pool.at[entries].set(new), state.pool, fresh)

    def _generate(self, keys: jax.Array, level: Level, params: Params) -> Episode:
        return jax.vmap(self.env.sample_level)(
            keys, Params(level, jnp.broadcast_to(params.max_turns, keys.shape))
        )


def _where(flag: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    return jnp.where(flag.reshape(flag.shape + (1,) * (new.ndim - 1)), new, old)
