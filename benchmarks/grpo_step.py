"""Seconds of a GRPO step beside TRL's GRPOTrainer: `python -m benchmarks.grpo_step MODEL`.

The same weights in float32, the same prompts of the environments in words, as many replies to each and as
many tokens in every reply (neither side may stop early), temperature 1, one clipped update with Adam and a
mean over tokens, on the CPU. Replies are scored by `trl_step.reward`; no environment moves, nothing is logged
or saved.

TRL runs in an environment of its own, made on the first call. Neither side runs beside the other: ours is
measured before TRL and once more after it, and each is warm first. Measure on an idle machine: beside other
work OpenMP's threads wait for one another, and TRL's figure, not ours, grows tenfold. The load is printed.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro
from rich.console import Console
from rich.table import Table

from benchmarks import trl_step
from benchmarks.trl_step import Job, Measured, Times, reward
from jaxenv import text
from jaxenv.environment import Level
from train.advantages import group_advantages
from train.agent import SMALL_POLICY, Agent, make_agent
from train.batches import NO_PICTURES, Answer, Pack, prompt_batch
from train.learner import Learner, LearnerConfig
from train.policy.chat import PromptRow
from train.policy.generate import generate_jit
from train.turns import ActorConfig

TRL_ENVIRONMENT = Path.home() / ".cache" / "jaxenv" / "trl"
TRL = ("trl==1.16.0", "transformers==5.24.0", "accelerate==1.15.0", "torch==2.13.0")

OURS = (
    "Ours: tokenizer, each prompt read once for its group, sampling with log-probabilities, texts, rewards, "
    "advantages, packs (a prompt once with all replies of its group), gradient, Adam, metrics."
)
THEIRS = (
    "TRL: tokenizer, model.generate on every reply's own prompt, texts, rewards, advantages, gradient on "
    "prompt and reply of every row, AdamW, metrics. No gradient checkpointing, no reference model."
)


@dataclass(frozen=True)
class StepConfig:
    """Seconds of a GRPO step, ours and TRL's."""

    model: tyro.conf.Positional[str] = str(SMALL_POLICY)
    """Checkpoint directory, or a model's id on the Hugging Face Hub."""
    env_set: str = "frozen_lake"
    """Environments whose prompts are answered."""
    prompts: int = 4
    """Different prompts of a step."""
    group_size: int = 8
    """Replies to each."""
    new_tokens: int = 32
    """Tokens of every reply."""
    warm: int = 20
    """Steps before those that count; of those of the small policy the first dozen are slower."""
    steps: int = 10
    """Steps measured, ours twice as many; the table shows the medians."""
    learning_rate: float = 1e-6
    """Step size of Adam."""
    parts: int = 1
    """Parts of the batch whose gradients are added up, on both sides, where memory is short."""
    trl_python: str = ""
    """Python that has TRL; by default that of an environment which the first call makes."""


def main(config: StepConfig) -> None:
    """Measures both sides and prints a table."""
    if config.prompts % config.parts:
        raise SystemExit(f"error: parts: {config.parts} does not divide {config.prompts} prompts")
    python = config.trl_python or _trl_python()
    print(f"load of the last minute on {os.cpu_count()} cores: {os.getloadavg()[0]:.1f}")
    agent = make_agent(config.model, config.env_set, 4 * config.prompts, 96, ActorConfig(), "text")
    job = _job(agent, config)
    ours = Ours(agent, job)
    before, theirs, after = ours.measure(), _trl(python, job), ours.measure()
    lengths = sorted(map(len, job.prompt_ids))
    print(
        f"{config.prompts} prompts of {lengths[0]} to {lengths[-1]} tokens, {config.group_size} replies of "
        f"{config.new_tokens} tokens to each; jax {jax.__version__}; {theirs.versions}"
    )
    Console().print(_table(before, after, theirs.times))
    print(OURS, THEIRS, sep="\n")


class Ours:
    """Our side: what `train.grpo` samples and learns with, from prompts on the host to new parameters."""

    def __init__(self, agent: Agent, job: Job) -> None:
        self.agent, self.job = agent, job
        self.allowed = agent.chat.allowed & ~agent.chat.stop  # nothing ends a reply early
        self.source = np.repeat(np.arange(len(job.texts), dtype=np.int32), job.group_size)
        self.longest = max(map(len, job.prompt_ids))
        packs, answers = len(job.texts) // job.parts, job.group_size * job.new_tokens
        length = self.longest + answers
        limits = LearnerConfig(micro_tokens=packs * length, answer_tokens=packs * answers)
        schedule = optax.constant_schedule(job.learning_rate)
        self.learner = Learner(agent.policy, limits, self.allowed, 1.0, [length], schedule)
        self.state = self.learner.init(agent.policy.params)
        self.key = jax.random.key(0)

    def measure(self) -> Times:
        """Seconds of the job's steps, warmed up first."""
        return [self.step() for _ in range(self.job.warm + self.job.steps)][self.job.warm :]

    def step(self) -> tuple[float, float]:
        started = time.perf_counter()
        prompts = self.agent.chat.prompts(self.job.texts)
        tokens, logprobs, texts = self.sample(prompts)
        sampled = time.perf_counter()
        packs = self.packs(prompts, tokens, logprobs, texts)
        self.state, _ = self.learner.update(self.state, packs, tokens.size)
        jax.block_until_ready(self.state)
        return sampled - started, time.perf_counter() - sampled

    def sample(self, prompts: list[PromptRow]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Tokens int32[R, M] of the replies, their log-probabilities, and their texts."""
        self.key, key = jax.random.split(self.key)
        done = generate_jit(
            self.agent.policy.graphdef,
            self.learner.policy_params(self.state),
            prompt_batch(prompts, NO_PICTURES, len(prompts), self.longest, self.agent.chat.shared),
            self.source,
            jax.random.split(key, len(self.source)),
            max_new_tokens=self.job.new_tokens,
            temperature=np.float32(1),
            allowed=self.allowed,
            stop=np.zeros_like(self.allowed),
        )
        tokens, logprobs, lengths = (np.asarray(x) for x in (done.tokens, done.logprobs, done.lengths))
        return tokens, logprobs, self.agent.chat.decode(tokens, lengths)

    def packs(
        self, prompts: list[PromptRow], tokens: np.ndarray, logprobs: np.ndarray, texts: list[str]
    ) -> list[Pack]:
        """Every prompt with the replies of its group and their advantages."""
        size = self.job.group_size
        rewards = jnp.array([reward(reply) for reply in texts]).reshape(-1, size)
        advantages = np.asarray(group_advantages(rewards)).ravel().tolist()
        answers = [Answer(*known) for known in zip(tokens, logprobs, advantages, strict=True)]
        groups = [answers[i : i + size] for i in range(0, len(answers), size)]
        return [Pack(prompt, NO_PICTURES, group) for prompt, group in zip(prompts, groups, strict=True)]


def _job(agent: Agent, config: StepConfig) -> Job:
    """Different instances' first prompts, and what is done with them."""
    shape = (len(agent.mixture.envs), agent.mixture.slots)
    level = Level(np.zeros(shape, np.int32), np.zeros(shape, np.int32))  # type: ignore[arg-type]
    view, _ = agent.mixture.reset(jax.random.split(jax.random.key(0), shape), level)
    texts = list(dict.fromkeys(text.decode_batch(view.prompt)))[: config.prompts]
    return Job(
        directory=str(agent.directory),
        texts=texts,
        prompt_ids=[row.tokens.tolist() for row in agent.chat.prompts(texts)],
        group_size=config.group_size,
        new_tokens=config.new_tokens,
        learning_rate=config.learning_rate,
        parts=config.parts,
        warm=config.warm,
        steps=config.steps,
    )


def _trl_python() -> str:
    """The Python of TRL's own environment, which is made or completed where needed."""
    python = TRL_ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(TRL_ENVIRONMENT)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "-qq", *TRL], check=True)
    return str(python)


def _trl(python: str, job: Job) -> Measured:
    """TRL's side, in a process of its own."""
    done = subprocess.run(
        [python, trl_step.__file__],
        input=json.dumps(asdict(job)),
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def _table(before: Times, after: Times, theirs: Times) -> Table:
    """Median seconds; the ratio is TRL's to all of ours."""
    table = Table("seconds", "ours, before", "ours, after", "TRL", "TRL / ours")
    parts = {"sampling": lambda time: time[0], "update": lambda time: time[1], "step": sum}
    for name, part in parts.items():
        first, second, ours, other = (
            statistics.median(map(part, times)) for times in (before, after, [*before, *after], theirs)
        )
        table.add_row(name, f"{first:.3f}", f"{second:.3f}", f"{other:.3f}", f"{other / ours:.2f}")
    return table


if __name__ == "__main__":
    main(tyro.cli(StepConfig, description=main.__doc__))
