"""Texts made inside jit against Python strings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxenv import text
from jaxenv.text import Text

ALPHABET = "abc <>/\nXYZ019äß"


def random_strings(count: int, longest: int, seed: int = 0) -> list[str]:
    noise = np.random.default_rng(seed)
    return ["".join(noise.choice(list(ALPHABET), noise.integers(0, longest + 1))) for _ in range(count)]


def assert_clean(made: Text) -> None:
    """Bytes after the text are zero, and it fits."""
    assert made.data.dtype == jnp.uint8
    assert made.length.dtype == jnp.int32
    assert 0 <= int(made.length) <= made.capacity
    assert not np.asarray(made.data)[int(made.length) :].any()


def test_encode_and_decode_are_inverse():
    strings = random_strings(50, 12)
    for string in strings:
        assert text.decode(text.encode(string)) == string
        assert text.decode(text.encode(string, 64)) == string
        assert_clean(text.encode(string, 64))
    assert text.decode_batch(text.encode_batch(strings, 64)) == strings


def test_a_constant_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="text of 5 bytes does not fit a capacity of 4"):
        text.encode("hello", 4)


def test_a_batch_keeps_the_last_bytes_of_a_long_string():
    assert text.decode_batch(text.encode_batch(["hello", "", "abc"], 3)) == ["llo", "", "abc"]


def test_undecodable_bytes_do_not_raise():
    assert text.decode(Text(np.array([0xFF, ord("a")], np.uint8), np.int32(2))) == "\ufffda"


def test_concat_joins_like_python():
    join = jax.jit(jax.vmap(lambda *parts: text.concat(*parts)))
    columns = [random_strings(40, 10, seed) for seed in range(3)]
    joined = join(*(text.encode_batch(column, 40) for column in columns))
    assert joined.data.shape == (40, 120)
    assert text.decode_batch(joined) == ["".join(row) for row in zip(*columns, strict=True)]


def test_equal_texts_are_equal_arrays_whatever_they_were_made_of():
    once = text.concat(text.encode("ab", 8), text.encode("c", 8))
    twice = text.concat(text.encode("a", 8), text.encode("bc", 8))
    np.testing.assert_array_equal(once.data, twice.data)
    assert_clean(once)


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_numbers(digits: int):
    values = np.unique(np.random.default_rng(0).integers(0, 10**digits, 60)).astype(np.int32)
    values = np.concatenate([values, np.array([0, 9, 10**digits - 1], np.int32)])
    made = jax.jit(jax.vmap(lambda value: text.number(value, digits)))(values)
    assert text.decode_batch(made) == [str(value) for value in values]


def test_when_and_choose():
    shown = jax.jit(lambda flag: text.when(flag, text.encode("yes")))
    assert [text.decode(shown(flag)) for flag in (True, False)] == ["yes", ""]
    assert_clean(shown(False))
    words = ("", "up", "right")
    chosen = jax.jit(jax.vmap(lambda index: text.choose(index, words)))(jnp.arange(3))
    assert text.decode_batch(chosen) == list(words)


@pytest.mark.parametrize("between", ["", " ", ", "])
def test_grids_have_a_line_a_row(between: str):
    words = (".", "#", "long", "")
    noise = np.random.default_rng(1)
    draw = jax.jit(lambda ids, rows, cols: text.grid(ids, words, rows, cols, between))
    for rows, cols in ((1, 1), (3, 4), (5, 2), (5, 6)):
        ids = noise.integers(0, len(words), (5, 6)).astype(np.uint8)
        wanted = "\n".join(between.join(words[i] for i in row[:cols]) for row in ids[:rows])
        made = draw(ids, rows, cols)
        assert text.decode(made) == wanted
        assert_clean(made)


def test_resize_pads_and_cuts():
    longer, shorter = text.resize(text.encode("abc"), 5), text.resize(text.encode("abc"), 2)
    assert (text.decode(longer), longer.capacity) == ("abc", 5)
    assert (text.decode(shorter), shorter.capacity) == ("ab", 2)


def test_pack_leaves_out_empty_words():
    table, _ = text.word_table(["ab", "cde", "f"])
    made = text.pack(jnp.asarray(table), jnp.array([2, 0, 1], jnp.int32))
    assert text.decode(made) == "abf"
    assert_clean(made)
