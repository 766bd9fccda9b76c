"""Tiles by name. A name is layers in drawing order, `layer` or `layer:argument`, separated by spaces:
`"ice gift"`, `"paper glyph:7"`, `"floor walls:9 agent"`. Painted once with NumPy, when an atlas is built.
"""

import functools
from collections.abc import Callable

import numpy as np

from jaxenv.render import font, palette

OVERSAMPLING = 4

Region = np.ndarray  # bool[s, s]


class Brush:
    """A square of oversampled pixels; `x` runs right and `y` down, both 0..1."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.y, self.x = _places(size * OVERSAMPLING)
        self._paints: dict[tuple[str, float], int] = {}
        self._pixels = np.zeros(self.x.shape, np.uint8)  # numbers of paints; 0 is bare and black

    def fill(self, region: Region, colour: str, light: float = 1.0) -> None:
        """Paints over the region; with less light it is darker."""
        self._pixels[region] = self._paints.setdefault((colour, light), 1 + len(self._paints))

    def picture(self) -> np.ndarray:
        """uint8[size, size, 3]: means over the oversampled pixels."""
        bright = [light * palette.rgb(name).astype(np.float32) for name, light in self._paints]
        paints = np.stack([np.zeros(3, np.float32), *bright])
        blocks = paints[self._pixels].reshape(self.size, OVERSAMPLING, self.size, OVERSAMPLING, 3)
        return np.rint(blocks.sum(1).sum(2) / OVERSAMPLING**2).astype(np.uint8)

    def everywhere(self) -> Region:
        return np.ones(self.x.shape, bool)

    def disc(self, x: float, y: float, radius: float) -> Region:
        return (self.x - x) ** 2 + (self.y - y) ** 2 <= radius**2

    def box(self, left: float, top: float, right: float, bottom: float) -> Region:
        return (self.x >= left) & (self.x < right) & (self.y >= top) & (self.y < bottom)

    def triangle(self, *corners: tuple[float, float]) -> Region:
        sides = []
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            sides.append((x1 - x0) * (self.y - y0) - (y1 - y0) * (self.x - x0))
        return np.logical_and.reduce([s >= 0 for s in sides]) | np.logical_and.reduce([s <= 0 for s in sides])

    def border(self, colour: str, pixels: float = 1.0) -> None:
        """A line `pixels` wide along the right and lower edge, so that neighbours share one line."""
        edge = 1 - pixels / self.size
        self.fill((self.x >= edge) | (self.y >= edge), colour)

    def label(self, text: str, colour: str, place: tuple[float, float] = (0.5, 0.5), room: float = 1) -> None:
        """Text in whole pixels, centred on `place`, in a square of `room` of the tile."""
        shape = font.fit(text, round(self.size * room))
        top = round(self.size * place[1] - shape.shape[0] / 2)
        left = round(self.size * place[0] - shape.shape[1] / 2)
        written = np.zeros((self.size, self.size), bool)
        rows, cols = np.nonzero(shape) + np.array([[top], [left]])
        inside = (rows >= 0) & (rows < self.size) & (cols >= 0) & (cols < self.size)
        written[rows[inside], cols[inside]] = True
        self.fill(written.repeat(OVERSAMPLING, 0).repeat(OVERSAMPLING, 1), colour)


@functools.lru_cache(maxsize=64)
def _places(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the centres of side x side pixels, each float64[side, side] in 0..1."""
    at = (np.arange(side) + 0.5) / side
    rows, columns = np.meshgrid(at, at, indexing="ij")
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


LAYERS: dict[str, Callable[[Brush, str], None]] = {}


def layer(paint_layer: Callable[[Brush, str], None]) -> Callable[[Brush, str], None]:
    """Registers a layer under its function's name. Raises ValueError for a name that is taken."""
    if paint_layer.__name__ in LAYERS:
        raise ValueError(f"layer: {paint_layer.__name__!r} is registered twice")
    LAYERS[paint_layer.__name__] = paint_layer
    return paint_layer


@functools.lru_cache(maxsize=4096)
def paint(name: str, size: int) -> np.ndarray:
    """uint8[size, size, 3] of one tile."""
    brush = Brush(size)
    for part in name.split():
        kind, _, argument = part.partition(":")
        LAYERS[kind](brush, argument)
    return brush.picture()


# --- grounds -----------------------------------------------------------------------------------------


@layer
def floor(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "floor")
    brush.border("grid")


@layer
def plain(brush: Brush, colour: str) -> None:
    brush.fill(brush.everywhere(), colour)


@layer
def wall(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "wall")
    brush.fill(brush.box(0.06, 0.08, 0.94, 0.46), "wall_light")
    brush.fill(brush.box(0.06, 0.54, 0.44, 0.92) | brush.box(0.52, 0.54, 0.94, 0.92), "wall_light")


@layer
def ice(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "ice")
    brush.fill(np.abs(brush.x + brush.y - 0.55) < 0.03, "ice_line")
    brush.border("ice_line")


@layer
def slot(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "slot")


@layer
def wood(brush: Brush, number: str) -> None:
    brush.fill(brush.everywhere(), "wood_dark")
    brush.fill(brush.box(0.05, 0.05, 0.93, 0.93), "wood")
    brush.label(number, "ink")


@layer
def paper(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "paper")
    brush.border("line")


@layer
def given(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "given")
    brush.border("line")


@layer
def header(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), "header")
    brush.border("line")


@layer
def lamp(brush: Brush, state: str) -> None:
    brush.fill(brush.everywhere(), "slot")
    brush.border("lamp_rim", 2)
    brush.fill(brush.disc(0.48, 0.48, 0.38), "lamp_rim")
    brush.fill(brush.disc(0.48, 0.48, 0.32), f"lamp_{state}")


# --- things on a ground ------------------------------------------------------------------------------


@layer
def hole(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.5, 0.5, 0.42), "hole_rim")
    brush.fill(brush.disc(0.5, 0.53, 0.36), "hole")


@layer
def gift(brush: Brush, _: str) -> None:
    brush.fill(brush.box(0.18, 0.32, 0.82, 0.86), "gift")
    brush.fill(brush.box(0.43, 0.32, 0.57, 0.86) | brush.box(0.18, 0.44, 0.82, 0.54), "gift_ribbon")
    brush.fill(brush.disc(0.38, 0.24, 0.11) | brush.disc(0.62, 0.24, 0.11), "gift_ribbon")


@layer
def agent(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.5, 0.5, 0.36), "agent_dark")
    brush.fill(brush.disc(0.5, 0.5, 0.30), "agent")
    brush.fill(brush.disc(0.39, 0.42, 0.06) | brush.disc(0.61, 0.42, 0.06), "ink")


@layer
def arrow(brush: Brush, heading: str) -> None:
    """The agent as a pointer: heading 0 right, 1 down, 2 left, 3 up."""
    tip = {"0": (1, 0), "1": (0, 1), "2": (-1, 0), "3": (0, -1)}[heading]
    dx, dy = tip
    nose = (0.5 + 0.38 * dx, 0.5 + 0.38 * dy)
    left = (0.5 - 0.32 * dx + 0.34 * dy, 0.5 - 0.32 * dy - 0.34 * dx)
    right = (0.5 - 0.32 * dx - 0.34 * dy, 0.5 - 0.32 * dy + 0.34 * dx)
    brush.fill(brush.triangle(nose, left, right), "agent")
    brush.fill(brush.disc(0.5 + 0.12 * dx, 0.5 + 0.12 * dy, 0.08), "agent_dark")


@layer
def held(brush: Brush, thing: str) -> None:
    """A small key or ball in the corner: the agent carries it."""
    brush.fill(brush.disc(0.8, 0.18, 0.15), thing)
    if thing == "key":
        brush.fill(brush.disc(0.8, 0.18, 0.06), "ink")


@layer
def ball(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.48, 0.5, 0.3), "ball")


@layer
def flag(brush: Brush, _: str) -> None:
    brush.fill(brush.box(0.28, 0.14, 0.36, 0.88), "ink")
    brush.fill(brush.triangle((0.36, 0.14), (0.82, 0.32), (0.36, 0.5)), "goal")


@layer
def goal(brush: Brush, _: str) -> None:
    brush.fill(brush.box(0.08, 0.08, 0.9, 0.9), "goal")


@layer
def key(brush: Brush, _: str) -> None:
    brush.fill(brush.disc(0.32, 0.5, 0.2), "key")
    brush.fill(brush.disc(0.32, 0.5, 0.09), "floor")
    brush.fill(brush.box(0.48, 0.44, 0.88, 0.56), "key")
    brush.fill(brush.box(0.66, 0.5, 0.74, 0.7) | brush.box(0.8, 0.5, 0.88, 0.7), "key")


@layer
def door(brush: Brush, state: str) -> None:
    brush.fill(brush.everywhere(), "door_dark")
    if state == "open":
        brush.fill(brush.box(0.14, 0.1, 0.9, 0.9), "floor")
        brush.fill(brush.box(0.14, 0.1, 0.28, 0.9), "door")
    else:
        brush.fill(brush.box(0.12, 0.1, 0.88, 0.9), "door")
        keyhole = brush.disc(0.66, 0.46, 0.1) | brush.box(0.62, 0.46, 0.7, 0.7)
        brush.fill(keyhole if state == "locked" else brush.box(0.7, 0.42, 0.8, 0.58), "key")


@layer
def target(brush: Brush, _: str) -> None:
    away = np.hypot(brush.x - 0.5, brush.y - 0.5)
    brush.fill((away < 0.3) & (away > 0.2) | (away < 0.1), "target")


@layer
def box(brush: Brush, state: str) -> None:
    """A crate; `box:home` stands on its target."""
    brush.fill(brush.box(0.1, 0.1, 0.88, 0.88), "box_dark")
    brush.fill(brush.box(0.18, 0.18, 0.8, 0.8), "goal" if state == "home" else "box")
    cross = (np.abs(brush.x - brush.y) < 0.06) | (np.abs(brush.x + brush.y - 0.98) < 0.06)
    brush.fill(cross & brush.box(0.18, 0.18, 0.8, 0.8), "box_dark")


@layer
def glyph(brush: Brush, label: str) -> None:
    brush.label(label, "ink", place=(0.47, 0.48))


@layer
def clue(brush: Brush, label: str) -> None:
    """A smaller glyph that leaves room for signs on the right and below."""
    brush.label(label, "ink", place=(0.42, 0.42), room=0.76)


@layer
def turn(brush: Brush, _: str) -> None:
    """A clockwise arrow."""
    dx, dy = brush.x - 0.5, brush.y - 0.52
    away = np.hypot(dx, dy)
    ring = (away < 0.36) & (away > 0.24) & ~((dx > 0) & (dy < 0))
    brush.fill(ring, "sign")
    brush.fill(brush.triangle((0.5, 0.04), (0.5, 0.42), (0.78, 0.23)), "sign")


@layer
def base(brush: Brush, number: str) -> None:
    """Where agent `number` must go: a square frame of its colour that leaves room for an agent."""
    width = max(1.0, brush.size / 9) / brush.size
    far = 1 - 1 / brush.size
    brush.fill(brush.box(0, 0, far, far), f"team{number}")
    brush.fill(brush.box(width, width, far - width, far - width), "paper")
    brush.label(number, f"team{number}", place=(far / 2, far / 2), room=0.72)


@layer
def walker(brush: Brush, number: str) -> None:
    """Agent `number`: a disc of its colour."""
    brush.fill(brush.disc(0.5, 0.5, 0.41), f"team{number}")
    brush.label(number, "paper", room=0.7)


# --- lines at the edges of a cell --------------------------------------------------------------------


@layer
def walls(brush: Brush, sides: str) -> None:
    """Thin walls; the number's bits are up 1, right 2, down 4, left 8."""
    width = max(1.0, brush.size / 10) / brush.size
    edges = (brush.y < width, brush.x >= 1 - width, brush.y >= 1 - width, brush.x < width)
    for bit, edge in enumerate(edges):
        if int(sides) >> bit & 1:
            brush.fill(edge, "wall")


@layer
def edge(brush: Brush, sides: str) -> None:
    """Thick lines of a puzzle's boxes: `r` on the right, `d` below, `rd` both."""
    width = max(2.0, brush.size / 8) / brush.size
    if "r" in sides:
        brush.fill(brush.x >= 1 - width, "ink")
    if "d" in sides:
        brush.fill(brush.y >= 1 - width, "ink")


@layer
def right(brush: Brush, sign: str) -> None:
    """`right:lt` or `right:gt`: this cell is less or greater than its right neighbour."""
    ends, tip = (0.98, 0.80) if sign == "lt" else (0.80, 0.98)
    brush.fill(brush.triangle((ends, 0.32), (ends, 0.68), (tip, 0.5)), "sign")


@layer
def below(brush: Brush, sign: str) -> None:
    """`below:lt` or `below:gt`: this cell is less or greater than the one below."""
    ends, tip = (0.98, 0.80) if sign == "lt" else (0.80, 0.98)
    brush.fill(brush.triangle((0.32, ends), (0.68, ends), (0.5, tip)), "sign")
