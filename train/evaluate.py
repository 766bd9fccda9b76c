"""How good a policy is on fresh instances. `python -m train.evaluate --model DIR --env-set NAME`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxenv
from jaxenv.answers import SEPARATORS, Moves, Word
from jaxenv.environment import Level
from jaxenv.harness import NUM_HARNESS_LEVELS
from train.agent import Agent, Context, Observation, make_agent
from train.baselines import best_fixed_answers
from train.cli import run
from train.policy.weights import LoadConfig, Params
from train.report import Count, Scores, scores_table
from train.rollout import GREEDY, Rollout
from train.turns import ActorConfig, answer_in


class Evaluation(NamedTuple):
    """Successes bool[E, n] of one policy on n instances of each environment; how often each environment got
    which reply, greedy (`answers`) and sampled, commonest first; and the greedy rollouts, for replays."""

    greedy: np.ndarray
    sampled: np.ndarray
    shuffled: np.ndarray
    answers: list[dict[str, int]]
    sampled_answers: list[dict[str, int]]
    rollouts: list[Rollout]


class Instances(NamedTuple):
    """Held-out instances in portions of the mixture's size: the same for every policy."""

    reset_keys: list[jax.Array]
    level: Level
    max_turns: jax.Array


def check_levels(env_set: str, harness: Sequence[int], scale: Sequence[int]) -> None:
    """Raises ValueError for a harness level or scale that there is not."""
    for level in harness:
        if not 0 <= level < NUM_HARNESS_LEVELS:
            raise ValueError(f"harness: {level} is not one of 0..{NUM_HARNESS_LEVELS - 1}")
    for name in jaxenv.env_set(env_set):
        last = jaxenv.make(name)[0].num_scales - 1
        if not 0 <= min(scale) <= max(scale) <= last:
            raise ValueError(f"scale: {max(scale)} is beyond the largest of {name}, {last}")


def held_out(
    agent: Agent, seed: int, episodes: int, harness: Sequence[int], scale: Sequence[int]
) -> Instances:
    """At least `episodes` instances of each environment, from keys that no training run uses, dealt in turn
    to the combinations of these harness levels and scales."""
    envs, slots = len(agent.names), agent.mixture.slots
    key = jax.random.fold_in(jax.random.key(seed), HELD_OUT)
    portions = -(-episodes // slots)
    keys = [jax.random.split(jax.random.fold_in(key, i), (envs, slots)) for i in range(portions)]
    dealt = np.resize(np.array([(h, s) for s in scale for h in harness], np.int32), (slots, 2))
    over_envs = lambda levels: jnp.broadcast_to(jnp.asarray(levels), (envs, slots))  # noqa: E731
    level = Level(over_envs(dealt[:, 0]), over_envs(dealt[:, 1]))
    return Instances(keys, level, jnp.zeros(envs, jnp.int32))


HELD_OUT = 0x7E57  # folded into the seed's key; training folds in step numbers, which are smaller


def evaluate(
    agent: Agent, params: Params, instances: Instances, seed: int, tell: Callable[[str], None] = print
) -> Evaluation:
    """Plays the instances greedily, sampled, and greedily with pictures shuffled between them."""
    key = jax.random.fold_in(jax.random.key(seed), HELD_OUT + 1)
    successes: dict[str, list[np.ndarray]] = {"greedy": [], "sampled": [], "shuffled": []}
    rollouts: dict[str, list[Rollout]] = {mode: [] for mode in successes}
    for i, reset_keys in enumerate(instances.reset_keys):
        for mode, parts in successes.items():
            tell(f"{mode}, part {i + 1} of {len(instances.reset_keys)}")
            played = agent.actor.play(
                params,
                agent.mixture.reset(reset_keys, instances.level),
                jax.random.fold_in(key, i),
                instances.max_turns,
                agent.actor.config.temperature if mode == "sampled" else GREEDY,
                shuffle_pictures=mode == "shuffled",
            )
            parts.append(played.success.reshape(len(agent.names), -1))
            rollouts[mode].append(played)
    joined = {mode: np.concatenate(parts, axis=1) for mode, parts in successes.items()}
    return Evaluation(
        **joined,
        answers=_answers(agent, rollouts["greedy"]),
        sampled_answers=_answers(agent, rollouts["sampled"]),
        rollouts=rollouts["greedy"],
    )


def fixed_baseline(agent: Agent, instances: Instances, seed: int) -> np.ndarray:
    """bool[E, n]: success of the best fixed answer."""
    key = jax.random.fold_in(jax.random.key(seed), HELD_OUT + 2)
    parts = [
        best_fixed_answers(
            agent.mixture, jax.random.fold_in(key, i), keys, instances.level, instances.max_turns
        )
        for i, keys in enumerate(instances.reset_keys)
    ]
    return np.concatenate(parts, axis=1)


def scores(evaluation: Evaluation, fixed: np.ndarray) -> list[Scores]:
    """Counts by environment for the report."""
    count = lambda flags: Count(int(flags.sum()), len(flags))  # noqa: E731
    return [
        Scores(
            *(
                count(flags[e])
                for flags in (evaluation.greedy, evaluation.sampled, fixed, evaluation.shuffled)
            )
        )
        for e in range(len(fixed))
    ]


def words_used(agent: Agent, evaluation: Evaluation) -> dict[str, str]:
    """For each environment answered in words of a list: how many of them the policy uses, greedily and when
    sampled, and which it never says: `5 and 6 of 6 (greedily not drop)`."""
    told = {}
    both = zip(evaluation.answers, evaluation.sampled_answers, strict=True)
    for name, env, replies in zip(agent.names, agent.mixture.envs, both, strict=True):
        if isinstance(env.grammar, Word | Moves):
            said = [set().union(*map(answer_words, counts)) for counts in replies]
            greedy, sampled = ([word for word in env.grammar.words if word in found] for found in said)
            unsaid = [
                f"{how} not {', '.join(word for word in env.grammar.words if word not in used)}"
                for how, used in (("greedily", greedy), ("sampled", sampled))
                if len(used) < len(env.grammar.words)
            ]
            told[name] = f"{len(greedy)} and {len(sampled)} of {len(env.grammar.words)}"
            told[name] += f" ({'; '.join(unsaid)})" if unsaid else ""
    return told


def answer_words(reply: str) -> set[str]:
    """The words of a reply's answer, in lower case; none where there is no answer."""
    separators = f"[{SEPARATORS.tobytes().decode()}]+"
    return set(re.split(separators, (answer_in(reply) or "").lower())) - {""}


def _answers(agent: Agent, rollouts: list[Rollout]) -> list[dict[str, int]]:
    counts: list[dict[str, int]] = [{} for _ in agent.names]
    for played in rollouts:
        for turn in played.turns:
            of_env = counts[turn.row // agent.mixture.slots]
            of_env[turn.reply] = of_env.get(turn.reply, 0) + 1
    return [dict(sorted(of_env.items(), key=lambda item: -item[1])) for of_env in counts]


@dataclass(frozen=True)
class EvaluateConfig:
    """Which policy, on what."""

    model: str | None = None
    """Checkpoint directory, or a model's id on the Hugging Face Hub; by default one that
    ships in train/policies: small for core12 and its parts, aes30 for aes30 and its, mapf for
    mapf_frozen_lake_plan, novice for others."""
    env_set: str = "core12"
    """Named set of environments, an environment's id, or several of both with commas between; a minus leaves
    out: all,-core12."""
    episodes: int = 64
    """Instances of each environment."""
    harness: tuple[int, ...] = (0, 4)
    """Harness levels of the instances, in turn: 0 shows all texts, 4 only the picture and the task."""
    scale: tuple[int, ...] = (0,)
    """Scales of the instances, in turn."""
    slots: int = 32
    """Episodes of each environment played at a time."""
    canvas: int = 96
    """Side of the pictures in pixels."""
    observation: Observation = "pixels"
    """What stays at every harness level: the picture, the board in words, or both."""
    context: Context = "turn"
    """turn makes every turn a prompt of its own, conversation makes an episode one growing dialogue."""
    memory: int = 0
    """Turns whose answers the prompt names, each with whether it was rejected, in the context of a turn."""
    compute: Literal["float32", "bfloat16"] = "float32"
    """Type of the weights and activations."""
    mesh: str = ""
    """How the devices share the model: data=N,fsdp=N,tensor=N."""
    seed: int = 0
    """Seed of the instances and of the sampling."""
    actor: ActorConfig = field(default_factory=ActorConfig)


def main(config: EvaluateConfig) -> None:
    """Plays fresh instances greedily, sampled and blind, and prints the success of each environment."""
    check_levels(config.env_set, config.harness, config.scale)
    agent = make_agent(
        config.model,
        config.env_set,
        config.slots,
        config.canvas,
        config.actor,
        config.observation,
        max(config.scale),
        LoadConfig("nothing", config.compute),
        config.mesh,
        config.context,
        config.memory,
    )
    instances = held_out(agent, config.seed, config.episodes, config.harness, config.scale)
    evaluation = evaluate(agent, agent.policy.params, instances, config.seed)
    fixed = fixed_baseline(agent, instances, config.seed)
    scores_table(agent.names, scores(evaluation, fixed))


if __name__ == "__main__":
    run(main, EvaluateConfig)
