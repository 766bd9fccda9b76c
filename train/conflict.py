"""Whether environments pull a policy the same way: the policy gradient of each, and their cosines (AES,
arXiv:2608.03571)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.environment import Level
from train.agent import Agent
from train.experience import CreditConfig, make_experience
from train.learner import Learner, LearnerState
from train.policy.weights import Params
from train.rollout import Rollout


@dataclass(frozen=True)
class GradientConfig:
    """What the gradient of an environment is estimated from."""

    group_size: int = 8
    """Episodes that share an instance."""
    rounds: int = 4
    """Episodes in every slot, one after another; their gradients are averaged."""
    dimensions: int = 4096
    """Numbers that a gradient is projected to; 0 keeps it whole, which takes a small policy."""
    harness: int = 0
    """Harness level of the instances."""
    scale: int = 0
    """Scale of the instances."""
    seed: int = 0
    """Seed of the instances, the sampling and the projection."""
    credit: CreditConfig = field(default_factory=CreditConfig)


def environment_gradients(agent: Agent, learner: Learner, config: GradientConfig) -> np.ndarray:
    """float32[E, D]: for each environment the gradient, by whatever of the agent's policy learns, of GRPO's
    loss on `rounds` episodes in every slot, the same instance in groups; zeros where no group's returns
    differ."""
    key, project_key = jax.random.split(jax.random.key(config.seed))
    rounds = [
        by_environment(_play(agent, config, jax.random.fold_in(key, r)), agent.mixture.slots)
        for r in range(config.rounds)
    ]
    state = learner.init(agent.policy.params)
    return np.stack(
        [
            np.mean([_gradient(learner, state, part, config, project_key) for part in parts], axis=0)
            for parts in zip(*rounds, strict=True)
        ]
    )


def _gradient(
    learner: Learner, state: LearnerState, rollout: Rollout, config: GradientConfig, key: jax.Array
) -> np.ndarray:
    """float32[D]: the gradient on a rollout of one environment, projected."""
    rng, rows = np.random.default_rng(config.seed), np.zeros(len(rollout.returns), int)
    learnt = make_experience(rollout, config.group_size, len(rollout.turns), rng, rows, config.credit)
    gradient = learner.zeros(state.params)[0]
    if learnt.packs:
        gradient = learner.gradient(state, learnt.packs, learnt.tokens)[0]
    return np.asarray(project(gradient, config.dimensions, key))


def by_environment(rollout: Rollout, slots: int) -> list[Rollout]:
    """The rollouts of single environments, of `slots` rows each."""
    parts = []
    for first in range(0, len(rollout.returns), slots):
        rows = slice(first, first + slots)
        turns = [replace(t, row=t.row - first) for t in rollout.turns if first <= t.row < first + slots]
        own = {
            name: getattr(rollout, name)[rows] for name in ("returns", "success", "lengths", "last_pixels")
        }
        parts.append(rollout._replace(turns=turns, **own))
    return parts


def project(gradient: Params, dimensions: int, key: jax.Array) -> jax.Array:
    """float32[dimensions]: a count sketch, every number added with a random sign to a random place, which
    keeps cosines in expectation. With 0 dimensions all numbers in a row."""
    leaves: Sequence[jax.Array] = jax.tree.leaves(gradient)
    if not dimensions:
        return jnp.concatenate([leaf.reshape(-1).astype(jnp.float32) for leaf in leaves])
    sketch = jnp.zeros(dimensions, jnp.float32)
    for n, leaf in enumerate(leaves):
        place_key, sign_key = jax.random.split(jax.random.fold_in(key, n))
        places = jax.random.randint(place_key, (leaf.size,), 0, dimensions)
        signs = jax.random.rademacher(sign_key, (leaf.size,), jnp.float32)
        sketch = sketch.at[places].add(signs * leaf.reshape(-1))
    return sketch


def _play(agent: Agent, config: GradientConfig, key: jax.Array) -> Rollout:
    """One sampled episode in every slot."""
    reset_key, sample_key = jax.random.split(key)
    envs, slots = len(agent.names), agent.mixture.slots
    keys = jax.random.split(reset_key, (envs, slots // config.group_size))
    level = Level(*(jnp.full((envs, slots), number, jnp.int32) for number in (config.harness, config.scale)))
    start = agent.mixture.reset(jnp.repeat(keys, config.group_size, axis=1), level)
    limits, temperature = jnp.zeros(envs, jnp.int32), agent.actor.config.temperature
    return agent.actor.play(agent.policy.params, start, sample_key, limits, temperature)
