"""Layers of rooms and missions: coloured doors, words of several tiles."""

from jaxenv.render.tiles import Brush, layer


@layer
def gate(brush: Brush, name: str) -> None:
    """A coloured door, `gate:red-open`, `gate:red-closed` or `gate:red-locked`."""
    colour, state = name.split("-")
    brush.fill(brush.everywhere(), "ink")
    brush.fill(brush.box(0.06, 0.06, 0.94, 0.94), colour)
    if state == "open":
        brush.fill(brush.box(0.24, 0.24, 0.76, 0.76), "floor")
    elif state == "closed":
        brush.fill(brush.disc(0.74, 0.5, 0.1), "ink")
    else:
        brush.fill(brush.disc(0.5, 0.38, 0.17) | brush.box(0.4, 0.38, 0.6, 0.78), "ink")


@layer
def pair(brush: Brush, letters: str) -> None:
    """Two letters, or one, spaced so that words run on over tiles."""
    for n, letter in enumerate(letters):
        brush.label(letter, "ink", place=(0.25 + 0.5 * n, 0.5), room=0.5)
