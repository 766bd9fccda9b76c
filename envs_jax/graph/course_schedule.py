"""Put courses in an order that follows the arrows; courses that wait for each other are left out.

After reasoning-gym's and RLVE's course schedules. Arrows follow a hidden order; in some graphs one of them is
turned so that it closes a circle. Then not all courses can be taken, and those that can are to be listed
(which asks for more than to say that it is impossible). Every order that works counts.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.graph import lattice
from jaxenv import text
from jaxenv.environment import Environment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.scoring import score

MOST = lattice.MOST
ARROW_SHARE = 0.8
CIRCLE_SHARE = np.array([0.9, 0.5, 0.5], np.float32)  # of the graphs where an arrow can be turned
FORWARD, BACK = 1, 2


@struct.dataclass
class Courses:
    arrows: jax.Array  # int8[23]; 0, FORWARD from the first end of the line or BACK
    scale: jax.Array  # int32[], the lattice


class CourseSchedule(Environment):
    id = "course_schedule"
    family = "graph"
    abilities = (
        "parse_graph_drawing",
        "read_orientation",
        "schedule_order",
        "deduce_logic",
        "format_structured",
    )
    grammar = Letters(MOST, lattice.LETTERS, between=" ")
    task = (
        "An arrow leads from a course to one that needs it first. List all courses that can be taken, in an "
        "order that works, like <answer>B A C</answer>."
    )
    rules = "Courses that wait for each other in a circle, and those that need them, can never be taken."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def generate(self, key: jax.Array, scale: jax.Array) -> Courses:
        noise = jax.random.uniform(key, (MOST + 2 * lattice.LINES + 1,))
        order, present, ranked = jnp.split(noise[1:], (MOST, MOST + lattice.LINES))
        first, last = jnp.asarray(lattice.ENDS)[scale].T
        drawn = jnp.asarray(lattice.THERE)[scale] & (present < ARROW_SHARE)
        along = order[first] < order[last]
        needs = _needs(jnp.where(drawn, jnp.where(along, FORWARD, BACK), 0), scale)
        # An arrow that closes a circle when it is turned: there is a longer way round. Its course needs
        # another one, so that something can still be taken.
        known = needs.astype(jnp.int32)
        known = jax.lax.fori_loop(0, 4, lambda _, known: jnp.minimum(known + known @ known, 1), known)
        round_about = known @ known > 0
        before, after = jnp.where(along, first, last), jnp.where(along, last, first)
        can_turn = drawn & round_about[after, before] & needs[before].any(1)
        chosen = jnp.where(can_turn, ranked, -1.0).argmax()
        turned = (
            can_turn & (jnp.arange(lattice.LINES) == chosen) & (noise[0] < jnp.asarray(CIRCLE_SHARE)[scale])
        )
        arrows = jnp.where(drawn, jnp.where(along ^ turned, FORWARD, BACK), 0)
        return Courses(arrows.astype(jnp.int8), scale)

    def legal(self, state: Courses, action: jax.Array) -> jax.Array:
        """Courses that are there, each once."""
        count = (action[:, None] == np.arange(MOST)).sum(0)
        return (action < jnp.asarray(lattice.SIZES)[state.scale]).all() & (count <= 1).all()

    def transition(
        self, key: jax.Array, state: Courses, action: jax.Array
    ) -> tuple[Courses, jax.Array, jax.Array]:
        _, in_order = _judged(state, action)
        can = _takable(state).sum()
        solved = (in_order == can) & (in_order == (action >= 0).sum())
        return state, score(solved, in_order / can), jnp.bool_(True)

    def symbolic(self, state: Courses) -> jax.Array:
        return state.arrows.astype(jnp.uint8)

    def draw(self, state: Courses, canvas: int) -> jax.Array:
        marks, roles = state.arrows.astype(jnp.int32), jnp.zeros(MOST, jnp.int32)
        return lattice.draw(marks, roles, state.scale, "arrows", canvas)

    def describe(self, state: Courses) -> Texts:
        arrows = lattice.line_list(
            state.arrows, state.scale, lambda a, b, mark: f"{a}>{b}" if mark == FORWARD else f"{b}>{a}", BACK
        )
        count = text.concat(text.number((state.arrows > 0).sum(), 2), text.encode(" arrows"))
        size = text.concat(text.choose(state.scale, [f"{n} courses, " for n in lattice.SIZES]), count)
        can = text.concat(text.number(_takable(state).sum(), 2), text.encode(" courses can be taken"))
        return Texts(arrows, size, can)

    def exercised(self, state: Courses, action: jax.Array, after: Courses) -> dict[str, jax.Array]:
        (place, in_order), can = _judged(state, action), _takable(state)
        listed = place < MOST
        arrows = _needs(state.arrows, state.scale) & listed & listed[:, None]
        obeyed = arrows & (place < place[:, None])
        waits = can.sum() < jnp.asarray(lattice.SIZES)[state.scale]
        return {
            "parse_graph_drawing": 2 * in_order > can.sum(),
            "read_orientation": arrows.any() & (4 * obeyed.sum() >= 3 * arrows.sum()),
            "schedule_order": arrows.any() & (in_order == listed.sum()),
            "deduce_logic": waits & (listed == can).all(),
        }

    def expert(self, key: jax.Array, state: Courses) -> jax.Array:
        """At each place a random one of the courses that can come next."""
        needs, can = _needs(state.arrows, state.scale), _takable(state)
        rank = jax.random.uniform(key, (MOST,))

        def take(taken: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            ready = can & ~taken & ~(needs & ~taken).any(1)
            course = jnp.where(ready, rank, -1.0).argmax().astype(jnp.int32)
            now = ready & (jnp.arange(MOST) == course)
            return taken | now, jnp.where(now.any(), course, -1)

        return jax.lax.scan(take, jnp.zeros(MOST, bool), None, length=MOST)[1]


def _judged(state: Courses, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The place of each course in the list int32[12], MOST if it is left out, and how many of the first that
    are listed can be taken one after the other (int32[])."""
    listed = action[:, None] == np.arange(MOST)
    place = jnp.where(listed.any(0), listed.argmax(0), MOST)
    ready = (~_needs(state.arrows, state.scale) | (place < place[:, None])).all(1)
    return place, jnp.cumprod((action >= 0) & ready[jnp.maximum(action, 0)]).sum()


def _needs(arrows: jax.Array, scale: jax.Array) -> jax.Array:
    """bool[12, 12]: the course of the row needs that of the column."""
    first, last = jnp.asarray(lattice.ENDS)[scale].T
    needs = jnp.zeros((MOST, MOST), bool).at[last, first].max(arrows == FORWARD)
    return needs.at[first, last].max(arrows == BACK)


def _takable(state: Courses) -> jax.Array:
    """bool[12]: the courses that can be taken, one after the other."""
    needs = _needs(state.arrows, state.scale)
    here = jnp.arange(MOST) < jnp.asarray(lattice.SIZES)[state.scale]
    return jax.lax.fori_loop(0, MOST, lambda _, can: here & ~(needs & ~can).any(1), jnp.zeros(MOST, bool))
