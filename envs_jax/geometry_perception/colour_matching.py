"""Match a colour by its hue and saturation, and stop when it is near enough.

After VisGym's colorization. The colour is mixed from full light: a hue of the colour wheel in degrees, 0 red,
120 green, 240 blue, and a saturation in percent, 0 grey. Two bars show what the hues and saturations near the
own colour look like; strips above them reach as far as the two colours may differ.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.geometry_perception.adjustments import Adjustments, shorter_way
from jaxenv import text
from jaxenv.environment import Environment
from jaxenv.harness import Texts
from jaxenv.render import palette
from jaxenv.text import Text

HUES, PERCENT, LIGHT = 360, 100, 240
TOLERANCES = np.array([(25, 20), (16, 12), (10, 8)], np.int32)  # of hue and saturation
FARTHEST, NEAREST = 180, 40  # of the hues at the start
GREYEST = 40  # colours with less saturation have no certain hue
SATURATION, STOP = 1, 2  # knobs, after the hue


@struct.dataclass
class Colours:
    target: jax.Array  # int32[2], hue and saturation
    own: jax.Array  # int32[2]
    tolerance: jax.Array  # int32[2]


class ColourMatching(Environment):
    id = "colour_matching"
    family = "geometry_perception"
    abilities = (
        "recognise_colour",
        "discriminate_fine",
        "adjust_incrementally",
        "verify_terminal",
        "format_move",
    )
    grammar = Adjustments(("hue", "saturation"), FARTHEST)
    task = (
        "Make the right colour like the left one, then stop. Answer like <answer>hue -40</answer> (degrees "
        "of the upper bar, -180 to 180), <answer>saturation 15</answer> (percent of the lower bar) or "
        "<answer>stop</answer>."
    )
    rules = (
        "The upper bar has the hues 0 to 360 and goes round, the lower one the saturations 0 to 100. The "
        "mark below a bar is your colour, the strip above it shows how near the other one must be."
    )
    max_turns: ClassVar[tuple[int, ...]] = (8, 8, 8)

    def generate(self, key: jax.Array, scale: jax.Array) -> Colours:
        low = np.array([0, GREYEST, NEAREST, 0, GREYEST])
        high = np.array([HUES, PERCENT + 1, FARTHEST + 1, 2, PERCENT + 1])
        hue, saturation, away, side, own = jax.random.randint(key, low.shape, low, high, jnp.int32)
        start = (hue + jnp.where(side == 0, away, -away)) % HUES
        target, own = jnp.stack([hue, saturation]), jnp.stack([start, own])
        return Colours(target, own, jnp.asarray(TOLERANCES)[scale])

    def legal(self, state: Colours, action: jax.Array) -> jax.Array:
        """Any amount of hue; saturation stays in its bar."""
        after = state.own[1] + action[1]
        return (action[0] != SATURATION) | ((after >= 0) & (after <= PERCENT))

    def transition(
        self, key: jax.Array, state: Colours, action: jax.Array
    ) -> tuple[Colours, jax.Array, jax.Array]:
        hue, saturation = state.own + jnp.where(np.arange(2) == action[0], action[1], 0)
        stops = action[0] == STOP
        near = (jnp.abs(_way(state.own, state.target)) <= state.tolerance).all()
        after = replace(state, own=jnp.stack([hue % HUES, saturation]))
        return after, (stops & near).astype(jnp.float32), stops

    def symbolic(self, state: Colours) -> jax.Array:
        """Red, green and blue of both colours, then where the marks and strips are."""
        hue, saturation = state.own
        marks = jnp.stack([hue // 2, hue % 2, saturation, *state.tolerance])
        return jnp.concatenate([_rgb(state.target), _rgb(state.own), marks]).astype(jnp.uint8)

    def draw(self, state: Colours, canvas: int) -> jax.Array:
        at = jnp.arange(canvas)
        unit = canvas // 32
        margin, line = unit, max(canvas // 96, 1)
        width = canvas - 2 * margin
        inside = ((at >= margin) & (at < canvas - margin))[:, None]
        paper, ink = palette.rgb("paper").astype(np.int32), palette.rgb("ink").astype(np.int32)

        def rows(top: int, bottom: int) -> jax.Array:
            return ((at >= top * unit) & (at < bottom * unit))[:, None, None]

        swatches = jnp.where((at < canvas // 2)[:, None], _rgb(state.target), _rgb(state.own))
        image = jnp.where(rows(1, 17) & inside, swatches, paper)
        for knob, (top, most) in enumerate(((20, HUES), (27, PERCENT))):
            values = (at - margin) * most // width
            colours = jnp.broadcast_to(state.own[:, None], (2, canvas)).at[knob].set(values)
            near = jnp.abs(_way(state.own[:, None], colours)[knob]) <= state.tolerance[knob]
            mark = jnp.abs(at - margin - state.own[knob] * width // most) <= line
            image = jnp.where(rows(top, top + 3) & inside, _rgb(colours), image)
            image = jnp.where(rows(top - 1, top) & inside & near[:, None], ink, image)
            image = jnp.where(rows(top + 3, top + 4) & inside & mark[:, None], ink, image)
        return image.astype(jnp.uint8)

    def describe(self, state: Colours) -> Texts:
        hue, saturation = state.own
        own = text.concat(_name("hue ", hue), _name(", saturation ", saturation))
        missing = jnp.abs(_way(state.own, state.target)) > state.tolerance
        hints = (
            "stop",
            "the hue is not near enough",
            "the saturation is not near enough",
            "neither is near enough",
        )
        return Texts(
            text.concat(_light("left ", state.target), _light("\nright ", state.own), text.encode(", "), own),
            text.concat(
                _name("hue within ", state.tolerance[0]), _name(", saturation within ", state.tolerance[1])
            ),
            text.choose(missing[0] + 2 * missing[1], hints),
        )

    def exercised(self, state: Colours, action: jax.Array, after: Colours) -> dict[str, jax.Array]:
        before, now = (jnp.abs(_way(colours.own, state.target)) for colours in (state, after))
        far = before > state.tolerance
        return {
            "recognise_colour": 2 * now[0] < before[0],
            "discriminate_fine": (far & (now <= state.tolerance)).any(),
            "adjust_incrementally": (far & (now < before)).any(),
        }

    def expert(self, key: jax.Array, state: Colours) -> jax.Array:
        """What is missing of what is not near enough, in random order."""
        missing = _way(state.own, state.target)
        far = jnp.abs(missing) > state.tolerance
        knob = jnp.where(far, jax.random.uniform(key, (2,)), -1.0).argmax()
        stop = jnp.array([STOP, 0], jnp.int32)
        return jnp.where(far.any(), jnp.stack([knob, missing[knob]]).astype(jnp.int32), stop)


def _way(start: jax.Array, end: jax.Array) -> jax.Array:
    """int32[2, ...]: the changes of hue and saturation from one colour to another."""
    hue, saturation = end - start
    return jnp.stack([shorter_way(hue), saturation])


def _rgb(colour: jax.Array) -> jax.Array:
    """int32[..., 3]: the light of hues and saturations int32[2, ...]."""
    hue, saturation = colour[..., None]
    place = (hue + 60 * np.array([5, 3, 1])) % HUES
    dark = jnp.clip(jnp.minimum(place, 240 - place), 0, 60)
    return LIGHT - LIGHT * saturation * dark // (60 * PERCENT)


def _name(label: str, value: jax.Array) -> Text:
    return text.concat(text.encode(label), text.number(value, 3))


def _light(label: str, colour: jax.Array) -> Text:
    """`left red 230 green 12 blue 40`."""
    red, green, blue = _rgb(colour)
    return text.concat(text.encode(label), _name("red ", red), _name(" green ", green), _name(" blue ", blue))
