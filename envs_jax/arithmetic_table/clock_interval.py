"""Tell how many minutes pass from the time on one clock to that on another. The answer is right or wrong."""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Numbers
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render.pieces.clocks import DIALS, RADIUS
from jaxenv.render.shading import blend, shade
from jaxenv.render.tiles import paint
from jaxenv.scoring import score
from jaxenv.text import Text

ROUND = 720  # minutes of the hour hand's way round
UNITS = np.array([15, 5, 1], np.int32)
# The hands: steps of the way round, length and half the width in radii, colour.
HANDS = ((ROUND, 0.52, 0.05, "sign"), (60, 0.84, 0.026, "blue"))
FINE = 8  # places a pixel


@struct.dataclass
class Times:
    minutes: jax.Array  # int32[2], after 12:00, of the first and the second clock


class ClockInterval(Environment):
    id = "clock_interval"
    family = "arithmetic_table"
    abilities = (
        "read_gauge_status",
        "estimate_magnitude",
        "compute_modular",
        "read_orientation",
        "format_answer",
    )
    grammar = Numbers(1, ROUND - 1)
    task = (
        "How many minutes pass from the upper clock's time to the lower clock's, less than 12 hours later? "
        "Answer one number in <answer></answer>."
    )
    rules = "The short red hand shows the hour, the long blue one the minute. 3:50 to 5:10 is 80 minutes."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def generate(self, key: jax.Array, scale: jax.Array) -> Times:
        noise = jax.random.uniform(key, (2,))
        unit = jnp.asarray(UNITS)[scale]
        first = (noise[0] * (ROUND // unit)).astype(jnp.int32)
        later = 1 + (noise[1] * (ROUND // unit - 1)).astype(jnp.int32)
        return Times(jnp.stack([first, first + later]) * unit % ROUND)

    def transition(
        self, key: jax.Array, state: Times, action: jax.Array
    ) -> tuple[Times, jax.Array, jax.Array]:
        return state, score(action[0] == _interval(state), jnp.float32(0)), jnp.bool_(True)

    def symbolic(self, state: Times) -> jax.Array:
        """Hour and minute of each clock."""
        return jnp.stack(jnp.divmod(state.minutes, 60), axis=1).astype(jnp.uint8)

    def draw(self, state: Times, canvas: int) -> jax.Array:
        """Integers throughout, so that every device draws the same."""
        image = jnp.asarray(paint("dials", canvas), jnp.int32)
        at = jnp.arange(canvas) * FINE + FINE // 2
        for (steps, _, width, colour), (tips, lengths) in zip(HANDS, _hands(canvas), strict=True):
            half = round(width * RADIUS * canvas * FINE)
            hands = []
            for (x, y), step in zip(DIALS, state.minutes % steps, strict=True):
                (dx, dy), length = jnp.asarray(tips)[step], jnp.asarray(lengths)[step]
                right, down = at[None, :] - round(x * canvas * FINE), at[:, None] - round(y * canvas * FINE)
                along = dx * right + dy * down
                beside = (along >= -length * half) & (along <= length * length)
                # The distance from the hand's middle line is across / length.
                across = jnp.abs(dx * down - dy * right)
                hand = shade((half + FINE // 2) * length - across, FINE * length)
                hands.append(jnp.where(beside, hand, 0))
            image = blend(image, colour, jnp.maximum(*hands))
        return image.astype(jnp.uint8)

    def describe(self, state: Times) -> Texts:
        first, second = state.minutes
        board = text.concat(
            text.encode("upper clock "), _clock(first), text.encode("\nlower clock "), _clock(second)
        )
        hint = text.concat(text.encode("minutes after 12:00 on the upper clock: "), text.number(first, 3))
        return Texts(board, text.encode("both clocks go round in 12 hours"), hint)

    def exercised(self, state: Times, action: jax.Array, after: Times) -> dict[str, jax.Array]:
        told, goal = action[0], _interval(state)
        away = (told - goal) % ROUND
        return {
            # Both clocks are read, though perhaps the way between them is the wrong one.
            "read_gauge_status": (told == goal) | (told == ROUND - goal),
            "estimate_magnitude": jnp.minimum(away, ROUND - away) <= 30,
            "compute_modular": told == goal,
            "read_orientation": away % 60 == 0,
        }

    def expert(self, key: jax.Array, state: Times) -> jax.Array:
        return _interval(state)[None]


def _interval(state: Times) -> jax.Array:
    """int32[]: minutes from the first time to the second."""
    return (state.minutes[1] - state.minutes[0]) % ROUND


def _clock(minutes: jax.Array) -> Text:
    """A time in words: `12:05`."""
    hour, minute = (minutes // 60 - 1) % 12 + 1, minutes % 60
    tens, units = text.number(minute // 10, 1), text.number(minute % 10, 1)
    return text.concat(text.number(hour, 2), text.encode(":"), tens, units)


@functools.lru_cache(maxsize=64)
def _hands(canvas: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each hand its tips int32[steps, 2] (x, y) from the middle, and its lengths int32[steps], in
    FINE-ths of a pixel."""
    hands = []
    for steps, reach, _, _ in HANDS:
        turn = 2 * np.pi * np.arange(steps) / steps
        tips = np.rint(reach * RADIUS * canvas * FINE * np.stack([np.sin(turn), -np.cos(turn)], axis=1))
        hands.append((tips.astype(np.int32), np.rint(np.hypot(*tips.T)).astype(np.int32)))
    return hands
