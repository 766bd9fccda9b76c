"""Arithmetic expressions as tokens: their grammar, whether they are well formed, and their value."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.text import Text

SIGNS = "+-*/()"
PLUS, MINUS, TIMES, OVER, OPEN, CLOSE = range(6)
LARGEST = 1_000_000_000  # of all values on the way; whole numbers of 32 bits hold twice as much


@dataclass(frozen=True)
class Expression:
    """Numbers 0..high and signs, `(3 + 4) * 5`; the action is int32[limit]: a number stands for itself, sign
    s of SIGNS is high + 1 + s, and -1 comes after the last. It need not be well formed."""

    limit: int
    high: int

    @property
    def words(self) -> list[str]:
        return [*map(str, range(self.high + 1)), *SIGNS]

    @property
    def capacity(self) -> int:
        return self.limit * (len(str(self.high)) + 1)

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        digits = len(str(self.high))
        inside = jnp.arange(answer.capacity) < answer.length
        signs = answer.data[:, None] == np.frombuffer(SIGNS.encode(), np.uint8)
        is_sign = inside & signs.any(1)
        is_digit = inside & (answer.data >= ord("0")) & (answer.data <= ord("9"))
        is_space = (answer.data[:, None] == np.frombuffer(b" \n\r\t", np.uint8)).any(1)
        # run[k]: this byte and k more are digits.
        ahead = jnp.pad(is_digit, (0, digits))
        run = jnp.cumprod(jnp.stack([ahead[k : k + answer.capacity] for k in range(digits + 1)]), axis=0)
        starts = is_sign | is_digit & ~jnp.pad(is_digit, (1, 0))[:-1]
        (at,) = jnp.nonzero(starts, size=self.limit, fill_value=0)
        number = jnp.zeros(self.limit, jnp.int32)
        for k in range(digits):
            digit = jnp.take(answer.data, at + k, mode="fill", fill_value=0).astype(jnp.int32) - ord("0")
            number = jnp.where(run[k, at] > 0, number * 10 + digit, number)
        token = jnp.where(is_sign[at], self.high + 1 + signs[at].argmax(1), number)
        count = starts.sum()
        given = jnp.arange(self.limit) < count
        long = (is_digit & (run[digits] > 0)).any() | (given & ~is_sign[at] & (number > self.high)).any()
        valid = (is_sign | is_digit | is_space | ~inside).all() & (count >= 1) & (count <= self.limit) & ~long
        return jnp.where(given & valid, token, -1).astype(jnp.int32), valid

    def format(self, action: jax.Array) -> Text:
        table, lengths = text.word_table([word + " " for word in self.words])
        following = jnp.append(action[1:], -1)
        sign = self.high + 1
        # No blank inside parentheses, nor after the last token.
        tight = (action == sign + OPEN) | (following == sign + CLOSE) | (following < 0)
        sizes = jnp.where(action >= 0, jnp.asarray(lengths)[action] - tight, 0)
        return text.pack(jnp.asarray(table)[action], sizes)

    def sample(self, key: jax.Array) -> jax.Array:
        tokens, count = jax.random.split(key)
        drawn = jax.random.randint(tokens, (self.limit,), 0, self.high + 1 + len(SIGNS), jnp.int32)
        return jnp.where(jnp.arange(self.limit) <= jax.random.randint(count, (), 0, self.limit), drawn, -1)


def well_formed(signs: jax.Array, numbers: jax.Array) -> jax.Array:
    """bool[]: the tokens are an expression. signs int32[limit] are indices of SIGNS, -1 elsewhere; numbers
    bool[limit]; there is neither after the last token."""
    operator = (signs >= PLUS) & (signs <= OVER)
    begins, ends = numbers | (signs == OPEN), numbers | (signs == CLOSE)
    given = numbers | (signs >= 0)
    depth = jnp.cumsum(signs == OPEN) - jnp.cumsum(signs == CLOSE)
    # What may follow: an operand begins after an operator or an opening, all else after an operand.
    after_operand = jnp.pad(ends, (1, 0))[:-1]
    fits = jnp.where(begins, ~after_operand, after_operand)
    last = given & ~jnp.pad(given, (0, 1))[1:]
    closed = (depth >= 0).all() & (depth[-1] == 0)
    return (fits | ~given).all() & (ends | ~last).all() & closed & ~(operator & last).any()


def value(signs: jax.Array, numbers: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(value int32[], exact bool[]) of a well-formed expression; numbers int32[limit] count where signs
    int32[limit] are -1, and are negative after the last token.

    Not exact when a division leaves a remainder or a value on the way exceeds LARGEST. One operator after
    another is applied to the values next to it: the innermost first, then * and /, then from left to right.
    """
    limit = len(signs)
    at = jnp.arange(limit)
    depth = jnp.cumsum(signs == OPEN) - jnp.cumsum(signs == CLOSE)
    rank = (2 * depth + (signs >= TIMES)) * limit - at
    waiting = (signs >= PLUS) & (signs <= OVER)

    def apply(_: int, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        values, alive, waiting, exact = carry
        here = jnp.where(waiting, rank, -limit).argmax()
        left = jnp.where(alive & (at < here), at, 0).max()
        right = jnp.where(alive & (at > here), at, limit - 1).min()
        a, b = values[left], values[right]
        big = jnp.abs(a.astype(jnp.float32) * b) > LARGEST
        product = jnp.where(big, 0, a * b)
        divisor = jnp.where(b == 0, 1, b)
        even = (b != 0) & (a % divisor == 0)
        result = jnp.stack([a + b, a - b, product, a // divisor])[jnp.clip(signs[here], 0, 3)]
        good = jnp.stack([True, True, ~big, even])[jnp.clip(signs[here], 0, 3)] & (jnp.abs(result) <= LARGEST)
        some = waiting.any()
        values = jnp.where(some & (at == left), result, values)
        return values, alive & ~(some & (at == right)), waiting & (at != here), exact & (good | ~some)

    alive = (signs < 0) & (numbers >= 0)
    start = (jnp.where(alive, numbers, 0), alive, waiting, jnp.bool_(True))
    values, alive, _, exact = jax.lax.fori_loop(0, limit // 2, apply, start)
    return values[alive.argmax()], exact
