"""Colour the nodes of a graph so that no line joins two of one colour; the colours are in the corners.

After reasoning-gym's graph_color. A colouring is planted, as evenly as can be, and only nodes of different
colours are joined; any colouring that keeps all joined nodes apart scores.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.graph import engine
from jaxenv import render, text
from jaxenv.answers import Moves
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.render.tiles import paint
from jaxenv.scoring import score

SIZES = (6, 8, 10)
COLOURS = ("red", "blue", "yellow", "green")
COUNTS = (4, 3, 3)  # of colours
EDGE_SHARE = np.array([0.8, 0.7, 0.65], np.float32)  # of the pairs of two colours


@struct.dataclass
class Graph:
    edges: jax.Array  # bool[10, 10], symmetric
    planted: jax.Array  # int8[10], the colour of each node, -1 after the last
    scale: jax.Array  # int32[]; SIZES[scale] nodes


class GraphColouring(Environment):
    id = "graph_colouring"
    family = "graph"
    abilities = (
        "parse_graph_drawing",
        "propagate_constraints",
        "backtrack_hypotheses",
        "run_graph_algorithm",
        "format_structured",
    )
    grammar = Moves(COLOURS, engine.MOST)
    task = (
        "Colour each node with a colour of the corners, so that joined nodes differ. "
        "Answer the colours of A, B, C and so on, like <answer>red blue yellow ...</answer>."
    )
    rules = "Two nodes with a line between them must have different colours. Not every colour need be used."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("planted",)

    def generate(self, key: jax.Array, scale: jax.Array) -> Graph:
        edge_key, colour_key = jax.random.split(key)
        n = jnp.asarray(SIZES, jnp.int32)[scale]
        here = jnp.arange(engine.MOST) < n
        noise = jnp.where(here, jax.random.uniform(colour_key, (engine.MOST,)), jnp.inf)
        rank = (noise[:, None] > noise).sum(1)
        planted = jnp.where(here, rank % jnp.asarray(COUNTS, jnp.int32)[scale], -1)
        noise = jax.random.uniform(edge_key, (len(engine.FIRST),))
        edges = engine.random_edges(noise, jnp.asarray(EDGE_SHARE)[scale], n)
        return Graph(edges & (planted[:, None] != planted), planted.astype(jnp.int8), scale)

    def legal(self, state: Graph, action: jax.Array) -> jax.Array:
        """A colour of the corners for each node."""
        given = (action >= 0).sum() == jnp.asarray(SIZES)[state.scale]
        return given & (action < jnp.asarray(COUNTS)[state.scale]).all()

    def transition(
        self, key: jax.Array, state: Graph, action: jax.Array
    ) -> tuple[Graph, jax.Array, jax.Array]:
        clashes = _clashes(state, action).sum()
        share = 1 - clashes / jnp.maximum(state.edges.sum(), 1)
        return state, score(clashes == 0, share), jnp.bool_(True)

    def symbolic(self, state: Graph) -> jax.Array:
        return state.edges.astype(jnp.uint8)

    def draw(self, state: Graph, canvas: int) -> jax.Array:
        names = ["-".join(COLOURS[:count]) for count in COUNTS]
        corners = np.stack([paint(f"plain:paper corners:{name}", canvas) for name in names])
        covered = (corners != palette.rgb("paper")).any(-1, keepdims=True)
        graph = render.draw_graph(state.edges, state.scale, SIZES, canvas)
        return jnp.where(jnp.asarray(covered)[state.scale], jnp.asarray(corners)[state.scale], graph)

    def describe(self, state: Graph) -> Texts:
        sizes = [
            f"{n} nodes, colours {' '.join(COLOURS[:count])}" for n, count in zip(SIZES, COUNTS, strict=True)
        ]
        first, last = engine.FIRST, engine.LAST
        same = (state.planted[first] == state.planted[last]) & (state.planted[last] >= 0)
        names = [f"{engine.LETTERS[a]} and {engine.LETTERS[b]}" for a, b in zip(first, last, strict=True)]
        pair = text.choose(same.argmax(), names)
        return Texts(
            engine.edge_list(state.edges),
            text.choose(state.scale, sizes),
            text.concat(pair, text.encode(" can have the same colour")),
        )

    def exercised(self, state: Graph, action: jax.Array, after: Graph) -> dict[str, jax.Array]:
        clashes, count = _clashes(state, action), jnp.asarray(COUNTS)[state.scale]
        coloured = action[:, None] == jnp.arange(len(COLOURS))
        seen = (state.edges[:, :, None] & coloured).any(1)
        # The nodes to which those around leave a single colour.
        forced = seen.sum(1) == count - 1
        solved = ~clashes.any()
        return {
            # Half of the clashes that chance leaves.
            "parse_graph_drawing": 2 * count * clashes.sum() <= state.edges.sum(),
            "propagate_constraints": forced.any() & ~(forced[:, None] & clashes).any(),
            "backtrack_hypotheses": solved & _greed_fails(state),
            "run_graph_algorithm": solved,
        }

    def expert(self, key: jax.Array, state: Graph) -> jax.Array:
        """The planted colouring with the colours in random order."""
        count = jnp.asarray(COUNTS)[state.scale]
        noise = jnp.where(jnp.arange(len(COLOURS)) < count, jax.random.uniform(key, (len(COLOURS),)), -1.0)
        _, names = jax.lax.top_k(noise, len(COLOURS))
        planted = state.planted.astype(jnp.int32)
        return jnp.where(planted >= 0, names[jnp.maximum(planted, 0)].astype(jnp.int32), -1)


def _clashes(state: Graph, action: jax.Array) -> jax.Array:
    """bool[10, 10]: the joined nodes of one colour."""
    return state.edges & (action[:, None] == action)


def _greed_fails(state: Graph) -> jax.Array:
    """bool[]: whether a node gets no colour when each in turn takes the first that is free."""
    colours = jnp.arange(len(COLOURS))
    given = colours < jnp.asarray(COUNTS)[state.scale]

    def take(taken: jax.Array, node: jax.Array) -> tuple[jax.Array, jax.Array]:
        free = given & ~(state.edges[node][:, None] & taken).any(0)
        return taken.at[node].set(free & (colours == free.argmax())), ~free.any()

    start = jnp.zeros((engine.MOST, len(COLOURS)), bool)
    return jax.lax.scan(take, start, jnp.arange(engine.MOST))[1].any()
