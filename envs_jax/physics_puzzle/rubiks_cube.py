"""Turn the faces of a 2 x 2 x 2 cube until each shows one colour.

Scrambled by a few turns of the up, right and front face, which reach every position that leaves the corner at
the back, left and down in its place. The state keeps the way back as a stack, which the expert follows; there
is room for the longest scramble and the environment's own turn limit.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

# The faces in the order of the stickers, each with its outward axis, and the directions in which its stickers
# are read: down the rows and along the columns of the unfolded cube. x is right, y up, z to the front.
FACES = {
    "U": ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
    "L": ((-1, 0, 0), (0, -1, 0), (0, 0, 1)),
    "F": ((0, 0, 1), (0, -1, 0), (1, 0, 0)),
    "R": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "B": ((0, 0, -1), (0, -1, 0), (-1, 0, 0)),
    "D": ((0, -1, 0), (0, 0, -1), (1, 0, 0)),
}
COLOURS = ("white", "orange", "green", "red", "blue", "yellow")
STICKERS = 24
# Where the top left sticker of each face lies in the unfolded cube.
ROWS, COLS = 6, 8
CORNERS = ((0, 2), (2, 0), (2, 2), (2, 4), (2, 6), (4, 2))
PLACES = np.array([(r + i, c + j) for r, c in CORNERS for i in (0, 1) for j in (0, 1)])
TURNED = "URF"
WORDS = tuple(face.lower() + turns for face in TURNED for turns in ("", "2", "'"))
SHORTEST = np.array([1, 2, 4], np.int32)
LONGEST = np.array([2, 3, 5], np.int32)
MAX_TURNS = (4, 6, 10)
CAPACITY = int(LONGEST.max()) + max(MAX_TURNS)


def _turns() -> np.ndarray:
    """int32[9, 24]: for each of WORDS the sticker that comes to lie at each place."""
    spots = []
    for normal, down, across in map(np.array, FACES.values()):
        spots += [(*(normal + i * down + j * across), *normal) for i in (-1, 1) for j in (-1, 1)]
    moves = []
    for face in TURNED:
        axis = np.array(FACES[face][0])
        order = np.arange(STICKERS)
        for source, spot in enumerate(spots):
            corner, normal = np.array(spot[:3]), np.array(spot[3:])
            if corner @ axis > 0:
                # A clockwise quarter turn, seen from outside, takes v to v x axis in the face's plane.
                corner = corner @ axis * axis + np.cross(corner, axis)
                normal = normal @ axis * axis + np.cross(normal, axis)
                order[spots.index((*corner, *normal))] = source
        moves += [order, order[order], order[order][order]]
    return np.array(moves, np.int32)


TURNS = _turns()


@struct.dataclass
class Cube:
    stickers: jax.Array  # uint8[24], a face's colour each, by face and row by row
    way: jax.Array  # int8[15], turns that lead back, the next one at depth - 1
    depth: jax.Array  # int32[]


class RubiksCube(TileEnvironment):
    id = "rubiks_cube"
    family = "physics_puzzle"
    abilities = (
        "recognise_colour",
        "reason_3d",
        "track_permutation",
        "search_lookahead",
        "format_move",
    )
    grammar = Word(WORDS)
    task = "Solve the 2x2x2 cube by turns of U, R and F. Answer one turn, like <answer>R</answer>, R2 or R'."
    rules = "R turns the right face a quarter clockwise, R' back, R2 half round. U is up, F is in front."
    max_turns: ClassVar[tuple[int, ...]] = MAX_TURNS
    hidden = ("way", "depth")
    tileset = (
        "plain:backdrop",
        *(f"sticker:{colour}" for colour in COLOURS),
        *(f"sticker:{colour} glyph:{face}" for face in FACES for colour in COLOURS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Cube:
        shape = int(LONGEST.max()) + 1, len(WORDS)
        noise = grids.noise(key, shape)
        shortest = jnp.asarray(SHORTEST)[scale]
        span = jnp.asarray(LONGEST)[scale] - shortest + 1
        length = shortest + jnp.minimum((noise[0, 0] * span).astype(jnp.int32), span - 1)
        solved = jnp.repeat(jnp.arange(len(FACES), dtype=jnp.uint8), 4)
        start = Cube(solved, jnp.full(CAPACITY, -1, jnp.int8), jnp.int32(0))

        def scramble(step: jax.Array, state: Cube) -> Cube:
            # Never the same face twice: up to five such turns do not undo each other.
            last = state.way[jnp.maximum(state.depth - 1, 0)] // 3
            other = (np.arange(len(WORDS)) // 3 != last) | (state.depth == 0)
            after = _turned(state, jnp.where(other, noise[step + 1], -1.0).argmax())
            return jax.tree.map(lambda new, old: jnp.where(step < length, new, old), after, state)

        return jax.lax.fori_loop(0, int(LONGEST.max()), scramble, start)

    def transition(self, key: jax.Array, state: Cube, action: jax.Array) -> tuple[Cube, jax.Array, jax.Array]:
        after = _turned(state, action)
        faces = after.stickers.reshape(-1, 4)
        solved = (faces == faces[:, :1]).all()
        return after, solved.astype(jnp.float32), solved

    def symbolic(self, state: Cube) -> jax.Array:
        colour = 1 + state.stickers.astype(jnp.int32)
        # The first sticker of each face is marked with the face's letter.
        first = np.arange(STICKERS) % 4 == 0
        marked = jnp.where(first, len(COLOURS) * (1 + np.arange(STICKERS) // 4), 0)
        board = jnp.zeros((ROWS, COLS), jnp.uint8)
        return board.at[PLACES[:, 0], PLACES[:, 1]].set((colour + marked).astype(jnp.uint8))

    def extent(self, state: Cube) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(ROWS), jnp.int32(COLS)

    def describe(self, state: Cube) -> Texts:
        letters = tuple(colour[0].upper() for colour in COLOURS)
        faces = text.grid(state.stickers.reshape(-1, 4), letters, len(FACES), 4, between="")
        names = text.encode("the lines are the faces U, L, F, R, B, D, each read row by row")
        faces_done = (state.stickers.reshape(-1, 4) == state.stickers.reshape(-1, 4)[:, :1]).all(1).sum()
        state_words = text.concat(names, text.encode("; of one colour: "), text.number(faces_done, 1))
        left = text.concat(text.number(state.depth, 2), text.encode(" turns are enough"))
        return Texts(faces, state_words, left)

    def exercised(self, state: Cube, action: jax.Array, after: Cube) -> dict[str, jax.Array]:
        onward = after.depth < state.depth
        return {
            "recognise_colour": _alike(after) > _alike(state),
            # The face is right, if not how far it turns.
            "reason_3d": after.depth <= state.depth,
            "track_permutation": onward,
            "search_lookahead": onward & (after.depth > 0),
        }

    def expert(self, key: jax.Array, state: Cube) -> jax.Array:
        return state.way[jnp.maximum(state.depth - 1, 0)].astype(jnp.int32)


def _alike(state: Cube) -> jax.Array:
    """int32[]: the pairs of stickers of one face that have the same colour."""
    faces = state.stickers.reshape(-1, 4)
    return (faces[:, :, None] == faces[:, None, :]).sum() // 2


def _turned(state: Cube, move: jax.Array) -> Cube:
    """The cube after a turn; on the way back, turns of the same face add up."""
    stickers = state.stickers[jnp.asarray(TURNS)[move]]
    top = jnp.maximum(state.depth - 1, 0)
    last = state.way[top].astype(jnp.int32)
    joins = (state.depth > 0) & (last // 3 == move // 3)
    # Quarters that lead back: 3, 2, 1 for a turn of 1, 2, 3; added to those of the last turn if it joins.
    quarters = (3 - move % 3 + jnp.where(joins, last % 3 + 1, 0)) % 4
    at = jnp.where(joins, top, state.depth)
    back = move // 3 * 3 + quarters - 1
    way = state.way.at[at].set(back.astype(jnp.int8), mode="drop")
    return replace(state, stickers=stickers, way=way, depth=at + (quarters > 0))
