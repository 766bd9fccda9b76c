"""Foresee an elementary cellular automaton whose rule is drawn as eight patterns, the ends of a row touching.

The picture has the eight patterns of three cells with what becomes of the middle one below each, then the row
to begin with and the rows that are asked for. A rule makes between three and five of the patterns live.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.sequence_pattern import engine
from jaxenv import text
from jaxenv.answers import Digits
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

WIDTH, STEPS = 16, 5
WIDTHS = np.array([6, 10, 16], np.int32)
STEP_COUNTS = np.array([1, 2, 5], np.int32)
PATTERNS = 8
FEWEST_LIVE, MOST_LIVE = 3, 5
BLANK, ASKED = 2, 3


def _rule_board() -> tuple[np.ndarray, np.ndarray]:
    """Two lines of four patterns, uint8[6, 16]: their cells, and the pattern whose result goes to a cell (8
    for none). Patterns are read as numbers, from 111 down."""
    cells = np.full((6, WIDTH), BLANK, np.uint8)
    results = np.full((6, WIDTH), PATTERNS, np.uint8)
    for place, pattern in enumerate(range(PATTERNS - 1, -1, -1)):
        row, col = 3 * (place // 4), 4 * (place % 4)
        cells[row, col : col + 3] = pattern >> 2 & 1, pattern >> 1 & 1, pattern & 1
        results[row + 1, col + 1] = pattern
    return cells, results


PATTERN_CELLS, RESULT_CELLS = _rule_board()


@struct.dataclass
class Automaton:
    rule: jax.Array  # bool[8], what becomes of each pattern
    row: jax.Array  # bool[16], False after the last cell
    width: jax.Array  # int32[]
    steps: jax.Array  # int32[]


class ElementaryAutomaton(TileEnvironment):
    id = "elementary_automaton"
    family = "sequence_pattern"
    abilities = ("read_symbol", "simulate_rule", "compare_panels", "format_structured", "index_cell")
    grammar = Digits(WIDTH * STEPS)
    task = (
        "The patterns on top show what three cells make of the middle one; the ends of a row touch. "
        "Answer the ? rows in 0 and 1 (filled) in <answer></answer>."
    )
    rules = "Every cell comes from the three above it: left, middle and right, in the order of the patterns."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = ("paper", "coloured:alive", "plain:backdrop", "header glyph:?")

    def generate(self, key: jax.Array, scale: jax.Array) -> Automaton:
        noise = jax.random.uniform(key, (WIDTH + PATTERNS + 1,))
        width = jnp.asarray(WIDTHS)[scale]
        row = (noise[:WIDTH] < 0.5) & (jnp.arange(WIDTH) < width)
        luck = noise[WIDTH:-1]
        live = FEWEST_LIVE + (noise[-1] * (MOST_LIVE - FEWEST_LIVE + 1)).astype(jnp.int32)
        rule = (luck[:, None] > luck[None, :]).sum(1) < live
        return Automaton(rule, row, width, jnp.asarray(STEP_COUNTS)[scale])

    def legal(self, state: Automaton, action: jax.Array) -> jax.Array:
        """As many digits as the rows have cells, each 0 or 1."""
        return ((action >= 0).sum() == state.width * state.steps) & (action <= 1).all()

    def transition(
        self, key: jax.Array, state: Automaton, action: jax.Array
    ) -> tuple[Automaton, jax.Array, jax.Array]:
        return state, engine.mark(action, _answer(state)), jnp.bool_(True)

    def symbolic(self, state: Automaton) -> jax.Array:
        results = jnp.append(state.rule, False)[RESULT_CELLS]
        rules = jnp.where(RESULT_CELLS < PATTERNS, results, PATTERN_CELLS)
        col = jnp.arange(WIDTH) - (WIDTH - state.width) // 2
        used = (col >= 0) & (col < state.width)
        start = jnp.where(used, state.row[col % WIDTH], BLANK)
        asked = used & (jnp.arange(STEPS) < state.steps)[:, None]
        rows = [rules, start[None], jnp.where(asked, ASKED, BLANK)]
        return jnp.concatenate([part.astype(jnp.uint8) for part in rows])

    def extent(self, state: Automaton) -> tuple[jax.Array, jax.Array]:
        return len(PATTERN_CELLS) + 1 + state.steps, jnp.int32(WIDTH)

    def describe(self, state: Automaton) -> Texts:
        results = text.grid(state.rule[None, ::-1].astype(jnp.uint8), ("0", "1"), 1, PATTERNS, between="   ")
        row = text.grid(state.row[None].astype(jnp.uint8), ("0", "1"), 1, state.width, between="")
        steps = text.number(state.steps, 1)
        patterns = " ".join(f"{pattern:03b}" for pattern in range(PATTERNS - 1, -1, -1))
        board = text.concat(
            text.encode(f"{patterns}\n "), results, text.encode("\nrow "), row, text.encode("\nsteps "), steps
        )
        size = text.concat(text.encode("cells "), text.number(state.width, 2), text.encode(", steps "), steps)
        filled = text.number(_stepped(state.rule, state.row, state.width).sum(), 2)
        return Texts(board, size, text.concat(text.encode("filled cells in the first ? row: "), filled))

    def exercised(self, state: Automaton, action: jax.Array, after: Automaton) -> dict[str, jax.Array]:
        right, first = action == _answer(state), jnp.arange(WIDTH * STEPS) < state.width
        row, col = jnp.indices((STEPS, WIDTH))
        asked = (row < state.steps) & (col < state.width)
        below = asked & (action[jnp.where(asked, row * state.width + col, 0)] == 1)
        above = jnp.concatenate([state.row[None], below[:-1]])
        # Where an answered row is not what the patterns make of the one above it, be that right or not.
        breaks = asked & (jax.vmap(_stepped, (None, 0, None))(state.rule, above, state.width) != below)
        return {
            "read_symbol": 4 * (first & right).sum() >= 3 * state.width,
            "simulate_rule": right.all(),
            "compare_panels": 10 * breaks.sum() <= asked.sum(),
            "index_cell": (right | ~first).all(),
        }

    def expert(self, key: jax.Array, state: Automaton) -> jax.Array:
        return _answer(state)


def _stepped(rule: jax.Array, row: jax.Array, width: jax.Array) -> jax.Array:
    """bool[16]: the row after bool[16]."""
    at = jnp.arange(WIDTH)
    left, right = row[(at - 1) % width], row[(at + 1) % width]
    return rule[4 * left + 2 * row + right] & (at < width)


def _answer(state: Automaton) -> jax.Array:
    """int32[80]: the cells of all rows that are asked for, -1 after the last."""

    def step(row: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        after = _stepped(state.rule, row, state.width)
        return after, after

    _, rows = jax.lax.scan(step, state.row, None, length=STEPS)
    at = jnp.arange(WIDTH * STEPS)
    row, col = jnp.divmod(at, state.width)
    asked = row < state.steps
    return jnp.where(asked, rows[jnp.where(asked, row, 0), col], -1).astype(jnp.int32)
