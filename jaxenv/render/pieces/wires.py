"""Layers of wires that are drawn from a plug to a socket."""

from jaxenv.render.tiles import Brush, layer


@layer
def wire(brush: Brush, colour: str) -> None:
    """A cell that a wire has passed."""
    brush.fill(brush.box(0.2, 0.2, 0.76, 0.76), colour)


@layer
def plug(brush: Brush, colour: str) -> None:
    """The head of a wire."""
    brush.fill(brush.disc(0.48, 0.48, 0.46), "ink")
    brush.fill(brush.disc(0.48, 0.48, 0.38), colour)
    brush.fill(brush.disc(0.48, 0.48, 0.16), "paper")


@layer
def socket(brush: Brush, colour: str) -> None:
    """Where a wire must go."""
    brush.fill(brush.box(0.02, 0.02, 0.94, 0.94), colour)
    brush.fill(brush.box(0.2, 0.2, 0.76, 0.76), "paper")


@layer
def plugged(brush: Brush, colour: str) -> None:
    """A plug in its socket."""
    brush.fill(brush.box(0.02, 0.02, 0.94, 0.94), colour)
    brush.fill(brush.disc(0.48, 0.48, 0.16), "paper")
