"""The policy as engineer of its own boards (arXiv:2606.17682): `python -m train.engineer`."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax

from envs_jax.multi_agent.mapf_plan import MapfPlan
from jaxenv.mapf.generator import Board
from jaxenv.mapf.rewards import START_SHARE, RewardConfig
from jaxenv.mapf.rules import Measure
from train import checkpoints, run_config
from train.agent import MAPF_POLICY, Agent, Observation
from train.cli import run
from train.endpoint import Endpoint
from train.engineering import archive, designers
from train.engineering.boards import draw, evaluation_boards, take
from train.engineering.config import SIZES, normalised
from train.engineering.context import ContextConfig, Loop, render
from train.engineering.designers import Design
from train.engineering.figure import distribution_figure
from train.engineering.player import Player, board_agent
from train.engineering.records import Cell, Outcome, Proposal, Round
from train.engineering.speaker import speaker
from train.engineering.tables import evaluation_tables
from train.engineering.training import EngineerState, RoundConfig, RoundTrainer
from train.learner import Learner, LearnerConfig
from train.policy.chat import Chat
from train.policy.hub import checkpoint_directory
from train.policy.sharding import make_mesh
from train.policy.weights import LoadConfig, Params, load_policy, save_policy, what_learns
from train.report import MetricsLog, StepProgress, read_metrics
from train.shutdown import StopRequest
from train.turns import ActorConfig


@dataclass(frozen=True)
class EngineerConfig:
    """Rounds of training, evaluation and design."""

    model: str = str(MAPF_POLICY)
    """Checkpoint directory of the policy, or its id on the Hugging Face Hub; by default the small policy that
    has seen a few plans."""
    engineer: str = "policy"
    """Who designs the next round's boards: policy (the one that is trained), rule (a documented heuristic),
    random, fixed (nobody: round 0's configuration stays), endpoint (see --endpoint.url), or a checkpoint
    directory or model id."""
    observation: Observation = "pixels"
    """What stays when the harness has taken all texts away: the picture, the board in words, or both."""
    harness: int = 0
    """Harness level of all boards: 0 shows all texts, 4 only the picture and the task."""
    rounds: int = 3
    """Rounds; the first has a random configuration."""
    epochs: int = 2
    """Times that a round's boards are learnt from."""
    samples: int = 256
    """Boards of a round; 4000 in the paper."""
    agents: int = 2
    """Agents on the boards of training."""
    cost: Measure = "sum_of_costs"
    """What an optimal plan has the least of."""
    group_size: int = 8
    """Answers to a board."""
    groups: int = 16
    """Boards of a step."""
    minibatches: int = 2
    """Parts of a step's answers; each makes an update."""
    learning_rate: float = 5e-5
    """Step size of Adam after the warm-up."""
    warmup_steps: int = 5
    """Steps over which the step size rises from 0."""
    eval_agents: tuple[int, ...] = (2, 3)
    """Numbers of agents of the evaluation; 3 4 5 in the paper."""
    eval_sizes: tuple[int, ...] = SIZES
    """Board sizes of the evaluation; each number of agents has those not below it."""
    eval_waits: tuple[float, ...] = (0.25, 0.5, 0.75)
    """Wait ratios of the evaluation's cells."""
    eval_boards: int = 8
    """Boards of each cell; 50 in the paper."""
    eval_hole: float = 0.2
    """Hole ratio of the evaluation's boards."""
    engineer_tokens: int = 700
    """Tokens of an engineer's reply at most."""
    engineer_temperature: float = 0.7
    """Of an engineer of ours; that of an endpoint is --endpoint.temperature."""
    out: Path = Path("runs/engineer")
    """Directory of the run; it must not hold another run."""
    resume: Path | None = None
    """Directory of a run to go on with; everything else is then taken from its config.json."""
    seed: int = 0
    """Seed of boards, sampling and round 0's configuration. The evaluation's boards are always the same."""
    save_every: int = 20
    """Steps between checkpoints, beside those at the end of every round."""
    canvas: int = 96
    """Side of the pictures in pixels, a multiple of 32."""
    compute: Literal["float32", "bfloat16"] = "float32"
    """Type of the activations."""
    lora_rank: int = 0
    """Only adapters of this rank learn; 0 trains the whole model."""
    mesh: str = ""
    """How the devices share the model: data=N,fsdp=N,tensor=N."""
    context: ContextConfig = field(default_factory=ContextConfig)
    rewards: RewardConfig = field(default_factory=RewardConfig)
    endpoint: Endpoint = field(default_factory=Endpoint)
    actor: ActorConfig = field(default_factory=lambda: ActorConfig(max_new_tokens=80))
    learner: LearnerConfig = field(default_factory=LearnerConfig)

    def __post_init__(self) -> None:
        counts = (
            "rounds",
            "epochs",
            "samples",
            "group_size",
            "groups",
            "minibatches",
            "eval_boards",
            "save_every",
        )
        for name in counts:
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)} is not at least 1")
        if self.samples < self.groups:
            raise ValueError(
                f"samples: {self.samples} boards are fewer than the {self.groups} of a step (groups)"
            )


def main(config: EngineerConfig) -> None:
    """Trains a policy to plan paths, round after round on boards that an engineer asks for."""
    new = config.resume is None
    if config.resume is not None:
        config = run_config.read_config(EngineerConfig, config.resume)
    if new:
        run_config.check_new(config.out)
    run_ = Run(config)
    if new:  # only now, so that a config with a mistake leaves no run behind
        run_config.write_config(config)
    run_.go()
    print(f"run directory: {config.out}")


class Run:
    """The parts of a run. What it has done so far is in its directory alone."""

    def __init__(self, config: EngineerConfig) -> None:
        self.config = config
        self.folder = config.out / "checkpoints"
        env = MapfPlan(canvas=config.canvas, cost=config.cost)
        print("drawing the boards of the evaluation")
        self.cells = evaluation_boards(
            EVALUATION_SEED,
            config.eval_agents,
            config.eval_sizes,
            config.eval_waits,
            config.eval_boards,
            config.eval_hole,
            config.cost,
        )
        self.agent = _agent(config, env, [cell.boards for cell in self.cells])
        self.player = Player(self.agent, config.harness)
        numbers = (config.samples, config.group_size, config.groups, config.epochs, config.minibatches)
        self.trainer = RoundTrainer(
            self.player, _learner(config, self.agent), RoundConfig(*numbers, config.rewards, config.seed)
        )

    def go(self) -> None:
        """Every round that is not finished, then the tables; or less, when the run is asked to stop."""
        config, rounds = self.config, archive.read_rounds(self.config.out)
        state, before = self._state(), self._before()
        for number in range(len(rounds), config.rounds):
            proposal = self._proposal(number, rounds, state)
            print(f"round {number}: {_told(proposal)}")
            state, finished = self._train(number, self._boards(number, proposal), state)
            if not finished:
                return
            print(f"evaluating round {number}")
            evaluation = self.player.evaluate(self._params(state), self.cells)
            outcome = Outcome(self._training(number), evaluation)
            archive.write_outcome(config.out, number, outcome)
            rounds.append(Round(number, proposal, outcome))
        after = {f"after round {past.number}": past.outcome.evaluation for past in rounds}
        evaluation_tables({"before": before} | after, config.out)
        distribution_figure([past.proposal for past in rounds], config.out / "distribution.png")
        trained = self.agent.policy._replace(params=self._params(state))
        save_policy(trained, config.out / "policy", source=self.agent.directory)

    def _state(self) -> EngineerState:
        """That of the newest checkpoint, or of the start."""
        learner = self.trainer.learner.init(self.agent.policy.params)
        fresh = EngineerState(learner, jnp.float32(START_SHARE), jnp.int32(0))
        return (
            checkpoints.restore(self.folder, fresh).tree if checkpoints.any_finished(self.folder) else fresh
        )

    def _before(self) -> tuple[Cell, ...]:
        """The evaluation of the untrained policy, made once."""
        file = self.config.out / "before.json"
        if not file.exists():
            print("evaluating the policy before training")
            outcome = Outcome({}, self.player.evaluate(self.agent.policy.params, self.cells))
            file.write_text(json.dumps(outcome.to_json(), indent=2) + "\n")
        return Outcome.from_json(json.loads(file.read_text())).evaluation

    def _proposal(self, number: int, rounds: Sequence[Round], state: EngineerState) -> Proposal:
        """The configuration of a round: kept from an earlier start, or asked for now."""
        kept = archive.read_proposal(self.config.out, number)
        if kept is not None:
            return kept
        if number == 0:
            proposal = designers.first_proposal(self.config.seed)
        else:
            told = render(self.config.context, _loop(self.config), rounds)
            proposal = designers.propose(self._designer(number, state), told, rounds)
        archive.write_proposal(self.config.out, number, proposal)
        return proposal

    def _designer(self, number: int, state: EngineerState) -> Design:
        config = self.config
        known = {"rule": designers.rule, "fixed": designers.fixed, "random": designers.random(config.seed)}
        if config.engineer in known:
            return known[config.engineer]
        if config.engineer == "endpoint":
            return designers.endpoint_model(config.endpoint)
        policy, params, directory = self.agent.policy, self._params(state), self.agent.directory
        if config.engineer != "policy":
            directory = checkpoint_directory(config.engineer)
            policy = load_policy(directory, LoadConfig("nothing", config.compute), make_mesh(config.mesh))
            params = policy.params
        chat = Chat(directory, policy.config, config.canvas, pictured=False)
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(config.seed), ENGINEER), number)
        talk = (config.engineer_tokens, config.engineer_temperature, key)
        return designers.model(speaker(policy, params, chat, *talk))

    def _boards(self, number: int, proposal: Proposal) -> Board:
        """The boards of a round; what could not be met of its configuration is told and kept."""
        config = self.config
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(config.seed), BOARDS), number)
        boards, short = draw(key, proposal.config, config.agents, config.samples, config.cost)
        for line in short:
            print(f"  not met: {line}")
        archive.write_not_met(config.out, number, short)
        if not len(boards.optimum):
            raise ValueError(
                f"agents: no board of round {number} with {config.agents} agents could be drawn; use fewer"
            )
        return boards

    def _train(self, number: int, boards: Board, state: EngineerState) -> tuple[EngineerState, bool]:
        """(state, whether the round is finished) after its steps, or those before a SIGTERM or Ctrl-C."""
        config, trainer, first = self.config, self.trainer, int(state.step)
        began, last = number * trainer.steps, (number + 1) * trainer.steps
        with (
            StopRequest() as stop,
            MetricsLog(config.out, first) as log,
            StepProgress(last, first) as progress,
        ):
            batches = enumerate(trainer.batches(number, len(boards.optimum)), start=began + 1)
            for step, rows in (left for left in batches if left[0] > first):
                started = time.monotonic()
                state, metrics = trainer.step(state, take(boards, rows))
                log.write(step, {"round": number} | metrics)
                shown = {name: metrics[name] for name in ("reward", "valid", "optimal", "mixed_groups")}
                progress.show(step, shown | {"s/step": time.monotonic() - started})
                if step % config.save_every == 0 or step == last or stop.requested:
                    checkpoints.save(self.folder, step, state, {"round": number})
                if stop.requested and step < last:
                    return state, False
        return state, True

    def _training(self, number: int) -> dict[str, float | None]:
        """The mean of every number that the steps of a round left in the metrics."""
        steps = [record for record in read_metrics(self.config.out) if record.pop("round") == number]
        told = {name: [step[name] for step in steps if step.get(name) is not None] for name in steps[0]}
        return {name: float(np.mean(values)) for name, values in told.items() if values and name != "step"}

    def _params(self, state: EngineerState) -> Params:
        return self.trainer.learner.policy_params(state.learner)


EVALUATION_SEED = 20260616
BOARDS, ENGINEER = 0xB0A2D, 0xE6E  # folded into the seed's key; training folds in the numbers of its steps


def _agent(config: EngineerConfig, env: MapfPlan, evaluation: list[Board]) -> Agent:
    """The policy with the one environment, ready for boards of all sizes."""
    directory = checkpoint_directory(config.model)
    load = LoadConfig(what_learns(directory, config.lora_rank), config.compute, config.lora_rank)
    everything = normalised([1 / len(SIZES)] * len(SIZES), [0.1] * len(SIZES), [0.0] * len(SIZES))
    training, _ = draw(jax.random.key(0), everything, config.agents, config.samples, config.cost)
    slots = config.groups * config.group_size
    shown = (config.actor, config.observation, config.harness, [training, *evaluation])
    return board_agent(directory, env, slots, *shown, load, config.mesh)


def _learner(config: EngineerConfig, agent: Agent) -> Learner:
    buckets, reply = agent.actor.buckets, config.actor.max_new_tokens
    rise = optax.linear_schedule(0.0, config.learning_rate, config.warmup_steps * config.minibatches)
    flat = optax.constant_schedule(config.learning_rate)
    schedule = optax.join_schedules([rise, flat], [config.warmup_steps * config.minibatches])
    lengths = [*(n + reply for n in buckets), buckets[-1] + config.group_size * reply // 2]
    return Learner(
        agent.policy, config.learner, agent.chat.allowed, config.actor.temperature, lengths, schedule
    )


def _loop(config: EngineerConfig) -> Loop:
    """What the context may tell of the run."""
    told = ("group_size", "groups", "minibatches", "learning_rate")
    numbers = {name.replace("_", " "): getattr(config, name) for name in told}
    return Loop(config.rounds, config.epochs, config.samples, config.agents, config.rewards, numbers)


def _told(proposal: Proposal) -> str:
    """How a round came by its boards, in a line."""
    how = {
        "random": "a random configuration",
        "proposed": "the engineer's configuration",
        "kept": f"the configuration before it, for the engineer's was rejected: {proposal.reason}",
    }
    return how[proposal.origin]


if __name__ == "__main__":
    run(main, EngineerConfig)
