"""Answer grammars: bytes -> action and action -> bytes, inside jit.

A reply is free text whose last `<answer>...</answer>` holds the answer. A grammar says which answers there
are, parses one to an action array and formats an action back. The same code runs on device and on host.
Letters match in either case; spaces, commas and line breaks separate.
"""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.text import Text

OPEN, CLOSE = "<answer>", "</answer>"

# Verdicts on a reply, as int32 in `info["verdict"]`.
ACCEPTED, NO_TAG, NOT_IN_GRAMMAR, ILLEGAL = range(4)
VERDICTS = ("accepted", "no answer tag", "not in the grammar", "illegal in this state")

SEPARATORS = np.frombuffer(b" ,;\n\r\t", np.uint8)


class Grammar(Protocol):
    """What an environment accepts. `parse` returns (action, valid bool[]); the action is in range even
    when not valid, so that it can be used in traced code before the verdict is known."""

    @property
    def capacity(self) -> int:
        """Bytes of the longest formatted answer."""
        ...

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]: ...
    def format(self, action: jax.Array) -> Text: ...
    def sample(self, key: jax.Array) -> jax.Array:
        """A random action of this grammar; it may be illegal in a state."""
        ...


def extract(reply: Text) -> tuple[Text, jax.Array]:
    """The text inside the last answer tags of a reply, and whether there are any (bool[])."""
    opens, closes = _find(reply, OPEN), _find(reply, CLOSE)
    at = jnp.arange(reply.capacity)
    close = jnp.where(closes, at, -1).max()
    open_ = jnp.where(opens & (at < close), at, -1).max()
    found = (close >= 0) & (open_ >= 0)
    start = jnp.where(found, open_ + len(OPEN), 0)
    length = jnp.where(found, close - start, 0).astype(jnp.int32)
    data = jnp.take(reply.data, start + at, mode="fill", fill_value=0)
    return Text(jnp.where(at < length, data, 0).astype(jnp.uint8), length), found


def wrap(answer: Text) -> Text:
    """The reply that gives just this answer."""
    return text.concat(text.encode(OPEN), answer, text.encode(CLOSE))


@dataclass(frozen=True)
class Word:
    """One word of a list; the action is its index int32[]."""

    words: tuple[str, ...]

    @property
    def capacity(self) -> int:
        return max(map(len, self.words))

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        found, count = _split(answer, 1, self.capacity)
        index, known = _match(found, self.words)
        return index[0], known[0] & (count == 1)

    def format(self, action: jax.Array) -> Text:
        return text.choose(action, self.words)

    def sample(self, key: jax.Array) -> jax.Array:
        return jax.random.randint(key, (), 0, len(self.words), jnp.int32)


@dataclass(frozen=True)
class Moves:
    """One to `limit` words of a list, in order; the action is int32[limit], -1 after the last."""

    words: tuple[str, ...]
    limit: int

    @property
    def capacity(self) -> int:
        return self.limit * (max(map(len, self.words)) + 1)

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        found, count = _split(answer, self.limit, max(map(len, self.words)))
        index, known = _match(found, self.words)
        given = jnp.arange(self.limit) < count
        valid = (count >= 1) & (count <= self.limit) & (known | ~given).all()
        return jnp.where(given & known, index, -1), valid

    def format(self, action: jax.Array) -> Text:
        table, lengths = text.word_table([" " + word for word in self.words])
        sizes = jnp.where(action >= 0, jnp.asarray(lengths)[action], 0)
        return _without_first_byte(text.pack(jnp.asarray(table)[action], sizes))

    def sample(self, key: jax.Array) -> jax.Array:
        words, count = jax.random.split(key)
        moves = jax.random.randint(words, (self.limit,), 0, len(self.words), jnp.int32)
        return jnp.where(jnp.arange(self.limit) <= jax.random.randint(count, (), 0, self.limit), moves, -1)


@dataclass(frozen=True)
class Numbers:
    """One to `limit` integers in 0..high; the action is int32[limit], -1 after the last."""

    limit: int
    high: int

    @property
    def capacity(self) -> int:
        return self.limit * (len(str(self.high)) + 1)

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        digits = len(str(self.high))
        (words, lengths), count = _split(answer, self.limit, digits)
        value, numeric = _read_numbers(words, lengths, digits)
        given = jnp.arange(self.limit) < count
        good = numeric & (value <= self.high)
        valid = (count >= 1) & (count <= self.limit) & (good | ~given).all()
        return jnp.where(given & good, value, -1), valid

    def format(self, action: jax.Array) -> Text:
        digits = len(str(self.high))
        powers = 10 ** np.arange(digits - 1, -1, -1)
        places = (action[:, None] // powers % 10 + ord("0")).astype(jnp.uint8)
        shown = jnp.maximum((action[:, None] >= powers).sum(-1), 1)
        # Left-align each number after its leading space.
        source = jnp.minimum(jnp.arange(digits) + (digits - shown)[:, None], digits - 1)
        words = jnp.take_along_axis(places, source, axis=1)
        words = jnp.concatenate([jnp.full((self.limit, 1), ord(" "), jnp.uint8), words], axis=1)
        sizes = jnp.where(action >= 0, shown + 1, 0).astype(jnp.int32)
        return _without_first_byte(text.pack(words, sizes))

    def sample(self, key: jax.Array) -> jax.Array:
        values, count = jax.random.split(key)
        numbers = jax.random.randint(values, (self.limit,), 0, self.high + 1, jnp.int32)
        return jnp.where(jnp.arange(self.limit) <= jax.random.randint(count, (), 0, self.limit), numbers, -1)


@dataclass(frozen=True)
class Digits:
    """One to `limit` decimal digits, with or without separators; the action is int32[limit], -1 after."""

    limit: int

    @property
    def capacity(self) -> int:
        return self.limit

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        return _read_digits(answer, self.limit)

    def format(self, action: jax.Array) -> Text:
        return text.pack((action + ord("0")).astype(jnp.uint8)[:, None], (action >= 0).astype(jnp.int32))

    def sample(self, key: jax.Array) -> jax.Array:
        values, count = jax.random.split(key)
        digits = jax.random.randint(values, (self.limit,), 0, 10, jnp.int32)
        return jnp.where(jnp.arange(self.limit) <= jax.random.randint(count, (), 0, self.limit), digits, -1)


@dataclass(frozen=True)
class DigitGrid:
    """A square of digits, a line a row; the action is int32[side, side], -1 outside the n x n given."""

    side: int

    @property
    def capacity(self) -> int:
        return self.side * (self.side + 1)

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        flat, valid = _read_digits(answer, self.side**2)
        count = (flat >= 0).sum()
        squares = np.arange(1, self.side + 1) ** 2
        n = jnp.minimum((squares < count).sum() + 1, self.side)
        row, col = jnp.indices((self.side, self.side))
        inside = (row < n) & (col < n)
        action = jnp.where(inside, flat[jnp.where(inside, row * n + col, 0)], -1)
        return action, valid & (n * n == count)

    def format(self, action: jax.Array) -> Text:
        n = (action[0] >= 0).sum()
        digits = jnp.maximum(action, 0).astype(jnp.uint8)
        return text.grid(digits, tuple("0123456789"), n, n, between="")

    def sample(self, key: jax.Array) -> jax.Array:
        values, count = jax.random.split(key)
        digits = jax.random.randint(values, (self.side, self.side), 0, 10, jnp.int32)
        n = jax.random.randint(count, (), 1, self.side + 1)
        row, col = jnp.indices(digits.shape)
        return jnp.where((row < n) & (col < n), digits, -1)


@dataclass(frozen=True)
class Coordinates:
    """Row and column, counted from 1, as `2 3` or `(2, 3)`; the action is int32[2], counted from 0."""

    rows: int
    cols: int

    @property
    def capacity(self) -> int:
        return len(f"{self.rows} {self.cols}")

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        bracket = (answer.data == ord("(")) | (answer.data == ord(")"))
        bare = Text(jnp.where(bracket, np.uint8(ord(" ")), answer.data), answer.length)
        numbers, valid = Numbers(2, max(self.rows, self.cols)).parse(bare)
        place = numbers - 1
        inside = (place >= 0) & (place < np.array([self.rows, self.cols]))
        return jnp.where(inside, place, 0).astype(jnp.int32), valid & inside.all()

    def format(self, action: jax.Array) -> Text:
        return text.resize(Numbers(2, max(self.rows, self.cols)).format(action + 1), self.capacity)

    def sample(self, key: jax.Array) -> jax.Array:
        return jax.random.randint(key, (2,), 0, jnp.array([self.rows, self.cols]), jnp.int32)


@dataclass(frozen=True)
class LabelledMoves:
    """A line a label, `A0: RIGHT, DOWN`: one to `limit` words after a label, each label at most once, in any
    order; the action is int32[labels, limit], -1 after the last word and all along a label without a line.

    Case, spaces and blank lines are free; colons, commas and line breaks must be as in the example.
    """

    labels: tuple[str, ...]
    words: tuple[str, ...]
    limit: int

    @property
    def capacity(self) -> int:
        line = len(": \n") + self.limit * (max(map(len, self.words)) + len(", "))
        return len(self.labels) * (max(map(len, self.labels)) + line)

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        most = len(self.labels) * (self.limit + 1)
        bare = Text(jnp.where(answer.data == ord(":"), np.uint8(ord(" ")), answer.data), answer.length)
        found, count = _split(bare, most, max(map(len, self.labels + self.words)))
        label, is_label = _match(found, tuple(map(str.lower, self.labels)))
        word, is_word = _match(found, tuple(map(str.lower, self.words)))
        at = jnp.arange(most)
        given = at < count
        # Marks between each of the words and the one before it, and after the last.
        (start,) = jnp.nonzero(_edges(bare)[0], size=most, fill_value=answer.capacity - 1)
        inside = jnp.arange(answer.capacity) < answer.length
        marks = inside[:, None] & (answer.data[:, None] == np.frombuffer(b":,;\n", np.uint8))
        seen = jnp.cumsum(marks, axis=0, dtype=jnp.int32)
        colons, commas, semicolons, breaks = jnp.diff(seen[start], axis=0, prepend=0).T
        rest = seen[-1] - seen[start[jnp.clip(count - 1, 0, most - 1)]]
        after_label = jnp.pad(is_label, (1, 0))[:-1]
        begins = is_label & ~after_label & (colons + commas == 0) & ((breaks > 0) | (at == 0))
        joined = jnp.where(after_label, (colons == 1) & (commas == 0), (colons == 0) & (commas == 1))
        goes_on = is_word & joined & (breaks == 0) & (at > 0)
        # The label that each word belongs to, and its place in that line.
        head = jax.lax.cummax(jnp.where(is_label, at, 0))
        place = at - head - 1
        once = (is_label & given)[:, None] & (label[:, None] == np.arange(len(self.labels)))
        valid = (count >= 1) & (count <= most) & ((begins | goes_on) & (semicolons == 0) | ~given).all()
        valid &= goes_on[jnp.clip(count - 1, 0, most - 1)] & (rest[:3] == 0).all()
        valid &= (once.sum(0) <= 1).all() & (~given | (place < self.limit)).all()
        column = jnp.where(goes_on & given & (place < self.limit), place, self.limit)
        action = jnp.full((len(self.labels), self.limit), -1, jnp.int32)
        return action.at[label[head], column].set(word, mode="drop"), valid

    def format(self, action: jax.Array) -> Text:
        heads = [f"{label}: " for label in self.labels]
        later = ["\n" + head for head in heads], [", " + word for word in self.words]
        table, lengths = text.word_table([*heads, *later[0], *self.words, *later[1]])
        given = action >= 0
        n = len(heads)
        line = jnp.arange(n) + jnp.where(jnp.cumsum(given[:, 0]) > 1, n, 0)
        word = 2 * n + action + jnp.where(jnp.arange(self.limit) > 0, len(self.words), 0)
        pieces = jnp.concatenate([line[:, None], jnp.where(given, word, 0)], axis=1).reshape(-1)
        shown = jnp.concatenate([given[:, :1], given], axis=1).reshape(-1)
        sizes = jnp.where(shown, jnp.asarray(lengths)[pieces], 0).astype(jnp.int32)
        return text.resize(text.pack(jnp.asarray(table)[pieces], sizes), self.capacity)

    def sample(self, key: jax.Array) -> jax.Array:
        words, lengths, count = jax.random.split(key, 3)
        shape = len(self.labels), self.limit
        moves = jax.random.randint(words, shape, 0, len(self.words), jnp.int32)
        given = jnp.arange(self.limit) <= jax.random.randint(lengths, (shape[0], 1), 0, self.limit)
        lines = jnp.arange(shape[0]) <= jax.random.randint(count, (), 0, shape[0])
        return jnp.where(given & lines[:, None], moves, -1)


def _find(reply: Text, tag: str) -> jax.Array:
    """bool[capacity]: the tag starts here and ends inside the text."""
    pattern = np.frombuffer(tag.encode(), np.uint8)
    at = np.arange(reply.capacity)
    padded = jnp.pad(reply.data, (0, len(pattern)))
    same = padded[at[:, None] + np.arange(len(pattern))] == pattern
    return same.all(-1) & (at + len(pattern) <= reply.length)


def _edges(answer: Text) -> tuple[jax.Array, jax.Array]:
    """bool[capacity] each: a word starts here, a word ends here."""
    inside = jnp.arange(answer.capacity) < answer.length
    solid = inside & (answer.data[:, None] != SEPARATORS).all(-1)
    return solid & ~jnp.pad(solid, (1, 0))[:-1], solid & ~jnp.pad(solid, (0, 1))[1:]


def _split(answer: Text, limit: int, width: int) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
    """The first `limit` words, lower case: (uint8[limit, width], true lengths int32[limit]), and the number
    of words there are. A word longer than `width` is cut, but its length tells."""
    starts, ends = _edges(answer)
    (start,) = jnp.nonzero(starts, size=limit, fill_value=answer.capacity)
    (end,) = jnp.nonzero(ends, size=limit, fill_value=answer.capacity - 1)
    lengths = (end - start + 1).astype(jnp.int32)
    within = jnp.arange(width)
    words = jnp.take(answer.data, start[:, None] + within, mode="fill", fill_value=0)
    upper = (words >= ord("A")) & (words <= ord("Z"))
    words = jnp.where(upper, words + 32, words)
    words = jnp.where(within < lengths[:, None], words, 0).astype(jnp.uint8)
    return (words, lengths), starts.sum(dtype=jnp.int32)


def _match(found: tuple[jax.Array, jax.Array], vocabulary: tuple[str, ...]) -> tuple[jax.Array, jax.Array]:
    """Index int32[n] of each found word in the vocabulary (0 when unknown), and whether it is known."""
    words, lengths = found
    table, sizes = text.word_table(vocabulary)
    same = (words[:, None, : table.shape[1]] == table).all(-1) & (lengths[:, None] == sizes)
    return same.argmax(-1).astype(jnp.int32), same.any(-1)


def _read_numbers(words: jax.Array, lengths: jax.Array, digits: int) -> tuple[jax.Array, jax.Array]:
    """Values int32[n] of decimal words uint8[n, digits], and whether each is one that fits."""
    value = jnp.zeros(words.shape[0], jnp.int32)
    numeric = (lengths >= 1) & (lengths <= digits)
    for at in range(digits):
        digit = words[:, at].astype(jnp.int32) - ord("0")
        used = at < lengths
        value = jnp.where(used, value * 10 + digit, value)
        numeric &= ~used | ((digit >= 0) & (digit <= 9))
    return value, numeric


def _read_digits(answer: Text, limit: int) -> tuple[jax.Array, jax.Array]:
    """All digits in order, int32[limit] with -1 after the last; valid when there is nothing else."""
    at = jnp.arange(answer.capacity)
    inside = at < answer.length
    is_digit = inside & (answer.data >= ord("0")) & (answer.data <= ord("9"))
    is_space = (answer.data[:, None] == SEPARATORS).any(-1)
    count = is_digit.sum()
    (place,) = jnp.nonzero(is_digit, size=limit, fill_value=0)
    digits = answer.data[place].astype(jnp.int32) - ord("0")
    valid = (is_digit | is_space | ~inside).all() & (count >= 1) & (count <= limit)
    in_range = (jnp.arange(limit) < count) & (digits >= 0) & (digits <= 9)
    return jnp.where(in_range, digits, -1), valid


def _without_first_byte(joined: Text) -> Text:
    data = jnp.concatenate([joined.data[1:], jnp.zeros(1, jnp.uint8)])
    return Text(data, jnp.maximum(joined.length - 1, 0))
