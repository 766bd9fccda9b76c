"""Layers of maps."""

from jaxenv.render.tiles import Brush, layer


@layer
def city(brush: Brush, letter: str) -> None:
    brush.fill(brush.disc(0.5, 0.5, 0.5), "ink")
    brush.fill(brush.disc(0.5, 0.5, 0.43), "node")
    brush.label(letter, "ink")
