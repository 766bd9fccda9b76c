"""Find the rule that turns each strip into the one below, and apply it to the last.

After 1D-ARC (arXiv:2305.18354) and reasoning-gym's arc_1d. The strips are drawn first, then the rule, from
those that the pairs leave no doubt about: another rule of the list that fits the pairs gives the same answer.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.sequence_pattern import engine
from jaxenv import grids, text
from jaxenv.answers import Digits
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

LENGTH, PAIRS = 24, 3
LENGTHS = np.array([8, 14, 24], np.int32)
PAIR_COUNTS = np.array([3, 3, 2], np.int32)
# Lengths of the blocks of a strip, 0 after the last; they come in any order.
BLOCKS = np.array([[1, 3, 0, 0], [1, 2, 4, 0], [1, 2, 3, 5]], np.int32)
COLOURS = ("blue", "red", "green")
YELLOW = 4  # only rules paint with it
BLANK, ASKED = 5, 6
KINDS = ("cells move", "cells vanish", "cells appear", "cells change colour")
KIND_OF_RULE = np.repeat(np.arange(len(KINDS), dtype=np.int8), (11, 3, 3, 4))  # the order of `_rewritten`


@struct.dataclass
class Strips:
    before: jax.Array  # int8[4, 24], 0 where empty; the last is the one asked for
    after: jax.Array  # int8[3, 24]
    answer: jax.Array  # int8[24]
    kind: jax.Array  # int8[], what the rule does, in KINDS
    length: jax.Array  # int32[]
    pairs: jax.Array  # int32[]


class Arc1D(TileEnvironment):
    id = "arc_1d"
    family = "sequence_pattern"
    abilities = (
        "induce_pattern",
        "recognise_colour",
        "compare_panels",
        "simulate_rule",
        "format_structured",
    )
    grammar = Digits(LENGTH)
    task = (
        "One rule turns each upper strip into the lower one. Answer the last strip in digits (0 empty, "
        "1 blue, 2 red, 3 green, 4 yellow) in <answer></answer>."
    )
    rules = "The rule is about blocks of cells or the whole strip, and the same for all."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("answer", "kind")
    tileset = (
        "paper",
        *(f"coloured:{colour}" for colour in (*COLOURS, "yellow")),
        "plain:backdrop",
        "header glyph:?",
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Strips:
        length, pairs = jnp.asarray(LENGTHS)[scale], jnp.asarray(PAIR_COUNTS)[scale]
        strips, rules = jax.random.split(key)
        noise = grids.noise(strips, (PAIRS + 1, 3, BLOCKS.shape[1]))
        before = jax.vmap(_strip, (0, None, None))(noise, jnp.asarray(BLOCKS)[scale], length)
        after = jax.vmap(_rewritten, (0, None))(before, length)
        shown = (jnp.arange(PAIRS + 1) < pairs)[:, None]
        asked = jnp.arange(PAIRS + 1)[:, None] == PAIRS
        # Of each strip, which two rules make the same; then which rules would explain what another one shows.
        same = (after[:, :, None] == after[:, None, :]).all(-1)
        fits = (same | ~shown[..., None]).all(0)
        certain = (~fits | same[PAIRS]).all(1)
        # A rule that leaves a strip as it is would show little.
        tells = ((after != before[:, None]).any(-1) | ~(shown | asked)).all(0)
        rule = jnp.where(certain & tells, jax.random.uniform(rules, certain.shape), -1.0).argmax()
        return Strips(
            jnp.where(shown | asked, before, 0).astype(jnp.int8),
            jnp.where(shown, after[:, rule], 0)[:PAIRS].astype(jnp.int8),
            after[PAIRS, rule].astype(jnp.int8),
            jnp.asarray(KIND_OF_RULE)[rule],
            length,
            pairs,
        )

    def legal(self, state: Strips, action: jax.Array) -> jax.Array:
        """As many digits as the strip has cells, each a colour."""
        return ((action >= 0).sum() == state.length) & (action <= YELLOW).all()

    def transition(
        self, key: jax.Array, state: Strips, action: jax.Array
    ) -> tuple[Strips, jax.Array, jax.Array]:
        return state, engine.mark(action, _answer(state)), jnp.bool_(True)

    def symbolic(self, state: Strips) -> jax.Array:
        blank = jnp.full_like(state.after, BLANK)
        rows = jnp.stack([state.before[:PAIRS], state.after, blank], axis=1).reshape(3 * PAIRS, LENGTH)
        rows = jnp.pad(rows, ((0, 2), (0, 0)))
        at = jnp.arange(3 * PAIRS + 2)[:, None]
        rows = jnp.where(at == 3 * state.pairs, state.before[PAIRS], rows)
        return jnp.where(at == 3 * state.pairs + 1, ASKED, rows).astype(jnp.uint8)

    def extent(self, state: Strips) -> tuple[jax.Array, jax.Array]:
        return 3 * state.pairs + 2, state.length

    def describe(self, state: Strips) -> Texts:
        rows, cols = self.extent(state)
        board = text.grid(self.symbolic(state), (*"01234-?",), rows, cols, between="")
        count = text.concat(text.number(state.pairs, 1), text.encode(" pairs, cells "), text.number(cols, 2))
        return Texts(board, count, text.choose(state.kind, KINDS))

    def exercised(self, state: Strips, action: jax.Array, after: Strips) -> dict[str, jax.Array]:
        asked, answer = state.before[PAIRS].astype(jnp.int32), jnp.maximum(action, 0)
        # The rules of the list, right or wrong, that would have made this answer.
        rules = _rewritten(asked, state.length)
        made = (rules == answer).all(1) & (answer != asked).any()
        return {
            "induce_pattern": (answer == state.answer).all(),
            "recognise_colour": (jnp.sort(answer) == jnp.sort(state.answer)).all(),
            "compare_panels": (made & (state.kind == KIND_OF_RULE)).any(),
            "simulate_rule": made.any(),
        }

    def expert(self, key: jax.Array, state: Strips) -> jax.Array:
        return _answer(state)


def _answer(state: Strips) -> jax.Array:
    """int32[24]: the right answer, -1 after the last cell."""
    return jnp.where(jnp.arange(LENGTH) < state.length, state.answer, -1).astype(jnp.int32)


def _strip(noise: jax.Array, sizes: jax.Array, length: jax.Array) -> jax.Array:
    """int32[24]: blocks of the sizes int32[4] in a random order, place and colour, by noise float32[3, 4]."""
    order = jnp.where(sizes > 0, noise[0], jnp.inf)
    size = sizes[(order[:, None] > order[None, :]).sum(1)]
    room = length - sizes.sum() - (sizes > 0).sum() + 1  # cells to spare when one parts the blocks
    spare = jnp.sort(jnp.where(size > 0, (noise[1] * (room + 1)).astype(jnp.int32), room))
    start = spare + jnp.cumsum(size + 1) - size - 1
    at = jnp.arange(LENGTH)[:, None]
    colour = 1 + (noise[2] * len(COLOURS)).astype(jnp.int32)
    return jnp.where((at >= start) & (at < start + size), colour, 0).sum(1)


def _rewritten(strip: jax.Array, length: jax.Array) -> jax.Array:
    """int32[rules, 24]: the strip int32[24] after each rule."""
    at = jnp.arange(LENGTH)
    filled = strip > 0
    left, right = jnp.pad(strip, (1, 0))[:-1], jnp.pad(strip, (0, 1))[1:]
    inner = (left > 0) & (right > 0)
    gap_before = jax.lax.cummax(jnp.where(filled, -1, at))
    gap_after = jax.lax.cummin(jnp.where(filled, LENGTH, at), reverse=True)
    size = jnp.where(filled, gap_after - gap_before - 1, 0)  # of the block
    longest = filled & (size == size.max())
    last_filled = jax.lax.cummax(jnp.where(filled, at, 0))
    rank = jnp.cumsum(filled) - 1

    def moved(by: int, wraps: bool) -> jax.Array:
        source = at - by
        inside = (source >= 0) & (source < length)
        return jnp.where(inside | wraps, strip[source % length], 0)

    def fallen(end: jax.Array | int) -> jax.Array:
        return jnp.zeros_like(strip).at[jnp.where(filled, rank + end, LENGTH)].set(strip, mode="drop")

    rules = (
        *(moved(by, wraps) for wraps in (False, True) for by in (1, 2, -1, -2)),
        strip[(length - 1 - at) % length],  # mirrored
        fallen(0),
        fallen(length - filled.sum()),
        jnp.where(inner, 0, strip),
        jnp.where(size == 1, 0, strip),
        jnp.where(longest, strip, 0),
        jnp.where(at <= last_filled[-1], strip[last_filled], 0),  # the gaps filled from the left
        jnp.where(filled, strip, left),
        jnp.where(filled, strip, right),
        jnp.where(longest, YELLOW, strip),
        jnp.where(filled & ~inner, YELLOW, strip),
        jnp.where(filled, strip % len(COLOURS) + 1, 0),
        jnp.where(filled, strip[longest.argmax()], 0),
    )
    return jnp.where(at < length, jnp.stack(rules), 0)
