"""Count overlapping outlines of rectangles.

After reasoning-gym's rectangle_count, drawn as lines. No two edges lie on the same lattice line, so every
edge belongs to one rectangle and the count is certain. The answer is right or wrong.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import render, text
from jaxenv.answers import Numbers
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.scoring import score

MOST = np.array([3, 6, 10], np.int32)
SLOTS = 10
LATTICE = 23
SHORTEST = 2


@struct.dataclass
class Outlines:
    boxes: jax.Array  # int8[10, 4]: top, left, bottom, right in 0..23
    shown: jax.Array  # bool[10]


class RectangleCount(Environment):
    id = "rectangle_count"
    family = "counting_perception"
    abilities = ("count_objects", "resolve_overlap", "recognise_shape", "trace_line", "format_answer")
    grammar = Numbers(1, 20)
    task = "How many rectangles are drawn? Answer one number in <answer></answer>."
    rules = "Count the outlines, also where they overlap; areas between crossing outlines do not count."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def generate(self, key: jax.Array, scale: jax.Array) -> Outlines:
        size = LATTICE + 1
        noise = jax.random.uniform(key, (2 * size + SLOTS + 1,))
        ends = jax.vmap(_intervals)(noise[: 2 * size].reshape(2, size))
        boxes = jnp.concatenate([ends[:, :, 0].T, ends[:, :, 1].T], axis=1)
        count = 1 + (noise[-1] * jnp.asarray(MOST)[scale]).astype(jnp.int32)
        ranked = noise[2 * size : -1]
        # Any of the slots, so that no colour tells how many there are.
        shown = (ranked[:, None] > ranked[None, :]).sum(1) < count
        return Outlines(boxes.astype(jnp.int8), shown)

    def transition(
        self, key: jax.Array, state: Outlines, action: jax.Array
    ) -> tuple[Outlines, jax.Array, jax.Array]:
        return state, score(action[0] == state.shown.sum(), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Outlines) -> jax.Array:
        return jnp.where(state.shown[:, None], state.boxes, 0).astype(jnp.uint8)

    def draw(self, state: Outlines, canvas: int) -> jax.Array:
        return render.draw_outlines(state.boxes.astype(jnp.int32), state.shown, LATTICE, canvas)

    def describe(self, state: Outlines) -> Texts:
        """A line a rectangle: top, left, bottom, right."""
        _, order = jax.lax.top_k(state.shown.astype(jnp.int32), SLOTS)
        count = state.shown.sum()
        lines = text.grid(state.boxes[order], [str(at) for at in range(LATTICE + 1)], count, 4)
        return Texts(
            lines,
            text.encode(f"lines on a grid of {LATTICE} by {LATTICE}"),
            text.choose(count % 2, ("the count is even", "the count is odd")),
        )

    def exercised(self, state: Outlines, action: jax.Array, after: Outlines) -> dict[str, jax.Array]:
        miss = jnp.abs(action[0] - state.shown.sum())
        top, left, bottom, right = state.boxes.astype(jnp.int32).T
        across = (left[:, None] < right) & (right[:, None] > left)
        meet = across & (top[:, None] < bottom) & (bottom[:, None] > top)
        meet &= state.shown & state.shown[:, None] & ~jnp.eye(SLOTS, dtype=bool)
        return {
            "count_objects": miss == 0,
            "resolve_overlap": (miss == 0) & meet.any(),
            "recognise_shape": miss <= 1,
            "trace_line": (miss <= 1) & meet.any(),
        }

    def expert(self, key: jax.Array, state: Outlines) -> jax.Array:
        return state.shown.sum(dtype=jnp.int32)[None]


def _intervals(noise: jax.Array) -> jax.Array:
    """int32[10, 2]: pairs of lattice points, all different, each pair at least SHORTEST apart.

    noise float32[24] ranks the points. The best that is left is paired with the best that is far enough;
    with two points more than ends to place there always is one.
    """
    at = jnp.arange(LATTICE + 1)

    def place(free: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        first = jnp.where(free, noise, -1.0).argmax()
        far = free & (jnp.abs(at - first) >= SHORTEST)
        second = jnp.where(far, noise, -1.0).argmax()
        pair = jnp.stack([jnp.minimum(first, second), jnp.maximum(first, second)])
        return free & (at != first) & (at != second), pair.astype(jnp.int32)

    return jax.lax.scan(place, jnp.ones(LATTICE + 1, bool), None, length=SLOTS)[1]
