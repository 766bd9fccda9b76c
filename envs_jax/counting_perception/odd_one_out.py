"""Find the panel that is not like the others: all but one show the same figure, turned or not.

After Gym-V's odd one out. By scale, the odd figure shares no cell with the common one, is that one with a
cell moved, or its mirror image; it never is the common figure turned. The answer is right or wrong.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.environment import TileEnvironment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIDE = 4  # of a figure
ROWS = np.array([2, 2, 3], np.int32)  # of panels
COLS = np.array([2, 3, 3], np.int32)
ACROSS = 3
LETTERS = "ABCDEFGHI"
FEWEST, MOST = 5, 7  # cells of a figure
# Of these figures one is taken; about one in thirty is no use, as it looks the same in a mirror.
CANDIDATES = 8
GAP, BLANK, CELL, NAME = range(4)
MOVED, MIRRORED = 1, 2  # the scales where the odd figure differs so


@struct.dataclass
class Panels:
    figures: jax.Array  # bool[9, 4, 4]; those after the last panel are not shown
    odd: jax.Array  # int32[]
    scale: jax.Array  # int32[]


class OddOneOut(TileEnvironment):
    id = "odd_one_out"
    family = "counting_perception"
    abilities = (
        "compare_panels",
        "discriminate_fine",
        "detect_symmetry",
        "induce_pattern",
        "format_answer",
    )
    grammar = Letters(1, LETTERS)
    task = (
        "One panel shows another figure than all others, which may be turned. Answer like <answer>C</answer>."
    )
    rules = "Quarter turns do not make a figure another one; a moved cell or a mirror does."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("odd",)
    tileset = ("plain:backdrop", "paper", "coloured:alive", *(f"caption:{letter}" for letter in LETTERS))

    def generate(self, key: jax.Array, scale: jax.Array) -> Panels:
        figure_key, turn_key, odd_key = jax.random.split(key, 3)
        noise = grids.noise(figure_key, (CANDIDATES, SIDE * SIDE + 1))
        count = FEWEST + (noise[:, -1:] * (MOST - FEWEST + 1)).astype(jnp.int32)
        rank = (noise[:, :-1, None] > noise[:, None, :-1]).sum(-1)
        common = (rank < count).reshape(-1, SIDE, SIDE)
        apart = (rank >= SIDE * SIDE - count).reshape(-1, SIDE, SIDE)
        moved = ((rank < count - 1) | (rank == count)).reshape(-1, SIDE, SIDE)
        other = jnp.stack([apart, moved, common[:, :, ::-1]])[scale]
        differs = (_turned(common) != other[:, None]).any((2, 3)).all(1)
        chosen = differs.argmax()
        turns = jax.random.randint(turn_key, (ACROSS**2,), 0, jnp.where(scale > 0, SIDE, 1))
        odd = jax.random.randint(odd_key, (), 0, jnp.asarray(ROWS * COLS)[scale])
        is_odd = jnp.arange(ACROSS**2) == odd
        figures = _turned(jnp.stack([common[chosen], other[chosen]]))[is_odd.astype(jnp.int32), turns]
        return Panels(figures, odd, scale)

    def legal(self, state: Panels, action: jax.Array) -> jax.Array:
        """The letter of a panel."""
        return action[0] < jnp.asarray(ROWS * COLS)[state.scale]

    def transition(
        self, key: jax.Array, state: Panels, action: jax.Array
    ) -> tuple[Panels, jax.Array, jax.Array]:
        return state, score(action[0] == state.odd, jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Panels) -> jax.Array:
        at = jnp.arange(ACROSS**2)
        tiles = jnp.pad(jnp.where(state.figures, CELL, BLANK), ((0, 0), (1, 0), (1, 0)))
        tiles = tiles.at[:, 0, 0].set(NAME + at).astype(jnp.uint8)
        row, col = jnp.indices((ACROSS, ACROSS))
        rows, cols = jnp.asarray(ROWS)[state.scale], jnp.asarray(COLS)[state.scale]
        shown = jnp.where(((row < rows) & (col < cols))[..., None, None], tiles[row * cols + col], GAP)
        return shown.transpose(0, 2, 1, 3).reshape(ACROSS * (SIDE + 1), -1)

    def extent(self, state: Panels) -> tuple[jax.Array, jax.Array]:
        return (SIDE + 1) * jnp.asarray(ROWS)[state.scale], (SIDE + 1) * jnp.asarray(COLS)[state.scale]

    def describe(self, state: Panels) -> Texts:
        board = text.grid(self.symbolic(state), (" ", ".", "#", *LETTERS), *self.extent(state), between="")
        count = text.choose(state.scale, [f"{count} panels" for count in (ROWS * COLS).tolist()])
        row = text.number(state.odd // jnp.asarray(COLS)[state.scale] + 1, 1)
        return Texts(board, count, text.concat(text.encode("the odd one is in row "), row))

    def exercised(self, state: Panels, action: jax.Array, after: Panels) -> dict[str, jax.Array]:
        at, right = jnp.arange(ACROSS**2), action[0] == state.odd
        shown = at < jnp.asarray(ROWS * COLS)[state.scale]
        alike = (state.figures == state.figures[action[0]]).all((1, 2)) & shown & (at != action[0])
        return {
            "compare_panels": ~alike.any(),
            "discriminate_fine": right & (state.scale == MOVED),
            "detect_symmetry": right & (state.scale == MIRRORED),
            "induce_pattern": right,
        }

    def expert(self, key: jax.Array, state: Panels) -> jax.Array:
        return state.odd[None]


def _turned(figures: jax.Array) -> jax.Array:
    """bool[n, 4, 4, 4]: each of figures bool[n, 4, 4] after 0 to 3 quarter turns."""
    return jnp.stack([jnp.rot90(figures, turns, (1, 2)) for turns in range(4)], axis=1)
