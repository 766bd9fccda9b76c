"""Turn a figure until it stands like the other one, and stop when it is near enough.

After VisGym's mental_rotation_2d. The figures are all polyominoes of a size that fit 4 x 4 squares and look
different after a quarter, a half and three quarters of a turn.
"""

import functools
from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.geometry_perception.adjustments import Adjustments, shorter_way
from jaxenv import grids, text
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.render.tiles import paint

BOX, MOST = 4, 7
SIZES = (5, 6, 7)  # squares of a figure
TOLERANCES = (20, 10, 5)
NEAREST, FARTHEST = 30, 180  # of the turns at the start
TURN, STOP = range(2)
FINE = 3  # points a pixel and axis
CELL = 6  # squares along a figure's half of the canvas; the diagonal of the box is a little shorter
EDGE = 12  # the outline of a square is this part of it wide
UNIT = 1024
COS, SIN = (np.rint(UNIT * wave(np.radians(np.arange(360)))).astype(np.int32) for wave in (np.cos, np.sin))
Squares = frozenset[tuple[int, int]]


def _placed(squares: Collection[tuple[int, int]]) -> Squares:
    """Moved to the top left."""
    top, left = map(min, zip(*squares, strict=True))
    return frozenset((row - top, col - left) for row, col in squares)


def _round(squares: Squares) -> list[Squares]:
    """The four poses of a figure, a quarter turn apart."""
    poses = [squares]
    for _ in range(3):
        poses.append(_placed([(col, -row) for row, col in poses[-1]]))
    return poses


def _figures() -> list[list[Squares]]:
    """For each of SIZES all polyominoes that fit the box and look different after each turn, in one pose."""
    bank, grown = [], {frozenset({(0, 0)})}
    for size in range(2, MOST + 1):
        beside = (
            (squares, row + dr, col + dc)
            for squares in grown
            for row, col in squares
            for dr, dc in grids.STEPS.tolist()
        )
        grown = {_placed({*squares, (row, col)}) for squares, row, col in beside if (row, col) not in squares}
        grown = {squares for squares in grown if max(map(max, squares)) < BOX}
        if size in SIZES:
            rounds = [_round(squares) for squares in grown]
            bank.append(
                sorted({min(poses, key=sorted) for poses in rounds if len(set(poses)) == 4}, key=sorted)
            )
    return bank


FIGURES = _figures()
ALL_FIGURES = [squares for bank in FIGURES for squares in bank]
# Bit 4 * row + column of a figure, and the rows and columns it has.
BITS = np.array([sum(1 << BOX * row + col for row, col in squares) for squares in ALL_FIGURES], np.int32)
EXTENTS = np.array([np.max(list(squares), axis=0) + 1 for squares in ALL_FIGURES], np.int32)
BOUNDS = np.cumsum([0, *map(len, FIGURES)], dtype=np.int32)  # of the figures of each scale


@struct.dataclass
class Figures:
    figure: jax.Array  # int32[], of BITS
    turns: jax.Array  # int32[2], of the left and of the right one, in degrees clockwise
    scale: jax.Array  # int32[]


class MentalRotation2d(Environment):
    id = "mental_rotation_2d"
    family = "geometry_perception"
    abilities = (
        "rotate_mentally",
        "estimate_magnitude",
        "read_orientation",
        "adjust_incrementally",
        "verify_terminal",
    )
    grammar = Adjustments(("turn",), FARTHEST)
    task = (
        "Turn the right figure until it stands like the left one, then stop. Answer like "
        "<answer>turn 60</answer> (degrees clockwise), <answer>turn -15</answer> or <answer>stop</answer>."
    )
    rules = (
        "The marks of the dial are 30 degrees apart. Its green sector shows how far the figures may differ "
        "when you stop."
    )
    max_turns: ClassVar[tuple[int, ...]] = (6, 6, 6)

    def generate(self, key: jax.Array, scale: jax.Array) -> Figures:
        bounds = jnp.asarray(BOUNDS)
        # At the smallest scale the left figure stands upright.
        low = jnp.stack([bounds[scale], 0, NEAREST, 0])
        high = jnp.stack([bounds[scale + 1], jnp.where(scale > 0, 360, 1), FARTHEST + 1, 2])
        figure, turn, away, side = jax.random.randint(key, low.shape, low, high, jnp.int32)
        own = (turn + jnp.where(side == 0, away, -away)) % 360
        return Figures(figure, jnp.stack([turn, own]), scale)

    def transition(
        self, key: jax.Array, state: Figures, action: jax.Array
    ) -> tuple[Figures, jax.Array, jax.Array]:
        stops = action[0] == STOP
        near = jnp.abs(_missing(state)) <= jnp.asarray(TOLERANCES)[state.scale]
        turns = (state.turns + jnp.where(stops, 0, jnp.stack([0, action[1]]))) % 360
        return replace(state, turns=turns), (stops & near).astype(jnp.float32), stops

    def symbolic(self, state: Figures) -> jax.Array:
        """The squares of the figure in its box, then the turns and the scale."""
        squares = jnp.asarray(BITS)[state.figure] >> np.arange(BOX * BOX) & 1
        rest = jnp.concatenate([state.turns // 2, state.turns % 2, state.scale[None]])
        return jnp.concatenate([squares, rest]).astype(jnp.uint8)

    def draw(self, state: Figures, canvas: int) -> jax.Array:
        half = canvas // 2
        shades = jax.vmap(_shades, (None, 0, None))(state.figure, state.turns, half)
        inks = np.stack([palette.rgb(name) for name in ("paper", "wood", "wood_dark")]).astype(np.int32)
        pair = jnp.einsum("pyxs,sc->ypxc", shades, inks).reshape(half, canvas, 3) // FINE**2
        return jnp.concatenate([pair.astype(jnp.uint8), jnp.asarray(_dials(half))[state.scale]])

    def describe(self, state: Figures) -> Texts:
        """A line a square: where its middle is in the left and in the right picture, x and y in percent."""
        squares = jnp.asarray(BITS)[state.figure] >> np.arange(BOX * BOX) & 1
        (at,) = jnp.nonzero(squares, size=MOST, fill_value=0)
        rows, cols = jnp.asarray(EXTENTS)[state.figure]
        x, y = 2 * (at % BOX) + 1 - cols, 2 * (at // BOX) + 1 - rows  # from the middle, in half squares
        cos, sin = (jnp.asarray(wave)[state.turns][:, None] for wave in (COS, SIN))
        spots = jnp.stack([x * cos - y * sin, x * sin + y * cos], axis=-1) * 100 // (2 * CELL * UNIT) + 50
        lines = spots.transpose(1, 0, 2).reshape(MOST, 4)
        missing = _missing(state)
        near = jnp.abs(missing) <= jnp.asarray(TOLERANCES)[state.scale]
        way = jnp.where(near, 0, jnp.where(missing > 0, 1, 2))
        return Texts(
            text.grid(lines, [str(percent) for percent in range(100)], squares.sum(), 4),
            text.choose(state.scale, [f"the figures may differ by {most} degrees" for most in TOLERANCES]),
            text.choose(way, ("stop", "turn clockwise", "turn anticlockwise")),
        )

    def exercised(self, state: Figures, action: jax.Array, after: Figures) -> dict[str, jax.Array]:
        missing, tolerance = _missing(state), jnp.asarray(TOLERANCES)[state.scale]
        before, now = jnp.abs(missing), jnp.abs(_missing(after))
        return {
            "rotate_mentally": 2 * now < before,
            "estimate_magnitude": (before > tolerance) & (now <= tolerance),
            "read_orientation": action[1] * missing > 0,
            "adjust_incrementally": (before > tolerance) & (now < before),
        }

    def expert(self, key: jax.Array, state: Figures) -> jax.Array:
        missing = _missing(state)
        near = jnp.abs(missing) <= jnp.asarray(TOLERANCES)[state.scale]
        return jnp.where(near, np.array([STOP, 0]), jnp.stack([TURN, missing])).astype(jnp.int32)


def _missing(state: Figures) -> jax.Array:
    """int32[]: the degrees that the right figure is short of the left one."""
    return shorter_way(state.turns[0] - state.turns[1])


def _shades(figure: jax.Array, turn: jax.Array, size: int) -> jax.Array:
    """int32[size, size, 3]: how much of each pixel is paper, the inside and the outline of squares, in sum
    FINE ** 2; the figure is turned by so many degrees."""
    at = 2 * jnp.arange(FINE * size) + 1 - FINE * size  # from the middle, in half points
    cos, sin = jnp.asarray(COS)[turn], jnp.asarray(SIN)[turn]
    side = 2 * FINE * size // CELL * UNIT  # of a square, in these units
    rows, cols = jnp.asarray(EXTENTS)[figure]
    # Turned back, from the top left of the figure.
    x, y = at[None, :] * cos + at[:, None] * sin, at[:, None] * cos - at[None, :] * sin
    (col, over), (row, down) = jnp.divmod(x + cols * side // 2, side), jnp.divmod(y + rows * side // 2, side)
    in_box = (row >= 0) & (row < BOX) & (col >= 0) & (col < BOX)
    filled = in_box & (jnp.asarray(BITS)[figure] >> jnp.where(in_box, BOX * row + col, 0) & 1 > 0)
    rim = side // EDGE
    outline = filled & (jnp.minimum(jnp.minimum(over, side - over), jnp.minimum(down, side - down)) < rim)
    layers = jnp.stack([~filled, filled & ~outline, outline], axis=-1).astype(jnp.int32)
    return layers.reshape(size, FINE, size, FINE, 3).sum((1, 3))


@functools.lru_cache(maxsize=16)
def _dials(size: int) -> np.ndarray:
    """uint8[3, size, 2 * size, 3]: the dial of each scale, in the middle of the lower half of the picture."""
    pictures = np.tile(palette.rgb("paper"), (len(TOLERANCES), size, 2 * size, 1))
    for picture, tolerance in zip(pictures, TOLERANCES, strict=True):
        picture[:, size // 2 : size // 2 + size] = paint(f"plain:paper dial:{tolerance}", size)
    return pictures
