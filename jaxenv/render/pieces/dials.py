"""Scales to read amounts from."""

import numpy as np

from jaxenv.render.tiles import Brush, layer


@layer
def dial(brush: Brush, tolerance: str) -> None:
    """A ring with a mark every 30 degrees, a sector as wide as the tolerance to both sides of its top, and an
    arrow for clockwise."""
    dx, dy = brush.x - 0.5, brush.y - 0.5
    away, turn = np.hypot(dx, dy), np.degrees(np.arctan2(dx, -dy))  # 0 at the top, clockwise
    off_mark = np.abs((turn + 15) % 30 - 15)
    off_quarter = np.abs((turn + 45) % 90 - 45)
    brush.fill((np.abs(turn) <= int(tolerance)) & (away < 0.4), "goal")
    brush.fill((off_mark < 2.5) & (away > 0.34) & (away < 0.44), "ink")
    brush.fill((off_quarter < 3) & (away > 0.3) & (away < 0.44), "ink")
    brush.fill(np.abs(away - 0.42) < 0.025, "ink")
    brush.fill((np.abs(away - 0.22) < 0.03) & (turn > 40) & (turn < 130), "sign")
    brush.fill(brush.triangle((0.5, 0.72), (0.66, 0.6), (0.66, 0.82)), "sign")
