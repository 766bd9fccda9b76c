"""Dice on a table, seen from above."""

import numpy as np

from jaxenv.render.tiles import Brush, layer

POSES = 12  # in which a die may lie
HALF = 0.31  # of its side
PIPS = {  # of each face, in halves of a side
    "1": ((0, 0),),
    "2": ((-1, -1), (1, 1)),
    "3": ((-1, -1), (0, 0), (1, 1)),
    "4": ((-1, -1), (-1, 1), (1, -1), (1, 1)),
    "5": ((-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)),
    "6": ((-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)),
}


@layer
def felt(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "team1")


@layer
def die(brush: Brush, face: str) -> None:
    """A die by its face and pose, `die:5-3`: turned by a part of a right angle and off the middle."""
    number, pose = face[0], int(face[2:])
    turn, drift = np.pi / 2 * pose / POSES, 2.4 * pose
    x, y = brush.x - 0.5 - 0.05 * np.cos(drift), brush.y - 0.5 - 0.05 * np.sin(drift)
    across, down = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
    bend = 0.07
    corner = np.hypot(*(np.maximum(np.abs(side) - HALF + bend, 0) for side in (across, down)))
    brush.fill(corner <= bend, "line")
    brush.fill(corner <= bend - 0.025, "white")
    for pip_across, pip_down in PIPS[number]:
        away = np.hypot(across - 0.56 * HALF * pip_across, down - 0.56 * HALF * pip_down)
        brush.fill(away <= 0.2 * HALF, "ink")
