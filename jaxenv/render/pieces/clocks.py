"""Two clocks without hands; `clock_interval` draws those."""

import numpy as np

from jaxenv.render.tiles import Brush, layer

DIALS = ((0.29, 0.29), (0.71, 0.71))  # middles, x and y
RADIUS = 0.27


@layer
def dials(brush: Brush, _: str) -> None:
    """A clock in the upper left and one in the lower right, an arrow from the first to the second, and what
    is asked for."""
    brush.fill(brush.everywhere(), "backdrop")
    for x, y in DIALS:
        brush.fill(brush.disc(x, y, RADIUS + 0.018), "wood_dark")
        brush.fill(brush.disc(x, y, RADIUS), "paper")
        away = np.hypot(brush.x - x, brush.y - y) / RADIUS
        minute = np.arctan2(brush.x - x, y - brush.y) * 30 / np.pi
        mark = np.rint(minute)
        across = away * np.abs(np.sin((minute - mark) * np.pi / 30))
        brush.fill((away > 0.91) & (away < 0.97) & (across < 0.015), "line")
        brush.fill((away > 0.87) & (away < 0.97) & (across < 0.03) & (mark % 5 == 0), "ink")
        for hour in range(1, 13):
            turn = np.pi * hour / 6
            place = x + 0.72 * RADIUS * np.sin(turn), y - 0.72 * RADIUS * np.cos(turn)
            brush.label(str(hour), "ink", place, room=0.0625 if hour < 10 else 0.09)
    brush.fill(brush.box(0.66, 0.13, 0.87, 0.16) | brush.box(0.84, 0.13, 0.87, 0.3), "lamp_on")
    brush.fill(brush.triangle((0.795, 0.29), (0.915, 0.29), (0.855, 0.38)), "lamp_on")
    brush.label("MIN?", "lamp_on", (0.19, 0.86), room=0.3)
