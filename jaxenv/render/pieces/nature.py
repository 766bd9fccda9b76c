"""Land and water, and what grows."""

import numpy as np

from jaxenv.render.tiles import Brush, layer


@layer
def water(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "water")
    wave = np.abs(brush.y - 0.5 - 0.08 * np.sin(2 * np.pi * brush.x)) < 0.05
    brush.fill(wave & (brush.x > 0.2) & (brush.x < 0.8), "water_light")
    brush.border("water_light")


@layer
def land(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "land")
    for x, y in ((0.28, 0.3), (0.64, 0.56), (0.34, 0.74)):
        brush.fill(brush.disc(x, y, 0.08), "land_dark")
    brush.border("land_dark")


@layer
def crate(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "wood")
    brush.border("wood_dark")


@layer
def orange(brush: Brush, state: str) -> None:
    """`orange:fresh` or `orange:rotten`."""
    if state == "fresh":
        brush.fill(brush.disc(0.47, 0.5, 0.36), "orange")
        brush.fill(brush.disc(0.36, 0.38, 0.08), "gift_ribbon")
        brush.fill(brush.triangle((0.47, 0.2), (0.72, 0.06), (0.66, 0.24)), "goal")
    else:
        brush.fill(brush.disc(0.47, 0.5, 0.36), "rot")
        for x, y, radius in ((0.36, 0.4, 0.1), (0.6, 0.5, 0.08), (0.42, 0.66, 0.09)):
            brush.fill(brush.disc(x, y, radius), "mould")
