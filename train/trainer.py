"""One GRPO step: levels from the frontier, episodes, advantages, an update, and the frontier moved on."""

import zlib
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import answers, curriculum
from jaxenv.curriculum import Frontier, HDCConfig, ScalingInter
from jaxenv.environment import Level
from train.agent import Agent
from train.experience import CreditConfig, Experience, make_experience
from train.learner import Learner, LearnerState
from train.rollout import Actor, Rollout, join


class TrainState(NamedTuple):
    """All that a run is: what a checkpoint holds. `step` int32[] counts finished steps; every random
    choice of step n follows from `key` and n, so episodes and their instances need no state of their own."""

    learner: LearnerState
    frontier: Frontier
    key: jax.Array
    step: jax.Array


@dataclass(frozen=True)
class TrainerConfig:
    """What one step plays and how often it updates; `train.grpo.GRPOConfig` says what the numbers mean."""

    target_scale: int
    group_size: int
    groups: int
    rounds: int
    most_prompts: int
    minibatches: int
    epochs: int
    credit: CreditConfig
    horizons: ScalingInter | None = None


class Trainer:
    """Groups of `group_size` episodes share an instance; `groups` of them a round for each environment."""

    def __init__(self, agent: Agent, learner: Learner, hdc: HDCConfig, config: TrainerConfig) -> None:
        slots = config.groups * config.group_size
        if agent.mixture.slots != slots:
            raise ValueError(
                f"a mixture of {agent.mixture.slots} slots is not {config.groups} groups "
                f"of {config.group_size}"
            )
        _check_lengths(agent.actor, learner)
        if config.target_scale < 0:
            raise ValueError(f"target_scale: {config.target_scale} must be at least 0")
        self.agent, self.learner, self.hdc, self.config = agent, learner, hdc, config
        self.single_turn = np.array([env.single_turn for env in agent.mixture.envs])
        self.rounds = config.rounds if self.single_turn.any() else 1
        self._sample = jax.jit(partial(_sample_levels, hdc, config.groups * self.rounds, config.group_size))
        # The type of every row of the rounds of a step, joined.
        self.environment = np.tile(np.repeat(np.arange(len(agent.names)), slots), self.rounds)

    def init(self, seed: int) -> TrainState:
        own = jnp.array([env.num_scales - 1 for env in self.agent.mixture.envs], jnp.int32)
        frontier = curriculum.init(self.hdc, jnp.minimum(own, self.config.target_scale))
        learner = self.learner.init(self.agent.policy.params)
        return TrainState(learner, frontier, jax.random.key(seed), jnp.int32(0))

    def step(self, state: TrainState) -> tuple[TrainState, dict[str, float], Rollout]:
        """(state after the step, metrics, the episodes played)."""
        rollout, experience, level = self._play(state, self._max_turns(int(state.step) + 1))
        config = self.config
        learner, losses = learn(self.learner, state.learner, experience, config.minibatches, config.epochs)
        frontier = self._advance(state.frontier, level, rollout)
        after = TrainState(learner, frontier, state.key, jnp.int32(int(state.step) + 1))
        return after, self._metrics(rollout, experience, frontier) | losses, rollout

    def compile(self, state: TrainState) -> None:
        """Compiles everything a step can need: the large programs side by side, the small ones by a turn."""
        agent = self.agent
        agent.mixture.compile()
        agent.actor.compile(self.learner.policy_params(state.learner))
        self.learner.compile(state.learner, agent.actor.picture)
        rollout, experience, level = self._play(state, jnp.ones(len(agent.names), jnp.int32))
        self._metrics(rollout, experience, self._advance(state.frontier, level, rollout))

    def _max_turns(self, step: int) -> jax.Array:
        """Turns of an episode at most in this step, counted from 1: int32[E], 0 without horizons."""
        horizons = self.config.horizons
        limit = jnp.int32(0) if horizons is None else curriculum.horizon(horizons, step)
        return jnp.broadcast_to(limit, len(self.agent.names))

    def _play(self, state: TrainState, max_turns: jax.Array) -> tuple[Rollout, Experience, Level]:
        """The episodes of the next step, what is learnt from them, and their levels int32[rows].

        Round 0 plays every type; the later ones those of a single turn, whose episodes cost one answer.
        """
        number = int(state.step) + 1
        key = jax.random.fold_in(state.key, number)
        sampled = self._sample(state.frontier, key)
        params = self.learner.policy_params(state.learner)
        rounds = []
        for r in range(self.rounds):
            rounds.append(
                self.agent.actor.play(
                    params,
                    self.agent.mixture.reset(*self._by_round(sampled, r)),
                    jax.random.fold_in(key, 1 + r),
                    max_turns,
                    self.agent.actor.config.temperature,
                    only=self.single_turn if r else None,
                )
            )
        rollout = join(rounds)
        rng = np.random.default_rng([zlib.crc32(np.asarray(jax.random.key_data(key)).tobytes()), number])
        experience = make_experience(
            rollout,
            self.config.group_size,
            self.config.most_prompts,
            rng,
            self.environment,
            self.config.credit,
            bool(self.agent.actor.capacities),
        )
        levels = jax.tree.map(lambda leaf: self._rounds_first(leaf).reshape(-1), sampled[1])
        return rollout, experience, levels

    def _by_round(self, sampled: tuple[jax.Array, Level], number: int) -> tuple[jax.Array, Level]:
        """Reset keys and levels [E, slots] of one round."""
        return jax.tree.map(lambda leaf: self._rounds_first(leaf)[number], sampled)

    def _rounds_first(self, leaf: jax.Array) -> jax.Array:
        """[E, rounds * slots] -> [rounds, E, slots]"""
        return leaf.reshape(len(self.agent.names), self.rounds, -1).swapaxes(0, 1)

    def _advance(self, frontier: Frontier, level: Level, rollout: Rollout) -> Frontier:
        return curriculum.update(
            self.hdc,
            frontier,
            jnp.asarray(self.environment, jnp.int32),
            level.harness,
            level.scale,
            rollout.success,
            rollout.lengths > 0,
        )

    def _metrics(self, rollout: Rollout, experience: Experience, frontier: Frontier) -> dict[str, float]:
        names, turns, played = self.agent.names, int(rollout.lengths.sum()), rollout.lengths > 0
        metrics = {
            "reward": float(rollout.returns[played].mean()),
            "success": float(rollout.success[played].mean()),
            "mixed_groups": float(experience.mixed.mean()),
            "turns": float(rollout.lengths[played].mean()),
            "tokens": float(experience.tokens),
            "cut_replies": rollout.cut / turns,
        }
        for kind in (answers.NO_TAG, answers.NOT_IN_GRAMMAR, answers.ILLEGAL):
            name = answers.VERDICTS[kind].replace(" ", "_")
            metrics[f"rejected/{name}"] = float(rollout.verdicts[kind]) / turns
        for e, name in enumerate(names):
            metrics[f"success/{name}"] = float(rollout.success[played & (self.environment == e)].mean())
            metrics[f"harness/{name}"] = int(frontier.harness[e])
            metrics[f"scale/{name}"] = int(frontier.scale[e])
        return metrics


def learn(
    learner: Learner, state: LearnerState, experience: Experience, minibatches: int, epochs: int
) -> tuple[LearnerState, dict[str, float]]:
    """An update for each of `minibatches` parts of the packs, `epochs` times over, and the mean metrics."""
    losses = []
    for part in range(epochs * minibatches):
        packs = experience.packs[part % minibatches :: minibatches]
        state, metrics = learner.update(state, packs, experience.tokens / minibatches)
        losses.append(metrics)
    return state, _mean(losses)


def _check_lengths(actor: Actor, learner: Learner) -> None:
    """Raises ValueError where the longest thing to learn from has no room."""
    prompt, reply, last = actor.buckets[-1], actor.config.max_new_tokens, learner.lengths[-1]
    if not actor.capacities and last < prompt + reply:
        raise ValueError(
            f"pack_lengths: the last, {last}, does not hold a prompt of {prompt} tokens "
            f"with a reply of {reply} (actor.max_new_tokens)"
        )
    if actor.capacities and last < actor.capacities[-1]:
        raise ValueError(
            f"pack_lengths: the last, {last}, does not hold a conversation of {actor.capacities[-1]} tokens"
        )
    if actor.capacities and learner.config.answer_tokens < actor.most_turns * reply:
        raise ValueError(
            f"learner.answer_tokens: {learner.config.answer_tokens} do not hold a conversation's "
            f"{actor.most_turns} replies of {reply} (actor.max_new_tokens)"
        )


def _mean(updates: list[dict[str, float]]) -> dict[str, float]:
    """Metrics of a step's updates; those without anything to learn from count only in what they have."""
    names = {name for metrics in updates for name in metrics}
    return {
        name: float(np.mean([metrics[name] for metrics in updates if name in metrics]))
        for name in sorted(names)
    }


def _sample_levels(
    hdc: HDCConfig, groups: int, group_size: int, frontier: Frontier, key: jax.Array
) -> tuple[jax.Array, Level]:
    """Reset keys key[E, slots] and levels int32[E, slots], equal within each group."""
    level_key, instance_key = jax.random.split(jax.random.fold_in(key, 0))
    harness, scale = curriculum.sample(hdc, frontier, level_key, groups)
    keys = jax.random.split(instance_key, harness.shape)
    repeat = lambda leaf: jnp.repeat(leaf, group_size, axis=1)  # noqa: E731
    return repeat(keys), Level(repeat(harness), repeat(scale))
