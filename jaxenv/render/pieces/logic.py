"""Layers of logic puzzles: a chessboard's squares and queen, the cells of a minefield, stones, signs."""

import numpy as np

from jaxenv.render.tiles import Brush, layer


@layer
def square(brush: Brush, shade: str) -> None:
    """A square of a chessboard, `square:light` or `square:dark`."""
    brush.fill(brush.everywhere(), f"square_{shade}")


@layer
def queen(brush: Brush, _: str) -> None:
    brush.fill(brush.box(0.22, 0.72, 0.78, 0.88), "ink")
    for left, right, tip in ((0.22, 0.5, 0.14), (0.3, 0.7, 0.5), (0.5, 0.78, 0.86)):
        brush.fill(brush.triangle((left, 0.72), (right, 0.72), (tip, 0.26)), "ink")
        brush.fill(brush.disc(tip, 0.2, 0.09), "ink")


@layer
def covered(brush: Brush, _: str) -> None:
    """A cell nobody has opened, raised towards the upper left."""
    brush.fill(brush.everywhere(), "cover_dark")
    brush.fill(brush.triangle((0, 0), (0.98, 0), (0, 0.98)), "cover_light")
    brush.fill(brush.box(0.1, 0.1, 0.88, 0.88), "cover")


@layer
def number(brush: Brush, count: str) -> None:
    """A digit 1..8 in its own colour."""
    brush.label(count, f"count_{count}", place=(0.47, 0.48))


@layer
def mine(brush: Brush, _: str) -> None:
    """A mine that went off."""
    brush.fill(brush.everywhere(), "sign")
    brush.fill(brush.box(0.44, 0.1, 0.54, 0.88) | brush.box(0.1, 0.44, 0.88, 0.54), "ink")
    brush.fill(brush.disc(0.49, 0.49, 0.28), "ink")
    brush.fill(brush.disc(0.4, 0.4, 0.08), "paper")


@layer
def tray(brush: Brush, _: str) -> None:
    """A place for a stone."""
    brush.fill(brush.everywhere(), "wood")
    brush.fill(brush.disc(0.47, 0.47, 0.2), "wood_light")
    brush.border("wood_dark")


@layer
def stone(brush: Brush, colour: str) -> None:
    """A stone, `stone:white` or `stone:black`."""
    brush.fill(brush.disc(0.47, 0.47, 0.42), "ink")
    brush.fill(brush.disc(0.47, 0.47, 0.37), {"white": "paper", "black": "slot"}[colour])


@layer
def sigma(brush: Brush, _: str) -> None:
    """The sign of a sum."""
    brush.fill(brush.box(0.24, 0.12, 0.74, 0.24) | brush.box(0.24, 0.74, 0.74, 0.86), "ink")
    middle = 0.56 - 0.7 * np.abs(brush.y - 0.49)
    brush.fill((np.abs(brush.x - middle) < 0.09) & (np.abs(brush.y - 0.49) < 0.37), "ink")
