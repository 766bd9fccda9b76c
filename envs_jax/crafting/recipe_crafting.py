"""Get raw items and craft by recipe, step by step, until the goal is made.

The rules of TextCraft: raw items are unlimited, a recipe takes exactly its ingredients and gives its own
count. The recipes form a tree of given depth with some that lead nowhere. They are drawn from the goal down,
so that what is needed of each item is known when it gets a recipe, and never more than can be carried.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.text import Text

MADE, RAW, MOST_INPUTS, MOST_YIELD = 10, 5, 3, 3
LETTERS = "ABCDEFGHIJVWXYZ"  # of the items that are made, then of the raw ones
ITEMS, MOST = len(LETTERS), 9  # of one item in the bag
RECIPES, RAWS = (4, 7, 10), (3, 4, 5)
# How deep the recipe of each item is, the goal's first; 0 for raw items, ABSENT for those of larger scales.
ABSENT = 9
DEPTHS = np.array(
    [
        (2, 1, 1, 1, *[ABSENT] * 6, 0, 0, 0, ABSENT, ABSENT),
        (3, 2, 2, 1, 1, 1, 1, *[ABSENT] * 3, 0, 0, 0, 0, ABSENT),
        (5, 4, 4, 3, 3, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0),
    ]
)
# What may be needed in all of an item when it becomes the first ingredient of a recipe, or a further one. Of
# the items a level deeper one always has room, for a recipe is used at most twice.
FIRST_NEED = np.array([6] * MADE + [MOST] * RAW)
OTHER_NEED = np.array([3] * MADE + [6] * RAW)

WORDS = Moves(("get", "craft", "using", *"123456789", *LETTERS.lower()), 3 + 2 * MOST_INPUTS)
GET, CRAFT, USING, COUNT, ITEM = 0, 1, 2, 2, 12  # COUNT + n is the word of the number n
KINDS = np.array([0, 1, 2, *[3] * 9, *[4] * ITEMS, -1])  # of the words; the last is no word
PHRASES = np.array(
    [(0, 3, 4, *[-1] * 6), *((1, 4, 2, *[3, 4] * n, *[-1] * 2 * (3 - n)) for n in range(1, MOST_INPUTS + 1))]
)

# The tiles, and the places that a layout puts together to a picture.
BLANK, FLAG, GOAL = 0, 1, 2
RESULT = GOAL + MADE
INPUT = RESULT + MOST_YIELD * MADE
BAG = INPUT + MOST_INPUTS * ITEMS
AT_RESULT, AT_INPUT, AT_BAG = 3, 3 + MADE, 3 + MADE + MOST_INPUTS * MADE
SIDE = 9


def _layout(recipes: int, raws: int, columns: int) -> np.ndarray:
    """Places int[9, 9]: the goal, the recipes in columns, the bag."""
    places = np.zeros((SIDE, SIDE), int)
    places[0, :2] = FLAG, GOAL
    for n in range(recipes):
        row, column = 1 + n // columns, 5 * (n % columns)
        places[row, column] = AT_RESULT + n
        places[row, column + 1 : column + 4] = AT_INPUT + MOST_INPUTS * n + np.arange(MOST_INPUTS)
    width, top = 5 * columns - 1, 1 - -recipes // columns
    for n, item in enumerate([*range(recipes), *range(MADE, MADE + raws)]):
        places[top + n // width, n % width] = AT_BAG + item
    return places


COLUMNS = (1, 2, 2)
LAYOUTS = np.stack([_layout(*sizes) for sizes in zip(RECIPES, RAWS, COLUMNS, strict=True)])


@struct.dataclass
class Workshop:
    inputs: jax.Array  # uint8[10, 15], how many of each item the recipe of a made one takes
    yields: jax.Array  # uint8[10], how many it gives
    bag: jax.Array  # uint8[15]
    goal: jax.Array  # int32[], an item
    scale: jax.Array  # int32[]


@dataclass(frozen=True)
class Orders:
    """`get 3 v` or `craft a using 2 v 1 b`; the action is the words int32[9], -1 after the last."""

    capacity: int = WORDS.capacity

    def parse(self, answer: Text) -> tuple[jax.Array, jax.Array]:
        words, known = WORDS.parse(answer)
        return words, known & (jnp.asarray(KINDS)[words] == PHRASES).all(1).any()

    def format(self, action: jax.Array) -> Text:
        return WORDS.format(action)

    def sample(self, key: jax.Array) -> jax.Array:
        word_key, phrase_key = jax.random.split(key)
        phrase = jnp.asarray(PHRASES)[jax.random.randint(phrase_key, (), 0, len(PHRASES))]
        noise = grids.noise(word_key, (len(phrase), len(KINDS)))
        word = jnp.where(phrase[:, None] == KINDS, noise, -1.0).argmax(1)
        return jnp.where(phrase < 0, -1, word).astype(jnp.int32)


class RecipeCrafting(TileEnvironment):
    id = "recipe_crafting"
    family = "crafting"
    abilities = (
        "read_symbol",
        "read_gauge_status",
        "schedule_order",
        "budget_resources",
        "decompose_subgoals",
        "format_move",
    )
    grammar = Orders()
    task = (
        "Make the item at the flag. Get raw items (letters V to Z) or craft by a recipe, one at a time. "
        "Answer like <answer>get 3 v</answer> or <answer>craft a using 2 v 1 b</answer>."
    )
    rules = (
        "Each row is a recipe: green is what it makes, and how many, the cells after it what it takes. Name "
        "exactly what it takes, all of it from your bag, which is blue and holds 9 of each."
    )
    max_turns: ClassVar[tuple[int, ...]] = (14, 24, 36)
    tileset = (
        "plain:paper",
        "plain:paper flag",
        *(f"marked glyph:{letter}" for letter in LETTERS[:MADE]),
        *(f"header glyph:{n}{letter}" for letter in LETTERS[:MADE] for n in range(1, MOST_YIELD + 1)),
        *(
            f"{ground} glyph:{n}{letter}"
            for ground, letters in (("paper", LETTERS[:MADE]), ("crate", LETTERS[MADE:]))
            for letter in letters
            for n in range(1, MOST_INPUTS + 1)
        ),
        *(f"coloured:sky{f' glyph:{n}{letter}' if n else ''}" for letter in LETTERS for n in range(MOST + 1)),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Workshop:
        recipe_key, letter_key = jax.random.split(key)
        depths = jnp.asarray(DEPTHS)[scale]
        noise = grids.noise(recipe_key, (MADE, 2 * ITEMS + 2))
        inputs, yields = _recipes(noise, depths)
        # Letters do not tell how deep an item is.
        letters = jnp.where(depths[:MADE] < ABSENT, jax.random.uniform(letter_key, (MADE,)), -1.0)
        _, made = jax.lax.top_k(letters, MADE)
        items = jnp.concatenate([made, np.arange(MADE, ITEMS)])
        inputs = inputs[made][:, items].astype(jnp.uint8)
        bag = jnp.zeros(ITEMS, jnp.uint8)
        return Workshop(inputs, yields[made].astype(jnp.uint8), bag, made.argmin().astype(jnp.int32), scale)

    def legal(self, state: Workshop, action: jax.Array) -> jax.Array:
        """A raw item of some recipe, or a recipe with its very ingredients, all there; and room for it."""
        takes, gives = _change(state, action)
        recipe = state.inputs[jnp.clip(action[1] - ITEM, 0, MADE - 1)]
        follows = (action[1] < ITEM + MADE) & (takes > 0).any() & (takes == recipe).all()
        got = action[2] - ITEM
        raw = (got >= MADE) & (state.inputs[:, jnp.clip(got, 0, ITEMS - 1)] > 0).any()
        known = gives.any() & jnp.where(action[0] == GET, raw, follows)
        return known & (takes <= state.bag).all() & (state.bag - takes + gives <= MOST).all()

    def transition(
        self, key: jax.Array, state: Workshop, action: jax.Array
    ) -> tuple[Workshop, jax.Array, jax.Array]:
        takes, gives = _change(state, action)
        after = replace(state, bag=(state.bag - takes + gives).astype(jnp.uint8))
        done = after.bag[state.goal] > 0
        return after, done.astype(jnp.float32), done

    def symbolic(self, state: Workshop) -> jax.Array:
        inputs, counts = _listed(state.inputs)
        places = jnp.concatenate(
            [
                jnp.stack([jnp.int32(BLANK), jnp.int32(FLAG), GOAL + state.goal]),
                RESULT + MOST_YIELD * jnp.arange(MADE) + state.yields - 1,
                jnp.where(counts > 0, INPUT + MOST_INPUTS * inputs + counts - 1, BLANK).reshape(-1),
                BAG + (MOST + 1) * jnp.arange(ITEMS) + state.bag,
            ]
        )
        return places[jnp.asarray(LAYOUTS)[state.scale]].astype(jnp.uint8)

    def extent(self, state: Workshop) -> tuple[jax.Array, jax.Array]:
        rows = (LAYOUTS > 0).any(2).sum(1)
        return jnp.asarray(rows, jnp.int32)[state.scale], 5 * jnp.asarray(COLUMNS, jnp.int32)[state.scale] - 1

    def describe(self, state: Workshop) -> Texts:
        words = (
            ".",
            "goal:",
            *LETTERS[:MADE],
            *(f"{n}{letter}:" for letter in LETTERS[:MADE] for n in range(1, MOST_YIELD + 1)),
            *(f"{n}{letter}" for letter in LETTERS for n in range(1, MOST_INPUTS + 1)),
            *(f"[{n}{letter}]" if n else "[]" for letter in LETTERS for n in range(MOST + 1)),
        )
        rows, cols = self.extent(state)
        needed, uses = _plan(state)
        bag, lengths = text.word_table([f" {n}{letter}" for letter in LETTERS for n in range(MOST + 1)])
        held = (MOST + 1) * jnp.arange(ITEMS) + state.bag
        carried = text.pack(
            jnp.asarray(bag)[held], jnp.where(state.bag > 0, jnp.asarray(lengths)[held], 0).astype(jnp.int32)
        )
        facts = text.concat(
            text.encode("the goal is "),
            text.choose(state.goal, LETTERS[:MADE]),
            text.choose((state.bag > 0).any().astype(jnp.int32), (", the bag is empty", ", in the bag")),
            carried,
        )
        names, sizes = text.word_table([f" {letter}" for letter in LETTERS])
        short = jnp.concatenate([uses > 0, needed[MADE:] > state.bag[MADE:]])
        hint = text.concat(
            text.encode("you still have to get or craft"),
            text.pack(jnp.asarray(names), jnp.where(short, jnp.asarray(sizes), 0)),
        )
        return Texts(text.grid(self.symbolic(state), words, rows, cols), facts, hint)

    def exercised(self, state: Workshop, action: jax.Array, after: Workshop) -> dict[str, jax.Array]:
        (needed, uses), (_, gives) = _plan(state), _change(state, action)
        craft, made = action[0] == CRAFT, jnp.clip(action[1] - ITEM, 0, MADE - 1)
        wanted = (gives <= jnp.maximum(needed - state.bag, 0)).all()
        opened = _ready(after, uses) & ~_ready(state, uses)
        return {
            "read_symbol": craft,
            "read_gauge_status": ~craft & wanted & (state.bag > 0).any(),
            "schedule_order": opened.any() | (after.bag[state.goal] > 0),
            "budget_resources": _turns_left(after) < _turns_left(state),
            "decompose_subgoals": craft & (uses[made] > 0) & (made != state.goal),
        }

    def expert(self, key: jax.Array, state: Workshop) -> jax.Array:
        """A recipe that is needed and possible, if there is one, else all that is needed of a raw item."""
        needed, uses = _plan(state)
        ready = _ready(state, uses)
        lacks = needed[MADE:] - state.bag[MADE:]
        worth = jnp.concatenate([jnp.where(ready, -2, 0), jnp.where(lacks > 0, -1, 0)])
        item = grids.random_argmin(key, worth)
        inputs, counts = _listed(state.inputs)
        made = jnp.minimum(item, MADE - 1)
        pairs = jnp.stack([COUNT + counts[made], ITEM + inputs[made]], axis=1)
        pairs = jnp.where(counts[made][:, None] > 0, pairs, -1).reshape(-1)
        craft = jnp.concatenate([jnp.stack([jnp.int32(CRAFT), ITEM + made, jnp.int32(USING)]), pairs])
        count = COUNT + lacks[jnp.maximum(item - MADE, 0)]
        get = jnp.stack([jnp.int32(GET), count, ITEM + item, *[jnp.int32(-1)] * 2 * MOST_INPUTS])
        return jnp.where(item < MADE, craft, get).astype(jnp.int32)


def _recipes(noise: jax.Array, depths: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Inputs int32[10, 15] and yields int32[10] of items of these depths, the goal first."""

    def draw(
        needed: jax.Array, drawn: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        item, noise = drawn
        depth, need = depths[item], needed[item]
        fewest = jnp.maximum((need + 1) // 2, 1)
        yields = fewest + (noise[-1] * (MOST_YIELD + 1 - fewest)).astype(jnp.int32)
        uses = -(-need // yields)
        chance, size = noise[:ITEMS], noise[ITEMS : 2 * ITEMS]
        at_first = (depths == depth - 1) & (needed + uses <= FIRST_NEED)
        first = jnp.arange(ITEMS) == jnp.where(at_first, chance, -1.0).argmax()
        others = (depths < depth) & (needed + uses <= OTHER_NEED) & ~first
        count = (noise[-2] * MOST_INPUTS).astype(jnp.int32)
        chosen = first | grids.pick_mask(chance[None], others[None], count)[0]
        room = (jnp.where(first, FIRST_NEED, OTHER_NEED) - needed) // jnp.maximum(uses, 1)
        amount = jnp.clip(1 + (size * MOST_INPUTS).astype(jnp.int32), 1, jnp.maximum(room, 1))
        inputs = jnp.where(chosen & (depth < ABSENT), amount, 0)
        return needed + uses * inputs, (inputs, yields)

    start = jnp.zeros(ITEMS, jnp.int32).at[0].set(1)
    return jax.lax.scan(draw, start, (jnp.arange(MADE), noise))[1]


def _change(state: Workshop, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What an action takes from the bag and puts into it, int32[15] each."""
    at = jnp.arange(ITEMS)
    words = action[3:].reshape(MOST_INPUTS, 2)
    takes = jnp.where(words[:, 1:] - ITEM == at, words[:, :1] - COUNT, 0).sum(0)
    got = jnp.where(action[2] - ITEM == at, action[1] - COUNT, 0)
    yields = jnp.pad(state.yields.astype(jnp.int32), (0, RAW))
    made = jnp.where(action[1] - ITEM == at, yields, 0)
    gets = action[0] == GET
    return jnp.where(gets, 0, takes), jnp.where(gets, got, made)


def _listed(inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The ingredients of each recipe in the order of letters and how many of each, int32[10, 3]; 0 of those
    beyond the last."""
    _, items = jax.lax.top_k((inputs > 0) * (ITEMS - jnp.arange(ITEMS)), MOST_INPUTS)
    return items, jnp.take_along_axis(inputs.astype(jnp.int32), items, axis=1)


def _ready(state: Workshop, uses: jax.Array) -> jax.Array:
    """bool[10]: the recipes that must be used and can be."""
    return (uses > 0) & (state.bag >= state.inputs).all(1)


def _turns_left(state: Workshop) -> jax.Array:
    """int32[]: the fewest orders that still make the goal."""
    needed, uses = _plan(state)
    return uses.sum() + (needed[MADE:] > state.bag[MADE:]).sum()


def _plan(state: Workshop) -> tuple[jax.Array, jax.Array]:
    """How many of each item are needed at the same time or after each other, int32[15], and how often each
    recipe must be used, int32[10]."""
    inputs, yields, bag = (leaf.astype(jnp.int32) for leaf in (state.inputs, state.yields, state.bag))
    goal = (jnp.arange(ITEMS) == state.goal).astype(jnp.int32)

    def deepen(_: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        needed, _ = carry
        lacks = jnp.maximum(needed - bag, 0)[:MADE]
        uses = -(-lacks // jnp.maximum(yields, 1))
        return goal + (uses[:, None] * inputs).sum(0), uses

    levels = int(DEPTHS[DEPTHS < ABSENT].max()) + 1
    return jax.lax.fori_loop(0, levels, deepen, (goal, jnp.zeros(MADE, jnp.int32)))
