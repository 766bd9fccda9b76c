"""Answer grammars of a few environments; the common ones are in `jaxenv.answers`."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from jaxenv import text
from jaxenv.answers import SEPARATORS
from jaxenv.text import Text


@dataclass(frozen=True)
class Letters:
    """One to `limit` of `letters` (from a or A on), in either case, with or without separators; the action is
    int32[limit], 0 for a, -1 after the last. Formatted as in `letters`, with `between` in between."""

    limit: int
    letters: str = "abcdefghijklmnopqrstuvwxyz"
    between: str = ""

    @property
    def capacity(self) -> int:
        return self.limit * (1 + len(self.between))

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        inside = jnp.arange(answer.capacity) < answer.length
        # Capitals and small letters differ in one bit.
        index = (answer.data | 32).astype(jnp.int32) - ord("a")
        is_letter = inside & (answer.data >= ord("A")) & (index >= 0) & (index < len(self.letters))
        is_space = (answer.data[:, None] == SEPARATORS).any(-1)
        given = is_letter.sum()
        (place,) = jnp.nonzero(is_letter, size=self.limit, fill_value=0)
        valid = (is_letter | is_space | ~inside).all() & (given >= 1) & (given <= self.limit)
        return jnp.where(jnp.arange(self.limit) < given, index[place], -1), valid

    def format(self, action: jax.Array) -> Text:
        table, lengths = text.word_table([letter + self.between for letter in self.letters])
        last = jnp.arange(self.limit) == (action >= 0).sum() - 1
        sizes = jnp.where(action >= 0, jnp.where(last, 1, jnp.asarray(lengths)[action]), 0)
        return text.pack(jnp.asarray(table)[action], sizes)

    def sample(self, key: jax.Array) -> jax.Array:
        letter_key, length_key = jax.random.split(key)
        letters = jax.random.randint(letter_key, (self.limit,), 0, len(self.letters), jnp.int32)
        length = jax.random.randint(length_key, (), 1, self.limit + 1)
        return jnp.where(jnp.arange(self.limit) < length, letters, -1)
