"""Signs that tell how far a line moves."""

import numpy as np

from jaxenv.render.tiles import Brush, layer


@layer
def shift(brush: Brush, move: str) -> None:
    """A chevron for each cell that a line is shifted, `shift:left-2`."""
    way, _, count = move.partition("-")
    x, y = brush.x - 0.48, brush.y - 0.48
    along, across = {"right": (x, y), "left": (-x, y), "down": (y, x), "up": (-y, x)}[way]
    for n in range(int(count)):
        tip = along - 0.27 * (n - (int(count) - 1) / 2) + np.abs(across)
        brush.fill((np.abs(tip - 0.15) < 0.09) & (np.abs(across) < 0.34), "sign")
