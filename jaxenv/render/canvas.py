"""Drawing by one gather from a uint8 atlas. Board size is data: the cell size is computed, not static."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.render import palette
from jaxenv.render.atlas import atlas, layout


def draw_tiles(
    tiles: jax.Array, rows: jax.Array, cols: jax.Array, tileset: tuple[str, ...], canvas: int
) -> jax.Array:
    """The top-left rows x cols of tiles uint8[R, C] as a picture uint8[canvas, canvas, 3].

    Cells are square, as large as the longer side allows, and the board is centred. `tileset` names what
    the ids mean; each id must be below len(tileset).
    """
    longest = max(tiles.shape)
    pixels, start = atlas(tileset, canvas, longest)
    cell, within = map(jnp.asarray, layout(canvas, longest))
    across = jnp.maximum(rows, cols)
    size = jnp.asarray(canvas // np.maximum(np.arange(longest + 1), 1), jnp.int32)[across]
    first = jnp.asarray(start)[across] + tiles.astype(jnp.int32) * size**2
    # Masked sums, not gathers, spread the cells over the canvas: gathers would be fused into the last one,
    # which would then compute the whole board anew for every byte of the picture (6 times slower on a CPU).
    at_row = cell[across, rows][:, None] == np.arange(tiles.shape[0])
    at_col = cell[across, cols][:, None] == np.arange(tiles.shape[1])
    lines = first + (within[across, rows] * size)[:, None, None]
    lines = jnp.where(at_row[:, :, None], lines, 0).sum(1, dtype=jnp.int32)
    texels = lines[:, None, :] + within[across, cols][:, None]
    texels = jnp.where(at_row.any(1)[:, None, None] & at_col, texels, 0).sum(2, dtype=jnp.int32)
    return jnp.asarray(pixels).at[texels].get(mode="promise_in_bounds")


def draw_outlines(boxes: jax.Array, shown: jax.Array, lattice: int, canvas: int) -> jax.Array:
    """Outlines of axis-parallel boxes int32[n, 4] (top, left, bottom, right; lattice points 0..lattice,
    inclusive) of which shown bool[n] are drawn, as uint8[canvas, canvas, 3]. Later boxes lie on top."""
    width = max(canvas // 48, 1)
    step = (canvas - width) // lattice
    margin = (canvas - width - step * lattice) // 2
    at = jnp.arange(canvas)
    near, far = boxes[:, :2] * step + margin, boxes[:, 2:] * step + margin + width
    y, x = at[:, None], at[None, :]
    image = jnp.broadcast_to(jnp.asarray(palette.rgb("paper")), (canvas, canvas, 3))
    inks = jnp.asarray(palette.INKS)
    for n in range(boxes.shape[0]):
        (top, left), (bottom, right) = near[n], far[n]
        outer = (y >= top) & (y < bottom) & (x >= left) & (x < right)
        inner = (y >= top + width) & (y < bottom - width) & (x >= left + width) & (x < right - width)
        image = jnp.where((outer & ~inner & shown[n])[..., None], inks[n % len(palette.INKS)], image)
    return image
