"""Drawing by one gather from a uint8 atlas. Board size is data: the cell size is computed, not static."""

import jax
import jax.numpy as jnp

from jaxenv.render import palette
from jaxenv.render.atlas import atlas


def draw_tiles(
    tiles: jax.Array, rows: jax.Array, cols: jax.Array, tileset: tuple[str, ...], canvas: int
) -> jax.Array:
    """The top-left rows x cols of tiles uint8[R, C] as a picture uint8[canvas, canvas, 3].

    Cells are square, as large as the longer side allows, and the board is centred. `tileset` names what
    the ids mean; each id must be below len(tileset).
    """
    pixels, start = atlas(tileset, canvas, max(tiles.shape))
    across = jnp.maximum(rows, cols)
    cell = canvas // across
    row, v = jnp.divmod(jnp.arange(canvas) - (canvas - rows * cell) // 2, cell)
    col, u = jnp.divmod(jnp.arange(canvas) - (canvas - cols * cell) // 2, cell)
    inside = ((row >= 0) & (row < rows))[:, None] & ((col >= 0) & (col < cols))[None, :]
    ids = tiles[jnp.clip(row, 0, tiles.shape[0] - 1)][:, jnp.clip(col, 0, tiles.shape[1] - 1)]
    texel = jnp.asarray(start)[across] + (ids.astype(jnp.int32) * cell + v[:, None]) * cell + u[None, :]
    return jnp.asarray(pixels)[jnp.where(inside, texel, 0)]


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
