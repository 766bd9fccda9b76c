"""Profiles of environments from the abilities that their episodes exercised."""

import json
from collections.abc import Sequence

import numpy as np

from jaxenv.abilities import definitions
from jaxenv.selection import Profile, SelectionConfig, Trajectory, profile

Exercised = list[list[tuple[str, ...]]]
"""Of every environment and episode, the abilities in order."""


def make_profiles(weak: Exercised, strong: Exercised, config: SelectionConfig) -> list[Profile]:
    """A profile over the whole vocabulary for each environment, from the episodes of a weak and a strong
    policy."""
    numbers = {ability: n for n, ability in enumerate(definitions())}

    def trajectories(sequences: Sequence[Sequence[str]], is_strong: bool) -> list[Trajectory]:
        return [Trajectory([numbers[name] for name in sequence], is_strong) for sequence in sequences]

    return [
        profile(trajectories(of_weak, False) + trajectories(of_strong, True), len(numbers), config)
        for of_weak, of_strong in zip(weak, strong, strict=True)
    ]


def to_json(names: Sequence[str], profiles: Sequence[Profile]) -> str:
    """The profiles as JSON; zeros are left out."""
    known = list(definitions())

    def shares(row: np.ndarray) -> dict[str, float]:
        return {known[i]: round(float(row[i]), 6) for i in np.flatnonzero(row)}

    def one(each: Profile) -> dict[str, object]:
        return {
            "core": [known[i] for i in np.flatnonzero(each.core)],
            "soft": [known[i] for i in np.flatnonzero(each.soft)],
            "frequencies": shares(each.frequencies),
            "transitions": {known[i]: shares(row) for i, row in enumerate(each.transitions) if row.any()},
        }

    return json.dumps({name: one(each) for name, each in zip(names, profiles, strict=True)}, indent=1) + "\n"


def from_json(told: str) -> dict[str, Profile]:
    """The profiles that `to_json` wrote, by environment."""
    numbers = {ability: n for n, ability in enumerate(definitions())}

    def row(shares: dict[str, float]) -> np.ndarray:
        values = np.zeros(len(numbers))
        for name, share in shares.items():
            values[numbers[name]] = share
        return values

    def flags(names: list[str]) -> np.ndarray:
        return row(dict.fromkeys(names, 1.0)) > 0

    def one(each: dict) -> Profile:
        transitions = np.stack([row(each["transitions"].get(name, {})) for name in numbers])
        return Profile(row(each["frequencies"]), transitions, flags(each["core"]), flags(each["soft"]))

    return {name: one(each) for name, each in json.loads(told).items()}
