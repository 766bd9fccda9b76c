"""Which environments to train on, by AES (arXiv:2608.03571): `python -m train.select --name mine`."""

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
from jaxenv.selection import Selection, SelectionConfig, check_k, cosines, select, similarity, spread
from train.agent import POOL_POLICY, Agent, Observation, make_agent
from train.annotation import chat_annotator, measured
from train.annotation.chat_annotator import AnnotatorConfig
from train.annotation.figures import ability_graph, coverage_curves, heatmaps
from train.annotation.measured import Measured
from train.annotation.profiles import Exercised, make_profiles
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
    """Named set to choose from, an environment's id, or several of both with commas between; a minus leaves
    out: all,-core12."""
    k: int | None = None
    """Environments to choose; by default as many as cover every core ability."""
    how: Literal["aes", "random"] = "aes"
    """aes chooses by abilities and gradients; random chooses uniformly over families, to compare with."""
    measured: Path | None = None
    """Directory of an earlier selection by aes, from the same environments or more: its profiles, with their
    core abilities, and its gradients are taken and nothing is played."""
    annotator: Literal["trace", "llm"] = "trace"
    """Who says which abilities an episode exercised: the environments, or a model at --llm.endpoint.url."""
    model: str = str(POOL_POLICY)
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
    seed: int = 0
    """Seed of a random choice."""
    out: Path = Path("runs/select")
    """Directory of the set, what was measured, and the pictures."""
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    gradients: GradientConfig = field(default_factory=lambda: GradientConfig(group_size=4))
    llm: AnnotatorConfig = field(default_factory=AnnotatorConfig)
    actor: ActorConfig = field(default_factory=ActorConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)

    def __post_init__(self) -> None:
        self.gradients.check_groups("trajectories", self.trajectories)


def main(config: SelectConfig) -> None:
    """Plays the pool by a weak and a strong policy, profiles the abilities that each environment exercises
    and chooses environments that cover them without repeating or opposing each other."""
    names = jaxenv.env_set(config.pool)
    if config.k is not None:
        check_k(config.k, len(names))
    if config.how == "random":
        _at_random(config, names)
    else:
        _by_abilities(config, names)
    print(f"--env-set {config.out / config.name}.toml trains on it")


def _at_random(config: SelectConfig, names: Sequence[str]) -> None:
    if config.k is None:
        raise ValueError("k: a random choice covers nothing in particular; say how many environments")
    families = [jaxenv.make(name)[0].family for name in names]
    picks = spread(families, config.k, np.random.default_rng(config.seed))
    _write_set(config, [names[pick] for pick in picks], {"seed": config.seed})


def _by_abilities(config: SelectConfig, names: Sequence[str]) -> None:
    folder = config.measured
    if folder is None:
        folder = config.out
        measured.save(_measure(config, names), folder)
    found = measured.load(folder, names)
    core, alike = np.stack([each.core for each in found.profiles]), similarity(found.profiles)
    chosen = select(core, alike, found.agree, config.selection, config.k)
    provenance = {
        "measured_sha256": measured.digest(folder),
        "gains": [round(gain, 6) for gain in chosen.gains],
        "covered": [round(share, 6) for share in chosen.covered],
        **asdict(config.selection),
    }
    _write_set(config, [names[pick] for pick in chosen.picks], provenance)
    ablations = {
        "all terms": config.selection,
        "without redundancy": replace(config.selection, redundancy=0.0),
        "without conflict": replace(config.selection, conflict=0.0),
        "coverage alone": replace(config.selection, redundancy=0.0, conflict=0.0),
    }
    curves = {name: select(core, alike, found.agree, terms).covered for name, terms in ablations.items()}
    _draw(config.out, found, alike, curves)
    _show(names, chosen, curves)


def _measure(config: SelectConfig, names: Sequence[str]) -> Measured:
    """Plays both policies and takes the gradients of the weak one."""
    agent = _agent(config, names)
    if config.annotator == "trace":
        check_told(agent.mixture.envs)
    print("playing")
    profiles = make_profiles(*_episodes(agent, config), config.selection)
    print("taking gradients")
    learner = gradient_learner(agent, config.learner)
    agree = cosines(environment_gradients(agent, learner, config.gradients))
    return Measured(tuple(names), profiles, agree)


def _agent(config: SelectConfig, names: Sequence[str]) -> Agent:
    """The weak policy with a mixture that keeps what is played."""
    return make_agent(
        config.model,
        ",".join(names),
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


def _write_set(config: SelectConfig, names: Sequence[str], provenance: dict[str, object]) -> None:
    """The set as TOML, with the command that chose it and what it was chosen by."""
    told = {name: getattr(config, name) for name in ("pool", "k", "how", "measured", "name")}
    flags = " ".join(f"--{name} {value}" for name, value in told.items() if value is not None)
    lines = [
        f"# python -m train.select {flags}",
        f"environments = {json.dumps(names, indent=4)}",
        "",
        "[provenance]",
        *(f"{name} = {json.dumps(value)}" for name, value in provenance.items()),
    ]
    config.out.mkdir(parents=True, exist_ok=True)
    (config.out / f"{config.name}.toml").write_text("\n".join(lines) + "\n")


def _draw(out: Path, found: Measured, alike: np.ndarray, curves: dict[str, list[float]]) -> None:
    heatmaps({"cosine of gradients": found.agree}, found.names, out / "gradients.png")
    heatmaps({"similarity of profiles": alike}, found.names, out / "similarity.png")
    coverage_curves(curves, out / "coverage.png")
    (out / "graphs").mkdir(exist_ok=True)
    for name, profile in zip(found.names, found.profiles, strict=True):
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
