"""Whole episodes of many instances at once, by the expert, at random, or a mix of both; NumPy out."""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.environment import Environment, Episode, Level, make_params


@dataclass
class Rollout:
    """`states[t]` are the states before turn t and, last, after all turns; the rest is [turn, instance]."""

    states: list[Any]
    actions: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    verdicts: np.ndarray

    def length(self) -> np.ndarray:
        """Turns until termination of each instance; one more than there are when it never ended."""
        ended = self.terminated.any(0)
        return np.where(ended, self.terminated.argmax(0) + 1, len(self.terminated) + 1)


@functools.cache
def _compiled(env: Environment, turns: int) -> Any:
    params = make_params(max_turns=turns + 1)

    def play(key: jax.Array, state: Any, share: jax.Array) -> Any:
        def turn(episode: Episode, key: jax.Array) -> Any:
            mix, expert, sample, rules = jax.random.split(key, 4)
            follows = jax.random.uniform(mix) < share
            action = jnp.where(follows, env.expert(expert, episode.state), env.grammar.sample(sample))
            _, after, reward, terminated, _, info = env.step(rules, episode, action, params)
            return after, (episode.state, action, reward, terminated, info["verdict"])

        level = Level(jnp.int32(0), jnp.int32(0))
        start = Episode(state, level, jnp.int32(0), jnp.bool_(False))
        last, told = jax.lax.scan(turn, start, jax.random.split(key, turns))
        return last.state, told

    return jax.jit(jax.vmap(play, (0, 0, None)))


def roll(env: Environment, states: Any, turns: int, share: float, seed: int = 0) -> Rollout:
    """Plays `turns` turns from each state; a turn is the expert's with chance `share`, else random."""
    count = len(jax.tree.leaves(states)[0])
    keys = jax.random.split(jax.random.key(seed), count)
    last, told = jax.device_get(_compiled(env, turns)(keys, states, jnp.float32(share)))
    before, *rest = told
    ordered = [jax.tree.map(lambda leaf, t=t: leaf[:, t], before) for t in range(turns)]
    return Rollout([*ordered, last], *(np.moveaxis(leaf, 1, 0) for leaf in rest))


def one(states: Any, index: int) -> Any:
    """A single state of a batch."""
    return jax.tree.map(lambda leaf: leaf[index], states)
