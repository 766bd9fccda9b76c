"""A policy that plans for boards: its answers, what is right and wrong with each, and its rates by cell."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from envs_jax.multi_agent.mapf_plan import MapfPlan
from jaxenv import text
from jaxenv.mapf.checks import CHECKS, Judgement
from jaxenv.mapf.generator import Board
from jaxenv.mixture import Mixture
from train.agent import Agent, Observation
from train.engineering.boards import CellBoards, episodes, take
from train.engineering.records import Cell
from train.policy.chat import Chat
from train.policy.hub import checkpoint_directory
from train.policy.sharding import make_mesh
from train.policy.weights import LoadConfig, Params, load_policy
from train.rollout import GREEDY, Actor, Rollout
from train.turns import ActorConfig

MARGIN, STEP = 8, 16  # of padded prompt lengths, in tokens


class Played(NamedTuple):
    """Answers to n boards: the rollout, and the judgement [n] of each reply."""

    rollout: Rollout
    judged: Judgement


class Player:
    """An agent whose mixture is the one environment `MapfPlan`, shown boards at one harness level."""

    def __init__(self, agent: Agent, harness: int) -> None:
        (env,) = agent.mixture.envs
        if not isinstance(env, MapfPlan):
            raise ValueError(f"env_set: boards are given to {MapfPlan.id}, not to {env.id}")
        self.agent, self.harness, self.slots = agent, harness, agent.mixture.slots
        self._judge = jax.jit(jax.vmap(env.judge))
        self._no_limit = jnp.zeros(1, jnp.int32)

    def play(self, params: Params, boards: Board, key: jax.Array, temperature: float) -> Played:
        """Answers as many boards as the mixture has slots."""
        start = self.agent.mixture.reset_to([episodes(boards, self.harness)])
        rollout = self.agent.actor.play(params, start, key, self._no_limit, temperature)
        replies = [""] * self.slots
        for turn in rollout.turns:
            replies[turn.row] = turn.reply
        read = text.encode_batch(replies, self.agent.mixture.reply_capacity)
        return Played(rollout, jax.device_get(self._judge(boards, read)))

    def evaluate(self, params: Params, cells: Sequence[CellBoards]) -> tuple[Cell, ...]:
        """Greedy answers to the boards of every cell, counted."""
        boards = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(cell.boards for cell in cells))
        total = len(boards.optimum)
        parts = []
        for begin in range(0, total, self.slots):
            rows = np.minimum(np.arange(begin, begin + self.slots), total - 1)  # the last part is filled up
            parts.append(self.play(params, take(boards, rows), jax.random.key(0), GREEDY).judged)
        judged = jax.tree.map(lambda *leaves: np.concatenate(leaves)[:total], *parts)
        ends = np.cumsum([len(cell.boards.optimum) for cell in cells])[:-1]
        groups = zip(
            *(np.split(leaf, ends) for leaf in (judged.passed, judged.valid, judged.optimal)), strict=True
        )
        return tuple(_count(cell, *group) for cell, group in zip(cells, groups, strict=True))


def board_agent(
    model: str | Path,
    env: MapfPlan,
    slots: int,
    config: ActorConfig,
    observation: Observation,
    harness: int,
    boards: Sequence[Board],
    load: LoadConfig,
    mesh: str = "",
) -> Agent:
    """A policy with `slots` episodes of the one environment, and prompts as long as those of `boards` are."""
    directory = checkpoint_directory(model)
    policy = load_policy(directory, load, make_mesh(mesh))
    chat = Chat(directory, policy.config, env.canvas, observation != "text", config.prefix)
    mixture = Mixture([env], slots, board=observation != "pixels")
    buckets = config.prompt_buckets or _buckets(chat, mixture, boards, harness)
    return Agent((env.id,), directory, mixture, policy, chat, Actor(policy, chat, mixture, config, buckets))


def _buckets(chat: Chat, mixture: Mixture, boards: Sequence[Board], harness: int) -> tuple[int, ...]:
    """Up to three padded prompt lengths, shortest first, that hold the prompts of all these boards."""
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *boards)
    lengths: list[int] = []
    for begin in range(0, len(joined.optimum), mixture.slots):
        rows = np.minimum(np.arange(begin, begin + mixture.slots), len(joined.optimum) - 1)
        view, _ = mixture.reset_to([episodes(take(joined, rows), harness)])
        lengths += map(len, chat.prompts(text.decode_batch(view.prompt)))
    edges = np.quantile(lengths, (0.4, 0.8, 1.0), method="higher")
    return tuple(sorted({-(-(int(edge) + MARGIN) // STEP) * STEP for edge in edges}))


def _count(cell: CellBoards, passed: np.ndarray, valid: np.ndarray, optimal: np.ndarray) -> Cell:
    failed = dict(zip(CHECKS, (~passed).sum(0).tolist(), strict=True))
    return Cell(
        cell.agents,
        cell.size,
        cell.wait,
        instances=len(valid),
        valid=int(valid.sum()),
        optimal=int(optimal.sum()),
        errors={name: count for name, count in failed.items() if count},
    )
