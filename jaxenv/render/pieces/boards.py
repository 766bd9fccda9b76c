"""Layers of games on boards: chocolate, cells that fell away, a green board for discs, pawns."""

from jaxenv.render.tiles import Brush, layer


@layer
def chocolate(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "door_dark")
    brush.fill(brush.box(0.05, 0.05, 0.94, 0.94), "box_dark")
    brush.fill(brush.box(0.16, 0.16, 0.94, 0.94), "door_dark")
    brush.fill(brush.box(0.16, 0.16, 0.84, 0.84), "door")


@layer
def skull(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.5, 0.44, 0.31) | brush.box(0.34, 0.55, 0.66, 0.86), "white")
    brush.fill(brush.disc(0.38, 0.46, 0.09) | brush.disc(0.62, 0.46, 0.09), "ink")
    brush.fill(brush.box(0.43, 0.7, 0.47, 0.86) | brush.box(0.53, 0.7, 0.57, 0.86), "ink")


@layer
def baize(brush: Brush, _: str) -> None:
    """A square of a green board."""
    brush.fill(brush.everywhere(), "goal")
    brush.border("team1")


@layer
def gap(brush: Brush, _: str) -> None:
    """A cell that fell away."""
    brush.fill(brush.everywhere(), "slot")
    brush.border("wall_light")


@layer
def pawn(brush: Brush, colour: str) -> None:
    brush.fill(brush.triangle((0.48, 0.2), (0.16, 0.88), (0.8, 0.88)), "ink")
    brush.fill(brush.disc(0.48, 0.3, 0.22), "ink")
    brush.fill(brush.triangle((0.48, 0.28), (0.24, 0.83), (0.72, 0.83)), colour)
    brush.fill(brush.disc(0.48, 0.3, 0.17), colour)
