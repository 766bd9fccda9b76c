"""Replays of a rollout: one animated episode of each environment with several turns."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxenv.replay import animate
from train.rollout import Rollout


def write_replays(names: Sequence[str], rollout: Rollout, folder: Path) -> None:
    """One episode of each environment with several turns: its longest successful one, else its longest."""
    folder.mkdir(parents=True, exist_ok=True)
    slots = len(rollout.lengths) // len(names)
    for e, name in enumerate(names):
        rows = np.arange(e * slots, (e + 1) * slots)
        rank = rollout.lengths[rows] + 1000 * rollout.success[rows]
        row = int(rows[rank.argmax()])
        turns = [turn for turn in rollout.turns if turn.row == row]
        if rollout.lengths[rows].max() > 1:
            ending = "solved" if rollout.success[row] else "not solved"
            captions = [f"{name}, turn {t + 1}: {turn.reply}" for t, turn in enumerate(turns)]
            frames = [turn.pixels for turn in turns] + [rollout.last_pixels[row]]
            animate(np.stack(frames), [*captions, f"{name}: {ending}"], folder / f"{name}.gif")
