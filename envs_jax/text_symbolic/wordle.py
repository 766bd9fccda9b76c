"""Guess a word of five letters from the marks of earlier guesses; some guesses are made at the start.

Marks as in Wordle: a letter that is guessed more often than the word has it is grey from then on.
"""

from dataclasses import replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.text_symbolic.words import FIVE_LETTERS
from jaxenv import grids, text
from jaxenv.environment import TileEnvironment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts

ROWS, LENGTH = 6, 5
ROWS_MADE = np.array([3, 2, 1], np.int32)  # of random words, at the start
GREY, YELLOW, GREEN = range(3)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDS = np.array([[ord(letter) - ord("a") for letter in word] for word in FIVE_LETTERS], np.int8)
CONSIDERED = 128  # possible answers that the expert looks at; seldom are there more
WEIGHTS = 3 ** np.arange(LENGTH)  # all marks of a guess as one number


def marks(guess: Any, word: Any) -> Any:
    """GREY, YELLOW or GREEN for each letter of guesses int8[..., 5] at words int8[..., 5]."""
    green = guess == word
    left = (guess[..., :, None] == word[..., None, :]) & ~green[..., None, :]
    alike = (guess[..., :, None] == guess[..., None, :]) & ~green[..., None, :]
    earlier = alike & np.tri(LENGTH, k=-1, dtype=bool)
    return GREEN * green + YELLOW * (~green & (earlier.sum(-1) < left.sum(-1)))


# The marks of each word of the list, guessed when each is the answer.
MARKS = (marks(WORDS[:, None], WORDS) @ WEIGHTS).astype(np.uint8)


@struct.dataclass
class Guesses:
    letters: jax.Array  # int8[6, 5], a is 0, -1 in rows that are not used yet
    marks: jax.Array  # int8[6, 5]
    used: jax.Array  # int32[], rows
    answer: jax.Array  # int32[], of FIVE_LETTERS


class Wordle(TileEnvironment):
    id = "wordle"
    family = "text_symbolic"
    abilities = (
        "read_letter",
        "recognise_colour",
        "query_actively",
        "search_lexicon",
        "deduce_logic",
        "format_answer",
    )
    grammar = Letters(LENGTH)
    task = "Guess the hidden English word of five letters. Answer a word, like <answer>crane</answer>."
    rules = (
        "Green (+): the letter is in its place. Yellow (?): it is in the word, elsewhere. Grey (-): the word "
        "does not have it, or not so often. There are six rows."
    )
    max_turns: ClassVar[tuple[int, ...]] = tuple((ROWS - ROWS_MADE).tolist())
    expert_success = (0.97, 0.97, 0.97)
    hidden = ("answer",)
    tileset = (
        "letter:slot",
        *(f"letter:{mark}-{letter}" for mark in ("grey", "yellow", "green") for letter in ALPHABET),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Guesses:
        _, drawn = jax.lax.top_k(jax.random.uniform(key, (len(WORDS),)), 1 + ROWS)
        used = jnp.asarray(ROWS_MADE)[scale]
        letters = jnp.asarray(WORDS)[drawn[1:]]
        made = jnp.arange(ROWS)[:, None] < used
        found = marks(letters, jnp.asarray(WORDS)[drawn[0]]).astype(jnp.int8)
        return Guesses(jnp.where(made, letters, -1), jnp.where(made, found, GREY), used, drawn[0])

    def legal(self, state: Guesses, action: jax.Array) -> jax.Array:
        """Five letters; they need not be a word."""
        return (action >= 0).all()

    def transition(
        self, key: jax.Array, state: Guesses, action: jax.Array
    ) -> tuple[Guesses, jax.Array, jax.Array]:
        guess = action.astype(jnp.int8)
        found = marks(guess, jnp.asarray(WORDS)[state.answer]).astype(jnp.int8)
        after = replace(
            state,
            letters=state.letters.at[state.used].set(guess, mode="drop"),
            marks=state.marks.at[state.used].set(found, mode="drop"),
            used=state.used + 1,
        )
        solved = (found == GREEN).all()
        return after, solved.astype(jnp.float32), solved | (after.used >= ROWS)

    def symbolic(self, state: Guesses) -> jax.Array:
        marked = 1 + len(ALPHABET) * state.marks + state.letters
        return jnp.where(state.letters < 0, 0, marked).astype(jnp.uint8)

    def extent(self, state: Guesses) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(ROWS), jnp.int32(LENGTH)

    def describe(self, state: Guesses) -> Texts:
        words = (".", *(letter + mark for mark in "-?+" for letter in ALPHABET))
        board = text.grid(self.symbolic(state), words, ROWS, LENGTH)
        made = text.concat(text.number(state.used, 1), text.encode(f" of {ROWS} guesses made"))
        initial = jnp.asarray(WORDS)[state.answer, 0]
        return Texts(board, made, text.concat(text.encode("it begins with "), text.choose(initial, ALPHABET)))

    def exercised(self, state: Guesses, action: jax.Array, after: Guesses) -> dict[str, jax.Array]:
        words, guess = jnp.asarray(WORDS), action.astype(jnp.int8)
        green = jnp.where(state.marks == GREEN, state.letters, -1).max(0)
        shown = state.letters[..., None] == jnp.arange(len(ALPHABET))
        grey = (state.marks == GREY)[..., None]
        out = (shown & grey).any((0, 1)) & ~(shown & ~grey).any((0, 1))
        possible = _possible(state)
        told = marks(guess, words) @ jnp.asarray(WEIGHTS)
        alike = jnp.zeros(3**LENGTH, jnp.int32).at[told].add(possible.astype(jnp.int32))
        count = possible.sum()
        return {
            "read_letter": out.any() & ~out[action].any(),
            "recognise_colour": (green >= 0).any() & ((green < 0) | (green == guess)).all(),
            # Few possible answers are left on average.
            "query_actively": (count > 1) & ((alike**2).sum() <= count * jnp.maximum(count / 12, 1.5)),
            "search_lexicon": (possible & (words == guess).all(1)).any(),
            "deduce_logic": _fitting(state, guess[None]).all(),
        }

    def expert(self, key: jax.Array, state: Guesses) -> jax.Array:
        """The word of the list that leaves the fewest possible answers on average, better a possible one."""
        fits = _possible(state)
        (answers,) = jnp.nonzero(fits, size=CONSIDERED, fill_value=len(WORDS))
        told = jnp.asarray(MARKS)[:, jnp.minimum(answers, len(WORDS) - 1)]
        guess, counts = jnp.arange(len(WORDS))[:, None], (answers < len(WORDS)).astype(jnp.int32)
        alike = jnp.zeros((len(WORDS), 3**LENGTH), jnp.int32).at[guess, told].add(counts)
        best = grids.random_argmin(key, 2 * (alike**2).sum(1) - fits)
        return jnp.asarray(WORDS)[best].astype(jnp.int32)


def _possible(state: Guesses) -> jax.Array:
    """bool[words]: the words of the list that would have got the same marks."""
    return _fitting(state, jnp.asarray(WORDS))


def _fitting(state: Guesses, words: jax.Array) -> jax.Array:
    """bool[N]: which of the words int8[N, 5] would have got the same marks."""
    same = (marks(state.letters[:, None], words) == state.marks[:, None]).all(-1)
    return (same | (jnp.arange(ROWS) >= state.used)[:, None]).all(0)
