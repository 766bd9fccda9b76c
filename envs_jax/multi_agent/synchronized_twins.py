"""Bring two twins to their flags at the same time; every command moves both, each on a board of its own.

A twin at a wall stays where it is while the other moves, which is how their places are matched. In half of
the instances the right twin mirrors left and right. The start is a far one of those from which both flags can
be reached.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE = 6
SIDES, WALLS = np.array([4, 5, 6], np.int32), np.array([3, 5, 8], np.int32)  # of each board
NEAREST, FARTHEST = np.array([3, 6, 9], np.int32), np.array([8, 14, 20], np.int32)  # moves from the start
LONGEST_WAY = 40  # that the expert finds
FLOOR, WALL, FLAG, TWIN, TWIN_HOME, ALIKE, MIRRORED = range(7)


@struct.dataclass
class Boards:
    walls: jax.Array  # bool[2, 6, 6], True outside too
    twins: jax.Array  # int32[2, 2]
    flags: jax.Array  # int32[2, 2]
    mirrored: jax.Array  # bool[]
    side: jax.Array  # int32[]


class SynchronizedTwins(TileEnvironment):
    id = "synchronized_twins"
    family = "multi_agent"
    abilities = (
        "compare_panels",
        "locate_agent",
        "predict_move_effect",
        "predict_collision",
        "search_lookahead",
        "detect_symmetry",
    )
    grammar = Word(grids.MOVES)
    task = (
        "Bring both twins to their flags at the same time; a command moves both. Arrows apart between the "
        "boards: the right twin mirrors left and right. Answer <answer>up</answer>, down, left or right."
    )
    rules = "A twin at a wall or the edge stays where it is, and the other one still moves."
    max_turns: ClassVar[tuple[int, ...]] = (16, 28, 40)
    tileset = (
        "floor",
        "wall",
        "floor flag",
        "floor agent",
        "plain:goal agent",
        "plain:paper alike",
        "plain:paper mirrored",
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Boards:
        noise_key, start_key, move_key, mirror_key = jax.random.split(key, 4)
        side = jnp.asarray(SIDES)[scale]
        noise = grids.noise(noise_key, (2, 2, SIDE, SIDE))
        inside = grids.inside(SIDE, side)
        built = jax.vmap(grids.pick_mask, (0, None, None))(noise[0], inside, jnp.asarray(WALLS)[scale])
        walls, opened = built | ~inside, jax.vmap(grids.open_moves)(inside & ~built)
        cells = jnp.stack([grids.pick(noise[1, board], opened[board].any(0), 1)[0] for board in range(2)])
        mirrored = jax.random.bernoulli(mirror_key)
        # The flags are where a last command leads, which moves the left twin at least.
        leads = opened[0][:, cells[0, 0], cells[0, 1]]
        last = jnp.where(leads, jax.random.uniform(move_key, leads.shape), -1.0).argmax()
        flags = _moved(Boards(walls, cells, cells, mirrored, side), last)
        state = Boards(walls, cells, flags, mirrored, side)
        # A random start as far as wanted, or else the farthest nearer one.
        away, least, most = _away(state), jnp.asarray(NEAREST)[scale], jnp.asarray(FARTHEST)[scale]
        worth = jnp.where(away >= least, most + grids.noise(start_key, away.shape), away)
        best = jnp.where(away <= most, worth, -1.0).argmax()
        starts = jnp.stack(jnp.unravel_index(best, away.shape)).reshape(2, 2).astype(jnp.int32)
        return replace(state, twins=_seen(state, starts))

    def transition(
        self, key: jax.Array, state: Boards, action: jax.Array
    ) -> tuple[Boards, jax.Array, jax.Array]:
        moved = replace(state, twins=_moved(state, action))
        home = (moved.twins == state.flags).all()
        return moved, home.astype(jnp.float32), home

    def symbolic(self, state: Boards) -> jax.Array:
        mask = jax.vmap(grids.mask_at, (None, 0))
        flag, twin = mask(SIDE, state.flags), mask(SIDE, state.twins)
        tiles = jnp.where(state.walls, WALL, jnp.where(flag, FLAG, FLOOR))
        left, right = jnp.where(twin, jnp.where(flag, TWIN_HOME, TWIN), tiles)
        between = jnp.where(state.mirrored, MIRRORED, ALIKE)
        # The right board follows the column between at the end of the left one.
        wide = jnp.concatenate([left, jnp.full((SIDE, SIDE + 1), between)], axis=1)
        shifted = jnp.roll(jnp.pad(right, ((0, 0), (0, SIDE + 1))), state.side + 1, 1)
        beyond = jnp.arange(2 * SIDE + 1)
        tiles = jnp.where(beyond > state.side, shifted, jnp.where(beyond == state.side, between, wide))
        return tiles.astype(jnp.uint8)

    def extent(self, state: Boards) -> tuple[jax.Array, jax.Array]:
        return state.side, 2 * state.side + 1

    def describe(self, state: Boards) -> Texts:
        rows, cols = self.extent(state)
        board = text.grid(self.symbolic(state), (".", "#", "F", "T", "H", "|", "M"), rows, cols)
        facts = text.concat(
            text.encode("left twin "),
            grids.place(state.twins[0]),
            text.encode(", right twin "),
            grids.place(state.twins[1]),
            text.choose(state.mirrored.astype(jnp.int32), (", moves alike", ", the right one mirrored")),
        )
        ways = [grids.offset(state.flags[twin] - state.twins[twin]) for twin in range(2)]
        hint = text.concat(
            text.encode("the left flag is "), ways[0], text.encode(", the right one "), ways[1]
        )
        return Texts(board, facts, hint)

    def exercised(self, state: Boards, action: jax.Array, after: Boards) -> dict[str, jax.Array]:
        before, left = _commands_left(state, jnp.stack([state.twins, after.twins]))
        moved, onward = (after.twins != state.twins).any(1), left < before
        away = lambda state: jnp.abs(state.flags - state.twins).sum()  # noqa: E731
        # How much the ways of the two to their flags differ.
        ways = lambda state: _seen(state, state.flags) - _seen(state, state.twins)  # noqa: E731
        unlike = lambda state: jnp.abs(jnp.diff(ways(state), axis=0)).sum()  # noqa: E731
        return {
            "compare_panels": unlike(after) < unlike(state),
            "locate_agent": moved.all(),
            "predict_move_effect": away(after) < away(state),
            "predict_collision": onward & ~moved.all(),
            "search_lookahead": onward,
            "detect_symmetry": onward & state.mirrored & (action >= 2) & moved[1],
        }

    def expert(self, key: jax.Array, state: Boards) -> jax.Array:
        after = jax.vmap(_moved, (None, 0))(state, jnp.arange(len(grids.MOVES)))
        return grids.random_argmin(key, _commands_left(state, after))


def _moved(state: Boards, action: jax.Array) -> jax.Array:
    """int32[2, 2]: where a command leads the twins."""
    step = jnp.asarray(grids.STEPS)[action]
    steps = jnp.stack([step, step * jnp.where(state.mirrored, np.array([1, -1]), 1)])
    ahead = jnp.clip(state.twins + steps, 0, SIDE - 1)
    blocked = state.walls[jnp.arange(2), ahead[:, 0], ahead[:, 1]]
    return jnp.where(blocked[:, None], state.twins, ahead)


def _seen(state: Boards, cells: jax.Array) -> jax.Array:
    """Cells int32[2, 2] of the two boards as the twins see them: a mirroring one sees its board mirrored. The
    same turns them back."""
    row, col = cells[1]
    return cells.at[1].set(jnp.stack([row, jnp.where(state.mirrored, SIDE - 1 - col, col)]))


def _commands_left(state: Boards, cells: jax.Array) -> jax.Array:
    """int32[n]: the fewest commands to both flags from cells int32[n, 2, 2] of the two boards."""
    (row, col), (other_row, other_col) = jax.vmap(_seen, (None, 0))(state, cells).transpose(1, 2, 0)
    return _away(state)[row, col, other_row, other_col]


def _away(state: Boards) -> jax.Array:
    """int32[6, 6, 6, 6]: the fewest commands to both flags from each row and column of the left and of the
    right twin, as the twins see them; UNREACHABLE where it takes more than LONGEST_WAY."""
    left, right = ~state.walls
    right = jnp.where(state.mirrored, right[:, ::-1], right)
    flags = _seen(state, state.flags)
    goal = grids.mask_at(SIDE, flags[0])[:, :, None, None] & grids.mask_at(SIDE, flags[1])
    free = left[:, :, None, None] & right
    can_left, can_right = grids.open_moves(left)[..., None, None], grids.open_moves(right)[:, None, None]

    def relax(_: int, away: jax.Array) -> jax.Array:
        best = away
        for move, (down, across) in enumerate(grids.STEPS.tolist()):
            onward = jnp.where(can_right[move], jnp.roll(away, (-down, -across), (2, 3)), away)
            onward = jnp.where(can_left[move], jnp.roll(onward, (-down, -across), (0, 1)), onward)
            best = jnp.minimum(best, onward + 1)
        return jnp.where(free, best, grids.UNREACHABLE)

    start = jnp.where(goal, 0, grids.UNREACHABLE).astype(jnp.int32)
    return jax.lax.fori_loop(0, LONGEST_WAY, relax, start)
