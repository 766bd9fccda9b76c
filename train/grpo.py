"""Reinforcement learning on environments: `python -m train.grpo --env-set aes30`."""

import dataclasses
import io
import json
import time
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import jax
import numpy as np
import optax
from jax.sharding import Mesh

import jaxenv
from jaxenv.curriculum import HDCConfig, ScalingInter
from jaxenv.environment import Environment
from jaxenv.mixture import Mixture
from train import checkpoints, evaluate, plan, plots, run_config
from train.agent import Agent, Context, Observation, make_agent, policy_for
from train.cli import run
from train.compilation import count_compilations
from train.experience import CreditConfig
from train.learner import Learner, LearnerConfig
from train.lengths import prompt_buckets
from train.policy.chat import Chat
from train.policy.config import PolicyConfig, read_config
from train.policy.hub import checkpoint_directory
from train.policy.sharding import any_process, local, mesh_sizes, replicate
from train.policy.weights import LoadConfig, Params, save_policy, what_learns
from train.replay import write_replays
from train.report import MetricsLog, ResultRow, StepProgress, results_table
from train.schedule import rise_and_fall
from train.shutdown import StopRequest
from train.statistics import paired_difference
from train.trainer import Trainer, TrainerConfig, TrainState
from train.turns import ActorConfig


@dataclass(frozen=True)
class GRPOConfig:
    """A training run."""

    env_set: str = "aes30"
    """Named set of environments, an environment's id, or several of both with commas between; a minus leaves
    out: all,-core12."""
    model: str | None = None
    """Checkpoint directory to start from, or a model's id on the Hugging Face Hub; by default one that
    ships in train/policies: small for core12 and its parts, aes30 for aes30 and its, mapf for
    mapf_frozen_lake_plan, novice for others."""
    observation: Observation = "pixels"
    """What stays when the harness has taken all texts away: the picture, the board in words, or both. Models
    without a vision tower need text."""
    context: Context = "turn"
    """turn makes every turn a prompt of its own; conversation makes an episode one growing dialogue with a
    picture in every turn, of which nothing is read twice, and learns from it as one row."""
    memory: int = 0
    """Turns whose answers the prompt names, each with whether it was rejected, in the context of a turn."""
    steps: int = 32
    """Training steps."""
    out: Path = Path("runs/grpo")
    """Directory of the run; it must not hold another run."""
    resume: Path | None = None
    """Directory of a run to go on with; everything else is then taken from its config.json."""
    seed: int = 0
    """Seed of instances, sampling and evaluation."""
    curriculum: Literal["hdc", "scale", "harness", "none"] = "hdc"
    """hdc moves harness and scale; scale and harness move one of them; none trains at the hardest level."""
    target_scale: int = 0
    """Largest scale the curriculum goes to (at most the environment's own). 0 suits the small policy in ten
    minutes: the boards stay small while the helping texts are taken away; 2 is the whole curriculum."""
    horizons: tuple[int, ...] = ()
    """Turns of a training episode at most, in stages that grow (ScalingInter-RL, arXiv:2509.08755): 6 13 20.
    By default, and in evaluation always, episodes are as long as the environments let them be."""
    horizon_steps: int = 100
    """Training steps of each stage of --horizons; the last one stays."""
    group_size: int = 8
    """Episodes that share an instance."""
    groups: int | None = None
    """Groups of each environment in a step; by default 4, and fewer in sets of more than 15 environments, so
    that a step costs no more."""
    rounds: int = 2
    """Rounds of a step: the first plays every environment, the others only those of a single turn, whose
    episodes cost one answer."""
    eval_episodes: int = 32
    """Fresh instances of each environment in the table at the end; 0 leaves the table out."""
    eval_harness: tuple[int, ...] = (0, 4)
    """Harness levels of the evaluation, in turn: 0 shows all texts, 4 only the picture and the task."""
    eval_scale: tuple[int, ...] = (0,)
    """Scales of the evaluation, in turn."""
    learning_rate: float = 1e-4
    """Step size of Adam after the warm-up; from there it falls in a line to a tenth at the last step."""
    warmup_steps: int = 5
    """Steps over which the step size rises from 0."""
    minibatches: int = 4
    """Parts of a step's episodes; each makes an update."""
    epochs: int = 1
    """Times that a step's episodes are learnt from."""
    most_prompts: int = 512
    """Different prompts learnt from in a step, each with all its answers; beyond that a random part of this
    size (whole episodes, in a conversation), as many of each environment as of any other."""
    save_every: int = 10
    """Steps between checkpoints."""
    canvas: int = 96
    """Side of the pictures in pixels, a multiple of 32."""
    compute: Literal["float32", "bfloat16"] = "float32"
    """Type of the activations; what learns, its gradients and the optimiser are float32 always."""
    lora_rank: int = 0
    """Only adapters of this rank learn, beside every kernel of the text decoder; 0 trains the whole model."""
    freeze_vision: bool | None = None
    """The vision tower does not learn. By default that is so in towers as deep as the published ones, 24
    blocks and more."""
    mesh: str = ""
    """How the devices share the model: data=N,fsdp=N,tensor=N. The first two share episodes, fsdp and tensor
    share the weights. By default there is one device."""
    distributed: bool = False
    """This is one of several processes, as the launcher tells (SLURM, Open MPI, Kubernetes, Cloud TPU): the
    mesh spans the devices of all. They share a file system for `out`."""
    plan: bool = False
    """Only print what the run would need: memory of a device, arithmetic of a step, cards that it fits. It
    takes no more of the model than its config.json, if --actor.prompt-buckets says how long prompts are."""
    pack_lengths: tuple[int, ...] = ()
    """Padded lengths of a prompt with its answers, or of a conversation, in tokens; by default those of the
    prompts and a reply, or of one turn, two, four and so on to the longest episode."""
    actor: ActorConfig = field(default_factory=ActorConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    credit: CreditConfig = field(default_factory=CreditConfig)
    hdc: HDCConfig = field(default_factory=lambda: HDCConfig(window=64))

    def __post_init__(self) -> None:
        for name in (
            "steps",
            "horizon_steps",
            "group_size",
            "groups",
            "rounds",
            "minibatches",
            "epochs",
            "most_prompts",
            "save_every",
        ):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{name}: {number} is not at least 1")
        _ = self.scaling_inter  # a wrong one is told before anything is loaded

    @property
    def scaling_inter(self) -> ScalingInter | None:
        """The schedule of horizons, if there is one."""
        return ScalingInter(self.horizons, self.horizon_steps) if self.horizons else None

    @property
    def start(self) -> str:
        """The model, with what is left to the default decided."""
        return self.model or str(policy_for(self.env_set))

    @property
    def groups_of_each(self) -> int:
        """Groups of each environment in a step, with what is left to the default decided."""
        return self.groups or min(4, max(1, 60 // len(jaxenv.env_set(self.env_set))))

    @property
    def slots(self) -> int:
        """Episodes of each environment that are played at a time."""
        return self.groups_of_each * self.group_size


def main(config: GRPOConfig) -> None:
    """Trains a policy by GRPO on pictures and texts under a curriculum, and reports what it learnt."""
    if config.plan:
        show_plan(config)
        return
    new = config.resume is None
    if config.resume is not None:
        config = run_config.read_config(GRPOConfig, config.resume)
    if config.distributed:
        jax.distributed.initialize()
    folder = config.out / "checkpoints"
    if jax.process_index() == 0:
        run_one(config, new, folder)
        return
    with TemporaryDirectory() as unread, redirect_stdout(io.StringIO()):  # all do the same, one is heard
        run_one(dataclasses.replace(config, out=Path(unread)), new, folder)


def run_one(config: GRPOConfig, new: bool, folder: Path) -> None:
    """The run in one process, with its checkpoints in `folder`."""
    if new:
        run_config.check_new(config.out)
    evaluate.check_levels(config.env_set, config.eval_harness, config.eval_scale)
    agent = agent_of(config)
    trainer = make_trainer(config, agent)
    instances = evaluate.held_out(
        agent, config.seed, config.eval_episodes, config.eval_harness, config.eval_scale
    )
    if new:  # only now, so that a config with a mistake leaves no run behind
        run_config.write_config(dataclasses.replace(config, model=config.start))
    state, done = train(config, trainer, folder)
    trained = agent.policy._replace(params=trainer.learner.policy_params(state.learner))
    save_policy(trained, config.out / "policy", source=agent.directory)
    plots.learning_curves(config.out)
    if done and config.eval_episodes:
        report(config, agent, instances, trained.params)
    print(f"run directory: {config.out}")


def show_plan(config: GRPOConfig) -> None:
    """Plans the run on as many virtual devices as its mesh takes."""
    if config.context == "conversation":
        raise ValueError("plan: conversations cannot be planned yet; plan the context of a turn")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", int(np.prod(list(mesh_sizes(config.mesh).values()))))
    envs = [jaxenv.make(name, canvas=config.canvas)[0] for name in jaxenv.env_set(config.env_set)]
    turns = [
        config.rounds if env.single_turn else max(env.max_turns[: config.target_scale + 1]) for env in envs
    ]
    answered = sum(turns) * config.slots
    policy = read_config(checkpoint_directory(config.start))
    sizes = plan.Sizes(
        prompt=longest_prompt(config, envs, policy),
        canvas=None if config.observation == "text" else config.canvas,
        answered=answered,
        learnt=config.epochs * min(answered, config.most_prompts * config.group_size),
    )
    parts = (config.mesh, config.actor, config.learner)
    plan.show(plan.make_plan(policy, load_config(config), *parts, sizes), config.mesh)


def longest_prompt(config: GRPOConfig, envs: list[Environment], policy: PolicyConfig) -> int:
    """Tokens that the longest prompt is padded to, from the tokenizer alone where the flags do not say it."""
    if config.actor.prompt_buckets:
        return max(config.actor.prompt_buckets)
    directory, pictured = checkpoint_directory(config.start), config.observation != "text"
    chat = Chat(directory, policy, config.canvas, pictured, config.actor.prefix)
    mixture = Mixture(envs, config.slots, board=config.observation != "pixels")
    return prompt_buckets(chat, mixture, config.target_scale, memory=config.memory)[-1]


def agent_of(config: GRPOConfig) -> Agent:
    return make_agent(
        config.start,
        config.env_set,
        config.slots,
        config.canvas,
        config.actor,
        config.observation,
        max(config.target_scale, *config.eval_scale),
        load_config(config),
        config.mesh,
        config.context,
        config.memory,
    )


def load_config(config: GRPOConfig) -> LoadConfig:
    """How the policy is held, with what is left to the defaults decided."""
    directory = checkpoint_directory(config.start)
    return LoadConfig(
        what_learns(directory, config.lora_rank, config.freeze_vision), config.compute, config.lora_rank
    )


def make_trainer(config: GRPOConfig, agent: Agent) -> Trainer:
    turns = [n + config.actor.max_new_tokens for n in agent.actor.buckets]
    learner = Learner(
        agent.policy,
        config.learner,
        agent.chat.allowed,
        config.actor.temperature,
        config.pack_lengths or agent.actor.capacities or turns,
        schedule(config),
        agent.actor.most_pictures,
    )
    hdc = dataclasses.replace(config.hdc, mode=config.curriculum)
    return Trainer(
        agent,
        learner,
        hdc,
        TrainerConfig(
            target_scale=config.target_scale,
            group_size=config.group_size,
            groups=config.groups_of_each,
            rounds=config.rounds,
            most_prompts=config.most_prompts,
            minibatches=config.minibatches,
            epochs=config.epochs,
            credit=config.credit,
            horizons=config.scaling_inter,
        ),
    )


def schedule(config: GRPOConfig) -> optax.Schedule:
    updates = config.epochs * config.minibatches  # of a step
    top, rising = config.learning_rate, config.warmup_steps * updates
    return rise_and_fall(top, rising, config.steps * updates, share=0.1)


def train(config: GRPOConfig, trainer: Trainer, folder: Path) -> tuple[TrainState, bool]:
    """Runs to the last step, or to a SIGTERM or Ctrl-C: (state, whether it is the last step's)."""
    mesh = trainer.agent.policy.mesh
    state = trainer.init(config.seed)
    if checkpoints.any_finished(folder):
        state = local_state(checkpoints.restore(folder, global_state(state, mesh)).tree)
    first = int(state.step)
    trainer.compile(state)
    with (
        StopRequest() as stop,
        MetricsLog(config.out, first) as log,
        (config.out / "timing.jsonl").open("a", buffering=1) as timing,
        StepProgress(config.steps, first) as progress,
    ):
        for number in range(first + 1, config.steps + 1):
            began = time.monotonic()
            with count_compilations() as compiled:
                state, metrics, _ = trainer.step(state)
            log.write(number, metrics)
            seconds = time.monotonic() - began
            timing.write(json.dumps({"step": number, "seconds": seconds, "compiled": len(compiled)}) + "\n")
            shown = {name: metrics[name] for name in ("reward", "success", "mixed_groups")}
            progress.show(number, shown | {"entropy": metrics.get("entropy", np.nan), "s/step": seconds})
            stopped = any_process(stop.requested)
            if number % config.save_every == 0 or number == config.steps or stopped:
                checkpoints.save(folder, number, global_state(state, mesh), {"env_set": config.env_set})
            if stopped and number < config.steps:
                return state, False
    return state, True


def global_state(state: TrainState, mesh: Mesh | None) -> TrainState:
    """With everything on the mesh, as checkpoints of several processes need it."""
    return TrainState(state.learner, *replicate(mesh, state[1:]))


def local_state(state: TrainState) -> TrainState:
    """With all but the learner in this process alone."""
    return TrainState(state.learner, *local(state[1:]))


def report(config: GRPOConfig, agent: Agent, instances: evaluate.Instances, trained: Params) -> None:
    """Before and after on the same fresh instances: the table, and a replay of each multi-turn game."""
    fixed = evaluate.fixed_baseline(agent, instances, config.seed)
    before = evaluate.evaluate(agent, agent.policy.params, instances, config.seed)
    after = evaluate.evaluate(agent, trained, instances, config.seed)
    told = zip(evaluate.scores(before, fixed), evaluate.scores(after, fixed), strict=True)
    rows = [
        ResultRow(name, *scores, paired_difference(before.greedy[e : e + 1], after.greedy[e : e + 1]))
        for e, (name, scores) in enumerate(zip(agent.names, told, strict=True))
    ]
    results_table(rows, config.out, paired_difference(before.greedy, after.greedy))
    used = evaluate.words_used(agent, after)
    print(
        "Answer words the trained policy uses, greedy and sampled: "
        + ", ".join(f"{n} {u}" for n, u in used.items())
    )
    shown = {
        name: dict(list(counts.items())[:12]) for name, counts in zip(agent.names, after.answers, strict=True)
    }
    (config.out / "answers.json").write_text(json.dumps(shown, indent=2) + "\n")
    write_replays(agent.names, after.rollouts[0], config.out / "replays")


if __name__ == "__main__":
    run(main, GRPOConfig)
