"""State -> uint8 [canvas, canvas, 3], inside jit: tiles from an atlas, outlines of rectangles, graphs."""

from jaxenv.render import pieces  # noqa: F401 (registers their layers)
from jaxenv.render.canvas import draw_outlines, draw_tiles
from jaxenv.render.graphs import draw_graph

__all__ = ["draw_graph", "draw_outlines", "draw_tiles"]
