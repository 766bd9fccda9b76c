"""Add up the pips of dice that lie about at all angles. The answer is right or wrong."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.render.pieces.dice import POSES
from jaxenv.scoring import score

FACES = 6
SIDE = 4
SIDES = np.array([2, 3, 4], np.int32)  # of the table, in places for a die
COUNTS = np.array([3, 7, 14], np.int32)  # of dice


@struct.dataclass
class Throw:
    faces: jax.Array  # uint8[4, 4], 0 where no die lies
    poses: jax.Array  # uint8[4, 4]
    scale: jax.Array  # int32[]


class DicePipsTotal(TileEnvironment):
    id = "dice_pips_total"
    family = "counting_perception"
    abilities = ("count_objects", "read_symbol", "compute_arithmetic", "read_orientation", "format_answer")
    grammar = Numbers(1, 99)
    task = "How many pips do the dice show in all? Answer one number in <answer></answer>."
    rules = "Add the pips on top of all dice."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = ("felt", *(f"felt die:{face}-{pose}" for face in range(1, FACES + 1) for pose in range(POSES)))

    def generate(self, key: jax.Array, scale: jax.Array) -> Throw:
        places, faces, poses = grids.noise(key, (3, SIDE, SIDE))
        table = grids.inside(SIDE, jnp.asarray(SIDES)[scale])
        lies = grids.pick_mask(places, table, jnp.asarray(COUNTS)[scale])
        faces = jnp.where(lies, 1 + jnp.floor(faces * FACES), 0).astype(jnp.uint8)
        return Throw(faces, jnp.where(lies, jnp.floor(poses * POSES), 0).astype(jnp.uint8), scale)

    def transition(
        self, key: jax.Array, state: Throw, action: jax.Array
    ) -> tuple[Throw, jax.Array, jax.Array]:
        return state, score(action[0] == _total(state), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Throw) -> jax.Array:
        return jnp.where(state.faces > 0, 1 + (state.faces - 1) * POSES + state.poses, 0).astype(jnp.uint8)

    def extent(self, state: Throw) -> tuple[jax.Array, jax.Array]:
        side = jnp.asarray(SIDES)[state.scale]
        return side, side

    def describe(self, state: Throw) -> Texts:
        rows, cols = self.extent(state)
        faces = text.grid(state.faces, (".", *map(str, range(1, FACES + 1))), rows, cols)
        count = text.choose(state.scale, [f"{count} dice" for count in COUNTS.tolist()])
        return Texts(faces, count, text.choose(_total(state) % 2, ("the total is even", "the total is odd")))

    def exercised(self, state: Throw, action: jax.Array, after: Throw) -> dict[str, jax.Array]:
        miss, dice = jnp.abs(action[0] - _total(state)), jnp.asarray(COUNTS)[state.scale]
        # Nearer to an eighth of a turn than to the sides of the table.
        askew = (state.faces > 0) & (jnp.abs(2 * state.poses.astype(jnp.int32) - POSES) < POSES // 2)
        return {
            "count_objects": miss <= 1,
            "read_symbol": 2 * miss < dice,
            "compute_arithmetic": miss == 0,
            "read_orientation": (miss <= 1) & (2 * askew.sum() > dice),
        }

    def expert(self, key: jax.Array, state: Throw) -> jax.Array:
        return _total(state)[None]


def _total(state: Throw) -> jax.Array:
    return state.faces.sum(dtype=jnp.int32)
