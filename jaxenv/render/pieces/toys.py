"""Layers of puzzles with things to move: rocks on ice, jugs of water, a pegboard, vehicles in a car park."""

from jaxenv.render.tiles import Brush, layer


@layer
def rock(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.46, 0.54, 0.4) | brush.box(0.06, 0.54, 0.86, 0.92), "wall")
    brush.fill(brush.disc(0.42, 0.46, 0.26), "wall_light")


@layer
def jug(brush: Brush, part: str) -> None:
    """One measure of half a jug, `jug:left-water-top`: which half, what is in it, and where the red line that
    it is to be filled to runs: along its `top`, along its `floor`, or elsewhere (`none`)."""
    half, content, mark = part.split("-")
    brush.fill(brush.everywhere(), "water" if content == "water" else "white")
    brush.fill(brush.y >= 1 - 1 / brush.size, "water_light" if content == "water" else "line")
    brush.fill(brush.x < 0.16 if half == "left" else brush.x >= 0.84, "ink")
    if mark == "top":
        brush.fill(brush.y < 0.24, "sign")
    if mark == "floor":
        brush.fill(brush.y >= 0.76, "sign")


@layer
def hollow(brush: Brush, number: str) -> None:
    """A numbered hole of a pegboard."""
    brush.fill(brush.disc(0.5, 0.5, 0.48), "door_dark")
    brush.label(number, "wood_light")


@layer
def pegged(brush: Brush, number: str) -> None:
    """A numbered hole of a pegboard with its peg."""
    brush.fill(brush.disc(0.5, 0.5, 0.48), "ink")
    brush.fill(brush.disc(0.5, 0.5, 0.43), "yellow_disc")
    brush.label(number, "ink")


# By letter; the first is the one that must get out.
VEHICLES = (
    "red", "blue", "green", "orange", "purple", "count_6", "door", "yellow", "team4", "gift", "grey",
    "water_light",
)  # fmt: skip
LIGHT = ("orange", "yellow", "water_light")


@layer
def vehicle(brush: Brush, part: str) -> None:
    """A cell of a vehicle, `vehicle:A-across-first`: its letter, whether it stands `across` or `down`, and
    whether this is its `first` cell, which has the letter, its `middle` or its `last`."""
    letter, heading, cell = part.split("-")
    colour = VEHICLES[ord(letter) - ord("A")]
    along, aside = (brush.x, brush.y) if heading == "across" else (brush.y, brush.x)
    for rim, name in ((0.06, "ink"), (0.13, colour)):
        begin, end = (rim if cell == "first" else 0), (1 - rim if cell == "last" else 1)
        brush.fill((aside >= rim) & (aside < 1 - rim) & (along >= begin) & (along < end), name)
    if cell == "first":
        brush.label(letter, "ink" if colour in LIGHT else "white", place=(0.53, 0.52), room=0.8)
