"""Layers of tiles by theme, beside the common ones in `jaxenv.render.tiles`; importing a module registers its
layers."""
