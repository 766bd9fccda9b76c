"""Whether environments pull a policy the same way: the policy gradient of each, and their cosines (AES,
arXiv:2608.03571). `python -m train.conflict` compares pictures with the same boards in words."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.table import Table

import jaxenv
from jaxenv.environment import Level
from jaxenv.harness import NUM_HARNESS_LEVELS
from jaxenv.selection import cosines
from train.agent import Agent, Observation, make_agent
from train.annotation.figures import heatmaps
from train.cli import run
from train.experience import CreditConfig, make_experience
from train.learner import Learner, LearnerConfig, LearnerState
from train.policy.weights import LoadConfig, Params
from train.report import terminal
from train.rollout import Rollout
from train.turns import ActorConfig


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

    def check_groups(self, name: str, episodes: int) -> None:
        """Raises ValueError when the episodes that the field `name` asks for are not whole groups."""
        if episodes % self.group_size:
            raise ValueError(
                f"{name}: {episodes} are not a multiple of gradients.group_size, {self.group_size}"
            )


@dataclass(frozen=True)
class ConflictConfig:
    """Gradients of the same environments under several observations."""

    env_set: str = "core12"
    """Named set of environments, an environment's id, or several of both with commas between; a minus leaves
    out: all,-core12."""
    model: str | None = None
    """Checkpoint directory of the policy, or a model's id on the Hugging Face Hub; by default one that
    ships in train/policies: small for core12 and its parts, aes30 for aes30 and its, mapf for
    mapf_frozen_lake_plan, novice for others."""
    observations: tuple[Observation, ...] = ("text", "pixels")
    """What the policy is shown, a heat map each: the board in words, the picture, or both."""
    episodes: int = 32
    """Episodes of each environment in a round."""
    canvas: int = 96
    """Side of the pictures in pixels."""
    out: Path = Path("runs/conflict")
    """Directory of the picture and of the cosines."""
    gradients: GradientConfig = field(default_factory=lambda: GradientConfig(harness=NUM_HARNESS_LEVELS - 1))
    actor: ActorConfig = field(default_factory=ActorConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)

    def __post_init__(self) -> None:
        self.gradients.check_groups("episodes", self.episodes)


def main(config: ConflictConfig) -> None:
    """Compares how environments pull a policy when it sees pictures and when it reads the same boards."""
    names = jaxenv.env_set(config.env_set)
    gradients = {each: _gradients(config, each) for each in config.observations}
    agree = {each: cosines(rounds.mean(axis=0)) for each, rounds in gradients.items()}
    signal = {each: signal_to_noise(rounds.mean(axis=1)) for each, rounds in gradients.items()}
    config.out.mkdir(parents=True, exist_ok=True)
    told = {"names": names} | {each: cosine.round(6).tolist() for each, cosine in agree.items()}
    (config.out / "cosines.json").write_text(json.dumps(told) + "\n")
    heatmaps(agree, names, config.out / "gradients.png")
    _show(names, agree, signal)
    print(f"pictures: {config.out / 'gradients.png'}")


def _gradients(config: ConflictConfig, observation: Observation) -> np.ndarray:
    """`round_gradients` of the policy when it is shown this."""
    agent = make_agent(
        config.model,
        config.env_set,
        config.episodes,
        config.canvas,
        config.actor,
        observation,
        config.gradients.scale,
        LoadConfig("text"),
    )
    return round_gradients(agent, gradient_learner(agent, config.learner), config.gradients)


def signal_to_noise(estimates: np.ndarray) -> float:
    """How much of a gradient can be learnt from: float[R, D] are R independent estimates of it. The squared
    length of what they have in common over that of the rest of one, both without bias, so that pure noise
    gives 0 on average, and at times less; nan of a single estimate or of none but zeros."""
    inner, count = estimates @ estimates.T, len(estimates)
    if count < 2 or not inner.any():
        return float("nan")
    whole = np.trace(inner) / count
    shared = (inner.sum() - np.trace(inner)) / (count * (count - 1))
    return float(shared / (whole - shared))


def _show(names: Sequence[str], agree: dict[str, np.ndarray], signal: dict[str, float]) -> None:
    heads = ("signal / noise", "pairs", "negative", "mean cosine", "least", "between", "without gradient")
    table = Table("observation", *heads)
    for observation, cosine in agree.items():
        moved = np.flatnonzero(cosine.diagonal()).tolist()
        pairs = [(float(cosine[i, j]), f"{names[i]}, {names[j]}") for i, j in combinations(moved, 2)]
        told = ["0", "", "", "", ""]
        if pairs:
            values, (least, between) = np.array([value for value, _ in pairs]), min(pairs)
            shares = [f"{np.mean(values < 0):.0%}", f"{values.mean():+.3f}", f"{least:+.3f}"]
            told = [str(len(pairs)), *shares, between]
        still = [name for n, name in enumerate(names) if n not in moved]
        table.add_row(observation, f"{signal[observation]:.2f}", *told, ", ".join(still))
    terminal().print(table)


def gradient_learner(agent: Agent, config: LearnerConfig) -> Learner:
    """What takes the gradient of an agent's policy on its own episodes, and changes nothing."""
    lengths = [n + agent.actor.config.max_new_tokens for n in agent.actor.buckets]
    temperature, still = agent.actor.config.temperature, optax.constant_schedule(0.0)
    pictures = agent.actor.most_pictures
    return Learner(agent.policy, config, agent.chat.allowed, temperature, lengths, still, pictures)


def environment_gradients(agent: Agent, learner: Learner, config: GradientConfig) -> np.ndarray:
    """float32[E, D]: the mean over rounds of `round_gradients`."""
    return round_gradients(agent, learner, config).mean(axis=0)


def round_gradients(agent: Agent, learner: Learner, config: GradientConfig) -> np.ndarray:
    """float32[R, E, D]: in each of `rounds` rounds for each environment the gradient, by whatever of the
    agent's policy learns, of GRPO's loss on an episode in every slot, the same instance in groups; zeros
    where no group's returns differ."""
    key, project_key = jax.random.split(jax.random.key(config.seed))
    state = learner.init(agent.policy.params)
    gradients = []
    for r in range(config.rounds):
        played = _play(agent, config, jax.random.fold_in(key, r))
        parts = by_environment(played, agent.mixture.slots)
        gradients.append([_gradient(learner, state, part, config, project_key) for part in parts])
    return np.array(gradients)


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


if __name__ == "__main__":
    run(main, ConflictConfig)
