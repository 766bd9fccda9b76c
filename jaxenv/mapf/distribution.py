"""Boards drawn to order: how many of each size, how many holes, and on how many an agent must wait.

Every board that is asked for is a slot with its size, its number of holes and whether a wait is needed. In
each of a bounded number of rounds a batch of random boards is drawn for the open slots and solved; a slot
keeps the first that is as it asks. What could not be filled stays open and is reported.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv.mapf.generator import Board, make_board, random_instance
from jaxenv.mapf.instance import SIDE, SIZES
from jaxenv.mapf.rules import Measure

# Of the rounds: their number, those in a row that filled nothing, the boards, and the slots that have one.
Carry = tuple[jax.Array, jax.Array, Board, jax.Array]


@struct.dataclass
class Ratios:
    """By size, float32[8] each: `data` the share of all boards (1 together), `hole` the share of a board's
    cells that are holes, `wait` the share of boards on which a wait is needed. agents: int32[]."""

    data: jax.Array
    hole: jax.Array
    wait: jax.Array
    agents: jax.Array


@struct.dataclass
class Slots:
    """The boards asked for, int32[n] each: size (index of SIZES), holes (cells), wait (1: needed, 0: not)."""

    size: jax.Array
    holes: jax.Array
    wait: jax.Array


@struct.dataclass
class Report:
    """Requested and obtained by size, [8]: boards and boards with a wait int32, holes as a share of the cells
    of the boards obtained float32 (0 when there are none)."""

    boards: tuple[jax.Array, jax.Array]
    waits: tuple[jax.Array, jax.Array]
    holes: tuple[jax.Array, jax.Array]


@struct.dataclass
class Sample:
    """boards: Board[n], sorted by size; those of slots that stayed open, `filled` bool[n], mean nothing."""

    boards: Board
    filled: jax.Array
    report: Report


def slots(ratios: Ratios, count: int) -> Slots:
    """The slots of `count` boards: largest remainders share them among the sizes, and the numbers of holes of
    one size are its hole ratio rounded up and down, so that it is met on average too."""
    exact = ratios.data * count
    whole = jnp.floor(exact)
    rank = jnp.argsort(jnp.argsort(whole - exact))
    boards = whole.astype(jnp.int32) + (rank < count - whole.sum().astype(jnp.int32))
    last = jnp.cumsum(boards)
    slot = jnp.arange(count)
    size = jnp.searchsorted(last, slot, side="right").astype(jnp.int32)
    place = slot - (last - boards)[size]
    cells = ratios.hole[size] * jnp.asarray(SIZES, jnp.float32)[size] ** 2
    holes = jnp.floor((place + 1) * cells + 0.5) - jnp.floor(place * cells + 0.5)
    waits = jnp.floor(ratios.wait * boards + 0.5)[size]
    return Slots(size, holes.astype(jnp.int32), (place < waits).astype(jnp.int32))


@partial(jax.jit, static_argnames=("count", "measure", "batch"))
def sample_boards(
    key: jax.Array,
    ratios: Ratios,
    count: int,
    measure: Measure = "sum_of_costs",
    batch: int = 1024,
    rounds: int = 512,
    patience: int = 8,
) -> Sample:
    """`count` boards by these ratios, each with its optimum by `measure`. Ends when all slots are filled,
    after `rounds` rounds of `batch` boards, or when none of `patience` rounds in a row has filled a slot."""
    wanted = slots(ratios, count)
    sides = jnp.asarray(SIZES, jnp.int32)[wanted.size]
    hopeless = sides**2 - wanted.holes < 2 * ratios.agents

    def draw(key: jax.Array, slot: jax.Array) -> tuple[Board, jax.Array]:
        instance, placed = random_instance(key, sides[slot], ratios.agents, wanted.holes[slot])
        board, found = make_board(instance, measure)
        return board, placed & found & (board.needs_wait == wanted.wait[slot])

    def goes_on(carry: Carry) -> jax.Array:
        number, fruitless, _, filled = carry
        return (number < rounds) & (fruitless < patience) & ~(filled | hopeless).all()

    def fill(carry: Carry) -> Carry:
        number, fruitless, boards, filled = carry
        (open_,) = jnp.nonzero(~(filled | hopeless), size=count, fill_value=count)
        # Round after round goes on where the last one stopped: slots that nothing can fill starve no others.
        slot = open_[(number * batch + jnp.arange(batch)) % (open_ < count).sum()]
        keys = jax.random.split(jax.random.fold_in(key, number), batch)
        drawn, good = jax.vmap(draw)(keys, slot)
        first = jnp.full(count, batch).at[slot].min(jnp.where(good, jnp.arange(batch), batch))
        take = first < batch
        boards = jax.tree.map(partial(_replaced, take, first), drawn, boards)
        return number + 1, jnp.where(take.any(), 0, fruitless + 1), boards, filled | take

    blank = jax.eval_shape(draw, key, jnp.int32(0))[0]
    boards = jax.tree.map(lambda leaf: jnp.zeros((count, *leaf.shape), leaf.dtype), blank)
    start = jnp.int32(0), jnp.int32(0), boards, jnp.zeros(count, bool)
    *_, boards, filled = jax.lax.while_loop(goes_on, fill, start)
    return Sample(boards, filled, _report(ratios, wanted, boards, filled))


def shortfalls(report: Report, tolerance: float = 0.02) -> list[str]:
    """A line for each size whose boards, waits or holes are more than `tolerance` from what was requested, on
    the host."""
    lines = []
    boards, waits, holes = (np.asarray(pair) for pair in (report.boards, report.waits, report.holes))
    for at, size in enumerate(SIZES):
        asked, got = boards[:, at]
        if got < asked:
            lines.append(f"size {size}: {got} of {asked} boards")
        wait_asked, wait_got = waits[0, at] / max(asked, 1), waits[1, at] / max(got, 1)
        if got and abs(wait_asked - wait_got) > tolerance:
            lines.append(f"size {size}: a wait on {wait_got:.1%} of the boards, not {wait_asked:.1%}")
        if got and abs(holes[0, at] - holes[1, at]) > tolerance:
            lines.append(f"size {size}: holes on {holes[1, at]:.1%} of the cells, not {holes[0, at]:.1%}")
    return lines


def _replaced(take: jax.Array, first: jax.Array, drawn: jax.Array, kept: jax.Array) -> jax.Array:
    new = drawn[jnp.minimum(first, drawn.shape[0] - 1)]
    return jnp.where(take.reshape(-1, *[1] * (kept.ndim - 1)), new, kept)


def _report(ratios: Ratios, wanted: Slots, boards: Board, filled: jax.Array) -> Report:
    def by_size(values: jax.Array) -> jax.Array:
        return jnp.zeros(len(SIZES), jnp.int32).at[wanted.size].add(values.astype(jnp.int32))

    obtained = by_size(filled)
    cells = jnp.asarray(SIZES, jnp.int32) ** 2
    outside = SIDE * SIDE - boards.instance.side**2
    holes = by_size(jnp.where(filled, boards.instance.holes.sum((1, 2)) - outside, 0))
    return Report(
        boards=(by_size(jnp.ones_like(filled)), obtained),
        waits=(by_size(wanted.wait), by_size(filled & boards.needs_wait)),
        holes=(ratios.hole, holes / jnp.maximum(obtained * cells, 1)),
    )
