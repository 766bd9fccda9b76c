"""A policy with its environments: what training, evaluation and their tests set up alike."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jaxenv
from jaxenv.mixture import Mixture
from train.lengths import dialogue_lengths, most_turns, prompt_buckets
from train.policy.chat import Chat
from train.policy.hub import checkpoint_directory
from train.policy.sharding import make_mesh
from train.policy.weights import PLAIN, LoadConfig, Policy, load_policy
from train.rollout import Actor
from train.turns import ActorConfig

POLICIES = Path(__file__).parent / "policies"
SMALL_POLICY = POLICIES / "small"  # to be trained on core12
AES30_POLICY = POLICIES / "aes30"  # to be trained on aes30
MAPF_POLICY = POLICIES / "mapf"  # to be trained on plans of many agents
NOVICE_POLICY = POLICIES / "novice"  # to be trained on other sets: has seen all but mapf, not for long
POOL_POLICY = POLICIES / "pool"  # plays best, and is hard to train: has seen all but mapf for longest


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

Context = Literal["turn", "conversation"]
"""What a reply goes on from: this turn alone, or all that was said in the episode."""


def policy_for(env_set: str) -> Path:
    """The small policy that ships with the project to be trained on a set of environments."""
    wanted = set(jaxenv.env_set(env_set))
    seen = {"core12": SMALL_POLICY, "aes30": AES30_POLICY, "mapf_frozen_lake_plan": MAPF_POLICY}
    whole = (policy for named, policy in seen.items() if wanted <= set(jaxenv.env_set(named)))
    return next(whole, NOVICE_POLICY)


def make_agent(
    model: str | Path | None,
    env_set: str,
    slots: int,
    canvas: int,
    config: ActorConfig,
    observation: Observation = "pixels",
    largest_scale: int = 0,
    load: LoadConfig = PLAIN,
    mesh: str = "",
    context: Context = "turn",
    memory: int = 0,
    mixture_type: type[Mixture] = Mixture,
) -> Agent:
    """Loads a checkpoint directory, the model of that id on the Hugging Face Hub, or by default the small
    policy for the set, onto a mesh such as `data=2,fsdp=4` or one device, and makes `slots` episodes of every
    environment of the set, to be played at the scales 0..largest_scale. In the context of a turn the prompt
    names the answers of the last `memory` turns."""
    conversation = context == "conversation"
    if memory < 0 or (memory and conversation):
        raise ValueError(f"memory: {memory} is not 0, in a conversation, or more, where a turn stands alone")
    names = jaxenv.env_set(env_set)
    envs = [jaxenv.make(name, canvas=canvas)[0] for name in names]
    mixture = mixture_type(envs, slots, board=observation != "pixels")
    directory = checkpoint_directory(model or policy_for(env_set))
    policy = load_policy(directory, load, make_mesh(mesh))
    chat = Chat(directory, policy.config, canvas, observation != "text", config.prefix)
    buckets = config.prompt_buckets or prompt_buckets(chat, mixture, largest_scale, conversation, memory)
    longest = (buckets[-1] + config.max_new_tokens, most_turns(mixture, largest_scale))
    capacities = dialogue_lengths(*longest) if conversation else ()
    actor = Actor(policy, chat, mixture, config, buckets, memory, capacities)
    return Agent(names, directory, mixture, policy, chat, actor)
