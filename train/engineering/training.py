"""GRPO on the boards of a round: the paper's rewards, single answers, several to each board."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.mapf import rewards
from jaxenv.mapf.checks import CHECKS
from jaxenv.mapf.generator import Board
from jaxenv.mapf.rewards import RewardConfig
from train.engineering.boards import take
from train.engineering.player import Player
from train.experience import CreditConfig, make_experience
from train.learner import Learner, LearnerState
from train.trainer import learn


class EngineerState(NamedTuple):
    """What a checkpoint holds: the learner, the running share float32[] of short answers, and the number
    int32[] of finished steps. Every random choice follows from the run's seed and that number."""

    learner: LearnerState
    short: jax.Array
    step: jax.Array


@dataclass(frozen=True)
class RoundConfig:
    """How the boards of a round are learnt from; `train.engineer` says what the numbers mean."""

    samples: int
    group_size: int
    groups: int
    epochs: int
    minibatches: int
    rewards: RewardConfig
    seed: int


class RoundTrainer:
    """Steps of `groups` boards with `group_size` answers to each."""

    def __init__(self, player: Player, learner: Learner, config: RoundConfig) -> None:
        if player.slots != config.groups * config.group_size:
            raise ValueError(
                f"a mixture of {player.slots} slots is not {config.groups} groups of {config.group_size}"
            )
        self.player, self.learner, self.config = player, learner, config
        self.one_type = np.zeros(player.slots, int)

    @property
    def steps(self) -> int:
        """Of a round. Samples beyond a multiple of `groups` are left out of an epoch."""
        return self.config.epochs * (self.config.samples // self.config.groups)

    def batches(self, number: int, boards: int) -> Iterator[np.ndarray]:
        """The boards of every step of round `number`: epochs in random order. Where fewer than `samples`
        could be drawn, some come twice."""
        for epoch in range(self.config.epochs):
            order = np.random.default_rng([self.config.seed, number, epoch]).permutation(boards)
            yield from np.resize(order, (self.steps // self.config.epochs, self.config.groups))

    def step(self, state: EngineerState, boards: Board) -> tuple[EngineerState, dict[str, float]]:
        """Answers and learns from `groups` boards."""
        config, number = self.config, int(state.step) + 1
        rows = np.repeat(np.arange(config.groups), config.group_size)
        key = jax.random.fold_in(jax.random.key(config.seed), number)
        params = self.learner.policy_params(state.learner)
        actor = self.player.agent.actor
        rollout, judged = self.player.play(params, take(boards, rows), key, actor.config.temperature)
        tokens = np.zeros(len(rows), np.int32)
        for turn in rollout.turns:
            tokens[turn.row] = len(turn.tokens)
        short = rewards.update_share(state.short, jnp.asarray(tokens), config.rewards)
        accuracy, length = jnp.asarray(rollout.returns), rewards.length(jnp.asarray(tokens), config.rewards)
        returns = np.asarray(rewards.total(accuracy, length, short, config.rewards))
        experience = make_experience(
            rollout._replace(returns=returns),
            config.group_size,
            len(rows),
            np.random.default_rng([config.seed, number]),
            self.one_type,
            CreditConfig(partial=1.0, scale="group"),  # the paper's rewards, as they are
        )
        learner, losses = learn(self.learner, state.learner, experience, config.minibatches, epochs=1)
        metrics = {
            "reward": float(returns.mean()),
            "valid": float(judged.valid.mean()),
            "optimal": float(judged.optimal.mean()),
            "mixed_groups": float(experience.mixed.mean()),
            "tokens": float(tokens.mean()),
            "short": float(short),
            "cut_replies": rollout.cut / len(rows),
        }
        failed = zip(CHECKS, (~judged.passed).mean(0).tolist(), strict=True)
        metrics |= {f"failed/{name}": share for name, share in failed}
        return EngineerState(learner, short, jnp.int32(number)), metrics | losses
