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
