"""Push every box onto a target. A turn gives up to four moves; a blocked one does nothing.

Made by pulling the boxes off their targets, the last one first. No wall or box is ever put where it would
cut the floor in two, so the player can walk everywhere, and boxes can always be brought home in order, each
with the others as walls. That is what the expert does, by the shortest way of player and box.
"""

from dataclasses import replace
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import grids, text
from jaxenv.answers import Moves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts

SIDE, CELLS, BOXES, LIMIT = 8, 64, 3, 4
SIDES = np.array([6, 7, 8], np.int32)
BOX_COUNTS = np.array([1, 2, 3], np.int32)
WALL_COUNTS = np.array([1, 2, 3], np.int32)
PULLS = np.array([5, 7, 9], np.int32)
MOST_WALLS, MOST_PULLS = int(WALL_COUNTS.max()), int(PULLS.max())
# No shortest way of one box to its target is longer.
LONGEST_WAY = 64
FLOOR, WALL, TARGET, BOX, HOME, AGENT, AGENT_ON_TARGET = range(7)
# The eight cells around one, clockwise from above.
RING = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
# Flat cell int32[4, 64] that each move leads to, kept on the board.
_ROW, _COL = np.divmod(np.arange(CELLS), SIDE)
ONWARD = np.stack(
    [np.clip(_ROW + r, 0, SIDE - 1) * SIDE + np.clip(_COL + c, 0, SIDE - 1) for r, c in grids.STEPS]
)


@struct.dataclass
class Warehouse:
    walls: jax.Array  # bool[8, 8], True outside too
    player: jax.Array  # int32[2]
    boxes: jax.Array  # int32[3, 2]; a box that is not there is at (0, 0), which is its target
    targets: jax.Array  # int32[3, 2]
    side: jax.Array  # int32[]


class Sokoban(TileEnvironment):
    id = "sokoban"
    family = "physics_puzzle"
    abilities = (
        "locate_agent",
        "model_pushing",
        "detect_deadlock",
        "search_lookahead",
        "plan_path",
        "format_move",
    )
    grammar = Moves(grids.MOVES, LIMIT)
    task = "Push all boxes onto targets. Answer 1 to 4 of up, down, left, right: <answer>up left</answer>."
    rules = "You push one box at a time and never pull. A blocked move does nothing."
    max_turns: ClassVar[tuple[int, ...]] = (6, 12, 20)
    tileset = (
        "floor",
        "wall",
        "floor target",
        "floor box",
        "floor box:home",
        "floor agent",
        "floor target agent",
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> Warehouse:
        count = jnp.asarray(BOX_COUNTS)[scale]
        boards = MOST_WALLS + BOXES + 1
        noise = jax.random.uniform(key, (boards * CELLS + BOXES * MOST_PULLS * 4,))
        cells = noise[: boards * CELLS].reshape(boards, SIDE, SIDE)
        # Seldom no cell is left for the last target; the same noise upside down then makes another board.
        first, second = _layout(cells, scale), _layout(-cells, scale)
        whole = (first[1][:, 0] > 0).sum() == count
        floor, homes = jax.tree.map(partial(jnp.where, whole), first, second)
        pulls = jnp.where(jnp.arange(BOXES) < count, jnp.asarray(PULLS)[scale], 0)
        boxes = _pull_all(noise[boards * CELLS :].reshape(BOXES, MOST_PULLS, 4), floor, homes, pulls)
        (player,) = grids.pick(cells[-1], floor & ~_mask(boxes), 1)
        return Warehouse(~floor, player, boxes, homes, jnp.asarray(SIDES)[scale])

    def transition(
        self, key: jax.Array, state: Warehouse, action: jax.Array
    ) -> tuple[Warehouse, jax.Array, jax.Array]:
        def move(turn: jax.Array, state: Warehouse) -> Warehouse:
            goes = (action[turn] >= 0) & ~_solved(state)
            after = _step(state, jnp.maximum(action[turn], 0))
            return jax.tree.map(lambda new, old: jnp.where(goes, new, old), after, state)

        after = jax.lax.fori_loop(0, LIMIT, move, state)
        solved = _solved(after)
        return after, solved.astype(jnp.float32), solved

    def symbolic(self, state: Warehouse) -> jax.Array:
        target, box = _mask(state.targets), _mask(state.boxes)
        tiles = jnp.where(target, TARGET, FLOOR)
        tiles = jnp.where(box, jnp.where(target, HOME, BOX), tiles)
        agent = jnp.where(target, AGENT_ON_TARGET, AGENT)
        tiles = jnp.where(grids.mask_at(SIDE, state.player), agent, tiles)
        return jnp.where(state.walls, WALL, tiles).astype(jnp.uint8)

    def extent(self, state: Warehouse) -> tuple[jax.Array, jax.Array]:
        return state.side, state.side

    def describe(self, state: Warehouse) -> Texts:
        board = text.grid(self.symbolic(state), (".", "#", "T", "B", "H", "A", "X"), state.side, state.side)
        there = state.targets[:, 0] > 0
        home = _mask(state.targets)[state.boxes[:, 0], state.boxes[:, 1]] & there
        facts = text.concat(
            text.encode("you "),
            grids.place(state.player),
            text.encode(", "),
            text.number(home.sum(), 1),
            text.encode(" of "),
            text.number(there.sum(), 1),
            text.encode(" boxes on targets"),
        )
        box = _first_away(state)
        hint = text.concat(
            text.encode("push the box at "),
            grids.place(state.boxes[box]),
            text.encode(" to "),
            grids.place(state.targets[box]),
        )
        return Texts(board, facts, hint)

    def exercised(self, state: Warehouse, action: jax.Array, after: Warehouse) -> dict[str, jax.Array]:
        pushed = (after.boxes != state.boxes).any(-1)
        home = (after.boxes == after.targets).all(-1)
        away = lambda state: jnp.abs(state.boxes - state.targets).sum()  # noqa: E731
        reach = lambda state: jnp.abs(state.boxes[_first_away(state)] - state.player).sum()  # noqa: E731
        sides = grids.neighbours(state.walls, True)[:, after.boxes[:, 0], after.boxes[:, 1]]
        stuck = (sides[0] | sides[1]) & (sides[2] | sides[3]) & ~home
        return {
            "locate_agent": (after.player != state.player).any(),
            "model_pushing": pushed.any(),
            "detect_deadlock": pushed.any() & ~(pushed & stuck).any(),
            "search_lookahead": away(after) < away(state),
            "plan_path": pushed.any() | (reach(after) < reach(state)),
        }

    def expert(self, key: jax.Array, state: Warehouse) -> jax.Array:
        """The next moves of a shortest way to bring home the first box that is not."""
        box = _first_away(state)
        target = state.targets[box]
        others = _mask(jnp.where((jnp.arange(BOXES) == box)[:, None], 0, state.boxes))
        free = ~state.walls & ~others
        cost = _ways(free, target).reshape(SIDE, SIDE, SIDE, SIDE)

        def follow(at: tuple[jax.Array, jax.Array], noise: jax.Array) -> tuple[tuple, jax.Array]:
            player, crate = at
            ahead = player + grids.STEPS
            pushes = (ahead == crate).all(-1)
            crates = jnp.where(pushes[:, None], crate + grids.STEPS, crate)
            clear = free[ahead[:, 0], ahead[:, 1]] & free[crates[:, 0], crates[:, 1]]
            costs = cost[crates[:, 0], crates[:, 1], ahead[:, 0], ahead[:, 1]]
            costs = jnp.where(clear, costs, grids.UNREACHABLE)
            best = jnp.where(costs <= costs.min(), noise, -1.0).argmax().astype(jnp.int32)
            arrived = (crate == target).all()
            moved = jnp.where(clear[best], ahead[best], player), jnp.where(clear[best], crates[best], crate)
            return moved, jnp.where(arrived, -1, best)

        start = state.player, state.boxes[box]
        return jax.lax.scan(follow, start, grids.noise(key, (LIMIT, 4)))[1]


def _mask(cells: jax.Array) -> jax.Array:
    """bool[8, 8]: True at each of cells int32[n, 2]."""
    return jnp.zeros((SIDE, SIDE), bool).at[cells[:, 0], cells[:, 1]].set(True)


def _solved(state: Warehouse) -> jax.Array:
    return (_mask(state.targets) | ~_mask(state.boxes)).all()


def _first_away(state: Warehouse) -> jax.Array:
    """Index int32[] of the first box that is not on its own target."""
    return (state.boxes != state.targets).any(-1).argmax().astype(jnp.int32)


def _step(state: Warehouse, move: jax.Array) -> Warehouse:
    step = jnp.asarray(grids.STEPS)[move]
    ahead = state.player + step
    beyond = jnp.clip(ahead + step, 0, SIDE - 1)
    pushed = (state.boxes == ahead).all(-1)
    blocked = state.walls | _mask(state.boxes)
    goes = ~state.walls[ahead[0], ahead[1]] & ~(pushed.any() & blocked[beyond[0], beyond[1]])
    boxes = jnp.where(goes & pushed[:, None], beyond, state.boxes)
    return replace(state, player=jnp.where(goes, ahead, state.player), boxes=boxes)


def _layout(noise: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Floor bool[8, 8] and targets int32[3, 2] by noise float32[7, 8, 8]; (0, 0) is a target that found no
    cell or is not there."""
    at, side = jnp.arange(SIDE), jnp.asarray(SIDES)[scale]
    inner = (at > 0) & (at < side - 1)
    floor = inner[:, None] & inner[None, :]
    for n in range(MOST_WALLS):
        (cell,) = grids.pick(noise[n], _harmless(floor), 1)
        floor &= ~(grids.mask_at(SIDE, cell) & (n < jnp.asarray(WALL_COUNTS)[scale]))
    free, targets = floor, []
    for n in range(BOXES):
        (cell,) = grids.pick(noise[MOST_WALLS + n], _harmless(free) & _pulls(free).any(0), 1)
        targets.append(jnp.where(n < jnp.asarray(BOX_COUNTS)[scale], cell, 0))
        free &= ~grids.mask_at(SIDE, targets[n])
    return floor, jnp.stack(targets)


def _harmless(free: jax.Array) -> jax.Array:
    """bool[8, 8]: free cells whose free neighbours stay joined around them when they are blocked."""
    padded = jnp.pad(free, 1)
    ring = jnp.stack([padded[1 + r : 1 + r + SIDE, 1 + c : 1 + c + SIDE] for r, c in RING])
    sides, corners = ring[0::2], ring[1::2]
    joined = sides & corners & jnp.roll(sides, -1, 0)
    return free & (sides.sum(0) - joined.sum(0) <= 1)


def _pulls(free: jax.Array) -> jax.Array:
    """bool[4, 8, 8]: a box in this cell can be pulled this way, to where it does no harm."""
    wide = jnp.pad(free, 2)
    player = jnp.stack([wide[2 + 2 * r :, 2 + 2 * c :][:SIDE, :SIDE] for r, c in grids.STEPS.tolist()])
    return grids.neighbours(_harmless(free), False) & player


def _pull_all(noise: jax.Array, floor: jax.Array, homes: jax.Array, pulls: jax.Array) -> jax.Array:
    """Boxes int32[3, 2] after `pulls` int32[3] random pulls from their homes, the last box first; each ends
    where it last stood on no target."""

    def pull_one(n: jax.Array, boxes: jax.Array) -> jax.Array:
        box = BOXES - 1 - n
        others = _mask(jnp.where((jnp.arange(BOXES) == box)[:, None], 0, boxes))
        allowed = _pulls(floor & ~others)

        def pull(step: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            at, last, rest = carry
            ways = allowed[:, at[0], at[1]] & (step < pulls[box])
            # A pull back is only taken when there is no other.
            back = jnp.arange(4) == last ^ 1
            way = jnp.where(ways, noise[box, step] + ~back, -1.0).argmax()
            at = jnp.where(ways.any(), at + jnp.asarray(grids.STEPS)[way], at)
            on_target = (homes == at).all(-1).any()
            return at, jnp.where(ways.any(), way.astype(jnp.int32), last), jnp.where(on_target, rest, at)

        start = boxes[box], jnp.int32(-1), boxes[box]
        return boxes.at[box].set(jax.lax.fori_loop(0, MOST_PULLS, pull, start)[2])

    return jax.lax.fori_loop(0, BOXES, pull_one, homes)


def _ways(free: jax.Array, target: jax.Array) -> jax.Array:
    """int32[64, 64]: moves until the box is on the target, for each cell of the box and of the player."""
    away = jnp.where(grids.mask_at(SIDE, target), 0, grids.UNREACHABLE).reshape(-1, 1)
    start = jnp.broadcast_to(away, (CELLS, CELLS)).astype(jnp.int32)
    pushable = grids.neighbours(free, False).reshape(4, CELLS)

    def relax(_: int, cost: jax.Array) -> jax.Array:
        pushed = jnp.where(pushable, cost[ONWARD, np.arange(CELLS)], grids.UNREACHABLE)
        entered = jnp.where(np.eye(CELLS, dtype=bool), pushed[..., None], cost)
        entered = jnp.where(free.reshape(-1), entered, grids.UNREACHABLE).reshape(4, CELLS, SIDE, SIDE)
        wide = jnp.pad(entered, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=grids.UNREACHABLE)
        onward = [
            wide[m, :, 1 + r : 1 + r + SIDE, 1 + c : 1 + c + SIDE]
            for m, (r, c) in enumerate(grids.STEPS.tolist())
        ]
        best = jnp.stack(onward).min(0).reshape(CELLS, CELLS)
        return jnp.minimum(cost, jnp.minimum(best + 1, grids.UNREACHABLE))

    return jax.lax.fori_loop(0, LONGEST_WAY, relax, start)
