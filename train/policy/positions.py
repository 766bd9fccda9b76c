"""Where each token stands: the three rows of Qwen3-VL's M-RoPE position ids."""

from collections.abc import Sequence

import numpy as np


def mrope_positions(is_image: np.ndarray, grids: Sequence[tuple[int, int]]) -> tuple[np.ndarray, int]:
    """Position ids of one row of tokens.

    A text token stands at the next position on all three axes. An image of h x w visual tokens starts at
    the next position too; its time stays, its rows and columns count up, and the text after it goes on
    from the largest of them (`get_rope_index` in transformers 5 counts the same way).

    Args:
        is_image: bool[T], true at the visual tokens (not at the tokens that open and close an image).
        grids: (h, w) in visual tokens of each image, in order.

    Returns:
        int32[3, T] of (time, row, column), and the position of the token that would come next.

    Raises:
        ValueError: the grids do not have as many cells as there are visual tokens.
    """
    if sum(h * w for h, w in grids) != int(np.sum(is_image)):
        raise ValueError(f"{int(np.sum(is_image))} visual tokens do not fill images of grids {list(grids)}")
    positions = np.empty((3, len(is_image)), np.int32)
    images = iter(grids)
    at, following = 0, 0
    while at < len(is_image):
        if is_image[at]:
            h, w = next(images)
            cells = np.stack([np.zeros((h, w), int), *np.indices((h, w))]).reshape(3, -1)
            count, advance = h * w, max(h, w)
        else:
            cells, count, advance = np.zeros((3, 1), int), 1, 1
        positions[:, at : at + count] = following + cells
        at, following = at + count, following + advance
    return positions, following
