"""Layers of graph paper, whose lines cross in the middle of each tile."""

from jaxenv.render.tiles import Brush, Region, layer


@layer
def crossing(brush: Brush, _: str) -> None:
    """Two lines of graph paper."""
    near, far = _line(brush)
    brush.fill(brush.everywhere(), "paper")
    brush.fill(_between(brush.x, near, far) | _between(brush.y, near, far), "line")


@layer
def spot(brush: Brush, colour: str) -> None:
    """A point where the lines cross."""
    middle = sum(_line(brush)) / 2
    brush.fill(brush.disc(middle, middle, 0.34), colour)


def _line(brush: Brush) -> tuple[float, float]:
    """Where the lines begin and end, in whole pixels, so that they are sharp."""
    width = max(brush.size // 16, 1)
    near = (brush.size - width) // 2
    return near / brush.size, (near + width) / brush.size


def _between(at: Region, near: float, far: float) -> Region:
    return (at >= near) & (at < far)
