"""Find a hidden row of colours; each guess is told how many are right. One guess is made at the start.

Mastermind, Tatham's Guess: colours may repeat.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import text
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

ROWS, SLOTS = 8, 4
COLOURS = ("red", "green", "blue", "yellow", "purple", "white")
SLOT_COUNTS = np.array([3, 4, 4], np.int32)
COLOUR_COUNTS = np.array([4, 5, 6], np.int32)
ROW_COUNTS = np.array([6, 7, 8], np.int32)
CODES = np.indices((len(COLOURS),) * SLOTS, np.int8).reshape(SLOTS, -1).T
# Pins by black (right colour and place) and white (right colour elsewhere).
PINS = [(black, white) for black in range(SLOTS + 1) for white in range(SLOTS + 1 - black)]
HOLE, FIRST_PINS, SWATCH = 0, 1 + len(COLOURS), 1 + len(COLOURS) + len(PINS)
PIN_TILES = np.zeros((SLOTS + 1, SLOTS + 1), np.int32)
PIN_TILES[tuple(zip(*PINS, strict=True))] = FIRST_PINS + np.arange(len(PINS))


@struct.dataclass
class Pegs:
    guesses: jax.Array  # int8[8, 4] of COLOURS, -1 after the last slot and in rows that are not used yet
    pins: jax.Array  # int8[8, 2], black and white
    used: jax.Array  # int32[], rows
    code: jax.Array  # int8[4] of COLOURS, -1 after the last slot
    slots: jax.Array  # int32[]
    colours: jax.Array  # int32[]
    rows: jax.Array  # int32[]


class Mastermind(TileEnvironment):
    id = "mastermind"
    family = "text_symbolic"
    abilities = (
        "recognise_colour",
        "query_actively",
        "deduce_logic",
        "track_hidden_state",
        "count_objects",
        "format_structured",
    )
    grammar = Moves(COLOURS, SLOTS)
    task = (
        "Find the hidden row of colours; those on the right are in use. "
        "Answer one colour a slot, like <answer>red blue red</answer>."
    )
    rules = "Black pins: right colours in their slots. White: right colours elsewhere. Colours may repeat."
    max_turns: ClassVar[tuple[int, ...]] = tuple((ROW_COUNTS - 1).tolist())
    expert_success = (0.95, 0.95, 0.95)
    hidden = ("code",)
    tileset = (
        "peg:hole",
        *(f"peg:{colour}" for colour in COLOURS),
        *(f"pins:{black}-{white}" for black, white in PINS),
        "swatches",
        *(f"swatches:{colour}" for colour in COLOURS),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Pegs:
        code_key, guess_key, slot_key = jax.random.split(key, 3)
        slots, colours = jnp.asarray(SLOT_COUNTS)[scale], jnp.asarray(COLOUR_COUNTS)[scale]
        there = jnp.arange(SLOTS) < slots
        code = jax.random.randint(code_key, (SLOTS,), 0, colours)
        # The first guess is not the code: they differ in one slot at least.
        differs = jnp.arange(SLOTS) == jax.random.randint(slot_key, (), 0, slots)
        guess = (code + jax.random.randint(guess_key, (SLOTS,), differs.astype(jnp.int32), colours)) % colours
        blank = Pegs(
            jnp.full((ROWS, SLOTS), -1, jnp.int8),
            jnp.zeros((ROWS, 2), jnp.int8),
            jnp.int32(0),
            jnp.where(there, code, -1).astype(jnp.int8),
            slots,
            colours,
            jnp.asarray(ROW_COUNTS)[scale],
        )
        return _after(blank, jnp.where(there, guess, -1))

    def legal(self, state: Pegs, action: jax.Array) -> jax.Array:
        """A colour in use for each slot."""
        there = jnp.arange(SLOTS) < state.slots
        return ((action >= 0) == there).all() & (action < state.colours).all()

    def transition(self, key: jax.Array, state: Pegs, action: jax.Array) -> tuple[Pegs, jax.Array, jax.Array]:
        after = _after(state, action)
        solved = (action == state.code).all()
        return after, solved.astype(jnp.float32), solved | (after.used >= after.rows)

    def symbolic(self, state: Pegs) -> jax.Array:
        """Pegs, pins, and beside them the colours in use."""
        tiles = jnp.full((ROWS, SLOTS + 2), HOLE, jnp.int32).at[:, :SLOTS].set(1 + state.guesses)
        row, col = jnp.indices(tiles.shape)
        pins = jnp.asarray(PIN_TILES)[state.pins[:, 0], state.pins[:, 1]]
        tiles = jnp.where(col == state.slots, pins[:, None], tiles)
        swatch = SWATCH + jnp.where(row < state.colours, row + 1, 0)
        return jnp.where(col == state.slots + 1, swatch, tiles).astype(jnp.uint8)

    def extent(self, state: Pegs) -> tuple[jax.Array, jax.Array]:
        return state.rows, state.slots + 2

    def describe(self, state: Pegs) -> Texts:
        words = (".", *COLOURS, *(f": {black} black {white} white" for black, white in PINS))
        rows = text.grid(self.symbolic(state), words, state.used, state.slots + 1)
        in_use = [" ".join(COLOURS[:count]) for count in range(len(COLOURS) + 1)]
        facts = text.concat(
            text.number(state.used, 1),
            text.encode(" of "),
            text.number(state.rows, 1),
            text.encode(" rows used, colours "),
            text.choose(state.colours, in_use),
        )
        hint = text.concat(
            text.number(_possible(state)[1].sum(), 4),
            text.encode(" codes are possible, the first colour is "),
            text.choose(state.code[0], COLOURS),
        )
        return Texts(rows, facts, hint)

    def exercised(self, state: Pegs, action: jax.Array, after: Pegs) -> dict[str, jax.Array]:
        row = jnp.arange(ROWS)
        found, unused = _judged(state.guesses, action), row >= state.used
        black, fits = found[:, 0] == state.pins[:, 0], (found == state.pins).all(1)
        codes, possible = _possible(state)
        pins = _judged(action, codes)
        told = jnp.asarray(PIN_TILES)[pins[:, 0], pins[:, 1]]
        alike = jnp.zeros(SWATCH, jnp.int32).at[told].add(possible.astype(jnp.int32))
        count = possible.sum()
        return {
            "recognise_colour": (black | unused).all(),
            # Few possible codes are left on average.
            "query_actively": (count > 1) & ((alike**2).sum() <= count * jnp.maximum(count / 6, 1.5)),
            "deduce_logic": (fits | unused).all(),
            "track_hidden_state": (state.used > 1) & (fits | (row >= state.used - 1)).all(),
            "count_objects": ((found.sum(1) == state.pins.sum(1)) | unused).all(),
        }

    def expert(self, key: jax.Array, state: Pegs) -> jax.Array:
        """A random one of the codes that are still possible."""
        codes, fits = _possible(state)
        noise = jax.random.uniform(key, fits.shape)
        return codes[jnp.where(fits, noise, -1.0).argmax()].astype(jnp.int32)


def _judged(guess: jax.Array, code: jax.Array) -> jax.Array:
    """int8[..., 2]: black and white pins for guesses int[..., 4] at codes int[..., 4]."""
    black = ((guess == code) & (code >= 0)).sum(-1)
    colours = jnp.arange(len(COLOURS))[:, None]
    used, has = ((pegs[..., None, :] == colours).sum(-1) for pegs in (guess, code))
    return jnp.stack([black, jnp.minimum(used, has).sum(-1) - black], axis=-1).astype(jnp.int8)


def _after(state: Pegs, guess: jax.Array) -> Pegs:
    """The state with one more guess int32[4]."""
    return replace(
        state,
        guesses=state.guesses.at[state.used].set(guess.astype(jnp.int8), mode="drop"),
        pins=state.pins.at[state.used].set(_judged(guess, state.code), mode="drop"),
        used=state.used + 1,
    )


def _possible(state: Pegs) -> tuple[jax.Array, jax.Array]:
    """Codes int8[1296, 4], and whether each bool[1296] would have got the same pins for all guesses."""
    there = jnp.arange(SLOTS) < state.slots
    exists = ((state.colours > CODES) & (there | (CODES == 0))).all(-1)
    codes = jnp.where(there, CODES, -1)
    same = (_judged(state.guesses[:, None], codes) == state.pins[:, None]).all(-1)
    return codes, exists & (same | (jnp.arange(ROWS) >= state.used)[:, None]).all(0)
