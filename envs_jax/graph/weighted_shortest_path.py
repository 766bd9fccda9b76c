"""Find the cheapest way through a graph whose lines have lengths, from the green node to the red one.

After RLVE's shortest_path and KORGym's city_path. A spanning tree of random lines keeps all nodes joined; the
goal is one of those that take the most lines to reach. Any cheapest way scores in full, another way that
arrives by how much longer it is.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.graph import lattice
from jaxenv import grids, text
from jaxenv.environment import Environment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.scoring import score

MOST = lattice.MOST
LONGEST = 9  # line
EXTRA_SHARE = 0.65  # of the lines that the tree does not need
FAR = 10_000
START, GOAL = 1, 2


@struct.dataclass
class Roads:
    lengths: jax.Array  # int8[23], 0 where there is no line
    start: jax.Array  # int32[]
    goal: jax.Array  # int32[]
    scale: jax.Array  # int32[], the lattice


class WeightedShortestPath(Environment):
    id = "weighted_shortest_path"
    family = "graph"
    abilities = (
        "parse_graph_drawing",
        "read_digit",
        "plan_path",
        "run_graph_algorithm",
        "format_structured",
    )
    grammar = Letters(MOST, lattice.LETTERS, between=" ")
    task = (
        "Go from the green to the red node so that the numbers of the lines you take add up to the least. "
        "Answer all nodes of the way, like <answer>A C F</answer>."
    )
    rules = "Each two nodes in a row need a line between them. Lines can be taken both ways."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def generate(self, key: jax.Array, scale: jax.Array) -> Roads:
        noise = jax.random.uniform(key, (3 * lattice.LINES + 2 * MOST,))
        tree, extra, length = noise[: 3 * lattice.LINES].reshape(3, lattice.LINES)
        starts, ties = noise[3 * lattice.LINES :].reshape(2, MOST)
        there, last = jnp.asarray(lattice.THERE)[scale], jnp.asarray(lattice.ENDS)[scale, :, 1]
        # Every node but the first has a line to one before it: the tree has a random one of these.
        back = there & (last == np.arange(1, MOST)[:, None])
        chosen = jnp.where(back, tree, -1.0).argmax(1)
        in_tree = (back & (jnp.arange(lattice.LINES) == chosen[:, None])).any(0)
        drawn = there & (in_tree | (extra < EXTRA_SHARE))
        lengths = jnp.where(drawn, 1 + (length * LONGEST).astype(jnp.int32), 0)
        n = jnp.asarray(lattice.SIZES, jnp.int32)[scale]
        here, near = jnp.arange(MOST) < n, _costs(lengths, scale) < FAR
        # From a node next to all others every way would be a single line.
        start = jnp.where(here & (near.sum(1) < n - 1), starts, -1.0).argmax().astype(jnp.int32)
        lines_to = _distances(jnp.where(near, 1, FAR), start)
        goal = jnp.where(here, lines_to + ties, -1.0).argmax().astype(jnp.int32)
        return Roads(lengths.astype(jnp.int8), start, goal, scale)

    def legal(self, state: Roads, action: jax.Array) -> jax.Array:
        """Nodes that are there, from the green one on."""
        return (action < jnp.asarray(lattice.SIZES)[state.scale]).all() & (action[0] == state.start)

    def transition(
        self, key: jax.Array, state: Roads, action: jax.Array
    ) -> tuple[Roads, jax.Array, jax.Array]:
        total, best, arrives = _judged(state, action)
        return (
            state,
            score(arrives & (total == best), arrives * best / jnp.maximum(total, 1)),
            jnp.bool_(True),
        )

    def symbolic(self, state: Roads) -> jax.Array:
        return jnp.concatenate([state.lengths, _roles(state)]).astype(jnp.uint8)

    def draw(self, state: Roads, canvas: int) -> jax.Array:
        return lattice.draw(state.lengths.astype(jnp.int32), _roles(state), state.scale, "numbers", canvas)

    def describe(self, state: Roads) -> Texts:
        lines = lattice.line_list(
            state.lengths, state.scale, lambda a, b, length: f"{a}-{b}:{length}", LONGEST
        )
        from_to = text.concat(
            text.encode("from "),
            text.choose(state.start, lattice.LETTERS),
            text.encode(" to "),
            text.choose(state.goal, lattice.LETTERS),
        )
        least = _distances(_costs(state.lengths, state.scale), state.goal)[state.start]
        hint = text.concat(text.encode("the cheapest way costs "), text.number(least, 2))
        return Texts(lines, from_to, hint)

    def exercised(self, state: Roads, action: jax.Array, after: Roads) -> dict[str, jax.Array]:
        total, best, arrives = _judged(state, action)
        return {
            "parse_graph_drawing": (action[1] >= 0) & (total < FAR),
            "plan_path": arrives,
            # Hardly longer than the cheapest way.
            "read_digit": arrives & (4 * total <= 5 * best),
            "run_graph_algorithm": arrives & (total == best),
        }

    def expert(self, key: jax.Array, state: Roads) -> jax.Array:
        """A random one of the cheapest ways."""
        costs = _costs(state.lengths, state.scale)
        left = _distances(costs, state.goal)
        rank = grids.noise(key, (MOST, MOST))

        def go(at: jax.Array, rank: jax.Array) -> tuple[jax.Array, jax.Array]:
            onward = costs[at] + left == left[at]
            ahead = jnp.where(onward, rank, -1.0).argmax().astype(jnp.int32)
            # At the goal, and after it, nothing leads on.
            return jnp.where(onward.any(), ahead, at), jnp.where(onward.any(), ahead, -1)

        _, way = jax.lax.scan(go, state.start, rank[1:])
        return jnp.concatenate([state.start[None], way])


def _roles(state: Roads) -> jax.Array:
    node = jnp.arange(MOST)
    return jnp.where(node == state.start, START, jnp.where(node == state.goal, GOAL, 0))


def _judged(state: Roads, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The cost of a way, FAR or more where a line is missing, and of the cheapest, int32[] each, and whether
    it arrives (bool[])."""
    costs = _costs(state.lengths, state.scale)
    best = _distances(costs, state.goal)[state.start]
    total = jnp.where(action[1:] >= 0, costs[action[:-1], action[1:]], 0).sum()
    arrives = action[(action >= 0).sum() - 1] == state.goal
    return total, best, arrives & (total < FAR)


def _costs(lengths: jax.Array, scale: jax.Array) -> jax.Array:
    """int32[12, 12]: the length of the line between two nodes, FAR if there is none."""
    first, last = jnp.asarray(lattice.ENDS)[scale].T
    cost = jnp.where(lengths > 0, lengths.astype(jnp.int32), FAR)
    costs = jnp.full((MOST, MOST), FAR, jnp.int32).at[first, last].min(cost)
    return jnp.minimum(costs, costs.T)


def _distances(costs: jax.Array, node: jax.Array) -> jax.Array:
    """int32[12]: the cost of the cheapest way from each node to this one, FAR or more if there is none."""

    def relax(_: int, away: jax.Array) -> jax.Array:
        return jnp.minimum(away, (costs + away).min(1))

    return jax.lax.fori_loop(0, MOST, relax, jnp.where(jnp.arange(MOST) == node, 0, FAR))
