"""Layers of board games: noughts and crosses, a rack of discs."""

import numpy as np

from jaxenv.render.tiles import Brush, layer


@layer
def cross(brush: Brush, _: str) -> None:
    inner = brush.box(0.14, 0.14, 0.84, 0.84)
    brush.fill(
        ((np.abs(brush.x - brush.y) < 0.1) | (np.abs(brush.x + brush.y - 0.98) < 0.1)) & inner, "cross"
    )


@layer
def ring(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.49, 0.49, 0.36) & ~brush.disc(0.49, 0.49, 0.22), "ring")


@layer
def rack(brush: Brush, disc: str) -> None:
    """A cell of an upright board, `rack:yellow_disc`: the colour of what is seen through its hole."""
    brush.fill(brush.everywhere(), "rack")
    brush.fill(brush.disc(0.5, 0.5, 0.42), "rack_hole")
    brush.fill(brush.disc(0.5, 0.5, 0.38), disc)


@layer
def rod(brush: Brush, _: str) -> None:
    brush.fill(brush.box(0.36, 0, 0.64, 1), "wood_dark")


@layer
def slab(brush: Brush, part: str) -> None:
    """A third of a disk of Hanoi, `slab:left3`: the ends are longer the larger the disk (1 to 5)."""
    end, size = part[:-1], int(part[-1])
    length = 1 if end == "middle" else size / 5 - 0.08
    left, right = (0, length) if end == "right" else (1 - length, 1)
    brush.fill(brush.box(left, 0.08, right, 0.96), f"slab_{size}")


@layer
def merged(brush: Brush, power: str) -> None:
    """A tile of 2048 by its exponent of 2; `merged:0` is an empty cell."""
    brush.fill(brush.everywhere(), "slot")
    brush.fill(brush.box(0.04, 0.04, 0.94, 0.94), f"merged_{power}")


@layer
def snake(brush: Brush, joints: str) -> None:
    """A cell of a snake's body, joined to its neighbours at the sides up 1, right 2, down 4, left 8."""
    brush.fill(brush.disc(0.48, 0.48, 0.34), "snake")
    arms = ((0.14, 0, 0.82, 0.48), (0.48, 0.14, 1, 0.82), (0.14, 0.48, 0.82, 1), (0, 0.14, 0.48, 0.82))
    for bit, arm in enumerate(arms):
        if int(joints) >> bit & 1:
            brush.fill(brush.box(*arm), "snake")


@layer
def face(brush: Brush, joints: str) -> None:
    """The face of a snake whose neck is at these sides."""
    brush.fill(brush.disc(0.48, 0.48, 0.38), "snake_head")
    upright = int(joints) & 5
    for side in (-0.16, 0.16):
        x, y = (0.48 + side, 0.48) if upright else (0.48, 0.48 + side)
        brush.fill(brush.disc(x, y, 0.1), "paper")
        brush.fill(brush.disc(x, y, 0.05), "ink")


@layer
def apple(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.36, 0.56, 0.24) | brush.disc(0.6, 0.56, 0.24), "red_disc")
    brush.fill(brush.box(0.45, 0.14, 0.52, 0.4), "door_dark")
    brush.fill(brush.disc(0.62, 0.22, 0.1), "snake")


@layer
def sticker(brush: Brush, colour: str) -> None:
    """A sticker of a cube."""
    brush.fill(brush.everywhere(), "ink")
    brush.fill(brush.box(0.05, 0.05, 0.92, 0.92), f"sticker_{colour}")


@layer
def painted(brush: Brush, colour: str) -> None:
    """A painted cell without a border, so that cells of one colour run together."""
    brush.fill(brush.everywhere(), f"paint_{colour}")


@layer
def dot(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.5, 0.5, 0.3), "ink")
    brush.fill(brush.disc(0.5, 0.5, 0.2), "paper")
