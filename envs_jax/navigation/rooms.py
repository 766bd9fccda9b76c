"""Rooms with a door in the wall between two of them, as in BabyAI: cells, fields over them and random doors.

Up to two rows of three rooms, by scale; arrays are as large as the largest. Cells are int[2], (-1, -1) for
what is not there.
"""

import jax
import jax.numpy as jnp
import numpy as np

# Cells along a room, rows and columns of rooms, and of the whole board.
SIDES = np.array([6, 4, 3], np.int32)
ROOM_ROWS, ROOM_COLS = np.array([1, 2, 2], np.int32), np.array([1, 2, 3], np.int32)
ROWS, COLS = ROOM_ROWS * (SIDES + 1) - 1, ROOM_COLS * (SIDES + 1) - 1
HEIGHT, WIDTH = int(ROWS.max()), int(COLS.max())
LOCK_CHANCE = np.array([0.0, 0.0, 0.5], np.float32)
# The rooms, numbered by rows of three, that each door joins; whether it is in a level wall, between rows.
EDGES = np.array([(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)])
LEVEL = EDGES[:, 1] - EDGES[:, 0] > 1
DOORS = len(EDGES)

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
LOCKS = ("open", "closed", "locked")
OPEN, CLOSED, LOCKED = range(3)
ROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


def inner(scale: jax.Array) -> jax.Array:
    """bool[R, C]: the cells of all rooms."""
    row, col = jnp.indices((HEIGHT, WIDTH))
    side = jnp.asarray(SIDES)[scale]
    within = (row < jnp.asarray(ROWS)[scale]) & (col < jnp.asarray(COLS)[scale])
    return within & (row % (side + 1) < side) & (col % (side + 1) < side)


def mask(cell: jax.Array) -> jax.Array:
    """bool[R, C] that is True at the cell alone, nowhere for one that is not there."""
    return (jnp.arange(HEIGHT) == cell[0])[:, None] & (jnp.arange(WIDTH) == cell[1])


def laid(board: jax.Array, cells: jax.Array, values: jax.Array) -> jax.Array:
    """The board [R, C] with values [n] at cells int[n, 2]."""
    here = jax.vmap(mask)(cells)
    return jnp.where(here.any(0), (here * values[:, None, None]).sum(0), board).astype(board.dtype)


def covered(cells: jax.Array, shown: jax.Array | bool = True) -> jax.Array:
    """bool[R, C]: the cells int[n, 2] of which shown bool[n] holds."""
    return (jax.vmap(mask)(cells) & jnp.reshape(shown, (-1, 1, 1))).any(0)


def near(cells: jax.Array) -> jax.Array:
    """bool[R, C]: the cells beside those of bool[R, C]."""
    wide = jnp.pad(cells, 1)
    return wide[2:, 1:-1] | wide[:-2, 1:-1] | wide[1:-1, 2:] | wide[1:-1, :-2]


def harmless(free: jax.Array) -> jax.Array:
    """bool[R, C]: when the cell is filled, the free ones beside it, bool[R, C], stay joined round it. Going
    round, at most one of them is not followed by the next."""
    wide = jnp.pad(free, 1)
    ring = jnp.stack([wide[1 + r : 1 + r + HEIGHT, 1 + c : 1 + c + WIDTH] for r, c in ROUND])
    beside, corner = ring[::2], ring[1::2]
    return (beside & ~(corner & jnp.roll(beside, -1, 0))).sum(0) <= 1


def random_doors(key: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Cells int8[7, 2], colours int8[7] and locks int8[7] of doors, -1 where there is none, and the cells
    bool[R, C] of the locked room, if any. It has no other door; without it one of all doors is left out."""
    room_key, edge_key, place_key, colour_key = jax.random.split(key, 4)
    side = jnp.asarray(SIDES)[scale]
    upright = (EDGES[:, 0] % 3 + 1 < jnp.asarray(ROOM_COLS)[scale]) & (
        EDGES[:, 0] // 3 < jnp.asarray(ROOM_ROWS)[scale]
    )
    level = (EDGES[:, 0] % 3 < jnp.asarray(ROOM_COLS)[scale]) & (jnp.asarray(ROOM_ROWS)[scale] > 1)
    exists = jnp.where(LEVEL, level, upright)
    chance, which = jax.random.uniform(room_key, (2,))
    shut = chance < jnp.asarray(LOCK_CHANCE)[scale]
    room = jnp.where(shut, (which * 2 * 3).astype(jnp.int32), -1)
    leads = (room == EDGES).any(1)
    noise = jax.random.uniform(edge_key, (DOORS,))
    first = jnp.arange(DOORS) == jnp.where(jnp.where(shut, leads, exists), noise, -1.0).argmax()
    kept = exists & jnp.where(shut, ~leads | first, ~first)
    # Doors are on odd rows or columns of a room.
    along = 1 + 2 * (jax.random.uniform(place_key, (DOORS,)) * (side // 2)).astype(jnp.int32)
    corner = jnp.stack(jnp.divmod(EDGES[:, 0], 3), axis=1) * (side + 1)
    wall = jnp.broadcast_to(side, along.shape)
    cells = corner + jnp.where(LEVEL, jnp.stack([wall, along]), jnp.stack([along, wall])).T
    _, colours = jax.lax.top_k(jax.random.uniform(colour_key, (len(COLOURS),)), len(COLOURS))
    colours = colours[jnp.clip(jnp.cumsum(kept) - 1, 0, len(COLOURS) - 1)]
    locks = jnp.where(shut & first, LOCKED, CLOSED)
    row, col = jnp.indices((HEIGHT, WIDTH)) // (side + 1)
    return (
        jnp.where(kept[:, None], cells, -1).astype(jnp.int8),
        jnp.where(kept, colours, -1).astype(jnp.int8),
        jnp.where(kept, locks, -1).astype(jnp.int8),
        inner(scale) & (row * 3 + col == room),
    )
