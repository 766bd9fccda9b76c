"""Layers of guessing games: marked letters, pegs and the pins that judge them."""

from jaxenv.render.tiles import Brush, layer


@layer
def letter(brush: Brush, name: str) -> None:
    """A letter of a guess by its mark, `letter:green-A`; `letter:slot` is for one that is not there yet."""
    mark, _, label = name.partition("-")
    brush.fill(brush.everywhere(), "paper")
    brush.fill(brush.box(0.04, 0.04, 0.94, 0.94), "line" if mark == "slot" else f"letter_{mark}")
    if mark == "slot":
        brush.fill(brush.box(0.1, 0.1, 0.88, 0.88), "paper")
    else:
        brush.label(label, "white", place=(0.49, 0.49))


@layer
def peg(brush: Brush, colour: str) -> None:
    """A peg in a dark board, or the hole for one (`peg:hole`)."""
    brush.fill(brush.everywhere(), "slot")
    brush.border("lamp_rim")
    if colour == "hole":
        brush.fill(brush.disc(0.48, 0.48, 0.14), "lamp_rim")
    else:
        brush.fill(brush.disc(0.48, 0.48, 0.38), "lamp_rim")
        brush.fill(brush.disc(0.48, 0.48, 0.33), colour)


@layer
def pins(brush: Brush, counts: str) -> None:
    """The judgement of a guess, `pins:1-2`: one black and two white pins of four."""
    black, white = map(int, counts.split("-"))
    brush.fill(brush.everywhere(), "line")
    brush.border("lamp_rim")
    for n in range(black + white):
        x, y = 0.27 + 0.44 * (n % 2), 0.27 + 0.44 * (n // 2)
        brush.fill(brush.disc(x, y, 0.18), "black")
        if n >= black:
            brush.fill(brush.disc(x, y, 0.13), "white")


@layer
def swatches(brush: Brush, colour: str) -> None:
    """A colour that may be used, on paper."""
    brush.fill(brush.everywhere(), "paper")
    if colour:
        brush.fill(brush.box(0.2, 0.2, 0.8, 0.8), "lamp_rim")
        brush.fill(brush.box(0.25, 0.25, 0.75, 0.75), colour)
