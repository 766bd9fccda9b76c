"""From episodes to what is learnt: advantages of groups, and packs of the turns that carry a signal."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from train.advantages import group_advantages, mixed_groups
from train.batches import Answer, Dialogue, Pack
from train.rollout import Rollout
from train.turns import Seen, Turn


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
    partial: float = 0.25
    """What the marks of an episode that fails count, beside those of one that succeeds. They guide where no
    episode succeeds yet, and mislead where a safe wrong answer earns some: "A" as the largest clique."""
    scale: Literal["group", "batch"] = "batch"
    """Whose standard deviation advantages are divided by: that of their own group, as in plain GRPO, or of
    all groups that differ. The first makes as much of a slightly better failure as of a success."""

    def worth(self, returns: np.ndarray, success: np.ndarray) -> np.ndarray:
        """What episodes with these returns float32[B] and success bool[B] count, float32[B]."""
        return np.where(success, returns, np.float32(self.partial) * returns)


def make_experience(
    rollout: Rollout,
    group_size: int,
    most_prompts: int,
    rng: np.random.Generator,
    environment: np.ndarray,
    credit: CreditConfig,
    conversation: bool = False,
) -> Experience:
    """Every turn gets its episode's advantage among its group of `group_size` neighbouring episodes, and its
    own among the turns of the group that saw the same picture and text.

    Turns with advantage 0 change nothing and are left out. If the others have more than `most_prompts`
    different prompts, a random part of each type's is kept, as many as of any other type, and weighted up,
    which leaves the expected gradient as it is. All answers to a prompt, or of a `conversation` all turns of
    an episode, are kept or left out together: they cost little more than one.

    environment int[B] is the type of every row. Each type weighs as much as any other in the mean over
    tokens; else a game of many turns would drown the one-word answer of another.
    """
    rollout = rollout._replace(returns=credit.worth(rollout.returns, rollout.success))
    groups = jnp.asarray(rollout.returns.reshape(-1, group_size))
    rows = np.array([turn.row for turn in rollout.turns], int)
    types, tokens = environment[rows], np.array([len(turn.tokens) for turn in rollout.turns])
    advantages = np.asarray(group_advantages(groups, pooled=credit.scale == "batch")).reshape(-1)[rows]
    advantages = advantages + credit.turn_weight * turn_advantages(rollout, group_size, credit.discount)
    advantages *= type_weights(types, tokens, environment.max() + 1)[types]
    units = _episodes(rows, advantages) if conversation else _prompts(rollout, advantages)
    prompts = np.array([len(unit) if conversation else 1 for unit in units], int)
    weights = fair_part(prompts, np.array([types[unit[0]] for unit in units], int), most_prompts, rng)
    pack = _dialogue if conversation else _pack
    packs = [
        pack([rollout.turns[i] for i in unit], (weight * advantages[unit]).tolist())
        for unit, weight in zip(units, weights, strict=True)
        if weight
    ]
    played = rollout.lengths.reshape(-1, group_size)[:, 0] > 0
    mixed = np.asarray(mixed_groups(groups))[played]
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


def type_weights(types: np.ndarray, tokens: np.ndarray, count: int) -> np.ndarray:
    """By type, what makes its turns, of `types` int[turns] and `tokens` int[turns], weigh as much in a mean
    over all tokens as those of any other of `count` types. float[types]"""
    of_type = np.bincount(types, tokens)
    return tokens.sum() / count / np.maximum(of_type, 1)


def fair_part(sizes: np.ndarray, types: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """For units of `sizes` prompts int[n] and `types` int[n]: how many units each stands for, float[n]; 0 is
    left out.

    A random part with about `most` prompts, as many of each type as of any other; a type that has fewer keeps
    all. Types weigh alike, so were they drawn in proportion to what they have, the gradient would be noisiest
    where answers are few.
    """
    weights = np.zeros(len(sizes))
    prompts = np.bincount(types, sizes)
    for e, share in enumerate(equal_shares(prompts, most)):
        units = np.flatnonzero(types == e)
        if len(units):
            kept = max(int(len(units) * share / prompts[e]), 1)
            weights[rng.choice(units, kept, replace=False)] = len(units) / kept
    return weights


def equal_shares(wanted: np.ndarray, most: int) -> np.ndarray:
    """All that each wants, or of `most` as much as any other that does not get all it wants. int[n]"""
    shares = np.zeros(len(wanted), int)
    for served, i in enumerate(np.argsort(wanted, kind="stable")):
        shares[i] = min(wanted[i], (most - shares.sum()) // (len(wanted) - served))
    return shares


def _prompts(rollout: Rollout, advantages: np.ndarray) -> list[list[int]]:
    """The turns with an advantage that saw the same picture and text, whichever episode they come from."""
    same: dict[Seen, list[int]] = defaultdict(list)
    for i in np.flatnonzero(advantages):
        same[rollout.turns[i].seen].append(int(i))
    return list(same.values())


def _episodes(rows: np.ndarray, advantages: np.ndarray) -> list[list[int]]:
    """The turns of every episode in which a turn has an advantage, in order."""
    turns = [np.flatnonzero(rows == row) for row in np.unique(rows[advantages != 0])]
    return [of_row.tolist() for of_row in turns]


def _answers(turns: list[Turn], advantages: Sequence[float]) -> list[Answer]:
    return [Answer(t.tokens, t.logprobs, a) for t, a in zip(turns, advantages, strict=True)]


def _pack(turns: list[Turn], advantages: Sequence[float]) -> Pack:
    return Pack(turns[0].prompt, turns[0].shown, _answers(turns, advantages))


def _dialogue(turns: list[Turn], advantages: Sequence[float]) -> Dialogue:
    shown = np.stack([t.shown for t in turns])
    return Dialogue([t.prompt for t in turns], shown, _answers(turns, advantages))
