"""Graphs as pictures: nodes with letters on a circle, straight lines between them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.render import palette
from jaxenv.render.shading import blend, shade
from jaxenv.render.tiles import Brush, layer, paint

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def draw_graph(edges: jax.Array, which: jax.Array, sizes: tuple[int, ...], canvas: int) -> jax.Array:
    """The first sizes[which] nodes with their edges bool[N, N] (symmetric) as uint8[canvas, canvas, 3].

    Nodes are A, B, C ... clockwise from the top. Integers throughout, so that every device draws the same.
    """
    tables = _layouts(sizes, len(edges), canvas)
    first, last = np.triu_indices(len(edges), 1)
    spots, lengths, discs, covered = (jnp.asarray(table)[which] for table in tables)
    at = jnp.arange(canvas, dtype=jnp.int32)
    width = max(canvas // 64, 1)

    def add(pair: jax.Array, darkest: jax.Array) -> jax.Array:
        """The darkest line at each pixel with one more edge."""
        a, b = jnp.asarray(first)[pair], jnp.asarray(last)[pair]
        (x, y), (dx, dy), length = spots[a], spots[b] - spots[a], lengths[pair]
        across = jnp.abs(dx * (at[:, None] - y) - dy * (at[None, :] - x))
        along = dx * (at[None, :] - x) + dy * (at[:, None] - y)
        beside = (along >= 0) & (along <= length * length)
        # The distance from the line is across / length pixels.
        line = shade((width + 1) * length - 2 * across, 2 * length)
        return jnp.maximum(darkest, jnp.where(beside & edges[a, b], line, 0))

    darkest = jax.lax.fori_loop(0, len(first), add, jnp.zeros((canvas, canvas), jnp.int32))
    lines = blend(jnp.asarray(palette.rgb("paper"), jnp.int32), "edge", darkest)
    return jnp.where(covered[..., None], discs, lines.astype(jnp.uint8))


@functools.lru_cache(maxsize=64)
def _layouts(
    sizes: tuple[int, ...], most: int, canvas: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each size: the middles of the nodes int32[most, 2] (x, y), the lengths int32[pairs] of the lines
    between them, the nodes as uint8[canvas, canvas, 3], and the pixels bool[canvas, canvas] they cover."""
    first, last = np.triu_indices(most, 1)
    layouts = []
    for size in sizes:
        spots = np.rint(places(size, most) * canvas).astype(np.int32)
        away = np.linalg.norm(spots[first] - spots[last], axis=-1)
        picture = paint(f"plain:paper nodes:{size}", canvas)
        covered = (picture != palette.rgb("paper")).any(-1)
        layouts.append((spots, np.maximum(np.rint(away), 1).astype(np.int32), picture, covered))
    spots, lengths, pictures, covered = (np.stack(tables) for tables in zip(*layouts, strict=True))
    return spots, lengths, pictures, covered


def places(size: int, most: int) -> np.ndarray:
    """Middles float[most, 2] (x, y in 0..1) of `size` nodes on a circle; the rest run on round it."""
    turn = 2 * np.pi * np.arange(most) / size
    return 0.5 + 0.41 * np.stack([np.sin(turn), -np.cos(turn)], axis=-1)


@layer
def nodes(brush: Brush, size: str) -> None:
    """`size` nodes on a circle, A at the top."""
    for (x, y), letter in zip(places(int(size), int(size)).tolist(), LETTERS, strict=False):
        brush.fill(brush.disc(x, y, 0.072), "ink")
        brush.fill(brush.disc(x, y, 0.06), "node")
        brush.label(letter, "ink", place=(x, y), room=0.12)
