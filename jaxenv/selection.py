"""AES: which environments to train on (arXiv:2608.03571).

Trajectories are cut into atomic abilities. How often each appears in those of an environment, and which
follows which, is its profile. Environments are then taken one by one: the next is the one that brings most
abilities not yet covered, is least like one that was taken, and whose gradient opposes none of theirs. The
paper publishes neither weights nor thresholds nor what likeness is: those here are this project's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class SelectionConfig:
    """What counts as a core ability, and how much the terms of the gain count."""

    coverage: float = 1.0
    """Weight of the share of all core abilities that the environment would add."""
    redundancy: float = 0.3
    """Weight of the greatest similarity to a profile that was taken; 0 leaves the term out."""
    conflict: float = 0.5
    """Weight of the greatest opposition (minus the cosine) to a gradient that was taken; 0 leaves it out."""
    core_of_strong: float = 0.6
    """Share of the strong policy's trajectories that a core ability appears in at least."""
    core_of_all: float = 0.3
    """Share of all trajectories that a core ability appears in at least."""


class Trajectory(NamedTuple):
    """Abilities in the order in which they were exercised, as indices; `strong`: by the strong policy."""

    abilities: Sequence[int]
    strong: bool


class Profile(NamedTuple):
    """Of one environment, over A abilities: frequencies float64[A] of all that was exercised (sum 1),
    transitions float64[A, A] from row to column (rows sum to 1, or to 0 where nothing followed), core bool[A]
    and soft bool[A]: what appears stably, and the rest that appears."""

    frequencies: np.ndarray
    transitions: np.ndarray
    core: np.ndarray
    soft: np.ndarray


class Selection(NamedTuple):
    """Environments in the order taken, each with its gain and the share of all core abilities covered with
    it."""

    picks: list[int]
    gains: list[float]
    covered: list[float]


def profile(trajectories: Sequence[Trajectory], count: int, config: SelectionConfig) -> Profile:
    """The profile of an environment over `count` abilities. Raises ValueError without a trajectory of the
    strong policy: nothing could be a core ability."""
    strong = np.array([trajectory.strong for trajectory in trajectories], bool)
    if not strong.any():
        raise ValueError("trajectories: none is of the strong policy, so nothing can be a core ability")
    times, following = np.zeros((len(trajectories), count)), np.zeros((count, count))
    for n, trajectory in enumerate(trajectories):
        steps = np.asarray(trajectory.abilities, int)
        np.add.at(times[n], steps, 1)
        np.add.at(following, (steps[:-1], steps[1:]), 1)
    appears = times > 0
    core = appears[strong].mean(0) >= config.core_of_strong
    core &= appears.mean(0) >= config.core_of_all
    total = times.sum(0)
    return Profile(
        total / max(total.sum(), 1),
        following / np.maximum(following.sum(1, keepdims=True), 1),
        core,
        appears.any(0) & ~core,
    )


def similarity(profiles: Sequence[Profile]) -> np.ndarray:
    """float64[E, E]: cosines between profiles, each its frequencies and its transitions in one vector."""
    return cosines(np.stack([np.append(each.frequencies, each.transitions) for each in profiles]))


def cosines(vectors: np.ndarray) -> np.ndarray:
    """float64[E, E] between the rows of float[E, D]; 0 with a row of zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    return unit @ unit.T


def select(
    core: np.ndarray,
    alike: np.ndarray,
    agree: np.ndarray,
    config: SelectionConfig,
    k: int | None = None,
) -> Selection:
    """Takes environments greedily: `k` of them, or as many as cover every core ability.

    core bool[E, A]; alike float[E, E], the similarity of profiles; agree float[E, E], the cosine of
    gradients. Of equal gains the environment with the lower index is taken. Raises ValueError when k is
    not in 1..E.
    """
    if k is not None:
        check_k(k, len(core))
    wanted = core.any(0)
    missing, left = wanted.copy(), np.ones(len(core), bool)
    most_alike, most_opposed = np.zeros(len(core)), np.zeros(len(core))
    chosen = Selection([], [], [])
    while left.any() and (missing.any() if k is None else len(chosen.picks) < k):
        new = (core & missing).sum(1) / max(wanted.sum(), 1)
        gain = config.coverage * new - config.redundancy * most_alike - config.conflict * most_opposed
        pick = int(np.where(left, gain, -np.inf).argmax())
        left[pick] = False
        missing &= ~core[pick]
        most_alike = np.maximum(most_alike, alike[pick])
        most_opposed = np.maximum(most_opposed, -agree[pick])
        chosen.picks.append(pick)
        chosen.gains.append(float(gain[pick]))
        chosen.covered.append(float(1 - missing.sum() / max(wanted.sum(), 1)))
    return chosen


def spread(families: Sequence[str], k: int, rng: np.random.Generator) -> list[int]:
    """`k` environments at random, uniform over families: a family among those not used up, then one of its
    environments that was not taken. families: that of each environment. Raises ValueError when k is not in
    1..E."""
    check_k(k, len(families))
    left: dict[str, list[int]] = {}
    for n, family in enumerate(families):
        left.setdefault(family, []).append(n)
    picks = []
    for _ in range(k):
        of_family = left[rng.choice([family for family, own in left.items() if own])]
        picks.append(of_family.pop(rng.integers(len(of_family))))
    return picks


def check_k(k: int, count: int) -> None:
    """Raises ValueError when `k` of `count` environments cannot be chosen."""
    if not 1 <= k <= count:
        raise ValueError(f"k: {k} is not in 1..{count}, the number of environments")
