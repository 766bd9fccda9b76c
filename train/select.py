"""Which environments to train on, by AES (arXiv:2608.03571): `python -m train.select --name mine`."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

import jaxenv
from jaxenv.abilities import definitions
from jaxenv.environment import Environment, Level
from jaxenv.selection import Profile, Selection, SelectionConfig, cosines, select, similarity
from train.agent import SMALL_POLICY, Agent, Observation, make_agent
from train.annotation import chat_annotator
from train.annotation.chat_annotator import AnnotatorConfig
from train.annotation.figures import ability_graph, coverage_curves, heatmaps
from train.annotation.profiles import Exercised, make_profiles, to_json
from train.annotation.recorder import Recorder, play_experts, traced, transcripts
from train.cli import run
from train.conflict import GradientConfig, environment_gradients, gradient_learner
from train.learner import LearnerConfig
from train.policy.weights import LoadConfig
from train.turns import ActorConfig


@dataclass(frozen=True)
class SelectConfig:
    """A selection and what it is based on."""

    name: str
    """Name of the new set: it is written to OUT/NAME.toml, which --env-set takes."""
    pool: str = "core12"
    """Named set to choose from, an environment's id, or several of both with commas between."""
    k: int | None = None
    """Environments to choose; by default as many as cover every core ability."""
    annotator: Literal["trace", "llm"] = "trace"
    """Who says which abilities an episode exercised: the environments, or a model at --llm.endpoint.url."""
    model: str = str(SMALL_POLICY)
    """The weak policy: checkpoint directory, or a model's id on the Hugging Face Hub. The strong one is the
    environments' experts."""
    trajectories: int = 20
    """Episodes of each environment by each of the two policies."""
    noise: float = 0.05
    """Share of random answers among the experts'."""
    observation: Observation = "pixels"
    """What the weak policy is shown when the harness has taken all texts away."""
    canvas: int = 96
    """Side of the pictures in pixels."""
    out: Path = Path("runs/select")
    """Directory of the set, the profiles and the pictures."""
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    gradients: GradientConfig = field(default_factory=lambda: GradientConfig(group_size=4))
    llm: AnnotatorConfig = field(default_factory=AnnotatorConfig)
    actor: ActorConfig = field(default_factory=ActorConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)

    def __post_init__(self) -> None:
        if self.trajectories % self.gradients.group_size:
            raise ValueError(
                f"trajectories: {self.trajectories} are not a multiple of gradients.group_size, "
                f"{self.gradients.group_size}"
            )


def main(config: SelectConfig) -> None:
    """Plays the pool by a weak and a strong policy, profiles the abilities that each environment exercises
    and chooses environments that cover them without repeating or opposing each other."""
    names = jaxenv.env_set(config.pool)
    if config.k is not None and not 1 <= config.k <= len(names):
        raise ValueError(f"k: {config.k} is not in 1..{len(names)}, the size of the pool")
    agent = _agent(config)
    if config.annotator == "trace":
        check_told(agent.mixture.envs)
    print("playing")
    profiles = make_profiles(*_episodes(agent, config), config.selection)
    print("taking gradients")
    gradients = environment_gradients(agent, gradient_learner(agent, config.learner), config.gradients)
    config.out.mkdir(parents=True, exist_ok=True)
    told = to_json(names, profiles)
    (config.out / "profiles.json").write_text(told)
    alike, agree = similarity(profiles), cosines(gradients)
    core = np.stack([each.core for each in profiles])
    chosen = select(core, alike, agree, config.selection, config.k)
    _write_set(config, names, chosen, hashlib.sha256(told.encode()).hexdigest())
    ablations = {
        "all terms": config.selection,
        "without redundancy": replace(config.selection, redundancy=0.0),
        "without conflict": replace(config.selection, conflict=0.0),
        "coverage alone": replace(config.selection, redundancy=0.0, conflict=0.0),
    }
    curves = {name: select(core, alike, agree, terms).covered for name, terms in ablations.items()}
    _draw(config.out, names, profiles, alike, agree, curves)
    _show(names, chosen, curves)
    print(f"--env-set {config.out / config.name}.toml trains on it")


def _agent(config: SelectConfig) -> Agent:
    """The weak policy with a mixture that keeps what is played."""
    return make_agent(
        config.model,
        config.pool,
        config.trajectories,
        config.canvas,
        config.actor,
        config.observation,
        config.gradients.scale,
        LoadConfig("text"),
        mixture_type=Recorder,
    )


def check_told(envs: Sequence[Environment]) -> None:
    """Raises ValueError where an environment does not tell which abilities an action exercises."""
    silent = [env.id for env in envs if type(env).exercised is Environment.exercised]
    if silent:
        raise ValueError(
            f"annotator: {', '.join(silent)} of the pool do not tell which abilities an action exercises; "
            "take them out of --pool, or use --annotator llm"
        )


def _episodes(agent: Agent, config: SelectConfig) -> tuple[Exercised, Exercised]:
    """What the weak policy's and the experts' episodes exercised, on the same instances."""
    recorder = agent.mixture
    assert isinstance(recorder, Recorder)
    key, weak_key, strong_key = jax.random.split(jax.random.key(config.gradients.seed), 3)
    shape = (len(agent.names), recorder.slots)
    keys, told = jax.random.split(key, shape), config.gradients
    level = Level(*(jnp.full(shape, number, jnp.int32) for number in (told.harness, told.scale)))
    limits, temperature = jnp.zeros(shape[0], jnp.int32), config.actor.temperature
    agent.actor.play(agent.policy.params, recorder.reset(keys, level), weak_key, limits, temperature)
    weak = _annotated(recorder, False, config)
    play_experts(recorder, recorder.reset(keys, level)[1], strong_key, config.noise)
    return weak, _annotated(recorder, True, config)


def _annotated(recorder: Recorder, strong: bool, config: SelectConfig) -> Exercised:
    if config.annotator == "trace":
        return traced(recorder)
    episodes = [episode for of_env in transcripts(recorder, strong) for episode in of_env]
    said = chat_annotator.annotate(episodes, config.llm)
    if said.dropped:
        worst = ", ".join(f"{name} {count}" for name, count in said.dropped.most_common(8))
        print(f"{said.dropped.total()} names were dropped: {worst}")
    slots = recorder.slots
    return [said.abilities[first : first + slots] for first in range(0, len(episodes), slots)]


def _write_set(config: SelectConfig, names: Sequence[str], chosen: Selection, digest: str) -> None:
    """The set as TOML, with where it comes from."""
    count = "" if config.k is None else f" --k {config.k}"
    lines = [
        f"# Chosen by `python -m train.select --pool {config.pool}{count} --name {config.name}` from the",
        "# profiles with this hash. Gains and shares of the core abilities covered are in the same order.",
        f"environments = {json.dumps([names[pick] for pick in chosen.picks], indent=4)}",
        "",
        "[provenance]",
        f'profiles_sha256 = "{digest}"',
        f"gains = {[round(gain, 6) for gain in chosen.gains]}",
        f"covered = {[round(share, 6) for share in chosen.covered]}",
        f"trajectories = {config.trajectories}",
        f'annotator = "{config.annotator}"',
        *(f"{name} = {value}" for name, value in asdict(config.selection).items()),
    ]
    (config.out / f"{config.name}.toml").write_text("\n".join(lines) + "\n")


def _draw(
    out: Path,
    names: Sequence[str],
    profiles: Sequence[Profile],
    alike: np.ndarray,
    agree: np.ndarray,
    curves: dict[str, list[float]],
) -> None:
    heatmaps({"cosine of gradients": agree}, names, out / "gradients.png")
    heatmaps({"similarity of profiles": alike}, names, out / "similarity.png")
    coverage_curves(curves, out / "coverage.png")
    (out / "graphs").mkdir(exist_ok=True)
    for name, profile in zip(names, profiles, strict=True):
        ability_graph(profile, list(definitions()), name, out / "graphs" / f"{name}.png")


def _show(names: Sequence[str], chosen: Selection, curves: dict[str, list[float]]) -> None:
    console = Console()
    table = Table("environment", "gain", "covered", title="Chosen, in this order")
    for pick, gain, share in zip(chosen.picks, chosen.gains, chosen.covered, strict=True):
        table.add_row(names[pick], f"{gain:+.3f}", f"{share:.0%}")
    console.print(table)
    for name, curve in curves.items():
        console.print(f"{name}: {len(curve)} environments cover {curve[-1]:.0%} of the core abilities")


if __name__ == "__main__":
    run(main, SelectConfig)
