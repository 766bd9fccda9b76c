"""Count how often a red and a blue line cross on their ways from left to right.

After the line test of "Vision language models are blind", with more segments. Both lines bend at the same
columns, well apart there, so there is at most one crossing between two columns. The answer is right or wrong.
"""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.render.shading import SHADES, blend, shade
from jaxenv.scoring import score

SEGMENTS = np.array([2, 5, 9], np.int32)
MOST = 9
LEVELS = 9  # heights at which a line may bend
APART = 3  # levels at least between the lines where they bend


@struct.dataclass
class Lines:
    heights: jax.Array  # uint8[2, 10], levels of red and blue from the top, 0 after the last knot
    scale: jax.Array  # int32[]


class LineIntersections(Environment):
    id = "line_intersections"
    family = "counting_perception"
    abilities = ("count_objects", "trace_line", "resolve_overlap", "reason_geometry", "format_answer")
    grammar = Numbers(1, MOST)
    task = "How many times do the red and the blue line cross? Answer one number in <answer></answer>."
    rules = "The dots are where a line bends."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def generate(self, key: jax.Array, scale: jax.Array) -> Lines:
        noise = jax.random.uniform(key, (3 * MOST + 4,))
        (count, first), order, near, far = noise[:2], *jnp.split(noise[2:], (MOST, 2 * MOST + 1))
        segments = jnp.asarray(SEGMENTS)[scale]
        order = jnp.where(jnp.arange(MOST) < segments, order, jnp.inf)
        crosses = (order[:, None] > order).sum(1) < jnp.floor(count * (segments + 1))
        swapped = (first < 0.5) ^ (jnp.pad(jnp.cumsum(crosses), (1, 0)) % 2 == 1)
        upper = jnp.floor(near * (LEVELS - APART))
        lower = upper + APART + jnp.floor(far * (LEVELS - APART - upper))
        heights = jnp.where(swapped, jnp.stack([lower, upper]), jnp.stack([upper, lower]))
        return Lines(jnp.where(jnp.arange(MOST + 1) <= segments, heights, 0).astype(jnp.uint8), scale)

    def transition(
        self, key: jax.Array, state: Lines, action: jax.Array
    ) -> tuple[Lines, jax.Array, jax.Array]:
        return state, score(action[0] == _crossings(state), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Lines) -> jax.Array:
        return state.heights

    def draw(self, state: Lines, canvas: int) -> jax.Array:
        margin = canvas // 16
        span = canvas - 2 * margin
        knots = jnp.arange(MOST + 1)
        segments = jnp.asarray(SEGMENTS)[state.scale]
        heights = state.heights.astype(jnp.int32)
        x, y = margin + knots * span // segments, margin + heights * span // (LEVELS - 1)
        rises = jnp.abs(jnp.diff(heights, append=heights[:, -1:]))
        lengths = jnp.asarray(_lengths(span))[state.scale, rises]
        image = jnp.broadcast_to(jnp.asarray(palette.rgb("paper"), jnp.int32), (canvas, canvas, 3))
        shades = jax.vmap(_line, (None, 0, 0, None, None))(x, y, lengths, segments, canvas)
        for darkest, colour in zip(shades, ("red", "blue"), strict=True):
            image = blend(image, colour, darkest)
        return image.astype(jnp.uint8)

    def describe(self, state: Lines) -> Texts:
        """A line a knot: the levels of red and blue."""
        knots = text.grid(
            state.heights.T, tuple(map(str, range(LEVELS))), jnp.asarray(SEGMENTS)[state.scale] + 1, 2
        )
        facts = text.encode("how deep red and blue are at each bend, from the left")
        return Texts(
            knots, facts, text.choose(_crossings(state) % 2, ("the count is even", "the count is odd"))
        )

    def exercised(self, state: Lines, action: jax.Array, after: Lines) -> dict[str, jax.Array]:
        crosses, segments = _crosses(state), jnp.asarray(SEGMENTS)[state.scale]
        count = crosses.sum()
        miss = jnp.abs(action[0] - count)
        # Who has followed both lines knows which ends above, and so whether the count is even.
        return {
            "count_objects": miss == 0,
            "trace_line": (miss <= 2) & (miss % 2 == 0) & (action[0] <= segments),
            "resolve_overlap": (miss <= 1) & (crosses[1:] & crosses[:-1]).any(),
            "reason_geometry": (miss == 0) & (count > 0) & (count < segments),
        }

    def expert(self, key: jax.Array, state: Lines) -> jax.Array:
        return _crossings(state)[None]


def _crosses(state: Lines) -> jax.Array:
    """bool[9]: the segments at whose ends the lines are the other way round."""
    above = state.heights[0] < state.heights[1]
    inside = jnp.arange(MOST) < jnp.asarray(SEGMENTS)[state.scale]
    return (above[1:] != above[:-1]) & inside


def _crossings(state: Lines) -> jax.Array:
    return _crosses(state).sum(dtype=jnp.int32)


def _line(x: jax.Array, y: jax.Array, lengths: jax.Array, segments: jax.Array, canvas: int) -> jax.Array:
    """How much of each pixel a line covers, int32[canvas, canvas] in 0..SHADES. Its knots are at x and y
    int32[10]; lengths int32[10] are those of its segments. Integers throughout, as in `render.graphs`."""
    width = canvas // 40
    at = jnp.arange(canvas, dtype=jnp.int32)

    def add(knot: jax.Array, darkest: jax.Array) -> jax.Array:
        after = jnp.minimum(knot + 1, MOST)
        dx, dy, length = x[after] - x[knot], y[after] - y[knot], lengths[knot]
        right, down = at[None, :] - x[knot], at[:, None] - y[knot]
        along, across = dx * right + dy * down, jnp.abs(dx * down - dy * right)
        beside = (along >= 0) & (along <= length * length) & (knot < segments)
        line = shade((width + 1) * length - 2 * across, 2 * length)
        dot = (right**2 + down**2 <= width**2) & (knot <= segments)
        return jnp.maximum(darkest, jnp.where(dot, SHADES, jnp.where(beside, line, 0)))

    return jax.lax.fori_loop(0, MOST + 1, add, jnp.zeros((canvas, canvas), jnp.int32))


@functools.lru_cache(maxsize=8)
def _lengths(span: int) -> np.ndarray:
    """int32[scales, levels]: pixels of a segment that rises by so many levels."""
    rises = np.arange(LEVELS) * span / (LEVELS - 1)
    return np.rint(np.hypot(span / SEGMENTS[:, None], rises)).astype(np.int32)
