"""From episodes to what is learnt: advantages of groups, and packs of the turns that carry a signal."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from train.advantages import group_advantages, mixed_groups
from train.batches import Answer, Dialogue, Pack
from train.rollout import Rollout
from train.turns import Seen


class Experience(NamedTuple):
    """Packs to learn from, in random order; `tokens` counts the answer tokens of all turns, with a signal or
    without."""

    packs: list[Pack] | list[Dialogue]
    tokens: int
    mixed: np.ndarray  # bool[groups]: the group's returns differ


@dataclass(frozen=True)
class CreditConfig:
    """How the return of an episode is shared out over its turns."""

    turn_weight: float = 1.0
    """Weight of a turn's own advantage, among the turns of its group that saw the same, beside that of its
    whole episode (GiGPO, arXiv:2505.10978). 0 is plain GRPO; single-turn games have no other."""
    discount: float = 0.95
    """What a success is worth one turn earlier, in a turn's own advantage."""


def make_experience(
    rollout: Rollout,
    group_size: int,
    most_turns: int,
    rng: np.random.Generator,
    environment: np.ndarray,
    credit: CreditConfig,
    conversation: bool = False,
) -> Experience:
    """Every turn gets its episode's advantage among its group of `group_size` neighbouring episodes, and its
    own among the turns of the group that saw the same picture and text.

    Turns with advantage 0 change nothing and are left out. Of the others at most `most_turns`, drawn at
    random, are kept and weighted up, which leaves the expected gradient as it is. Of a `conversation` whole
    episodes are left out or kept, about as many as have so many turns.

    environment int[B] is the type of every row. Each type weighs as much as any other in the mean over
    tokens; else a game of many turns would drown the one-word answer of another.
    """
    returns = jnp.asarray(rollout.returns.reshape(-1, group_size))
    rows = np.array([turn.row for turn in rollout.turns], int)
    advantages = np.asarray(group_advantages(returns)).reshape(-1)[rows]
    advantages = advantages + credit.turn_weight * turn_advantages(rollout, group_size, credit.discount)
    sizes = np.array([len(turn.tokens) for turn in rollout.turns])
    tokens = np.bincount(environment[rows], sizes, minlength=environment.max() + 1)
    share = tokens.sum() / len(tokens) / np.maximum(tokens, 1)
    advantages *= share[environment[rows]]
    units = _episodes(rows, advantages) if conversation else np.flatnonzero(advantages)[:, None].tolist()
    turns = sum(map(len, units))
    if turns > most_turns:
        kept = max(len(units) * most_turns // turns, 1)
        advantages *= len(units) / kept
        units = [units[i] for i in np.sort(rng.choice(len(units), kept, replace=False))]
    pack = _dialogues if conversation else _packs
    packs = pack(rollout, units, advantages.tolist())
    played = rollout.lengths.reshape(-1, group_size)[:, 0] > 0
    mixed = np.asarray(mixed_groups(returns))[played]
    return Experience([packs[i] for i in rng.permutation(len(packs))], int(tokens.sum()), mixed)


def turn_advantages(rollout: Rollout, group_size: int, discount: float) -> np.ndarray:
    """Of every turn: its discounted return less the mean over the turns of its group that saw the same.
    float64[turns]; exactly 0 for what was seen once, and in episodes of one turn, where it says no more than
    the episode's own."""
    worth, alike = np.zeros(len(rollout.turns)), defaultdict(list)
    played = np.zeros(len(rollout.returns), int)
    for i, turn in enumerate(rollout.turns):
        played[turn.row] += 1
        left = rollout.lengths[turn.row] - played[turn.row]
        worth[i] = rollout.returns[turn.row] * discount**left
        alike[turn.row // group_size, turn.seen].append(i)
    own = np.zeros(len(worth))
    for turns in alike.values():
        if rollout.lengths[[rollout.turns[i].row for i in turns]].max() > 1:
            own[turns] = worth[turns] - worth[turns].mean()
    return own


def _episodes(rows: np.ndarray, advantages: np.ndarray) -> list[list[int]]:
    """The turns of every episode in which a turn has an advantage, in order."""
    turns = [np.flatnonzero(rows == row) for row in np.unique(rows[advantages != 0])]
    return [of_row.tolist() for of_row in turns]


def _packs(rollout: Rollout, units: list[list[int]], advantages: Sequence[float]) -> list[Pack]:
    """One pack for all answers to the same picture and text, whichever episode they come from."""
    same: dict[Seen, list[int]] = defaultdict(list)
    for (i,) in units:
        same[rollout.turns[i].seen].append(i)
    return [
        Pack(
            rollout.turns[alike[0]].prompt,
            rollout.turns[alike[0]].shown,
            [Answer(rollout.turns[i].tokens, rollout.turns[i].logprobs, advantages[i]) for i in alike],
        )
        for alike in same.values()
    ]


def _dialogues(rollout: Rollout, units: list[list[int]], advantages: Sequence[float]) -> list[Dialogue]:
    """One dialogue for every episode."""
    episodes = [[(rollout.turns[i], advantages[i]) for i in unit] for unit in units]
    return [
        Dialogue(
            [turn.prompt for turn, _ in episode],
            np.stack([turn.shown for turn, _ in episode]),
            [Answer(turn.tokens, turn.logprobs, advantage) for turn, advantage in episode],
        )
        for episode in episodes
    ]
