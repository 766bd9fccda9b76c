"""The colours that may be used, beside a drawing that has none yet."""

from jaxenv.render.tiles import Brush, layer

SWATCH = 0.13


@layer
def corners(brush: Brush, colours: str) -> None:
    """A swatch of each colour in a corner of its own, `corners:red-blue-yellow`."""
    for number, colour in enumerate(colours.split("-")):
        left, top = ((1 - SWATCH) * bit for bit in (number % 2, number // 2))
        brush.fill(brush.box(left, top, left + SWATCH, top + SWATCH), "ink")
        inner = left + 0.015, top + 0.015, left + SWATCH - 0.015, top + SWATCH - 0.015
        brush.fill(brush.box(*inner), colour)
