"""Layers of packing: a sack, what things weigh and what they are worth."""

from jaxenv.render.tiles import Brush, layer


@layer
def sack(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.48, 0.62, 0.3) | brush.box(0.2, 0.6, 0.76, 0.92), "box_dark")
    brush.fill(brush.triangle((0.28, 0.08), (0.68, 0.08), (0.48, 0.5)), "box_dark")
    brush.fill(brush.box(0.3, 0.28, 0.66, 0.36), "gift_ribbon")


@layer
def heft(brush: Brush, _: str) -> None:
    """A weight of a pair of scales."""
    brush.fill(brush.disc(0.48, 0.24, 0.16) & ~brush.disc(0.48, 0.24, 0.07), "wall")
    brush.fill(brush.box(0.28, 0.36, 0.68, 0.88), "wall")
    brush.fill(brush.triangle((0.28, 0.36), (0.28, 0.88), (0.12, 0.88)), "wall")
    brush.fill(brush.triangle((0.68, 0.36), (0.68, 0.88), (0.84, 0.88)), "wall")


@layer
def coin(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.48, 0.48, 0.38), "wood_dark")
    brush.fill(brush.disc(0.48, 0.48, 0.31), "lamp_on")
    brush.fill(brush.box(0.42, 0.28, 0.54, 0.68), "wood_dark")
