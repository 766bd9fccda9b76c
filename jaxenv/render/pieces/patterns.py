"""Cells of patterns."""

from jaxenv.render.tiles import Brush, layer


@layer
def marked(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "marked")
    brush.border("line")


@layer
def coloured(brush: Brush, colour: str) -> None:
    brush.fill(brush.everywhere(), colour)
    brush.border("line")


@layer
def alive(brush: Brush, _: str) -> None:
    brush.fill(brush.box(0.1, 0.1, 0.84, 0.84), "alive")


@layer
def forward(brush: Brush, _: str) -> None:
    """Two triangles to the right: time goes on."""
    for left in (0.1, 0.46):
        brush.fill(brush.triangle((left, 0.16), (left, 0.8), (left + 0.4, 0.48)), "sign")
