"""Small pieces for boards: moves, placement, distance fields and spanning trees, all of fixed cost."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import text
from jaxenv.text import Text

# Row and column change of the four moves, in the order of MOVES.
MOVES = ("up", "down", "left", "right")
STEPS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)], np.int32)

UNREACHABLE = 1_000_000


def noise(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """float32 of this shape, uniform in [0, 1): the bits of `jax.random.uniform`, which under vmap takes two
    seconds longer to compile for a shape of several axes than for the same numbers in a row."""
    return jax.random.uniform(key, (math.prod(shape),)).reshape(shape)


def inside(side: int, n: jax.Array) -> jax.Array:
    """bool[side, side]: the cells of an n x n board in the top left."""
    at = jnp.arange(side)
    return (at < n)[:, None] & (at < n)[None, :]


def mask_at(side: int, cell: jax.Array) -> jax.Array:
    """bool[side, side] that is True at cell int32[2] alone."""
    at = jnp.arange(side)
    return (at == cell[0])[:, None] & (at == cell[1])[None, :]


def pick(noise: jax.Array, allowed: jax.Array, count: int) -> jax.Array:
    """`count` distinct allowed cells, int32[count, 2], the ones with the largest noise float32[R, C].

    When fewer are allowed, the rest are cells that are not.
    """
    masked = jnp.where(allowed, noise, -jnp.inf).reshape(-1)
    _, flat = jax.lax.top_k(masked, count)
    return jnp.stack(jnp.divmod(flat, noise.shape[1]), axis=-1).astype(jnp.int32)


def pick_mask(noise: jax.Array, allowed: jax.Array, count: jax.Array) -> jax.Array:
    """bool[R, C]: the `count` int32[] allowed cells with the largest noise (all when there are fewer)."""
    masked = jnp.where(allowed, noise, -jnp.inf).reshape(-1)
    ranked, _ = jax.lax.top_k(masked, masked.shape[0])
    threshold = jnp.where(count > 0, ranked[jnp.maximum(count - 1, 0)], jnp.inf)
    return allowed & (noise >= threshold)


def neighbours(field: jax.Array, fill: jax.Array | float | int) -> jax.Array:
    """[4, R, C]: for each move, the value of the cell it leads to; `fill` beyond the edge."""
    padded = jnp.pad(field, 1, constant_values=fill)
    rows, cols = field.shape
    return jnp.stack([padded[1 + dr : 1 + dr + rows, 1 + dc : 1 + dc + cols] for dr, dc in STEPS.tolist()])


def distances(target: jax.Array, passable: jax.Array, iterations: int) -> jax.Array:
    """int32[R, C]: moves to the nearest target cell bool[R, C]; UNREACHABLE where there is no way.

    passable bool[4, R, C] says which moves may be made from each cell. Paths longer than `iterations` are
    not found; R * C always suffices.
    """
    start = jnp.where(target, 0, UNREACHABLE).astype(jnp.int32)

    def relax(_: int, field: jax.Array) -> jax.Array:
        onward = jnp.where(passable, neighbours(field, UNREACHABLE), UNREACHABLE)
        return jnp.minimum(field, jnp.minimum(onward.min(0) + 1, UNREACHABLE))

    return jax.lax.fori_loop(0, iterations, relax, start)


def open_moves(free: jax.Array) -> jax.Array:
    """bool[4, R, C]: moves between free cells bool[R, C]."""
    return free & neighbours(free, False)


def random_argmin(key: jax.Array, costs: jax.Array) -> jax.Array:
    """Index int32[] of the smallest of costs[n], a uniformly random one among equals."""
    best = costs <= costs.min()
    return jnp.where(best, jax.random.uniform(key, costs.shape), -1.0).argmax().astype(jnp.int32)


def spanning_tree(noise: jax.Array, n: jax.Array) -> jax.Array:
    """Open moves bool[4, side, side] of a random maze on the n x n top-left cells, all connected by one
    path each: Prim's algorithm on random edge weights noise float32[2, side, side] (down, right).
    """
    side = noise.shape[1]
    cells = inside(side, n)
    down, right = noise[0], noise[1]
    # Weight of the edge that each move crosses; an edge is stored at its upper or left cell.
    weights = jnp.stack([jnp.roll(down, 1, 0), down, jnp.roll(right, 1, 1), right])
    weights = jnp.where(cells & neighbours(cells, False), weights, jnp.inf)

    def grow(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reached, opened = carry
        frontier = reached & ~neighbours(reached, True)
        best = jnp.where(frontier, weights, jnp.inf).reshape(-1)
        at = best.argmin()
        move, row, col = jnp.unravel_index(at, weights.shape)
        found = jnp.isfinite(best[at])
        # When all is reached the move means nothing and may lead off the board.
        to_row, to_col = jnp.clip(jnp.stack([row, col]) + jnp.asarray(STEPS)[move], 0, side - 1)
        reached = reached.at[to_row, to_col].max(found)
        opened = opened.at[move, row, col].max(found)
        return reached, opened.at[move ^ 1, to_row, to_col].max(found)

    reached = jnp.zeros((side, side), bool).at[0, 0].set(True)
    opened = jnp.zeros((4, side, side), bool)
    return jax.lax.fori_loop(0, side * side - 1, grow, (reached, opened))[1]


def place(cell: jax.Array, digits: int = 1) -> Text:
    """A cell int32[2] in words, counted from 1: `row 3 column 1`."""
    row, col = text.number(cell[0] + 1, digits), text.number(cell[1] + 1, digits)
    return text.concat(text.encode("row "), row, text.encode(" column "), col)


def offset(change: jax.Array, digits: int = 1) -> Text:
    """A change of row and column int32[2] in words: `2 down and 1 left`."""
    down, across = change
    return text.concat(
        text.number(jnp.abs(down), digits),
        text.choose((down > 0).astype(jnp.int32), (" up and ", " down and ")),
        text.number(jnp.abs(across), digits),
        text.choose((across > 0).astype(jnp.int32), (" left", " right")),
    )
