"""Find out which lamps each switch flips, then make the lamps match the goal and submit.

The wiring is a random invertible matrix over GF(2): each pattern of lamps is reached by just one set of
switches. What a switch flips is shown from its first flip on.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

MOST = 8
COUNTS = np.array([3, 5, 8], np.int32)
FEWEST = np.array([2, 2, 3], np.int32)  # flips that lead to the goal
SUBMIT = MOST
GOAL, NOW, OFF, UNKNOWN, STAYS, FIRST_SWITCH = 0, 1, 2, 4, 5, 7


@struct.dataclass
class Switches:
    wiring: jax.Array  # bool[8, 8], a row a switch: the lamps that it flips
    plan: jax.Array  # bool[8], switches whose flips lead to the goal
    tried: jax.Array  # bool[8], switches
    lamps: jax.Array  # bool[8]
    goal: jax.Array  # bool[8]
    count: jax.Array  # int32[], of switches and of lamps


class HiddenSwitches(TileEnvironment):
    id = "hidden_switches"
    family = "planning"
    abilities = (
        "infer_hidden_dynamics",
        "query_actively",
        "explore_systematically",
        "compute_modular",
        "verify_terminal",
    )
    grammar = Word((*(str(number + 1) for number in range(MOST)), "submit"))
    task = (
        "Make the second row of lamps equal the first, then submit. "
        "Answer a switch to flip, like <answer>2</answer>, or <answer>submit</answer>."
    )
    rules = (
        "A switch flips always the same lamps; dots in its row show them once it was flipped. Submit once."
    )
    max_turns: ClassVar[tuple[int, ...]] = (8, 13, 20)
    hidden = ("wiring", "plan")
    tileset = (
        "header flag",
        "header",
        "lamp:off",
        "lamp:on",
        "covered",
        "paper",
        "paper stone:black",
        *(f"given glyph:{number + 1}" for number in range(MOST)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Switches:
        factor_key, order_key, lamp_key, plan_key, count_key = jax.random.split(key, 5)
        n, at = jnp.asarray(COUNTS)[scale], jnp.arange(MOST)
        # A lower and an upper triangle of ones on the diagonal, and then the lamps in any order.
        bits = grids.noise(factor_key, (2, MOST, MOST)) < 0.5
        lower, upper = jnp.tril(bits[0], -1) | np.eye(MOST, dtype=bool), jnp.triu(bits[1], 1)
        product = _flips(lower, upper | np.eye(MOST, dtype=bool)) & grids.inside(MOST, n)
        _, order = jax.lax.top_k(jnp.where(at < n, jax.random.uniform(order_key, (MOST,)), -1 - at), MOST)
        wiring = product[:, order]
        flips = jax.random.randint(count_key, (), jnp.asarray(FEWEST)[scale], n + 1)
        plan = grids.pick_mask(grids.noise(plan_key, (1, MOST)), (at < n)[None], flips)[0]
        lamps = jax.random.bernoulli(lamp_key, shape=(MOST,)) & (at < n)
        return Switches(wiring, plan, jnp.zeros(MOST, bool), lamps, lamps ^ _flips(plan, wiring), n)

    def legal(self, state: Switches, action: jax.Array) -> jax.Array:
        """One of the switches, or to submit."""
        return (action < state.count) | (action == SUBMIT)

    def transition(
        self, key: jax.Array, state: Switches, action: jax.Array
    ) -> tuple[Switches, jax.Array, jax.Array]:
        flipped = jnp.arange(MOST) == action
        after = replace(
            state,
            plan=state.plan ^ flipped,
            tried=state.tried | flipped,
            lamps=state.lamps ^ _flips(flipped, state.wiring),
        )
        submitted = action == SUBMIT
        return after, (submitted & _matches(state)).astype(jnp.float32), submitted

    def symbolic(self, state: Switches) -> jax.Array:
        head = jnp.concatenate([jnp.array([GOAL, NOW]), FIRST_SWITCH + jnp.arange(MOST)])
        lamps = OFF + jnp.stack([state.goal, state.lamps])
        effects = jnp.where(state.tried[:, None], STAYS + state.wiring, UNKNOWN)
        return jnp.concatenate([head[:, None], jnp.concatenate([lamps, effects])], 1).astype(jnp.uint8)

    def extent(self, state: Switches) -> tuple[jax.Array, jax.Array]:
        return state.count + 2, state.count + 1

    def describe(self, state: Switches) -> Texts:
        words = ("goal", "now", "0", "1", "?", ".", "x", *(f"{number + 1}:" for number in range(MOST)))
        board = text.grid(self.symbolic(state), words, state.count + 2, state.count + 1)
        facts = text.concat(
            text.number(state.tried.sum(), 1),
            text.encode(" of "),
            text.number(state.count, 1),
            text.encode(" switches tried, lamps to change: "),
            text.number((state.lamps != state.goal).sum(), 1),
        )
        hint = text.concat(text.encode("flips to the goal: "), text.number(state.plan.sum(), 1))
        return Texts(board, facts, hint)

    def exercised(self, state: Switches, action: jax.Array, after: Switches) -> dict[str, jax.Array]:
        flipped = jnp.arange(MOST) == action
        new = (flipped & ~state.tried).any()
        known = (state.tried | ~state.plan).all()
        wanted = (flipped & state.plan & state.tried).any()
        wrong = lambda state: (state.lamps != state.goal).sum()  # noqa: E731
        return {
            "infer_hidden_dynamics": wanted,
            "query_actively": new & ~known,
            "explore_systematically": new,
            # It helps only together with the flips to come.
            "compute_modular": wanted & known & (wrong(after) >= wrong(state)),
        }

    def expert(self, key: jax.Array, state: Switches) -> jax.Array:
        """Tries each switch, then flips those that lead to the goal."""
        untried = ~state.tried & (jnp.arange(MOST) < state.count)
        choices = jnp.where(untried.any(), untried, state.plan)
        chosen = jnp.where(choices, jax.random.uniform(key, (MOST,)), -1.0).argmax()
        return jnp.where(_matches(state), SUBMIT, chosen).astype(jnp.int32)


def _flips(chosen: jax.Array, wiring: jax.Array) -> jax.Array:
    """bool[..., 8]: the lamps that change when the chosen switches bool[..., 8] are flipped."""
    return (chosen[..., None] & wiring).sum(-2) % 2 == 1


def _matches(state: Switches) -> jax.Array:
    return (state.lamps == state.goal).all()
