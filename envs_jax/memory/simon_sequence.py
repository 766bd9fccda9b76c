"""Watch pads light up one after another, then name their colours in order.

After the toy Simon, whose signals are given once. The answer is scored by the share that is right.
"""

import functools
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Moves
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render.pieces.pads import PADS
from jaxenv.render.tiles import paint
from jaxenv.scoring import score

LENGTHS = np.array([4, 7, 10], np.int32)
MOST = 10
NEXT = 0  # the word before the colours
DARK, ASKED = 0, 0  # no pad is lit and no signal counted when all have been given


@struct.dataclass
class Signals:
    pads: jax.Array  # uint8[10], 1 + the index of the colour
    number: jax.Array  # uint8[], of the signal that is given, from 1; ASKED after the last
    lit: jax.Array  # uint8[], its pad, or DARK
    length: jax.Array  # int32[]


class SimonSequence(Environment):
    id = "simon_sequence"
    family = "memory"
    abilities = ("recall_past_view", "recognise_colour", "format_structured", "schedule_order")
    grammar = Moves(("next", *PADS), MOST)
    task = (
        "Remember which pads light up. Answer <answer>next</answer>, and at the question mark all colours in "
        "order: <answer>red blue red</answer>."
    )
    rules = "The number in the middle counts the signals. A pad may light up again."
    max_turns: ClassVar[tuple[int, ...]] = (5, 8, MOST + 1)
    hidden = ("pads",)

    def generate(self, key: jax.Array, scale: jax.Array) -> Signals:
        pads = jax.random.randint(key, (MOST,), 1, len(PADS) + 1).astype(jnp.uint8)
        return Signals(pads, jnp.uint8(1), pads[0], jnp.asarray(LENGTHS)[scale])

    def legal(self, state: Signals, action: jax.Array) -> jax.Array:
        """`next` alone while signals are given, then colours."""
        goes_on = (action[0] == NEXT) & (action[1:] < 0).all()
        return jnp.where(state.number == ASKED, (action != NEXT).all(), goes_on)

    def transition(
        self, key: jax.Array, state: Signals, action: jax.Array
    ) -> tuple[Signals, jax.Array, jax.Array]:
        given = state.number.astype(jnp.int32)
        last, asked = given == state.length, state.number == ASKED
        number = jnp.where(last | asked, ASKED, given + 1).astype(jnp.uint8)
        lit = jnp.where(last | asked, DARK, state.pads[jnp.minimum(given, MOST - 1)]).astype(jnp.uint8)
        right = action == _answer(state)
        share = (right & (jnp.arange(MOST) < state.length)).sum() / state.length
        paid = jnp.where(asked, score(right.all(), share), 0.0)
        return replace(state, number=number, lit=lit), paid, asked

    def symbolic(self, state: Signals) -> jax.Array:
        return jnp.stack([state.number, state.lit])

    def draw(self, state: Signals, canvas: int) -> jax.Array:
        toys, hubs, covered = map(jnp.asarray, _parts(canvas))
        return jnp.where(covered, hubs[state.number], toys[state.lit])

    def describe(self, state: Signals) -> Texts:
        numbers = ("all signals have been given", *(f"signal {number}: " for number in range(1, MOST + 1)))
        signal = text.concat(text.choose(state.number, numbers), text.choose(state.lit, ("", *PADS)))
        count = text.concat(text.number(state.length, 2), text.encode(" signals in all"))
        hint = text.concat(text.encode("the first was "), text.choose(state.pads[0] - 1, PADS))
        return Texts(signal, count, hint)

    def exercised(self, state: Signals, action: jax.Array, after: Signals) -> dict[str, jax.Array]:
        answer = _answer(state)
        right = ((action == answer) & (answer >= 0)).sum()
        return {
            "recall_past_view": 4 * right >= 3 * state.length,
            "recognise_colour": (jnp.sort(action) == jnp.sort(answer)).all(),
            "format_structured": (action >= 0).sum() == state.length,
            "schedule_order": (action == answer).all(),
        }

    def expert(self, key: jax.Array, state: Signals) -> jax.Array:
        goes_on = jnp.where(jnp.arange(MOST) == 0, NEXT, -1)
        return jnp.where(state.number == ASKED, _answer(state), goes_on)


def _answer(state: Signals) -> jax.Array:
    """The action int32[10] that names all pads."""
    return jnp.where(jnp.arange(MOST) < state.length, state.pads.astype(jnp.int32), -1)


@functools.lru_cache(maxsize=8)
def _parts(canvas: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The toy by lit pad uint8[5, canvas, canvas, 3], its middle by number uint8[11, canvas, canvas, 3], and
    the pixels bool[canvas, canvas, 1] of the middle."""
    toys = np.stack([paint(f"pads:{lit}", canvas) for lit in ("", *PADS)])
    hubs = np.stack([paint(f"hub:{label}", canvas) for label in ("?", *range(1, MOST + 1))])
    return toys, hubs, (hubs != 0).any((0, -1))[..., None]
