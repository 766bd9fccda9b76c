"""Layers of tiles by theme, beside the common ones in `jaxenv.render.tiles`; importing a module registers its
layers."""

from jaxenv.render.pieces import games, guessing, logic, nature, patterns, travel

__all__ = ["games", "guessing", "logic", "nature", "patterns", "travel"]
