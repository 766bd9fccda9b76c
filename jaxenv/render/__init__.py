"""State -> uint8 [canvas, canvas, 3], inside jit: tiles from an atlas, and outlines of rectangles."""

from jaxenv.render.canvas import draw_outlines, draw_tiles

__all__ = ["draw_outlines", "draw_tiles"]
