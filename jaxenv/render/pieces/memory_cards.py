"""Cards of the game of pairs."""

import numpy as np

from jaxenv.render.tiles import Brush, Region, layer


def _card(brush: Brush, inset: float) -> Region:
    """A card of the tile's size less `inset` on each side, its corners rounded."""
    x, y = np.abs(brush.x - 0.5), np.abs(brush.y - 0.5)
    half, bend = 0.5 - inset, 0.1
    rounded = np.hypot(np.maximum(x - half + bend, 0), np.maximum(y - half + bend, 0)) <= bend
    return rounded & (x <= half) & (y <= half)


@layer
def pair_back(brush: Brush, _: str) -> None:
    """A card that lies face down."""
    brush.fill(brush.everywhere(), "backdrop")
    brush.fill(_card(brush, 0.05), "cover_light")
    brush.fill(_card(brush, 0.12), "edge")
    diamond = np.abs(brush.x - 0.5) + np.abs(brush.y - 0.5)
    brush.fill((diamond < 0.26) & (diamond > 0.14), "cover_light")


@layer
def pair_face(brush: Brush, card: str) -> None:
    """A card that lies face up, `pair_face:open-red-disc`, or `pair_face:found-red-disc` in a found pair."""
    state, colour, shape = card.split("-")
    brush.fill(brush.everywhere(), "backdrop")
    brush.fill(_card(brush, 0.05), "ring" if state == "open" else "goal")
    brush.fill(_card(brush, 0.1), "paper" if state == "open" else "land")
    brush.fill(_shape(brush, shape), colour)


def _shape(brush: Brush, name: str) -> Region:
    if name == "disc":
        return brush.disc(0.5, 0.5, 0.27)
    if name == "square":
        return brush.box(0.26, 0.26, 0.74, 0.74)
    if name == "triangle":
        return brush.triangle((0.5, 0.2), (0.8, 0.76), (0.2, 0.76))
    return brush.box(0.4, 0.2, 0.6, 0.8) | brush.box(0.2, 0.4, 0.8, 0.6)
