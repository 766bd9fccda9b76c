"""Text as fixed-capacity bytes, built inside jit.

A `Text` is a uint8 buffer and a length, so that observations in words can be made, cut and joined on the
accelerator, under `vmap`, without a Python string in sight. Bytes after `length` are zero, hence two equal
texts are equal arrays.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct


@struct.dataclass
class Text:
    """`data` uint8[capacity], zero after `length`; `length` int32[]. A batch has leading axes on both."""

    data: jax.Array
    length: jax.Array

    @property
    def capacity(self) -> int:
        return self.data.shape[-1]


def encode(string: str, capacity: int | None = None) -> Text:
    """A constant text. Raises ValueError when the UTF-8 bytes do not fit `capacity`."""
    raw = np.frombuffer(string.encode(), np.uint8)
    capacity = len(raw) if capacity is None else capacity
    if len(raw) > capacity:
        raise ValueError(f"text of {len(raw)} bytes does not fit a capacity of {capacity}: {string!r}")
    return Text(jnp.asarray(np.pad(raw, (0, capacity - len(raw)))), jnp.int32(len(raw)))


def decode(text: Text) -> str:
    """The Python string of one text, on the host; undecodable bytes become U+FFFD."""
    return bytes(np.asarray(text.data)[: int(text.length)]).decode(errors="replace")


def decode_batch(texts: Text) -> list[str]:
    """The Python strings of a batch of texts, on the host."""
    data, lengths = np.asarray(texts.data), np.asarray(texts.length)
    return [bytes(row[:n]).decode(errors="replace") for row, n in zip(data, lengths, strict=True)]


def encode_batch(strings: Sequence[str], capacity: int) -> Text:
    """A batch of texts as NumPy arrays; of a string that does not fit, the last `capacity` bytes are kept."""
    data = np.zeros((len(strings), capacity), np.uint8)
    lengths = np.zeros(len(strings), np.int32)
    for i, string in enumerate(strings):
        raw = string.encode()[-capacity:]
        data[i, : len(raw)] = np.frombuffer(raw, np.uint8)
        lengths[i] = len(raw)
    return Text(data, lengths)  # type: ignore[arg-type]


def pack(words: jax.Array, lengths: jax.Array) -> Text:
    """Joins words uint8[n, width], of which the first lengths int32[n] bytes count, into one text."""
    n, width = words.shape
    within = jnp.arange(width)
    start = jnp.cumsum(lengths) - lengths
    target = jnp.where(within < lengths[:, None], start[:, None] + within, n * width)
    data = jnp.zeros(n * width, jnp.uint8).at[target].set(words, mode="drop", unique_indices=False)
    return Text(data, lengths.sum(dtype=jnp.int32))


def concat(*parts: Text) -> Text:
    """Joins texts; the capacity is the sum of theirs."""
    # One gather: a scatter for every part takes the compiler, and a CPU, several times as long.
    capacities = np.array([part.capacity for part in parts])
    first = np.cumsum(capacities) - capacities  # of each part's bytes, all buffers in a row
    lengths = jnp.stack([jnp.asarray(part.length, jnp.int32) for part in parts])
    ends = jnp.cumsum(lengths)
    at = np.arange(capacities.sum(), dtype=np.int32)
    owner = (at[:, None] >= ends[:-1]).sum(1)
    source = at + (first - ends + lengths)[owner]
    everything = jnp.concatenate([part.data for part in parts])
    data = jnp.where(at < ends[-1], everything.at[source].get(mode="clip"), 0).astype(jnp.uint8)
    return Text(data, ends[-1])


def when(flag: jax.Array, text: Text) -> Text:
    """`text` where flag bool[] holds, else the empty text of the same capacity."""
    return Text(jnp.where(flag, text.data, 0).astype(jnp.uint8), jnp.where(flag, text.length, 0))


def choose(index: jax.Array, options: Sequence[str]) -> Text:
    """options[index] for a traced index int32[]."""
    table, lengths = word_table(options)
    return Text(jnp.asarray(table)[index], jnp.asarray(lengths)[index])


def number(value: jax.Array, digits: int = 3) -> Text:
    """A non-negative integer int32[] below 10**digits, without leading zeros."""
    powers = 10 ** np.arange(digits - 1, -1, -1)
    places = (value // powers) % 10
    shown = jnp.maximum((value >= powers).sum(dtype=jnp.int32), 1)
    keep = jnp.arange(digits) >= digits - shown
    return pack((places + ord("0")).astype(jnp.uint8)[:, None], keep.astype(jnp.int32))


def grid(
    ids: jax.Array, words: Sequence[str], rows: jax.Array | int, cols: jax.Array | int, between: str = " "
) -> Text:
    """The top-left rows x cols of ids uint8[R, C], a word a cell, `between` cells, a line a row."""
    table, lengths = word_table([word + between for word in words])
    height, width = ids.shape
    row, col = jnp.arange(height)[:, None], jnp.arange(width)[None, :]
    cells = jnp.asarray(table)[ids]
    sizes = jnp.asarray(lengths)[ids]
    # The separator after the last cell of a row becomes the line break; the last row has none.
    body = sizes - len(between)
    ends_row = (col == cols - 1)[..., None]
    at = jnp.arange(cells.shape[-1] + 1)
    cells = jnp.pad(cells, ((0, 0), (0, 0), (0, 1)))
    cells = jnp.where(ends_row & (at == body[..., None]), np.uint8(ord("\n")), cells)
    sizes = jnp.where(col == cols - 1, body + (row < rows - 1), sizes)
    sizes = jnp.where((row < rows) & (col < cols), sizes, 0).astype(jnp.int32)
    return pack(cells.reshape(height * width, -1), sizes.reshape(-1))


def resize(text: Text, capacity: int) -> Text:
    """The same text in a buffer of another static capacity (what does not fit is cut)."""
    data = text.data[:capacity]
    data = jnp.pad(data, (0, capacity - data.shape[0]))
    return Text(data, jnp.minimum(text.length, capacity))


def word_table(words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Words as (uint8[n, longest], int32[n])."""
    raw = [word.encode() for word in words]
    table = np.zeros((len(raw), max(map(len, raw), default=0)), np.uint8)
    for row, word in zip(table, raw, strict=True):
        row[: len(word)] = np.frombuffer(word, np.uint8)
    return table, np.array([len(word) for word in raw], np.int32)
