"""Pack the items that are worth most together, and weigh no more than the sack holds.

The 0-1 knapsack of Jumanji and RLVE, answered at once. Heavy items tend to be worth more. Every best choice
scores in full; another that fits in the sack by what it is worth.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.environment import TileEnvironment
from jaxenv.grammars import Letters
from jaxenv.harness import Texts
from jaxenv.scoring import score

MOST = 12
LETTERS = "ABCDEFGHIJKL"
SIZES = np.array([4, 8, 12], np.int32)
HIGHS = np.array([9, 12, 15], np.int32)  # of weights and values
HIGH = int(HIGHS.max())
CAPACITY_SHARES = 0.35, 0.65  # of the weight of all items
# All choices of items, bit k for item k.
SETS = np.arange(2**MOST, dtype=np.int32)
CHOSEN = (SETS[:, None] >> np.arange(MOST)) & 1

# Tiles, and the first of each series of them.
BLANK, SACK, HEFT, COIN, LABEL = range(5)
WEIGHT = LABEL + MOST
VALUE = WEIGHT + HIGH + 1
DIGIT = VALUE + HIGH + 1
# The picture: the sack with two digits, below it the items in lines, each with weights and values below. For
# each cell its index in BLANK, SACK, HEFT, COIN, the digits, all labels, all weights, all values.
ROWS, COLS, BEFORE = 7, 7, 6
LINES, IN_LINE = (1, 2, 2), (4, 4, 6)


def _layout(lines: int, in_line: int) -> np.ndarray:
    layout = np.full((ROWS, COLS), BLANK)
    layout[0, :3] = SACK, 4, 5
    for line in range(lines):
        items = BEFORE + line * in_line + np.arange(in_line)
        at = slice(1 + 3 * line, 4 + 3 * line)
        layout[at, 0] = BLANK, HEFT, COIN
        layout[at, 1 : 1 + in_line] = items, items + MOST, items + 2 * MOST
    return layout


LAYOUTS = np.stack([_layout(*sizes) for sizes in zip(LINES, IN_LINE, strict=True)])


@struct.dataclass
class Items:
    weights: jax.Array  # int32[12], 0 after the last
    values: jax.Array  # int32[12]
    capacity: jax.Array  # int32[]
    scale: jax.Array  # int32[]


class Knapsack(TileEnvironment):
    id = "knapsack"
    family = "optimisation"
    abilities = (
        "read_digit",
        "balance_sums",
        "budget_resources",
        "optimise_combinatorial",
        "format_structured",
    )
    grammar = Letters(MOST, LETTERS, between=" ")
    task = (
        "Pack the items worth most (coins) whose weights together are at most the sack's number. "
        "Answer like <answer>A C D</answer>."
    )
    rules = "Below each item is its weight, then its value. The weights must not exceed the number on top."
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    tileset = (
        "plain:paper",
        "plain:given sack",
        "given heft",
        "marked coin",
        *(f"wood:{letter}" for letter in LETTERS),
        *(f"given glyph:{weight}" for weight in range(HIGH + 1)),
        *(f"marked glyph:{value}" for value in range(HIGH + 1)),
        *(f"plain:given glyph:{digit}" for digit in range(10)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Items:
        noise = jax.random.uniform(key, (2 * MOST + 1,))
        heavy, dear = noise[:MOST], (noise[:MOST] + noise[MOST:-1]) / 2
        high, here = jnp.asarray(HIGHS)[scale], jnp.arange(MOST) < jnp.asarray(SIZES)[scale]
        weights = jnp.where(here, 1 + (heavy * high).astype(jnp.int32), 0)
        values = jnp.where(here, 1 + (dear * high).astype(jnp.int32), 0)
        low, top = CAPACITY_SHARES
        share = low + noise[-1] * (top - low)
        return Items(weights, values, (share * weights.sum()).astype(jnp.int32), scale)

    def legal(self, state: Items, action: jax.Array) -> jax.Array:
        """Items that are there, each once."""
        count = (action[:, None] == np.arange(MOST)).sum(0)
        return (action < jnp.asarray(SIZES)[state.scale]).all() & (count <= 1).all()

    def transition(
        self, key: jax.Array, state: Items, action: jax.Array
    ) -> tuple[Items, jax.Array, jax.Array]:
        worth = _worth(state)
        packed = worth[(_chosen(action) << np.arange(MOST)).sum()]
        return state, score(packed == worth.max(), packed / worth.max()), jnp.bool_(True)

    def symbolic(self, state: Items) -> jax.Array:
        tens, units = state.capacity // 10, state.capacity % 10
        first = jnp.stack([BLANK, SACK, HEFT, COIN, jnp.where(tens > 0, DIGIT + tens, BLANK), DIGIT + units])
        labels = LABEL + np.arange(MOST)
        tiles = jnp.concatenate([first, labels, WEIGHT + state.weights, VALUE + state.values])
        return tiles[jnp.asarray(LAYOUTS)[state.scale]].astype(jnp.uint8)

    def extent(self, state: Items) -> tuple[jax.Array, jax.Array]:
        rows = 1 + 3 * jnp.asarray(LINES, jnp.int32)[state.scale]
        return rows, 1 + jnp.asarray(IN_LINE, jnp.int32)[state.scale]

    def describe(self, state: Items) -> Texts:
        count = jnp.asarray(SIZES)[state.scale]
        numbers = [str(number) for number in range(HIGH + 1)]
        board = text.concat(
            text.encode("weights "),
            text.grid(state.weights[None], numbers, 1, count),
            text.encode("\nvalues "),
            text.grid(state.values[None], numbers, 1, count),
            text.encode("\nthe sack holds "),
            text.number(state.capacity, 2),
        )
        size = text.concat(text.number(count, 2), text.encode(" items of weight "))
        total = text.concat(size, text.number(state.weights.sum(), 3))
        best = text.concat(text.encode("the best choice is worth "), text.number(_worth(state).max(), 3))
        return Texts(board, total, best)

    def exercised(self, state: Items, action: jax.Array, after: Items) -> dict[str, jax.Array]:
        worth, chosen = _worth(state), _chosen(action)
        packed, best = worth[(chosen << np.arange(MOST)).sum()], worth.max()
        room = state.capacity - (chosen * state.weights).sum()
        others = ~chosen & (state.weights > 0)
        return {
            "read_digit": 4 * packed >= 3 * best,
            "balance_sums": (room >= 0) & (10 * room <= state.capacity),
            # No other item has room.
            "budget_resources": (room >= 0) & ~(others & (state.weights <= room)).any(),
            "optimise_combinatorial": packed == best,
        }

    def expert(self, key: jax.Array, state: Items) -> jax.Array:
        """A random one of the best choices."""
        worth = _worth(state)
        best = jnp.where(worth == worth.max(), jax.random.uniform(key, worth.shape), -1.0).argmax()
        (items,) = jnp.nonzero(jnp.asarray(CHOSEN)[best], size=MOST, fill_value=-1)
        return items.astype(jnp.int32)


def _chosen(action: jax.Array) -> jax.Array:
    """bool[12]: the items that an action names."""
    return (action[:, None] == np.arange(MOST)).any(0)


def _worth(state: Items) -> jax.Array:
    """int32[4096]: what each of SETS is worth, 0 if it weighs too much or has items that are not there."""
    fits = CHOSEN @ state.weights <= state.capacity
    there = (SETS >> jnp.asarray(SIZES)[state.scale]) == 0
    return jnp.where(fits & there, CHOSEN @ state.values, 0)
