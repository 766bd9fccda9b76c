"""Find a largest set of nodes that are all joined to each other; every one that is as large counts.

After RLVE's and Gym-V's maximum clique. A clique is planted in a random graph, so that there is a large one.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.graph import engine
from jaxenv import render, text
from jaxenv.environment import Environment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.scoring import score

SIZES = (6, 8, 10)
PLANTED = np.array([3, 4, 5], np.int32)
EDGE_SHARE = 0.3
# All sets of nodes, bit k for node k.
SETS = np.arange(2**engine.MOST, dtype=np.int32)
BITS = 1 << np.arange(engine.MOST, dtype=np.int32)


@struct.dataclass
class Graph:
    edges: jax.Array  # bool[10, 10], symmetric
    scale: jax.Array  # int32[]; SIZES[scale] nodes


class MaximumClique(Environment):
    id = "maximum_clique"
    family = "graph"
    abilities = (
        "parse_graph_drawing",
        "read_letter",
        "optimise_combinatorial",
        "run_graph_algorithm",
        "format_structured",
    )
    grammar = Letters(engine.MOST, engine.LETTERS, between=" ")
    task = "Find a largest set of nodes, each two joined by a line. Answer like <answer>A C F</answer>."
    rules = "Every two nodes of the set must have a line between them. More nodes are better; name each once."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def generate(self, key: jax.Array, scale: jax.Array) -> Graph:
        edge_key, clique_key = jax.random.split(key)
        n = jnp.asarray(SIZES, jnp.int32)[scale]
        edges = engine.random_edges(jax.random.uniform(edge_key, (len(engine.FIRST),)), EDGE_SHARE, n)
        noise = jax.random.uniform(clique_key, (engine.MOST,))
        noise = jnp.where(jnp.arange(engine.MOST) < n, noise, jnp.inf)
        clique = (noise[:, None] > noise).sum(1) < jnp.asarray(PLANTED)[scale]
        joined = clique[:, None] & clique & ~np.eye(engine.MOST, dtype=bool)
        return Graph(edges | joined, scale)

    def legal(self, state: Graph, action: jax.Array) -> jax.Array:
        """Nodes of the graph, each once."""
        count = (action[:, None] == np.arange(engine.MOST)).sum(0)
        return (action < jnp.asarray(SIZES)[state.scale]).all() & (count <= 1).all()

    def transition(
        self, key: jax.Array, state: Graph, action: jax.Array
    ) -> tuple[Graph, jax.Array, jax.Array]:
        sizes = _clique_sizes(state.edges)
        size = sizes[(_chosen(action) * BITS).sum()]
        return state, score(size == sizes.max(), size / sizes.max()), jnp.bool_(True)

    def symbolic(self, state: Graph) -> jax.Array:
        return state.edges.astype(jnp.uint8)

    def draw(self, state: Graph, canvas: int) -> jax.Array:
        return render.draw_graph(state.edges, state.scale, SIZES, canvas)

    def describe(self, state: Graph) -> Texts:
        count = text.concat(text.number(state.edges.sum() // 2, 2), text.encode(" lines"))
        largest = text.number(_clique_sizes(state.edges).max(), 2)
        return Texts(
            engine.edge_list(state.edges),
            text.concat(text.choose(state.scale, [f"{n} nodes, " for n in SIZES]), count),
            text.concat(text.encode("the largest set has "), largest, text.encode(" nodes")),
        )

    def exercised(self, state: Graph, action: jax.Array, after: Graph) -> dict[str, jax.Array]:
        sizes, chosen = _clique_sizes(state.edges), _chosen(action)
        size, named = sizes[(chosen * BITS).sum()], chosen.sum()
        joined = (state.edges & chosen & chosen[:, None]).sum()
        # Another node that could be added.
        more = (state.edges | ~chosen).all(1).any()
        return {
            "read_letter": 2 * joined > named * (named - 1),
            "parse_graph_drawing": size >= 2,
            "run_graph_algorithm": (size >= 2) & ~more,
            "optimise_combinatorial": size == sizes.max(),
        }

    def expert(self, key: jax.Array, state: Graph) -> jax.Array:
        """A random one of the largest cliques."""
        sizes = _clique_sizes(state.edges)
        noise = jax.random.uniform(key, sizes.shape)
        best = jnp.where(sizes == sizes.max(), noise, -1.0).argmax()
        return engine.node_list(best & BITS > 0)


def _chosen(action: jax.Array) -> jax.Array:
    """bool[10]: the nodes that an action names."""
    return (action[:, None] == np.arange(engine.MOST)).any(0)


def _clique_sizes(edges: jax.Array) -> jax.Array:
    """int32[1024]: how many nodes each of SETS has if it is a clique, else 0."""
    near = (edges * BITS).sum(1) | BITS
    member = (SETS[:, None] & BITS) > 0
    clique = (~member | (SETS[:, None] & ~near == 0)).all(1)
    return jnp.where(clique, member.sum(1), 0).astype(jnp.int32)
