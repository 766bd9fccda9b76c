"""Grounds of pictures to choose from."""

from jaxenv.render.tiles import Brush, header, layer


@layer
def option(brush: Brush, letter: str) -> None:
    """The ground of a picture that is named by a letter in its corner."""
    header(brush, "")
    brush.label(letter, "ink", place=(0.14, 0.15), room=0.31)
