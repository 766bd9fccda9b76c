"""A policy with its environments: what training, evaluation and their tests set up alike."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jaxenv
from jaxenv.mixture import Mixture
from train.lengths import prompt_buckets
from train.policy.chat import Chat
from train.policy.hub import checkpoint_directory
from train.policy.weights import Policy, load_policy
from train.rollout import Actor, ActorConfig

SMALL_POLICY = Path(__file__).parent / "policies" / "small"


@dataclass(frozen=True)
class Agent:
    """The parts that play: `names` are the environments' ids in the order of the mixture, `directory` is the
    policy's checkpoint."""

    names: tuple[str, ...]
    directory: Path
    mixture: Mixture
    policy: Policy
    chat: Chat
    actor: Actor


Observation = Literal["pixels", "text", "both"]
"""What stays at every harness level: the picture, the board in words, or both."""


def make_agent(
    model: str | Path,
    env_set: str,
    slots: int,
    canvas: int,
    config: ActorConfig,
    observation: Observation = "pixels",
    largest_scale: int = 0,
) -> Agent:
    """Loads a checkpoint directory, or the model of that id on the Hugging Face Hub, and makes `slots`
    episodes of every environment of the set, to be played at the scales 0..largest_scale."""
    names = jaxenv.env_set(env_set)
    envs = [jaxenv.make(name, canvas=canvas)[0] for name in names]
    mixture = Mixture(envs, slots, board=observation != "pixels")
    directory = checkpoint_directory(model)
    policy = load_policy(directory)
    chat = Chat(directory, policy.config, canvas, observation != "text", config.prefix)
    buckets = config.prompt_buckets or prompt_buckets(chat, mixture, largest_scale)
    return Agent(names, directory, mixture, policy, chat, Actor(policy, chat, mixture, config, buckets))
