"""The eight checks of an answer, each by name, and the judgement that follows from them.

The list is that of MAPF-FrozenLake (arXiv:2606.17682); an answer counts when it passes all.
"""

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv.mapf import rules
from jaxenv.mapf.instance import HORIZON, Instance, Plan
from jaxenv.mapf.rules import Measure

CHECKS = (
    "parses",
    "legal_moves",
    "no_collision",
    "goals_reached",
    "right_starts",
    "right_agents",
    "no_hole",
    "on_board",
)


@struct.dataclass
class Paths:
    """An answer as cells: int32[HORIZON + 1, 5, 2], an agent that has arrived stays; `given` bool[5]: the
    agents that have a path in the answer."""

    cells: jax.Array
    given: jax.Array


@struct.dataclass
class Judgement:
    """passed: bool[8], in the order of CHECKS. cost: int32[] of the paths, meaningless unless `valid` bool[]:
    all checks passed. optimal: bool[], valid and no plan costs less."""

    passed: jax.Array
    cost: jax.Array
    valid: jax.Array
    optimal: jax.Array


def paths(instance: Instance, plan: Plan) -> Paths:
    """The paths of a plan in words, from the agents' starts. An agent without a move has none, and stays."""
    return Paths(rules.trace(instance, plan), plan.moves[:, 0] >= 0)


def check(instance: Instance, answer: Paths, parsed: jax.Array) -> jax.Array:
    """bool[8]: which of CHECKS an answer passes.

    An answer that does not parse (bool[]) fails the first alone: nothing can be said of the others. The paths
    of agents that the board does not have fail `right_agents` and no other check.
    """
    there, cells = rules.present(instance), answer.cells
    steps = jnp.abs(cells[1:] - cells[:-1]).sum(-1)
    passed = (
        ((steps <= 1) | ~there).all(),
        ~rules.collide(cells[:-1], cells[1:], there).any(),
        (rules.arrivals(instance, cells) <= HORIZON).all(),
        ((cells[0] == instance.starts).all(-1) | ~there).all(),
        (answer.given == there).all(),
        ~(rules.in_hole(instance, cells) & there).any(),
        ~(rules.outside(instance, cells) & there).any(),
    )
    return jnp.stack([parsed, *(flag | ~parsed for flag in passed)])


def judge(
    instance: Instance, answer: Paths, parsed: jax.Array, optimum: jax.Array, measure: Measure
) -> Judgement:
    """The judgement of an answer to an instance whose least cost by this measure is `optimum` int32[]."""
    passed = check(instance, answer, parsed)
    valid, cost = passed.all(), rules.cost(instance, answer.cells, measure)
    return Judgement(passed, cost, valid, valid & (cost <= optimum))
