"""Grammars of a few environments: answers in words and back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxenv import text
from jaxenv.grammars import Letters

WORD, NODES = Letters(5), Letters(3, "ABCDEF", between=" ")


@pytest.mark.parametrize(
    ("grammar", "answer", "action"),
    [
        (WORD, "crane", [2, 17, 0, 13, 4]),
        (WORD, " C r,A\nN e", [2, 17, 0, 13, 4]),
        (WORD, "zz", [25, 25, -1, -1, -1]),
        (NODES, "A c;F", [0, 2, 5]),
        (NODES, "fb", [5, 1, -1]),
    ],
)
def test_letters_are_read(grammar, answer, action):
    found, valid = jax.jit(grammar.parse)(text.encode(answer, 16))
    assert valid
    assert found.tolist() == action


@pytest.mark.parametrize("answer", ["", " ", "A1", "A-B", "ABCD", "G", "a@", "A["])
def test_other_answers_are_refused(answer):
    found, valid = jax.jit(NODES.parse)(text.encode(answer, 16))
    assert not valid
    assert ((found >= -1) & (found < 6)).all()


@pytest.mark.parametrize(("grammar", "letters"), [(WORD, "crane"), (NODES, "A C F"), (NODES, "B")])
def test_letters_are_written(grammar, letters):
    numbers = [ord(letter.lower()) - ord("a") for letter in letters.replace(" ", "")]
    action = np.pad(numbers, (0, grammar.limit - len(numbers)), constant_values=-1)
    assert text.decode(grammar.format(jnp.asarray(action, jnp.int32))) == letters
    assert len(letters) <= grammar.capacity
