"""What lies between two boards whose agents move together."""

from jaxenv.render.tiles import Brush, layer


@layer
def alike(brush: Brush, _: str) -> None:
    """Two arrows to the right: they move alike."""
    for left in (0.04, 0.52):
        brush.fill(brush.triangle((left, 0.22), (left, 0.78), (left + 0.42, 0.5)), "wind")


@layer
def mirrored(brush: Brush, _: str) -> None:
    """Two arrows apart: left for one is right for the other."""
    brush.fill(brush.triangle((0.42, 0.18), (0.42, 0.82), (0.02, 0.5)), "gift")
    brush.fill(brush.triangle((0.58, 0.18), (0.58, 0.82), (0.98, 0.5)), "gift")
