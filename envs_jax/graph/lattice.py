"""Graphs whose lines do not cross: nodes A, B, C ... on a triangular lattice, lines between neighbours.

There are three lattices. A graph is a mark for each of their lines, 0 where there is none; what the other
marks mean, lengths or directions, is for the environment to say.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.render.tiles import Brush
from jaxenv.text import Text

SHAPES = ((3, 2), (3, 3), (4, 3))  # rows and columns of nodes
SIZES = tuple(rows * cols for rows, cols in SHAPES)
MOST = max(SIZES)
LETTERS = "ABCDEFGHIJKL"
RADIUS, MARGIN = 0.072, 0.09  # of a node, and of the middles of the nodes
WIDTH = 1 / 48  # of a line
# What a node can be: ordinary, start, goal.
ROLES = ("node", "sticker_green", "sticker_red")


def _ends(rows: int, cols: int) -> np.ndarray:
    """int32[lines, 2]: the nodes, the lower first, that each line joins. Odd rows lie half a step right."""
    ends = []
    for row, col in np.ndindex(rows, cols):
        node, below = row * cols + col, (row + 1) * cols + col
        ends += [(node, node + 1)] if col + 1 < cols else []
        for side in (0, 1 if row % 2 else -1):
            ends += [(node, below + side)] if row + 1 < rows and 0 <= col + side < cols else []
    return np.array(ends, np.int32)


_ALL_ENDS = [_ends(*shape) for shape in SHAPES]
LINES = max(map(len, _ALL_ENDS))
# By lattice and line: its ends, (0, 0) after the last, and whether there is one.
ENDS = np.stack([np.pad(ends, ((0, LINES - len(ends)), (0, 0))) for ends in _ALL_ENDS])
THERE = np.arange(LINES) < np.array([[len(ends)] for ends in _ALL_ENDS])


def line_list(marks: jax.Array, which: jax.Array, name: Callable[[str, str, int], str], most: int) -> Text:
    """The lines of marks int[LINES] in words, by their name for two letters and a mark up to `most`."""
    names = [
        name(LETTERS[a], LETTERS[b], mark) + " " if mark else ""
        for ends in ENDS
        for a, b in ends
        for mark in range(most + 1)
    ]
    table, lengths = text.word_table(names)
    index = (which * LINES + np.arange(LINES)) * (most + 1) + marks
    return text.pack(jnp.asarray(table)[index], jnp.asarray(lengths)[index])


def places(which: int) -> np.ndarray:
    """Middles float[nodes, 2] (x, y in 0..1) of the nodes of a lattice."""
    rows, cols = SHAPES[which]
    row, col = np.divmod(np.arange(rows * cols), cols)
    across, down = (col + row % 2 / 2) / (cols - 0.5), row / (rows - 1)
    return MARGIN + (1 - 2 * MARGIN) * np.stack([across, down], axis=-1)


def draw(marks: jax.Array, roles: jax.Array, which: jax.Array, style: str, canvas: int) -> jax.Array:
    """uint8[canvas, canvas, 3] of the lines marks int[LINES] and nodes roles int[MOST] of a lattice.

    Every pixel belongs to the line or node nearest to it, which chooses one of the pictures that show all
    lines with the same mark, or all nodes in the same role.
    """
    owners, pictures = _templates(style, canvas)
    kinds = pictures.shape[1]
    most = kinds - len(ROLES)
    chosen = jnp.concatenate([marks, jnp.where(roles > 0, most + roles, 0)])[jnp.asarray(owners)[which]]
    pixel = np.arange(canvas * canvas).reshape(canvas, canvas)
    texel = (which * kinds + chosen) * canvas * canvas + pixel
    return jnp.asarray(pictures.reshape(-1, 3)).at[texel].get(mode="promise_in_bounds")


def _arrow(brush: Brush, start: np.ndarray, end: np.ndarray, mark: int) -> None:
    """Mark 1 is from start to end, 2 back."""
    start, end = (start, end) if mark == 1 else (end, start)
    along = (end - start) / np.linalg.norm(end - start)
    beside = np.array([-along[1], along[0]])
    tip, foot = end - along * RADIUS, end - along * (RADIUS + 0.075)
    brush.fill(
        brush.triangle(*(tuple(at) for at in (tip, foot + 0.04 * beside, foot - 0.04 * beside))), "ink"
    )


def _number(brush: Brush, start: np.ndarray, end: np.ndarray, mark: int) -> None:
    """The mark in the gap in the middle of the line."""
    x, y = (start + end) / 2
    brush.label(str(mark), "sign", place=(x, y), room=0.09)


# The painter of a mark, the number of marks, and half the gap that a line has for it.
STYLES = {"arrows": (_arrow, 2, 0.0), "numbers": (_number, 9, 0.047)}


@functools.lru_cache(maxsize=16)
def _templates(style: str, canvas: int) -> tuple[np.ndarray, np.ndarray]:
    """By lattice: the line or LINES + node that owns each pixel, int32[3, canvas, canvas]; and pictures
    uint8[3, kinds, canvas, canvas, 3] of the bare nodes, of each mark and of the roles from start on."""
    paint_mark, most, gap = STYLES[style]
    owners, pictures = [], []
    for which, ends in enumerate(_ALL_ENDS):
        spots = places(which)
        pairs = spots[ends]
        owners.append(_owners(canvas, spots, pairs))
        brush = Brush(canvas)
        lines = np.zeros(brush.x.shape, bool)
        for start, end in pairs:
            x, y = (start + end) / 2
            lines |= (_away(brush.x, brush.y, start, end) < WIDTH / 2) & ~brush.disc(x, y, gap)
        for mark in range(most + len(ROLES)):
            brush.fill(brush.everywhere(), "paper")
            if 0 < mark <= most:
                brush.fill(lines, "edge")
                for start, end in pairs:
                    paint_mark(brush, start, end, mark)
            else:
                _nodes(brush, spots, ROLES[max(mark - most, 0)])
            pictures.append(brush.picture())
    shape = len(SHAPES), -1, canvas, canvas, 3
    return np.stack(owners), np.stack(pictures).reshape(shape)


def _nodes(brush: Brush, spots: np.ndarray, colour: str) -> None:
    for (x, y), letter in zip(spots.tolist(), LETTERS, strict=False):
        brush.fill(brush.disc(x, y, RADIUS), "ink")
        brush.fill(brush.disc(x, y, RADIUS - 0.012), colour)
        brush.label(letter, "ink", place=(x, y), room=0.12)


def _away(x: np.ndarray, y: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """How far the points are from the line between two others."""
    dx, dy = end - start
    along = np.clip(((x - start[0]) * dx + (y - start[1]) * dy) / (dx**2 + dy**2), 0, 1)
    return np.hypot(x - start[0] - along * dx, y - start[1] - along * dy)


def _owners(canvas: int, spots: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    y, x = (np.mgrid[:canvas, :canvas] + 0.5) / canvas
    lines = np.stack([_away(x, y, *pair) for pair in pairs])
    nodes = np.stack([np.hypot(x - middle[0], y - middle[1]) for middle in spots])
    in_node = nodes.min(0) < RADIUS + 1 / canvas
    return np.where(in_node, LINES + nodes.argmin(0), lines.argmin(0)).astype(np.int32)
