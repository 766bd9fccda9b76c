"""Names beside the panels of a picture."""

from jaxenv.render.tiles import Brush, layer


@layer
def caption(brush: Brush, label: str) -> None:
    """A white letter on the backdrop, as large as the tile allows."""
    brush.fill(brush.everywhere(), "backdrop")
    brush.label(label, "white", room=1.18)
