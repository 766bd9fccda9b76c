"""A warm start for plans: imitate the exact solver. `python -m train.mapf_sft --out DIR` makes the small
policy that `python -m train.engineer` starts from."""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import numpy as np
import optax

from envs_jax.multi_agent.mapf_plan import MapfPlan
from jaxenv import text
from jaxenv.harness import NUM_HARNESS_LEVELS
from jaxenv.mapf.generator import Board
from train import small
from train.agent import Agent
from train.batches import Pack
from train.cli import run
from train.demonstrations import caption_and_reply
from train.engineering.boards import draw, episodes, take
from train.engineering.config import SIZES, normalised
from train.engineering.player import board_agent
from train.learner import Learner, LearnerConfig
from train.policy.weights import PLAIN, save_policy
from train.turns import ActorConfig


@dataclass(frozen=True)
class MapfSFTConfig:
    """Imitation of the exact solver."""

    out: Path
    """Directory of the new checkpoint."""
    steps: int = 300
    """Optimiser steps."""
    rows: int = 64
    """Demonstrations of a step."""
    agents: tuple[int, ...] = (2, 3)
    """Numbers of agents on the boards, in turn."""
    data: tuple[float, ...] = (0.35, 0.3, 0.2, 0.15, 0.0, 0.0, 0.0, 0.0)
    """Share of each size 3..10."""
    hole: float = 0.15
    """Holes / cells of every board."""
    wait: float = 0.3
    """Share of boards on which an agent has to wait or to go a longer way."""
    harness: tuple[int, ...] = tuple(range(NUM_HARNESS_LEVELS))
    """Harness levels of the prompts, at random."""
    boards: int = 2048
    """Different boards of each number of agents."""
    caption: float = 0.2
    """Weight of a token of the prompt's text, learnt as a caption of the picture; a reply's weigh 1."""
    learning_rate: float = 2e-3
    """Step size after the warm-up; from there it falls to 0 along a cosine."""
    warmup_steps: int = 50
    """Steps over which the step size rises from 0."""
    canvas: int = 96
    """Side of the pictures in pixels."""
    seed: int = 0
    """Seed of the weights, the boards and their order."""
    save_every: int = 100
    """Steps between writes of the checkpoint."""

    def __post_init__(self) -> None:
        if self.warmup_steps >= self.steps:
            raise ValueError(f"warmup_steps: {self.warmup_steps} must be below steps, {self.steps}")


def main(config: MapfSFTConfig) -> None:
    """Makes a new small policy and has it imitate the exact solver's plans."""
    env = MapfPlan(canvas=config.canvas)
    wanted = normalised(config.data, [config.hole] * len(SIZES), [config.wait] * len(SIZES))
    key = jax.random.key(config.seed)
    print("drawing boards")
    boards = []
    for agents in config.agents:
        drawn, short = draw(jax.random.fold_in(key, agents), wanted, agents, config.boards, env.cost)
        for line in short:
            print(f"  not met with {agents} agents: {line}")
        boards.append(drawn)
    small.create(config.out, [env], config.seed)
    shown = (ActorConfig(max_new_tokens=80), "pixels", 0, boards)
    agent = board_agent(config.out, env, config.rows, *shown, PLAIN)
    buckets = [n + agent.actor.config.max_new_tokens for n in agent.actor.buckets]
    learner = Learner(
        agent.policy,
        LearnerConfig(),
        agent.chat.allowed,
        temperature=1.0,
        lengths=buckets,
        schedule=optax.warmup_cosine_decay_schedule(
            0.0, config.learning_rate, config.warmup_steps, config.steps
        ),
    )
    demonstrator = BoardDemonstrator(agent, boards, config)
    state, started = learner.init(agent.policy.params), time.monotonic()
    for step in range(1, config.steps + 1):
        packs = demonstrator.packs(step)
        tokens = sum(int(np.sum(np.equal(pack.answers[0].advantage, 1))) for pack in packs)
        state, metrics = learner.update(state, packs, tokens, imitate=True)
        if step % 20 == 0 or step == 1:
            minutes = (time.monotonic() - started) / 60
            print(f"step {step}/{config.steps}  loss {-metrics['logprob']:.4f}  {minutes:.1f} min")
        if step % config.save_every == 0 or step == config.steps:
            trained = agent.policy._replace(params=learner.policy_params(state))
            save_policy(trained, config.out, source=agent.directory)


class BoardDemonstrator:
    """Boards at random harness levels, each with the solver's plan for it."""

    def __init__(self, agent: Agent, boards: list[Board], config: MapfSFTConfig) -> None:
        self.agent, self.boards, self.config = agent, boards, config
        solve = lambda pair: agent.mixture.envs[0].expert_text(*pair)  # noqa: E731
        solve_all = jax.jit(partial(jax.lax.map, solve, batch_size=PLANS_AT_A_TIME))
        self.plans = [text.decode_batch(solve_all((_keys(some), episodes(some, 0)))) for some in boards]

    def packs(self, step: int) -> list[Pack]:
        """A pack of every demonstration of a step."""
        rng = np.random.default_rng([self.config.seed, step])
        kind = step % len(self.boards)
        rows = rng.integers(len(self.plans[kind]), size=self.config.rows)
        harness = rng.choice(self.config.harness, size=self.config.rows)
        start = episodes(take(self.boards[kind], rows), harness)
        view, _ = self.agent.mixture.reset_to([start])
        chat = self.agent.chat
        prompts = chat.prompts(text.decode_batch(view.prompt))
        replies = chat.replies([self.plans[kind][row] for row in rows])
        return [
            Pack(chat.head, picture, [caption_and_reply(chat, prompt, reply, self.config.caption)])
            for prompt, picture, reply in zip(prompts, np.asarray(view.pixels), replies, strict=True)
        ]


PLANS_AT_A_TIME = 256


def _keys(boards: Board) -> jax.Array:
    return jax.random.split(jax.random.key(0), len(boards.optimum))


if __name__ == "__main__":
    run(main, MapfSFTConfig)
