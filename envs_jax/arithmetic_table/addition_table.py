"""Find the base and the digits behind the letters of an addition table.

Letters A, B, C ... are the digits 0..n-1 of base n in a random order, and the table shows every sum of two
of them in these letters. Rules of RLVE's AdditionTable. The table has one solution: only adding zero changes
nothing, the letter that leads a sum of two letters is one, and adding one leads from each digit to the next.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.scoring import score

MOST = 6
BASES = np.array([3, 4, 6], np.int32)
LETTERS = "ABCDEF"
PLUS, HEAD, ONE, TWO = 0, 1, 1 + MOST, 1 + 2 * MOST
PAIRS = tuple(first + second for first in LETTERS for second in LETTERS)
WORDS = ("+", *LETTERS, *LETTERS, *PAIRS)


@struct.dataclass
class Cipher:
    digits: jax.Array  # int8[6], of the letters A, B, C ...; -1 after the last
    base: jax.Array  # int32[]


class AdditionTable(TileEnvironment):
    id = "addition_table"
    family = "arithmetic_table"
    abilities = (
        "read_letter",
        "compute_modular",
        "deduce_logic",
        "propagate_constraints",
        "enforce_all_different",
        "format_structured",
    )
    grammar = Numbers(MOST + 1, MOST)
    task = (
        "Letters are the digits of a base. Answer the base, then A, B, C ... as <answer>base A B C</answer>."
    )
    rules = "The table adds two letters. The digits are 0 to base - 1, each is one letter."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        *(f"header glyph:{word}" for word in WORDS[:ONE]),
        *(f"paper glyph:{word}" for word in WORDS[ONE:]),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Cipher:
        base = jnp.asarray(BASES)[scale]
        noise = jnp.where(jnp.arange(MOST) < base, jax.random.uniform(key, (MOST,)), jnp.inf)
        rank = (noise[:, None] > noise[None, :]).sum(1)
        return Cipher(jnp.where(jnp.arange(MOST) < base, rank, -1).astype(jnp.int8), base)

    def legal(self, state: Cipher, action: jax.Array) -> jax.Array:
        """The base and one number for each letter."""
        return (action >= 0).sum() == state.base + 1

    def transition(
        self, key: jax.Array, state: Cipher, action: jax.Array
    ) -> tuple[Cipher, jax.Array, jax.Array]:
        right = (action == _answer(state)) & (jnp.arange(MOST + 1) <= state.base)
        count = right.sum()
        return state, score(count == state.base + 1, count / (state.base + 1)), jnp.bool_(True)

    def symbolic(self, state: Cipher) -> jax.Array:
        sums = state.digits[:, None].astype(jnp.int32) + state.digits[None, :]
        letter = jnp.argmax(state.digits == jnp.arange(MOST)[:, None], axis=1)
        unit = letter[sums % state.base]
        body = jnp.where(sums >= state.base, TWO + MOST * letter[1] + unit, ONE + unit)
        head = HEAD + jnp.arange(MOST)
        table = jnp.zeros((MOST + 1, MOST + 1), jnp.int32)
        table = table.at[0, 1:].set(head).at[1:, 0].set(head).at[1:, 1:].set(body)
        return table.astype(jnp.uint8)

    def extent(self, state: Cipher) -> tuple[jax.Array, jax.Array]:
        return state.base + 1, state.base + 1

    def describe(self, state: Cipher) -> Texts:
        size = state.base + 1
        table = text.grid(self.symbolic(state), WORDS, size, size)
        count = text.concat(text.number(state.base, 1), text.encode(" letters"))
        hint = text.concat(text.choose((state.digits == 0).argmax(), LETTERS), text.encode(" is 0"))
        return Texts(table, count, hint)

    def exercised(self, state: Cipher, action: jax.Array, after: Cipher) -> dict[str, jax.Array]:
        digits, letters = action[1:], jnp.arange(MOST) < state.base
        right = (digits == state.digits) | ~letters
        each = (jnp.sort(jnp.where(letters, digits, MOST)) == jnp.arange(MOST)) | ~letters
        return {
            "read_letter": action[0] == state.base,
            "compute_modular": (right | (state.digits != 1)).all(),
            "deduce_logic": (right | (state.digits != 0)).all(),
            "propagate_constraints": right.all(),
            "enforce_all_different": each.all(),
        }

    def expert(self, key: jax.Array, state: Cipher) -> jax.Array:
        return _answer(state)


def _answer(state: Cipher) -> jax.Array:
    """int32[7]: the base, then the digits of the letters, -1 after the last."""
    return jnp.concatenate([state.base[None], state.digits.astype(jnp.int32)])
