"""Adjust something by amounts until it is right, then stop: the grammar of such answers."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.answers import SEPARATORS, Numbers, Word
from jaxenv.text import Text

STOP = "stop"


@dataclass(frozen=True)
class Adjustments:
    """One of `knobs` and a whole amount, `hue -40`, or `stop`; the action is int32[2], the index of the knob
    and the amount, -high..high; that of `stop` is len(knobs), and its amount 0."""

    knobs: tuple[str, ...]
    high: int

    @property
    def words(self) -> Word:
        return Word((*self.knobs, STOP))

    @property
    def capacity(self) -> int:
        return self.words.capacity + len(f" -{self.high}")

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        data, at = answer.data, jnp.arange(answer.capacity)
        inside = at < answer.length
        is_digit = inside & (data >= ord("0")) & (data <= ord("9"))
        is_sign = inside & ((data == ord("-")) | (data == ord("+")))
        is_letter = inside & ((data | 32) >= ord("a")) & ((data | 32) <= ord("z"))
        is_space = (data[:, None] == SEPARATORS).any(-1)
        knob, known = self.words.parse(_only(answer, is_letter))
        amounts, counted = Numbers(1, self.high).parse(_only(answer, is_digit))
        stops = knob == len(self.knobs)
        # The sign, if any, stands right before the amount, and both after the word.
        first = jnp.where(is_digit, at, answer.capacity).min()
        sign_fits = (is_sign.sum() == 0) | (is_sign.sum() == 1) & is_sign[jnp.maximum(first - 1, 0)]
        ordered = (
            jnp.where(is_letter, at, -1).max() < jnp.where(is_digit | is_sign, at, answer.capacity).min()
        )
        valid = known & (is_digit | is_sign | is_letter | is_space | ~inside).all()
        valid &= jnp.where(stops, ~(is_digit | is_sign).any(), counted & sign_fits & ordered)
        negative = (is_sign & (data == ord("-"))).any()
        amount = jnp.where(stops | ~counted, 0, jnp.where(negative, -amounts[0], amounts[0]))
        return jnp.stack([knob, amount]).astype(jnp.int32), valid

    def format(self, action: jax.Array) -> Text:
        knob, amount = action
        sign = text.choose((amount < 0).astype(jnp.int32), (" ", " -"))
        number = text.number(jnp.abs(amount), len(str(self.high)))
        turned = text.when(knob < len(self.knobs), text.concat(sign, number))
        return text.concat(self.words.format(knob), turned)

    def sample(self, key: jax.Array) -> jax.Array:
        knob_key, amount_key = jax.random.split(key)
        knob = self.words.sample(knob_key)
        amount = jax.random.randint(amount_key, (), -self.high, self.high + 1, jnp.int32)
        return jnp.stack([knob, jnp.where(knob < len(self.knobs), amount, 0)])


def _only(answer: Text, kept: jax.Array) -> Text:
    return Text(jnp.where(kept, answer.data, np.uint8(ord(" "))), answer.length)


def shorter_way(degrees: jax.Array) -> jax.Array:
    """The same turn, by -180..179 degrees."""
    return (degrees + 180) % 360 - 180
