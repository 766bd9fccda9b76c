"""Guess a number from "higher" and "lower": halve what is left of the line."""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.text import Text

DIGITS = 4
LENGTHS = np.array([20, 100, 1000], np.int32)
HIGHEST = np.array([99, 999, 9999], np.int32)  # that the line may reach
# The picture: a row of cells with the ends of the line, two for the line, one with the ends of what is left.
ROWS, COLS, THICK = 4, 2 * DIGITS + 1, 2
BLANK_END, BLANK_LEFT = 0, 11


@struct.dataclass
class Line:
    first: jax.Array  # int32[], the ends of the line, inclusive
    last: jax.Array  # int32[]
    low: jax.Array  # int32[], the ends of what is left
    high: jax.Array  # int32[]
    number: jax.Array  # int32[]


class GuessTheNumber(TileEnvironment):
    id = "guess_the_number"
    family = "text_symbolic"
    abilities = ("read_gauge_status", "query_actively", "compare_sort", "format_answer")
    grammar = Numbers(1, 10**DIGITS - 1)
    task = "Guess the hidden number on the green part of the line. Answer like <answer>42</answer>."
    rules = "A guess turns the numbers that it rules out grey. Below the line are the ends of the green part."
    max_turns: ClassVar[tuple[int, ...]] = (6, 9, 12)
    hidden = ("number",)
    tileset = (
        "plain:header",
        *(f"plain:header glyph:{digit}" for digit in range(10)),
        "plain:paper",
        *(f"plain:paper glyph:{digit}" for digit in range(10)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Line:
        first_key, number_key = jax.random.split(key)
        length = jnp.asarray(LENGTHS)[scale]
        first = jax.random.randint(first_key, (), 1, jnp.asarray(HIGHEST)[scale] - length + 2)
        last = first + length - 1
        number = jax.random.randint(number_key, (), first, last + 1)
        return Line(first, last, first, last, number)

    def legal(self, state: Line, action: jax.Array) -> jax.Array:
        """A number on the line."""
        return (action[0] >= state.first) & (action[0] <= state.last)

    def transition(self, key: jax.Array, state: Line, action: jax.Array) -> tuple[Line, jax.Array, jax.Array]:
        guess = action[0]
        low = jnp.where(guess < state.number, jnp.maximum(state.low, guess + 1), state.low)
        high = jnp.where(guess > state.number, jnp.minimum(state.high, guess - 1), state.high)
        found = guess == state.number
        return replace(state, low=low, high=high), found.astype(jnp.float32), found

    def symbolic(self, state: Line) -> jax.Array:
        ends, left = _labels(state.first, state.last), _labels(state.low, state.high)
        line = jnp.full((THICK, COLS), BLANK_END)
        return jnp.concatenate([BLANK_END + ends[None], line, BLANK_LEFT + left[None]]).astype(jnp.uint8)

    def extent(self, state: Line) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(ROWS), jnp.int32(COLS)

    def draw(self, state: Line, canvas: int) -> jax.Array:
        cell = canvas // COLS
        top = (canvas - ROWS * cell) // 2 + cell
        left, width = (canvas - COLS * cell) // 2, COLS * cell
        length = state.last - state.first + 1
        at = jnp.arange(canvas)
        start = left + (state.low - state.first) * width // length
        end = jnp.maximum(left + (state.high + 1 - state.first) * width // length, start + 1)
        is_open = (at >= start) & (at < end)
        line = jnp.where(is_open[:, None], palette.rgb("goal"), palette.rgb("line"))
        inside = ((at >= top) & (at < top + THICK * cell))[:, None] & ((at >= left) & (at < left + width))
        return jnp.where(inside[..., None], line, super().draw(state, canvas))

    def describe(self, state: Line) -> Texts:
        line = text.concat(text.encode("line "), _span(state.first, state.last))
        left = text.concat(text.encode(", left "), _span(state.low, state.high))
        count = text.concat(text.number(state.high - state.low + 1, DIGITS), text.encode(" numbers left"))
        parity = text.choose(state.number % 2, ("the number is even", "the number is odd"))
        return Texts(text.concat(line, left), count, parity)

    def exercised(self, state: Line, action: jax.Array, after: Line) -> dict[str, jax.Array]:
        guess, length = action[0], state.last - state.first + 1
        count = state.high - state.low + 1
        halved = 2 * count <= length
        miss = jnp.maximum(jnp.maximum(state.low - guess, guess - state.high), 0)
        uneven = jnp.abs(state.low + state.high - 2 * guess)
        return {
            "read_gauge_status": halved & (10 * miss <= length),
            "query_actively": (count > 1) & (uneven <= jnp.maximum(count // 4, 1)),
            "compare_sort": halved & (miss == 0),
        }

    def expert(self, key: jax.Array, state: Line) -> jax.Array:
        """A middle of what is left."""
        middle = state.low + (state.high - state.low + jax.random.randint(key, (), 0, 2)) // 2
        return middle[None]


def _span(low: jax.Array, high: jax.Array) -> Text:
    return text.concat(text.number(low, DIGITS), text.encode(" to "), text.number(high, DIGITS))


def _labels(low: jax.Array, high: jax.Array) -> jax.Array:
    """int32[9]: digits + 1 of two numbers, one at the left and one at the right, 0 where there is none."""
    left, right = text.number(low, DIGITS), text.number(high, DIGITS)
    gap = jnp.zeros(1, jnp.uint8)
    both = jnp.concatenate([left.data, gap, jnp.roll(right.data, DIGITS - right.length)])
    return jnp.where(both > 0, both.astype(jnp.int32) - ord("0") + 1, 0)
