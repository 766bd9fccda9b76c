"""Decode words whose letters are all moved by the same number of places in the alphabet.

Caesar's cipher, as in reasoning-gym. The first scale shows what every letter stands for, the others what one
does.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.text_symbolic.words import FIVE_LETTERS
from jaxenv import text
from jaxenv.environment import TileEnvironment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.scoring import score

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST, LENGTH = 3, 5  # words, and letters of each
WORDS = np.array([[ord(letter) - ord("a") for letter in word] for word in FIVE_LETTERS], np.int32)
# The picture: a word a row, a gap, and pairs of a letter with what it stands for below.
ROWS, COLS = 8, 9
ROW, COL = np.indices((ROWS, COLS))
BLANK, SECRET, PLAIN = 0, 1, 1 + len(ALPHABET)


@struct.dataclass
class Cipher:
    letters: jax.Array  # int8[3, 5], a is 0; only the first scale + 1 words are there
    shift: jax.Array  # int32[], places that the letters were moved on
    example: jax.Array  # int32[], the letter that is explained
    scale: jax.Array  # int32[]


class CaesarCipher(TileEnvironment):
    id = "caesar_cipher"
    family = "text_symbolic"
    abilities = ("read_letter", "compute_modular", "transform_string", "format_answer")
    grammar = Letters(MOST * LENGTH)
    task = (
        "Decode the green words. Below them: white shows what green stands for. "
        "Answer the words, like <answer>hello</answer>."
    )
    rules = "All letters are moved by the same number of places in the alphabet; after Z comes A."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        "plain:paper",
        *(f"letter:green-{letter}" for letter in ALPHABET),
        *(f"given glyph:{letter}" for letter in ALPHABET),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Cipher:
        word_key, shift_key, example_key = jax.random.split(key, 3)
        words = jax.random.randint(word_key, (MOST,), 0, len(WORDS))
        shift = jax.random.randint(shift_key, (), 1, len(ALPHABET))
        example = jax.random.randint(example_key, (), 0, len(ALPHABET))
        letters = (jnp.asarray(WORDS)[words] + shift) % len(ALPHABET)
        there = (jnp.arange(MOST) <= scale)[:, None]
        return Cipher(jnp.where(there, letters, 0).astype(jnp.int8), shift, example, scale)

    def legal(self, state: Cipher, action: jax.Array) -> jax.Array:
        """As many letters as the words have."""
        return (action >= 0).sum() == LENGTH * (state.scale + 1)

    def transition(
        self, key: jax.Array, state: Cipher, action: jax.Array
    ) -> tuple[Cipher, jax.Array, jax.Array]:
        right = _decoded(state)
        solved, found = (action == right).all(), ((action == right) & (right >= 0)).sum()
        return state, score(solved, found / (LENGTH * (state.scale + 1))), jnp.bool_(True)

    def symbolic(self, state: Cipher) -> jax.Array:
        whole = state.scale == 0  # the whole alphabet is explained, and the board is wider
        at = COL - jnp.where(whole, (COLS - LENGTH) // 2, 0)
        in_word = (state.scale >= ROW) & (at >= 0) & (at < LENGTH)
        word = state.letters[np.minimum(ROW, MOST - 1), jnp.clip(at, 0, LENGTH - 1)]
        below = ROW - (state.scale + 2)
        secret = jnp.where(whole, below // 2 * COLS + COL, state.example)
        one = (below < 2) & (LENGTH // 2 == COL)
        in_pair = (below >= 0) & jnp.where(whole, secret < len(ALPHABET), one)
        pair = jnp.where(below % 2 == 0, SECRET + secret, PLAIN + _back(secret, state.shift))
        return jnp.where(in_word, SECRET + word, jnp.where(in_pair, pair, BLANK)).astype(jnp.uint8)

    def extent(self, state: Cipher) -> tuple[jax.Array, jax.Array]:
        whole = state.scale == 0
        return jnp.where(whole, ROWS, state.scale + 4), jnp.where(whole, COLS, LENGTH)

    def describe(self, state: Cipher) -> Texts:
        words = text.grid(state.letters.astype(jnp.uint8), tuple(ALPHABET), state.scale + 1, LENGTH, "")
        pair = text.concat(
            text.encode("\n"),
            text.choose(state.example, ALPHABET),
            text.encode(" stands for "),
            text.choose(_back(state.example, state.shift), ALPHABET),
        )
        size = text.concat(text.number(LENGTH * (state.scale + 1), 2), text.encode(" letters"))
        hint = text.concat(text.encode("go back by "), text.number(state.shift, 2), text.encode(" places"))
        return Texts(text.concat(words, pair), size, hint)

    def exercised(self, state: Cipher, action: jax.Array, after: Cipher) -> dict[str, jax.Array]:
        letters, right = state.letters.reshape(-1).astype(jnp.int32), _decoded(state)
        there = right >= 0
        back = (letters - action) % len(ALPHABET)
        shift = jnp.arange(1, len(ALPHABET))
        alike = ((back == shift[:, None]) & there).sum(1).max()
        wraps = there & (letters < state.shift)
        return {
            "read_letter": 4 * alike >= 3 * there.sum(),
            "compute_modular": wraps.any() & ((action == right) | ~wraps).all(),
            "transform_string": alike == there.sum(),
        }

    def expert(self, key: jax.Array, state: Cipher) -> jax.Array:
        return _decoded(state)


def _back(letter: jax.Array, shift: jax.Array) -> jax.Array:
    """int32: what a letter stands for."""
    return (letter - shift) % len(ALPHABET)


def _decoded(state: Cipher) -> jax.Array:
    """int32[15]: the letters that are meant, -1 after the last."""
    there = (jnp.arange(MOST) <= state.scale)[:, None]
    meant = _back(state.letters.astype(jnp.int32), state.shift)
    return jnp.where(there, meant, -1).reshape(-1)
