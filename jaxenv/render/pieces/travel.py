"""Layers of navigation: a town with taxis, windy cliffs, lava and the things that lie in a room."""

import numpy as np

from jaxenv.render.tiles import Brush, layer


@layer
def street(brush: Brush, stand: str) -> None:
    """A street; `street:red` has a stand of this colour."""
    brush.fill(brush.everywhere(), "street")
    brush.border("street_line")
    if stand:
        brush.fill(brush.box(0.08, 0.08, 0.88, 0.88), stand)


@layer
def person(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.47, 0.66, 0.3) & (brush.y < 0.84), "ink")
    brush.fill(brush.disc(0.47, 0.3, 0.2), "ink")
    brush.fill(brush.disc(0.47, 0.3, 0.14), "skin")


@layer
def taxi(brush: Brush, guest: str) -> None:
    """A taxi from the side; the passenger is inside (`taxi:full`) or waits beside it (`taxi:near`)."""
    brush.fill(brush.box(0.04, 0.5, 0.92, 0.8) | brush.box(0.26, 0.22, 0.82, 0.6), "taxi_dark")
    brush.fill(brush.box(0.08, 0.54, 0.88, 0.76) | brush.box(0.31, 0.27, 0.77, 0.6), "taxi")
    brush.fill(brush.disc(0.26, 0.8, 0.12) | brush.disc(0.7, 0.8, 0.12), "ink")
    if guest == "full":
        brush.fill(brush.disc(0.54, 0.42, 0.2), "ink")
        brush.fill(brush.disc(0.54, 0.42, 0.13), "skin")
    if guest == "near":
        brush.fill(brush.disc(0.14, 0.42, 0.16) & (brush.y < 0.5), "ink")
        brush.fill(brush.disc(0.14, 0.18, 0.14), "ink")
        brush.fill(brush.disc(0.14, 0.18, 0.09), "skin")


@layer
def wish(brush: Brush, _: str) -> None:
    """An arrow to the right: wants to go there."""
    brush.fill(brush.box(0.1, 0.4, 0.55, 0.6), "paper")
    brush.fill(brush.triangle((0.5, 0.2), (0.5, 0.8), (0.9, 0.5)), "paper")


@layer
def swatch(brush: Brush, colour: str) -> None:
    brush.fill(brush.box(0.08, 0.08, 0.88, 0.88), colour)


@layer
def grass(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "grass")
    brush.border("grass_line")


@layer
def hedge(brush: Brush, _: str) -> None:
    """Grass behind a hedge, where no wind blows."""
    grass(brush, "")
    bushes = [brush.disc(x, 0.06, 0.17) for x in (0.0, 0.25, 0.5, 0.75, 1.0)]
    brush.fill(np.logical_or.reduce(bushes), "shelter")


@layer
def cliff(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "cliff")
    brush.fill(brush.triangle((0.04, 0.1), (0.5, 0.1), (0.27, 0.55)), "cliff_rim")
    brush.fill(brush.triangle((0.5, 0.45), (0.96, 0.45), (0.73, 0.92)), "cliff_rim")


@layer
def wind(brush: Brush, strength: str) -> None:
    """The sky with a chevron for each cell that the wind blows, `wind:2` down or `wind:-1` up."""
    brush.fill(brush.everywhere(), "sky")
    way, count = (-1 if strength[0] == "-" else 1), abs(int(strength))
    for n in range(count):
        middle = 0.5 + 0.36 * (n - (count - 1) / 2)
        tip = (brush.y - middle) * way + np.abs(brush.x - 0.5)
        brush.fill((np.abs(tip - 0.14) < 0.12) & (np.abs(brush.x - 0.5) < 0.34), "wind")


@layer
def lava(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "lava")
    for middle in (0.28, 0.7):
        wave = np.abs(brush.y - middle - 0.07 * np.sin(2 * np.pi * brush.x))
        brush.fill(wave < 0.07, "lava_light")


@layer
def thing(brush: Brush, name: str) -> None:
    """A thing of a room by colour and kind, `thing:red-ball`; kinds are key, ball and box."""
    colour, kind = name.split("-")
    if kind == "ball":
        brush.fill(brush.disc(0.48, 0.48, 0.34), colour)
    elif kind == "box":
        brush.fill(brush.box(0.14, 0.18, 0.82, 0.82), colour)
        brush.fill(brush.box(0.26, 0.3, 0.7, 0.7), "floor")
        brush.fill(brush.box(0.14, 0.44, 0.82, 0.56), colour)
    else:
        ring = brush.disc(0.48, 0.26, 0.2) & ~brush.disc(0.48, 0.26, 0.08)
        teeth = brush.box(0.5, 0.6, 0.72, 0.7) | brush.box(0.5, 0.78, 0.72, 0.88)
        brush.fill(ring | brush.box(0.42, 0.42, 0.54, 0.88) | teeth, colour)
