"""Reach the target from the numbers shown, each used once, by + - * / and parentheses.

After reasoning-gym's countdown, with divisions that leave no remainder. The planted expression joins two
values at a time; any expression with this value scores. The answer is right or wrong.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.arithmetic_table.expression import (
    CLOSE,
    OPEN,
    OVER,
    PLUS,
    Expression,
    value,
    well_formed,
)
from jaxenv import grids, text
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

MOST = 6
COUNTS = np.array([3, 4, 6], np.int32)
HIGHS = np.array([9, 20, 50], np.int32)
HIGH = int(HIGHS.max())
SIGN = HIGH + 1  # token of the first sign
LIMIT = 24
HIGHEST_TARGET = 999
COLS = 4
# Tiles: 0 an empty place, 1..50 the numbers, then the row above them.
BLANK, AIM, DIGIT = HIGH + 1, HIGH + 2, HIGH + 3
STEPS = ("an addition", "a subtraction", "a multiplication", "a division")


@struct.dataclass
class Task:
    numbers: jax.Array  # int8[6], 0 after the last
    target: jax.Array  # int32[], 1..999
    plan: jax.Array  # int8[24], tokens of an expression with this value


class Countdown(TileEnvironment):
    id = "countdown"
    family = "arithmetic_table"
    abilities = ("read_digit", "compute_arithmetic", "search_lookahead", "check_legality", "format_answer")
    grammar = Expression(LIMIT, HIGH)
    task = (
        "Make the target on top from all numbers below it, each used once. "
        "Answer with + - * / and parentheses, like <answer>(8 - 3) * 4</answer>."
    )
    rules = "Use every number exactly once. Each division must leave no remainder."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("plan",)
    tileset = (
        "slot",
        *(f"wood:{number}" for number in range(1, HIGH + 1)),
        "header",
        "header target",
        *(f"header glyph:{digit}" for digit in range(10)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Task:
        each = MOST + len(STEPS)
        noise = grids.noise(key, (MOST, each))
        count = jnp.asarray(COUNTS)[scale]
        drawn = 1 + (noise[-1, :MOST] * jnp.asarray(HIGHS)[scale]).astype(jnp.int32)
        numbers = jnp.where(jnp.arange(MOST) < count, drawn, 0)
        target, plan = _plan(noise[:-1], numbers)
        return Task(numbers.astype(jnp.int8), target, plan.astype(jnp.int8))

    def legal(self, state: Task, action: jax.Array) -> jax.Array:
        """A well-formed expression with each of the numbers once."""
        signs, numbers = _apart(action)
        shown = state.numbers[:, None]
        as_often = (shown == numbers).sum(1) == (shown == state.numbers).sum(1)
        same = (as_often | (state.numbers == 0)).all() & ((numbers >= 0).sum() == (state.numbers > 0).sum())
        return same & well_formed(signs, numbers >= 0)

    def transition(self, key: jax.Array, state: Task, action: jax.Array) -> tuple[Task, jax.Array, jax.Array]:
        result, exact = value(*_apart(action))
        return state, score(exact & (result == state.target), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Task) -> jax.Array:
        places = state.target // np.array([100, 10, 1], np.int32)
        digits = jnp.where(places > 0, DIGIT + places % 10, BLANK)
        header = jnp.concatenate([jnp.full(1, AIM), digits])
        below = jnp.pad(state.numbers, (0, 2 * COLS - MOST))
        return jnp.concatenate([header, below]).reshape(3, COLS).astype(jnp.uint8)

    def extent(self, state: Task) -> tuple[jax.Array, jax.Array]:
        rows = 2 + (state.numbers[COLS] > 0)
        return rows.astype(jnp.int32), jnp.int32(COLS)

    def describe(self, state: Task) -> Texts:
        target = text.concat(text.encode("target "), text.number(state.target, 3))
        count = (state.numbers > 0).sum()
        words = [str(number) for number in range(HIGH + 1)]
        numbers = text.grid(state.numbers[None], words, 1, count)
        board = text.concat(target, text.encode("\nnumbers "), numbers)
        size = text.concat(text.number(count, 1), text.encode(" numbers"))
        signs, _ = _apart(state.plan.astype(jnp.int32))
        depth = jnp.cumsum(signs == OPEN) - jnp.cumsum(signs == CLOSE)
        last = signs[((depth == 0) & (signs >= PLUS) & (signs <= OVER)).argmax()]
        hint = text.concat(text.encode("the last step can be "), text.choose(last, STEPS))
        return Texts(board, size, hint)

    def exercised(self, state: Task, action: jax.Array, after: Task) -> dict[str, jax.Array]:
        result, exact = value(*_apart(action))
        miss = jnp.abs(result - state.target)
        # Every legal answer has the numbers; one that comes near the target has read that too.
        return {
            "read_digit": exact & (miss <= state.target // 2),
            "compute_arithmetic": exact & (miss <= 1 + state.target // 10),
            "search_lookahead": exact & (miss == 0),
        }

    def expert(self, key: jax.Array, state: Task) -> jax.Array:
        return state.plan.astype(jnp.int32)


def _apart(tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(signs, numbers) int32[24] each, -1 where there is the other or nothing."""
    signs = jnp.where(tokens >= SIGN, tokens - SIGN, -1)
    return signs, jnp.where(tokens < SIGN, tokens, -1)


def _plan(noise: jax.Array, numbers: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(value int32[], tokens int32[24]) of a random expression of the numbers int32[6]; noise float32[5, 10]
    says which two values each step joins and how.

    With the larger value first there always is a step to a whole number in 1..999.
    """
    at = jnp.arange(LIMIT)

    def join(carry: tuple[jax.Array, ...], luck: jax.Array) -> tuple[tuple[jax.Array, ...], None]:
        values, tokens, lengths = carry
        some = (values > 0).sum() > 1
        _, pair = jax.lax.top_k(jnp.where(values > 0, luck[:MOST], -1.0), 2)
        pair = jnp.where(values[pair[0]] >= values[pair[1]], pair, pair[::-1])
        a, b = values[pair]
        results = jnp.stack([a + b, a - b, a * b, a // jnp.maximum(b, 1)])
        whole = jnp.stack([True, True, b > 1, (b > 1) & (a % jnp.maximum(b, 1) == 0)])
        fits = whole & (results >= 1) & (results <= HIGHEST_TARGET)
        sign = jnp.where(fits, luck[MOST:], -1.0).argmax()
        first, second = lengths[pair]
        joined = jnp.where(at <= first, jnp.roll(tokens[pair[0]], 1), SIGN + CLOSE)
        beyond = tokens[pair[1], jnp.clip(at - first - 2, 0, LIMIT - 1)]
        joined = jnp.where((at > first + 1) & (at <= first + second + 1), beyond, joined)
        joined = jnp.where(at == first + 1, SIGN + sign, joined).at[0].set(SIGN + OPEN)
        joined = jnp.where(at <= first + second + 2, joined, -1)
        here, gone = some & (jnp.arange(MOST) == pair[0]), some & (jnp.arange(MOST) == pair[1])
        values = jnp.where(here, results[sign], jnp.where(gone, 0, values))
        tokens = jnp.where(here[:, None], joined, tokens)
        lengths = jnp.where(here, first + second + 3, lengths)
        return (values, tokens, lengths), None

    single = jnp.full((MOST, LIMIT), -1).at[:, 0].set(numbers)
    start = (numbers, single, jnp.ones(MOST, jnp.int32))
    (values, tokens, lengths), _ = jax.lax.scan(join, start, noise)
    at_whole = values.argmax()
    whole = jnp.where(at < lengths[at_whole] - 1, tokens[at_whole], -1)
    return values[at_whole], jnp.roll(whole.at[0].set(-1), -1)  # without the outermost parentheses
