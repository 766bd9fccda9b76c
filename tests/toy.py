"""A tiny environment that compiles fast: count down to nothing. Its salt tells instances apart."""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv import text
from jaxenv.answers import Word
from jaxenv.environment import Environment
from jaxenv.harness import Texts


@struct.dataclass
class Count:
    left: jax.Array  # uint8[]
    salt: jax.Array  # uint8[2]


class Countdown(Environment):
    id = "toy_countdown"
    family = "toys"
    abilities = ("count",)
    grammar = Word(("down", "stay"))
    task = "Count down to 0. Answer <answer>down</answer> or stay."
    rules = "Down takes one away."
    max_turns: ClassVar[tuple[int, ...]] = (4, 6)

    def generate(self, key: jax.Array, scale: jax.Array) -> Count:
        return Count((scale + 1).astype(jnp.uint8), jax.random.bits(key, (2,), jnp.uint8))

    def transition(
        self, key: jax.Array, state: Count, action: jax.Array
    ) -> tuple[Count, jax.Array, jax.Array]:
        left = state.left - (action == 0).astype(jnp.uint8)
        return replace(state, left=left), (left == 0).astype(jnp.float32), left == 0

    def symbolic(self, state: Count) -> jax.Array:
        return jnp.concatenate([state.left[None], state.salt])

    def draw(self, state: Count, canvas: int) -> jax.Array:
        """A strip of the numbers on black."""
        shade = jnp.zeros((canvas, canvas), jnp.uint8).at[1, :3].set(self.symbolic(state)).at[2, 0].set(255)
        return jnp.broadcast_to(shade[..., None], (canvas, canvas, 3))

    def describe(self, state: Count) -> Texts:
        first, second = (text.number(part.astype(jnp.int32)) for part in state.salt)
        words = text.concat(first, text.encode("-"), second)
        return Texts(words, text.number(state.left.astype(jnp.int32), 1), text.encode(""))

    def expert(self, key: jax.Array, state: Count) -> jax.Array:
        return jnp.int32(0)
