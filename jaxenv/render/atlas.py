"""The atlas: every tile of a tileset at every cell size a canvas can need, as one flat table of pixels."""

import functools

import numpy as np

from jaxenv.render import palette
from jaxenv.render.tiles import paint


@functools.lru_cache(maxsize=256)
def atlas(tileset: tuple[str, ...], canvas: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """(pixels uint8[P, 3], start int32[longest + 1]) for boards of 2..longest cells across.

    Pixel 0 is the backdrop. Tile t of a board n across begins at start[n] + t * cell**2, row by row, where
    cell = canvas // n. Painting each size anew keeps small tiles sharp.
    """
    pixels = [palette.rgb("backdrop")[None]]
    start = np.ones(longest + 1, np.int32)
    for n in range(2, longest + 1):
        start[n] = sum(map(len, pixels))
        cell = canvas // n
        pixels += [paint(name, cell).reshape(-1, 3) for name in tileset]
    return np.concatenate(pixels), start


@functools.lru_cache(maxsize=64)
def layout(canvas: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the lines of pixels of a board lie: (cell, within), each int32[longest + 1, longest + 1, canvas].

    cell[n, k, p] is the row (or column) of cells at pixel p when the board has k of them and is n across, -1
    beside the board; within[n, k, p] is the pixel's place inside that cell.
    """
    count = np.arange(longest + 1)
    size = (canvas // np.maximum(count, 1))[:, None, None]
    margin = (canvas - count[None, :, None] * size) // 2
    cell, within = np.divmod(np.arange(canvas) - margin, size)
    inside = (cell >= 0) & (cell < count[None, :, None])
    return np.where(inside, cell, -1).astype(np.int32), within.astype(np.int32)
