"""Choose the quarter that is missing from a symmetric picture.

After Gym-V's SymmetryFillPoly. The quarters hold one shape, mirrored from quarter to quarter or turned by a
right angle. Its longest corner points between two of the sixteen winds, so none of the eight poses that
mirrors and right angles give looks like another. At the largest scale one option has the right pose, but a
corner that is longer or shorter.
"""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import render, text
from jaxenv.environment import Environment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.scoring import score

MOST = 9
COUNTS = np.array([4, 6, 9], np.int32)  # corners of a shape
LONGEST, HIGH, LOW, CHANGE = 10, 7, 3, 3  # lengths of corners
# A pose is the sum of 1 for mirrored left to right, 2 for top to bottom and 4 for along the diagonal, which
# comes first. The longest corner then points to:
POSES = ("ENE", "WNW", "ESE", "WSW", "SSW", "SSE", "NNW", "NNE")
OTHER, BLANK = len(POSES), 2 * len(POSES)  # OTHER is added for the shape with another corner
# The three by three cells: the picture clockwise from its top left, and the options.
PICTURE, OPTIONS = np.array([0, 1, 4, 3]), np.array([2, 5, 6, 7, 8])
LETTERS = "ABCDE"
CELLS = ("top left:", "top right:", "A:", "bottom left:", "bottom right:", "B:", "C:", "D:", "E:")
FINE = 3  # points a pixel and axis that tell how much of it is covered


def _rounds() -> np.ndarray:
    """int32[2, 8, 4]: the poses clockwise from each first one, by mirrors and by right angles."""
    first = np.arange(len(POSES))
    mirrored = [first, first ^ 1, first ^ 3, first ^ 2]
    turned = [first]
    for _ in range(3):
        # The diagonal swaps the other two mirrors; with the one from left to right it is a right angle.
        turned.append((turned[-1] & 1) << 1 ^ (turned[-1] & 2) >> 1 ^ (turned[-1] & 4) ^ 5)
    return np.stack([mirrored, turned]).transpose(0, 2, 1).astype(np.int32)


ROUNDS = _rounds()


@struct.dataclass
class Symmetry:
    lengths: jax.Array  # uint8[2, 9], of the corners of both shapes, clockwise in pose 0, 0 after the last
    cells: jax.Array  # uint8[9], the pose in each cell, BLANK in the gap
    ink: jax.Array  # int32[], of palette.INKS
    count: jax.Array  # int32[], corners
    answer: jax.Array  # int32[], of LETTERS
    turned: jax.Array  # bool[], by right angles, not mirrored


class SymmetryFill(Environment):
    id = "symmetry_fill"
    family = "geometry_perception"
    abilities = ("detect_symmetry", "rotate_mentally", "compare_panels", "discriminate_fine", "format_answer")
    grammar = Letters(1, LETTERS)
    task = (
        "The four shapes on white make a symmetric picture. Which option belongs in place of the question "
        "mark? Answer its letter, like <answer>A</answer>."
    )
    rules = "Each half of the picture mirrors the other, or the picture looks the same after a quarter turn."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("answer", "turned")

    def generate(self, key: jax.Array, scale: jax.Array) -> Symmetry:
        shape_key, pose_key, option_key, place_key = jax.random.split(key, 4)
        count = jnp.asarray(COUNTS)[scale]
        lengths = _shapes(jax.random.uniform(shape_key, (MOST + 1,)), count, scale == 2)
        noise = jax.random.uniform(pose_key, (4,))
        first, gap, ink = (noise[:3] * np.array([len(POSES), 4, len(palette.INKS)])).astype(jnp.int32)
        turned = (scale > 0) & (noise[3] < 0.5)
        poses = jnp.asarray(ROUNDS)[turned.astype(jnp.int32), first]
        missing = poses[gap]
        # The right one, at the largest scale the one that differs in a corner, and any other poses.
        rank = jax.random.uniform(option_key, (len(POSES) + 1,))
        rank = rank.at[missing].set(2.0).at[-1].set(jnp.where(scale == 2, 1.0, -1.0))
        _, chosen = jax.lax.top_k(rank, len(LETTERS))
        chosen = jnp.where(chosen == len(POSES), OTHER + missing, chosen)
        _, order = jax.lax.top_k(jax.random.uniform(place_key, (len(LETTERS),)), len(LETTERS))
        shown = jnp.where(jnp.arange(4) == gap, BLANK, poses)
        cells = jnp.zeros(len(CELLS), jnp.int32).at[PICTURE].set(shown).at[OPTIONS].set(chosen[order])
        answer = (order == 0).argmax().astype(jnp.int32)  # the right one was the first to be chosen
        return Symmetry(lengths, cells.astype(jnp.uint8), ink, count, answer, turned)

    def transition(
        self, key: jax.Array, state: Symmetry, action: jax.Array
    ) -> tuple[Symmetry, jax.Array, jax.Array]:
        return state, score(action[0] == state.answer, jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Symmetry) -> jax.Array:
        ink = state.ink.astype(jnp.uint8)
        return jnp.concatenate([state.lengths.reshape(-1), state.cells, ink[None]])

    def draw(self, state: Symmetry, canvas: int) -> jax.Array:
        grounds = ("paper", "paper glyph:?", *(f"option:{letter}" for letter in LETTERS))
        tiles = jnp.where(state.cells == BLANK, 1, 0).at[OPTIONS].set(2 + np.arange(len(LETTERS)))
        three = jnp.int32(3)
        ground = render.draw_tiles(tiles.astype(jnp.uint8).reshape(3, 3), three, three, grounds, canvas)
        size = canvas // 3
        covered = _poses(_covered(state, size))[state.cells]
        covered = covered.reshape(3, 3, size, size).transpose(0, 2, 1, 3).reshape(3 * size, 3 * size)
        before = (canvas - 3 * size) // 2
        covered = jnp.pad(covered, (before, canvas - 3 * size - before))[..., None]
        ink = jnp.asarray(palette.INKS.astype(np.int32))[state.ink]
        return ((ground * (FINE**2 - covered) + ink * covered) // FINE**2).astype(jnp.uint8)

    def describe(self, state: Symmetry) -> Texts:
        """A line a cell: where the longest corner points, then the lengths of the others clockwise."""
        words = (*CELLS, *POSES, "?", *map(str, range(LONGEST)))
        pose = state.cells % OTHER
        # An odd number of mirrors turns clockwise round.
        backwards = jnp.asarray([bin(pose).count("1") % 2 == 1 for pose in range(OTHER)])[pose]
        at = np.arange(1, MOST)
        corner = jnp.where(backwards[:, None], jnp.maximum(state.count - at, 0), at)
        length = state.lengths[(state.cells >= OTHER).astype(jnp.int32)[:, None], corner]
        told = jnp.concatenate([pose[:, None], OTHER + 1 + length], axis=1)
        told = len(CELLS) + jnp.where(state.cells[:, None] == BLANK, OTHER, told)
        lines = jnp.concatenate([np.arange(len(CELLS))[:, None], told], axis=1)
        told_of = " corners a shape; told are the way of the longest and the lengths of the others, clockwise"
        return Texts(
            text.grid(lines, words, len(CELLS), state.count + 1),
            text.concat(text.number(state.count, 1), text.encode(told_of)),
            text.choose(
                state.turned.astype(jnp.int32), ("the halves are mirrored", "the quarters are turned")
            ),
        )

    def exercised(self, state: Symmetry, action: jax.Array, after: Symmetry) -> dict[str, jax.Array]:
        options, right = state.cells[OPTIONS], action[0] == state.answer
        # The right shape, or the one that differs in a corner alone.
        posed = options[action[0]] % OTHER == options[state.answer]
        return {
            "detect_symmetry": posed,
            "rotate_mentally": posed & state.turned,
            "compare_panels": right,
            "discriminate_fine": right & (options >= OTHER).any(),
        }

    def expert(self, key: jax.Array, state: Symmetry) -> jax.Array:
        return state.answer[None]


def _shapes(noise: jax.Array, count: jax.Array, differ: jax.Array) -> jax.Array:
    """uint8[2, 9]: lengths of the corners of the shape and of the other one, in which a corner differs."""
    at = jnp.arange(MOST)
    length = LOW + (noise[:MOST] * (HIGH - LOW + 1)).astype(jnp.int32)
    length = jnp.where(at == 0, LONGEST, jnp.where(at < count, length, 0))
    changed = 1 + (noise[MOST] * (count - 1)).astype(jnp.int32)
    change = jnp.where(length > (LOW + HIGH) // 2, -CHANGE, CHANGE)
    other = length + jnp.where(differ & (at == changed), change, 0)
    return jnp.stack([length, other]).astype(jnp.uint8)


def _covered(state: Symmetry, size: int) -> jax.Array:
    """int32[2, size, size]: how much of each pixel both shapes cover in pose 0, of FINE ** 2."""
    table, places = _plane(size)
    used = jnp.arange(MOST) < state.count
    way = jnp.asarray(table)[state.count]
    corners = state.lengths[..., None].astype(jnp.int32) * way
    corners = jnp.where(used[:, None], corners, corners[:, :1])  # those after the last are the first again
    x0, y0 = jnp.moveaxis(corners, -1, 0)[..., None, None]
    x1, y1 = jnp.moveaxis(jnp.roll(corners, -1, axis=1), -1, 0)[..., None, None]
    x, y = places[None, :], places[:, None]
    # The edges that a ray to the right meets: an odd number of them from inside.
    meets = ((y0 > y) != (y1 > y)) & (((x1 - x0) * (y - y0) > (x - x0) * (y1 - y0)) == (y1 > y0))
    inside = meets.sum(1) % 2
    return inside.reshape(2, size, FINE, size, FINE).sum((2, 4))


def _poses(covered: jax.Array) -> jax.Array:
    """int32[17, size, size]: the cells of all poses of both shapes, and an empty one."""
    poses = [
        jnp.flip(cell, axes)
        for shape in covered
        for cell in (shape, shape.T)
        for axes in ((), (1,), (0,), (0, 1))
    ]
    return jnp.stack([*poses, jnp.zeros_like(covered[0])])


@functools.lru_cache(maxsize=16)
def _plane(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The ways int32[10, 9, 2] (x, y) of the corners, of length 1, for each number of corners, and the places
    int32[FINE * size] of points along a cell, whose middle is 0. The units are small enough to round."""
    unit = 16
    reach = 0.82 * unit * FINE * size / LONGEST
    ways = np.zeros((MOST + 1, MOST, 2), np.int32)
    for count in COUNTS.tolist():
        turn = 2 * np.pi * (np.arange(MOST) / count - 1 / 16)
        ways[count] = np.rint(reach * np.stack([np.cos(turn), np.sin(turn)], axis=-1))
    places = unit * (2 * np.arange(FINE * size) + 1 - FINE * size)
    return ways, places.astype(np.int32)
