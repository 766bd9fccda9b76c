"""Put the pieces of a cut picture in order by swaps, until the colours run on across every seam.

The picture is a net of coloured points with gradients in between. A piece has 3 x 3 of them, and neighbours
in the picture share the three along their seam; so the picture is whole when all seams match, and any order
in which they do counts.
"""

import functools
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Numbers
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render import palette

SIDE, POINTS = 4, 3  # pieces along the largest picture, points along a piece
SIDES = np.array([2, 3, 4], np.int32)
COLOURS = ("red", "yellow", "green", "blue", "white", "black")
LETTERS = (*"RYGBWK", " ")
GAP = len(COLOURS)  # between two pieces, where the picture is cut
SHADES = 64  # steps from one point to the next
# The points of each piece of the whole picture, by piece and in two axes.
ROWS, COLS = np.divmod(np.arange(SIDE**2), SIDE)
NET_ROWS = (2 * ROWS[:, None] + np.arange(POINTS))[:, :, None]
NET_COLS = (2 * COLS[:, None] + np.arange(POINTS))[:, None, :]


@struct.dataclass
class Pieces:
    points: jax.Array  # uint8[16, 3, 3], colours of the piece at each place, places by rows of four
    home: jax.Array  # int8[16], the place where the piece at each place belongs
    side: jax.Array  # int32[]


class Jigsaw(Environment):
    id = "jigsaw"
    family = "geometry_perception"
    abilities = (
        "compare_panels",
        "discriminate_fine",
        "track_permutation",
        "format_structured",
        "verify_terminal",
    )
    grammar = Numbers(4, SIDE)
    task = (
        "Swap pieces until the colours run on across all cuts. Answer row and column of one piece and of "
        "another, like <answer>1 2 2 1</answer>."
    )
    rules = "The picture was cut into squares and shuffled; no piece is turned. Each answer swaps two pieces."
    max_turns: ClassVar[tuple[int, ...]] = (6, 16, 30)
    hidden = ("home",)

    def generate(self, key: jax.Array, scale: jax.Array) -> Pieces:
        """All pieces trade places in one round, so that none is at home."""
        side = jnp.asarray(SIDES)[scale]
        net_key, round_key = jax.random.split(key)
        net = jnp.floor(grids.noise(net_key, (2 * SIDE + 1, 2 * SIDE + 1)) * len(COLOURS))
        used = grids.inside(SIDE, side).reshape(-1)
        at = jnp.arange(SIDE**2)
        _, order = jax.lax.top_k(jnp.where(used, jax.random.uniform(round_key, used.shape), -1.0), SIDE**2)
        following = jnp.where(at < side**2, (at + 1) % side**2, at)
        home = jnp.zeros(SIDE**2, jnp.int8).at[order].set(order[following].astype(jnp.int8))
        points = jnp.where(used[:, None, None], net[NET_ROWS, NET_COLS][home], 0)
        return Pieces(points.astype(jnp.uint8), home, side)

    def legal(self, state: Pieces, action: jax.Array) -> jax.Array:
        """Rows and columns of two different pieces."""
        inside = (action >= 1) & (action <= state.side)
        return inside.all() & (action[:2] != action[2:]).any()

    def transition(
        self, key: jax.Array, state: Pieces, action: jax.Array
    ) -> tuple[Pieces, jax.Array, jax.Array]:
        row, col = jnp.clip(action.reshape(2, 2) - 1, 0, SIDE - 1).T
        places = row * SIDE + col
        order = jnp.arange(SIDE**2).at[places].set(places[::-1])
        after = replace(state, points=state.points[order], home=state.home[order])
        whole = _wrong_seams(after) == 0
        return after, whole.astype(jnp.float32), whole

    def symbolic(self, state: Pieces) -> jax.Array:
        """uint8[16, 16]: the colours of the points, GAP after each piece."""
        points = state.points.reshape(SIDE, SIDE, POINTS, POINTS)
        cut = jnp.pad(points, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=GAP)
        return cut.transpose(0, 2, 1, 3).reshape(SIDE * (POINTS + 1), SIDE * (POINTS + 1))

    def draw(self, state: Pieces, canvas: int) -> jax.Array:
        weights = jnp.asarray(_weights(canvas))[state.side]
        inks = np.stack([*map(palette.rgb, COLOURS), palette.rgb("backdrop")]).astype(np.int32)
        lines = jnp.einsum("yr,rcp->ycp", weights, jnp.asarray(inks)[self.symbolic(state)])
        image = jnp.einsum("xc,ycp->yxp", weights, lines) // SHADES**2
        piece = weights.any(1)
        shown = (piece[:, None] & piece)[..., None]
        return jnp.where(shown, image, inks[GAP]).astype(jnp.uint8)

    def describe(self, state: Pieces) -> Texts:
        """A letter a point, a space and a blank line where the picture is cut."""
        across = state.side * (POINTS + 1) - 1
        wrong = text.number(_wrong_seams(state), 2)
        seams = text.number(2 * state.side * (state.side - 1), 2)
        lost = (state.home != np.arange(SIDE**2)).argmax()
        places = [jnp.stack(jnp.divmod(place, SIDE)) for place in (lost, state.home[lost].astype(jnp.int32))]
        return Texts(
            text.grid(self.symbolic(state), LETTERS, across, across, between=""),
            text.concat(wrong, text.encode(" of "), seams, text.encode(" seams do not match")),
            text.concat(
                text.encode("the piece at "),
                grids.place(places[0]),
                text.encode(" belongs at "),
                grids.place(places[1]),
            ),
        )

    def exercised(self, state: Pieces, action: jax.Array, after: Pieces) -> dict[str, jax.Array]:
        gained = _wrong_seams(state) - _wrong_seams(after)
        at_home = lambda state: (state.home == np.arange(SIDE**2)).sum()  # noqa: E731
        return {
            "compare_panels": gained > 0,
            "discriminate_fine": gained > 1,
            "track_permutation": at_home(after) > at_home(state),
        }

    def expert(self, key: jax.Array, state: Pieces) -> jax.Array:
        """Brings a random piece home that is not."""
        lost = state.home != np.arange(SIDE**2)
        place = jnp.where(lost, jax.random.uniform(key, lost.shape), -1.0).argmax()
        ends = jnp.stack([place, state.home[place]]).astype(jnp.int32)
        return jnp.stack(jnp.divmod(ends, SIDE), axis=1).reshape(-1) + 1


def _wrong_seams(state: Pieces) -> jax.Array:
    """int32[]: how many pairs of neighbours differ along their seam."""
    points = state.points.reshape(SIDE, SIDE, POINTS, POINTS)
    inside = grids.inside(SIDE, state.side)
    beside = (points[:, :-1, :, -1] != points[:, 1:, :, 0]).any(-1) & inside[:, 1:]
    below = (points[:-1, :, -1] != points[1:, :, 0]).any(-1) & inside[1:]
    return beside.sum(dtype=jnp.int32) + below.sum(dtype=jnp.int32)


@functools.lru_cache(maxsize=16)
def _weights(canvas: int) -> np.ndarray:
    """int32[5, canvas, 16]: for each side, how much a line of pixels shows of each line of points (and gaps).

    A pixel of a piece is shared by two points, SHADES in sum; those between the pieces show none.
    """
    column = np.arange(SIDE * (POINTS + 1))
    tables = np.zeros((SIDE + 1, canvas, len(column)), np.int32)
    gap = max(canvas // 64, 1)
    for side in SIDES.tolist():
        size = (canvas + gap) // side
        margin = (canvas + gap - side * size) // 2
        piece, within = np.divmod(np.arange(canvas) - margin, size)
        place = (within + 0.5) / (size - gap) * (POINTS - 1)  # among the points of the piece
        near = np.maximum(1 - np.abs(place[:, None] - column % (POINTS + 1)), 0)
        shown = (piece[:, None] == column // (POINTS + 1)) & (within < size - gap)[:, None]
        tables[side] = np.rint(np.where(shown & (column % (POINTS + 1) < POINTS), near, 0) * SHADES)
    return tables
