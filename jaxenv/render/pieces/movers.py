"""Dots that move about, all alike but for what they show."""

from jaxenv.render.tiles import Brush, layer


@layer
def mover(brush: Brush, mark: str) -> None:
    """A dot: `mover:` plain, `mover:target` marked, `mover:A` with a letter."""
    brush.fill(brush.everywhere(), "backdrop")
    brush.fill(brush.disc(0.5, 0.5, 0.46), "lamp_on" if mark == "target" else "ice")
    if mark == "target":
        brush.fill(brush.disc(0.5, 0.5, 0.34), "agent")
    elif mark:
        brush.label(mark, "ink", room=0.78)
