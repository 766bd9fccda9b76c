"""From episodes to what is learnt: advantages of groups, and packs of the turns that carry a signal."""

import zlib
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from train.advantages import group_advantages, mixed_groups
from train.batches import Answer, Pack
from train.rollout import Rollout, Turn


class Experience(NamedTuple):
    """Packs to learn from; `tokens` counts the answer tokens of all turns, with a signal or without."""

    packs: list[Pack]
    tokens: int
    mixed: np.ndarray  # bool[groups]: the group's returns differ


def make_experience(
    rollout: Rollout, group_size: int, most_turns: int, rng: np.random.Generator, environment: np.ndarray
) -> Experience:
    """Every turn gets its episode's advantage among its group of `group_size` neighbouring episodes.

    Turns with advantage 0 change nothing and are left out. Of the others at most `most_turns`, drawn at
    random, are kept and weighted up, which leaves the expected gradient as it is.

    environment int[B] is the type of every row. Each type weighs as much as any other in the mean over
    tokens; else a game of many turns would drown the one-word answer of another.
    """
    returns = jnp.asarray(rollout.returns.reshape(-1, group_size))
    advantages = np.asarray(group_advantages(returns)).reshape(-1)
    tokens = np.zeros(environment.max() + 1)
    for turn in rollout.turns:
        tokens[environment[turn.row]] += len(turn.tokens)
    share = tokens.sum() / len(tokens) / np.maximum(tokens, 1)
    advantages = advantages * share[environment]
    telling = [turn for turn in rollout.turns if advantages[turn.row] != 0]
    scale = 1.0
    if len(telling) > most_turns:
        kept = rng.choice(len(telling), most_turns, replace=False)
        scale = len(telling) / most_turns
        telling = [telling[i] for i in sorted(kept)]
    played = rollout.lengths.reshape(-1, group_size)[:, 0] > 0
    mixed = np.asarray(mixed_groups(returns))[played]
    return Experience(_pack(telling, advantages * scale), int(tokens.sum()), mixed)


def _pack(turns: Sequence[Turn], advantages: np.ndarray) -> list[Pack]:
    """One pack for all answers to the same picture and text, whichever episode they come from."""
    same: dict[tuple[str, int], list[Turn]] = defaultdict(list)
    for turn in turns:
        same[turn.text, zlib.crc32(turn.pixels.tobytes())].append(turn)
    return [
        Pack(
            group[0].prompt,
            group[0].pixels,
            [Answer(turn.tokens, turn.logprobs, float(advantages[turn.row])) for turn in group],
        )
        for group in same.values()
    ]
