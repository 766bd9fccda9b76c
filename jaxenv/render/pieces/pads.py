"""The toy with four coloured pads that light up."""

import numpy as np

from jaxenv.render.tiles import Brush, layer

PADS = ("green", "red", "yellow", "blue")  # by row
DIM = 0.38  # of a pad that is not lit
HUB = 0.16


@layer
def pads(brush: Brush, lit: str) -> None:
    """The whole toy, one of its pads lit or none: `pads:red`, `pads:`."""
    brush.fill(brush.everywhere(), "backdrop")
    x, y = np.abs(brush.x - 0.5), np.abs(brush.y - 0.5)
    for at, colour in enumerate(PADS):
        quarter = ((brush.x > 0.5) == (at % 2 == 1)) & ((brush.y > 0.5) == (at // 2 == 1))
        pad = quarter & (x > 0.035) & (y > 0.035) & brush.disc(0.5, 0.5, 0.46) & ~brush.disc(0.5, 0.5, 0.2)
        brush.fill(pad, colour, DIM)
        if colour == lit:
            inner = (x > 0.065) & (y > 0.065) & brush.disc(0.5, 0.5, 0.43) & ~brush.disc(0.5, 0.5, 0.23)
            brush.fill(pad, "white")
            brush.fill(pad & inner, colour)
    brush.fill(brush.disc(0.5, 0.5, HUB), "slot")


@layer
def hub(brush: Brush, label: str) -> None:
    """The middle of the toy with a label, where it lies on the toy."""
    brush.fill(brush.disc(0.5, 0.5, HUB), "slot")
    brush.label(label, "white", room=1.9 * HUB)
