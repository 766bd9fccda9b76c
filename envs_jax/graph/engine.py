"""Undirected graphs of at most 10 nodes A, B, C ...: random ones, their words and their picture."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.text import Text

MOST = 10
LETTERS = "ABCDEFGHIJ"
FIRST, LAST = np.triu_indices(MOST, 1)  # the ends of each pair of nodes


def random_edges(noise: jax.Array, share: jax.Array | float, n: jax.Array) -> jax.Array:
    """bool[10, 10], symmetric: each pair of the first n nodes with chance `share`, by noise float32[45]."""
    chosen = (noise < share) & (n > LAST)
    edges = jnp.zeros((MOST, MOST), bool).at[FIRST, LAST].set(chosen)
    return edges | edges.T


def edge_list(edges: jax.Array) -> Text:
    """The edges in words: `A-B A-D C-D`."""
    names = [f"{LETTERS[a]}-{LETTERS[b]} " for a, b in zip(FIRST, LAST, strict=True)]
    table, lengths = text.word_table(names)
    return text.pack(jnp.asarray(table), jnp.where(edges[FIRST, LAST], lengths, 0))


def node_list(chosen: jax.Array) -> jax.Array:
    """int32[10]: the nodes of bool[10] in order, -1 after the last."""
    (nodes,) = jnp.nonzero(chosen, size=MOST, fill_value=-1)
    return nodes.astype(jnp.int32)
