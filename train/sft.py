"""Warm start: imitate the experts. `python -m train.sft --out DIR` makes the small policy from nothing."""

import time
from dataclasses import dataclass, field
from pathlib import Path

import jax
import numpy as np

import jaxenv
from train import small
from train.agent import Observation
from train.cli import run
from train.demonstrations import Demonstrator
from train.learner import Learner, LearnerConfig
from train.policy.chat import Chat
from train.policy.hub import checkpoint_directory
from train.policy.weights import load_policy, save_policy
from train.schedule import rise_and_fall

LENGTHS = (64, 80, 96, 112, 136, 176, 288, 400, 560, 800)
"""Padded lengths of a demonstration, in tokens."""


@dataclass(frozen=True)
class SFTConfig:
    """Imitation of the experts of an environment set."""

    out: Path
    """Directory of the new checkpoint."""
    env_set: str = "core12"
    """Named set of environments, an environment's id, or several of both with commas between; a minus leaves
    out: all,-core12."""
    model: str | None = None
    """Checkpoint directory to start from, or a model's id on the Hugging Face Hub; by default a new small
    policy is made."""
    observation: Observation = "pixels"
    """What stays at every harness level: the picture, the board in words, or both. Models without a vision
    tower need text."""
    steps: int = 400
    """Optimiser steps."""
    rows: int = 12
    """Demonstrations of each environment in a step."""
    emphasis: dict[str, int] = field(default_factory=dict)
    """How many times `rows` an environment that is slow to learn is shown, by its id: door_key 3."""
    scale_weights: tuple[float, ...] = (0.8, 0.2, 0.0)
    """How often each scale is shown."""
    noise: float = 0.2
    """Share of random moves in the demonstrated episodes."""
    caption: float = 0.2
    """Weight of a token of the prompt's text, learnt as a caption of the picture; a reply's weigh 1."""
    learning_rate: float = 2e-3
    """Step size after the warm-up."""
    warmup_steps: int = 70
    """Steps over which the step size rises from 0."""
    falls_to: float = 1.0
    """Share of the step size that is left at the last step; it falls in a line after the warm-up."""
    canvas: int = 96
    """Side of the pictures in pixels, for a new policy."""
    seed: int = 0
    """Seed of the weights and the demonstrations."""
    save_every: int = 100
    """Steps between writes of the checkpoint."""
    micro_tokens: int = 2048
    """Tokens of one micro-batch."""


def main(config: SFTConfig) -> None:
    """Imitates the experts of an environment set; without --model it makes a new small policy first."""
    envs = [jaxenv.make(name, canvas=config.canvas)[0] for name in jaxenv.env_set(config.env_set)]
    if config.model is None:
        small.create(config.out, envs, config.seed)
    source = checkpoint_directory(config.model or config.out)
    policy = load_policy(source)
    chat = Chat(source, policy.config, config.canvas, pictured=config.observation != "text")
    learner = Learner(
        policy,
        LearnerConfig(micro_tokens=config.micro_tokens, answer_tokens=config.micro_tokens),
        chat.allowed,
        temperature=1.0,
        lengths=LENGTHS,
        schedule=rise_and_fall(config.learning_rate, config.warmup_steps, config.steps, config.falls_to),
    )
    key = jax.random.key(config.seed)
    demonstrator = Demonstrator(
        envs,
        rows_of_each(config),
        config.scale_weights,
        config.noise,
        config.caption,
        config.observation != "pixels",
        jax.random.fold_in(key, 0),
    )
    state = learner.init(policy.params)
    started = time.monotonic()
    for step in range(1, config.steps + 1):
        packs = demonstrator.packs(chat, jax.random.fold_in(key, step))
        reply_tokens = sum(int(np.sum(np.equal(pack.answers[0].advantage, 1))) for pack in packs)
        state, metrics = learner.update(state, packs, reply_tokens, imitate=True)
        if step % 20 == 0 or step == 1:
            minutes = (time.monotonic() - started) / 60
            print(f"step {step}/{config.steps}  loss {-metrics['logprob']:.4f}  {minutes:.1f} min")
        if step % config.save_every == 0 or step == config.steps:
            save_policy(policy._replace(params=learner.policy_params(state)), config.out, source=source)


def rows_of_each(config: SFTConfig) -> list[int]:
    """Demonstrations of each environment in a step. Raises ValueError for an emphasis on another."""
    names = jaxenv.env_set(config.env_set)
    strange = sorted(set(config.emphasis) - set(names))
    if strange:
        raise ValueError(f"emphasis: {strange[0]} is not in {config.env_set}; it holds {', '.join(names)}")
    return [config.rows * config.emphasis.get(name, 1) for name in names]


if __name__ == "__main__":
    run(main, SFTConfig)
