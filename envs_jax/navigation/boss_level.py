"""Carry out a mission of several clauses in rooms behind doors, one of which may be locked.

Instructions, rules and levels of BabyAI (BossLevel), seen whole from above. A clause is go to, pick up, open
or put next to; and, then, after join them. Here each thing and door is unique and serves one clause, and a
box that is toggled stays. Things lie on every other row and column of a room and doors lead to the ones
between, so that all can be reached; what is put down must not cut the floor in two: generator and expert see
to that.
"""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from envs_jax.navigation import facing, rooms
from envs_jax.navigation.rooms import COLOURS, DOORS, HEIGHT, LOCKS, OPEN, WIDTH, covered, laid, mask, near
from jaxenv import grids, text
from jaxenv.answers import Word
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.text import Text

CLAUSES, COUNTS = np.array([1, 2, 3], np.int32), np.array([4, 5, 7], np.int32)
MOST_CLAUSES, MOST = int(CLAUSES.max()), int(COUNTS.max())
KINDS = ("key", "ball", "box")
THINGS = tuple(f"{colour}-{kind}" for colour in COLOURS for kind in KINDS)
PICKUP, DROP, TOGGLE, DONE = range(len(facing.TURNS_AND_STEP), 7)
GO, PICK, UNSHUT, PUT = range(4)
# The order of clauses by scale: those of phase 1 count once all of phase 0 are done. Equal phases are joined
# by "and", a rise by "then", a fall by "after".
PHASES = np.zeros((3, 4, MOST_CLAUSES), np.int32)
PHASES[1, :3, :2] = (0, 0), (0, 1), (1, 0)
PHASES[2] = (0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 0, 0)
ORDERS = np.array([1, 3, 4], np.int32)
DOOR_CHANCE = 0.3  # that one goes to a door
# No shortest way between two cells is longer, with its turns.
LONGEST_WAY = 48

# The tiles: the board, then the mission, once more when it is done.
FLOOR, WALL, THING, GATE = 0, 1, 2, 2 + len(THINGS)
ARROW = GATE + len(COLOURS) * len(LOCKS)
HAND = ARROW + 4 * (1 + len(COLOURS))
BLANK = HAND + 1 + len(THINGS)
SYLLABLES = ("AN", "D", "TH", "EN", "AF", "TE", "R", "GO", "TO", "PI", "CK", "OP", "PU", "T", "BY")
NAMED = BLANK + 1 + len(SYLLABLES)
SIGNS = 1 + len(SYLLABLES) + len(THINGS) + len(COLOURS)


def _spelled(words: tuple[str, ...], width: int) -> np.ndarray:
    """Tiles int32[n, width] of words, two letters a tile."""
    tiles = [[BLANK + 1 + SYLLABLES.index(word[i : i + 2]) for i in range(0, len(word), 2)] for word in words]
    return np.array([row + [BLANK] * (width - len(row)) for row in tiles], np.int32)


JOINTS = _spelled(("", "AND", "THEN", "AFTER"), 3)
VERBS = _spelled(("GOTO", "PICK", "OPEN", "PUT"), 2)
(BY,) = _spelled(("BY",), 1)[0]
# The same in words.
NAMES = tuple(f"the {name.replace('-', ' ')}" for name in (*THINGS, *(f"{c}-door" for c in COLOURS)))
SAID_JOINTS = ("", " and ", ", then ", " after you ")
SAID = (*SAID_JOINTS, "go to ", "pick up ", "open ", "put ", " next to ", *NAMES)
NEXT_TO = SAID.index(" next to ")


@struct.dataclass
class World:
    things: jax.Array  # int8[7], of THINGS, -1 after the last
    cells: jax.Array  # int8[7, 2], where they lie; -1 of the one that is carried
    carried: jax.Array  # int32[], which one that is; -1 for none
    doors: jax.Array  # int8[7, 2], their cells; -1 where there is none
    colours: jax.Array  # int8[7], of the doors
    locks: jax.Array  # int8[7], of LOCKS
    agent: jax.Array  # int32[2]
    heading: jax.Array  # int32[], of facing.HEADINGS
    verbs: jax.Array  # int8[3], of the clauses: GO, PICK, UNSHUT or PUT
    targets: jax.Array  # int8[3], a thing, or MOST + a door
    beside: jax.Array  # int8[3], the thing to put it next to
    phases: jax.Array  # int8[3]
    done: jax.Array  # bool[3]; True for clauses that there are not
    scale: jax.Array  # int32[]


class BossLevel(TileEnvironment):
    id = "boss_level"
    family = "navigation"
    abilities = (
        "ground_instruction",
        "decompose_subgoals",
        "schedule_order",
        "track_hidden_state",
        "plan_path",
        "recover_undo",
    )
    grammar = Word((*facing.TURNS_AND_STEP, "pickup", "drop", "toggle", "done"))
    task = (
        "Carry out the mission below the rooms; green parts are done. Answer <answer>left</answer>, right, "
        "forward, pickup, drop, toggle or done."
    )
    rules = (
        "Pickup, drop and toggle act on the cell ahead. You carry one thing, shown in the blue cell. Toggle "
        "opens or shuts a door, a locked one with the key of its colour. GOTO: face it. PUT: drop it beside "
        "the other. AFTER: what follows comes first. Done does nothing."
    )
    max_turns: ClassVar[tuple[int, ...]] = (32, 80, 160)
    tileset = (
        "floor",
        "wall",
        *(f"floor thing:{thing}" for thing in THINGS),
        *(f"gate:{colour}-{lock}" for colour in COLOURS for lock in LOCKS),
        *(
            f"{ground} arrow:{heading}"
            for ground in ("floor", *(f"gate:{colour}-open" for colour in COLOURS))
            for heading in range(4)
        ),
        "coloured:sky",
        *(f"coloured:sky thing:{thing}" for thing in THINGS),
        *(
            f"plain:{ground}{sign}"
            for ground in ("paper", "header")
            for sign in (
                "",
                *(f" pair:{syllable}" for syllable in SYLLABLES),
                *(f" thing:{thing}" for thing in THINGS),
                *(f" gate:{colour}-closed" for colour in COLOURS),
            )
        ),
    )

    def generate(self, key: jax.Array, scale: jax.Array) -> World:
        door_key, thing_key, cell_key, mission_key, agent_key = jax.random.split(key, 5)
        doors, colours, locks, shut_off = rooms.random_doors(door_key, scale)
        # The key of the locked door is the last thing, elsewhere.
        opener = jnp.where(locks == rooms.LOCKED, colours * len(KINDS), -1).max()
        noise = jax.random.uniform(thing_key, (len(THINGS),))
        _, things = jax.lax.top_k(jnp.where(jnp.arange(len(THINGS)) == opener, -1.0, noise), MOST)
        things = things.at[MOST - 1].set(jnp.where(opener >= 0, opener, things[MOST - 1]))
        row, col = jnp.indices((HEIGHT, WIDTH)) % (jnp.asarray(rooms.SIDES)[scale] + 1)
        lattice = rooms.inner(scale) & (row % 2 == 0) & (col % 2 == 0)
        noise = grids.noise(cell_key, (2, HEIGHT, WIDTH))
        last = grids.pick(noise[0], lattice & ~shut_off, 1)
        cells = jnp.concatenate([grids.pick(noise[1], lattice & ~mask(last[0]), MOST - 1), last])
        there = jnp.arange(MOST) < jnp.asarray(COUNTS)[scale]
        cells = jnp.where(there[:, None], cells, -1).astype(jnp.int8)
        floor = rooms.inner(scale) & ~covered(cells)
        verbs, targets, beside, phases = _mission(mission_key, cells, doors, floor, scale)
        noise = grids.noise(agent_key, (HEIGHT + 1, WIDTH))
        goals = jnp.concatenate([cells, doors])[targets]
        (agent,) = grids.pick(noise[1:], floor & ~shut_off & ~near(covered(goals)), 1)
        return World(
            things=jnp.where(there, things, -1).astype(jnp.int8),
            cells=cells,
            carried=jnp.int32(-1),
            doors=doors,
            colours=colours,
            locks=locks,
            agent=agent,
            heading=(noise[0, 0] * 4).astype(jnp.int32),
            verbs=verbs.astype(jnp.int8),
            targets=targets.astype(jnp.int8),
            beside=beside.astype(jnp.int8),
            phases=phases.astype(jnp.int8),
            done=jnp.arange(MOST_CLAUSES) >= jnp.asarray(CLAUSES)[scale],
            scale=scale,
        )

    def transition(
        self, key: jax.Array, state: World, action: jax.Array
    ) -> tuple[World, jax.Array, jax.Array]:
        ahead = facing.in_front(state.agent, state.heading)
        thing, door = (state.cells == ahead).all(1), (state.doors == ahead).all(1)
        empty, carries = (_floor(state) & mask(ahead)).any(), state.carried >= 0
        goes = (action == facing.FORWARD) & (empty | (door & (state.locks == OPEN)).any())
        picked = thing & (action == PICKUP) & ~carries
        dropped = (jnp.arange(MOST) == state.carried) & (action == DROP) & empty
        fits = carries & (state.things[state.carried] == state.colours * len(KINDS))
        turned = door & (action == TOGGLE) & ((state.locks != rooms.LOCKED) | fits)
        cells = jnp.where(dropped[:, None], ahead, jnp.where(picked[:, None], -1, state.cells))
        carried = jnp.where(picked.any(), picked.argmax(), jnp.where(dropped.any(), -1, state.carried))
        locks = jnp.where(turned, jnp.where(state.locks == OPEN, rooms.CLOSED, OPEN), state.locks)
        after = replace(
            state,
            cells=cells.astype(jnp.int8),
            carried=carried.astype(jnp.int32),
            locks=locks.astype(jnp.int8),
            agent=jnp.where(goes, ahead, state.agent),
            heading=facing.turned(state.heading, action),
        )
        places = _places(after)
        seen = (places == facing.in_front(after.agent, after.heading)).all(1)
        opened, none = turned & (locks == OPEN), jnp.zeros(DOORS, bool)
        goals = state.targets
        beside = jnp.abs(places[goals] - places[state.beside]).sum(1) == 1
        success = jnp.stack(
            [
                seen[goals],
                jnp.append(picked, none)[goals],
                jnp.append(jnp.zeros(MOST, bool), opened)[goals],
                jnp.append(dropped, none)[goals] & beside,
            ]
        )[state.verbs, jnp.arange(MOST_CLAUSES)]
        # The second phase counts from the very turn that ends the first, but for a thing put down in it.
        first = state.phases == 0
        done = state.done | (success & first)
        counts = (done | ~first).all() & ((state.done | ~first).all() | (state.verbs != PUT))
        after = replace(after, done=done | (success & counts))
        won = after.done.all()
        return after, won.astype(jnp.float32), won

    def symbolic(self, state: World) -> jax.Array:
        tiles = jnp.where(rooms.inner(state.scale), FLOOR, WALL)
        tiles = laid(tiles, state.cells, THING + state.things)
        tiles = laid(tiles, state.doors, GATE + len(LOCKS) * state.colours + state.locks)
        within = (state.doors == state.agent).all(1)
        ground = jnp.where(within, 1 + state.colours, 0).sum()
        tiles = jnp.where(mask(state.agent), ARROW + 4 * ground + state.heading, tiles)
        # Below the rooms, a line a clause; in the first no joint, but what is carried, at the end.
        named = _named(state)
        signs = jnp.where(named >= 0, NAMED + named, BLANK)
        by = jnp.where(state.verbs == PUT, BY, BLANK)
        lines = jnp.concatenate(
            [
                jnp.asarray(JOINTS)[_joints(state)],
                jnp.asarray(VERBS)[state.verbs],
                jnp.stack([signs[:, 0], by, signs[:, 1]], axis=1),
                jnp.full((MOST_CLAUSES, WIDTH - JOINTS.shape[1] - VERBS.shape[1] - 3), BLANK),
            ],
            axis=1,
        )
        lines = lines.at[0].set(jnp.roll(lines[0], -JOINTS.shape[1]))
        lines += jnp.where(state.done, SIGNS, 0)[:, None]
        hand = HAND + jnp.where(state.carried >= 0, 1 + state.things[state.carried], 0)
        lines = lines.at[0, jnp.asarray(rooms.COLS)[state.scale] - 1].set(hand)
        below = jnp.arange(HEIGHT + MOST_CLAUSES) - jnp.asarray(rooms.ROWS)[state.scale]
        lines = lines[jnp.clip(below, 0, MOST_CLAUSES - 1)]
        tiles = jnp.pad(tiles, ((0, MOST_CLAUSES), (0, 0)))
        return jnp.where(below[:, None] >= 0, lines, tiles).astype(jnp.uint8)

    def extent(self, state: World) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(rooms.ROWS + CLAUSES)[state.scale], jnp.asarray(rooms.COLS)[state.scale]

    def describe(self, state: World) -> Texts:
        doors = [f"{colour}-door-{lock}" for colour in COLOURS for lock in LOCKS]
        words = (".", "#", *THINGS, *doors, *((1 + len(COLOURS)) * facing.ARROWS))
        tiles = jnp.minimum(self.symbolic(state)[:HEIGHT], HAND - 1)
        rows, cols = jnp.asarray(rooms.ROWS)[state.scale], jnp.asarray(rooms.COLS)[state.scale]
        clauses = jnp.arange(MOST_CLAUSES) < jnp.asarray(CLAUSES)[state.scale]
        parts = _parts(state)
        mission = _say(jnp.where(clauses[:, None], parts, -1))
        held = jnp.where(state.carried >= 0, 1 + state.things[state.carried], 0)
        facts = text.concat(
            facing.pose(state.agent, state.heading, 2),
            text.choose(held, (", empty-handed, ", *(f", with {name}, " for name in NAMES[: len(THINGS)]))),
            mission,
            *(
                text.when(state.done[n] & clauses[n], text.encode(f", part {n + 1} done"))
                for n in range(MOST_CLAUSES)
            ),
        )
        clause = _current(state)
        carries = (state.verbs[clause] == PUT) & (state.carried == state.targets[clause])
        place = _places(state)[jnp.where(carries, state.beside[clause], state.targets[clause])]
        way = text.concat(
            text.choose(carries.astype(jnp.int32), (": it is ", ": bring it ")),
            grids.offset(place - state.agent, 2),
        )
        hint = text.concat(text.encode("next "), _say(parts[clause, 1:]), text.when(place[0] >= 0, way))
        return Texts(
            text.concat(text.grid(tiles, words, rows, cols), text.encode("\n"), mission), facts, hint
        )

    def exercised(self, state: World, action: jax.Array, after: World) -> dict[str, jax.Array]:
        costs, onward = self._plan(state)
        move = jnp.minimum(action, facing.FORWARD)
        wise = (costs[move] <= costs.min()) & ((move < facing.FORWARD) | (action == onward))
        took, gave = after.carried > state.carried, after.carried < state.carried
        turned = after.locks != state.locks
        fulfilled = after.done & ~state.done
        named = took & (~state.done & (state.targets == after.carried)).any()
        # Second in time, or first in time but not in the text.
        ordered = (state.phases > 0) | (state.phases[0] > 0)
        return {
            "ground_instruction": fulfilled.any() | named,
            "decompose_subgoals": wise & (took | gave | turned.any()),
            "schedule_order": (fulfilled & ordered).any(),
            "track_hidden_state": (gave & fulfilled.any()) | (turned & (state.locks == rooms.LOCKED)).any(),
            "plan_path": wise & (action <= facing.FORWARD),
            "recover_undo": wise & gave & ~fulfilled.any(),
        }

    def expert(self, key: jax.Array, state: World) -> jax.Array:
        """One clause after the other, each by shortest ways, and the key first where a lock is in the way."""
        costs, onward = self._plan(state)
        move = grids.random_argmin(key, costs)
        return jnp.where(move == facing.FORWARD, onward, move).astype(jnp.int32)

    def _plan(self, state: World) -> tuple[jax.Array, jax.Array]:
        """How far it is to what comes next when one turns or goes on, int32[3], and by which action one goes
        on, int32[]."""
        clause = _current(state)
        clauses = state.verbs, state.targets, state.beside
        verb, goal, other = (leaf[clause].astype(jnp.int32) for leaf in clauses)
        places, held, floor, here = _places(state), state.carried, _floor(state), mask(state.agent)
        free = floor | covered(state.doors)
        passes = floor | covered(state.doors, state.locks != rooms.LOCKED)
        reached = grids.distances(here, grids.open_moves(passes), HEIGHT * WIDTH) < grids.UNREACHABLE

        def lacks(index: jax.Array) -> jax.Array:
            return ~(mask(places[index]) & near(reached)).any() & (index != held)

        lock = (state.locks == rooms.LOCKED).argmax()
        opener = (state.things == state.colours[lock] * len(KINDS)).argmax()
        blocked = lacks(goal) | ((verb == PUT) & lacks(other)) | ((verb == UNSHUT) & (goal == MOST + lock))
        unlocks = (state.locks == rooms.LOCKED).any() & blocked
        # What must be in the hand, and whether something else must go out of it.
        wanted = jnp.where(unlocks, opener, goal)
        takes = unlocks | (verb == PICK) | (verb == PUT)
        puts = ~unlocks & (verb == PUT) & (held == goal)
        again = ~unlocks & (verb != PUT) & (held == goal)
        drops = puts | again | ((held >= 0) & takes & (held != wanted))
        # Where to put it: beside the other, and where it cuts nothing off, if there is such a place.
        near_other = floor & jnp.where(puts, near(mask(places[other])), True)
        best = near_other & rooms.harmless(free) & ~here
        target = jnp.where(unlocks & (held == opener), MOST + lock, wanted)
        spots = jnp.where(drops, jnp.where(best.any(), best, near_other), mask(places[target])) & ~here
        acts = jnp.where(target >= MOST, TOGGLE, PICKUP)
        acts = jnp.where(drops, DROP, jnp.where(~unlocks & (verb == GO), DONE, acts))
        # On the only spot there is one steps aside.
        ends = jnp.where(spots.any(), spots, passes & ~here)
        costs = facing.action_costs(state.agent, state.heading, ends, passes | spots, LONGEST_WAY)
        ahead = mask(facing.in_front(state.agent, state.heading))
        shut = covered(state.doors, state.locks == rooms.CLOSED)
        passing = jnp.where((shut & ahead).any(), TOGGLE, facing.FORWARD)
        onward = jnp.where((spots & ahead).any(), acts, passing)
        return costs, onward


def _mission(
    key: jax.Array, cells: jax.Array, doors: jax.Array, floor: jax.Array, scale: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Verbs, targets, things beside and phases of clauses, int[3] each. Clause k is about a door or things
    2 k and 2 k + 1. Things are put next to those in different rooms, where that cuts nothing off."""
    clause = jnp.arange(MOST_CLAUSES)
    noise = grids.noise(key, (MOST_CLAUSES + 1, DOORS + 2))
    there, exist = clause < jnp.asarray(CLAUSES)[scale], doors[:, 0] >= 0
    target, beside = 2 * clause, 2 * clause + 1
    room = cells[beside] // (jnp.asarray(rooms.SIDES)[scale] + 1)
    shared = ((room[:, None] == room).all(-1) & there & ~np.eye(MOST_CLAUSES, dtype=bool)).any(1)
    spots = floor & rooms.harmless(floor | covered(doors))
    reachable = jax.vmap(lambda cell: (near(mask(cell)) & spots).any())(cells[beside])
    verbs = (noise[:-1, 0] * 4).astype(jnp.int32)
    verbs = jnp.where((verbs == PUT) & (shared | ~reachable), GO, verbs)
    verbs = jnp.where((verbs == UNSHUT) & ~exist.any(), PICK, verbs)
    to_door = (verbs == UNSHUT) | ((verbs == GO) & (noise[:-1, 1] < DOOR_CHANCE) & exist.any())
    door = jnp.where(exist, noise[:-1, 2:], -1.0).argmax(1)
    order = (noise[-1, 0] * jnp.asarray(ORDERS)[scale]).astype(jnp.int32)
    return verbs, jnp.where(to_door, MOST + door, target), beside, jnp.asarray(PHASES)[scale, order]


def _current(state: World) -> jax.Array:
    """int32[]: the clause to see to, the first of the current phase that is not done."""
    return jnp.where(state.done, 2, state.phases).argmin().astype(jnp.int32)


def _joints(state: World) -> jax.Array:
    """int32[3]: what joins each clause to the one before it, of JOINTS."""
    rise = jnp.diff(state.phases.astype(jnp.int32))
    return jnp.append(0, jnp.where(rise == 0, 1, jnp.where(rise > 0, 2, 3)))


def _named(state: World) -> jax.Array:
    """int32[3, 2]: what each clause names, of NAMES; -1 where it names one thing only."""
    names = jnp.append(state.things, len(THINGS) + state.colours).astype(jnp.int32)
    other = jnp.where(state.verbs == PUT, names[state.beside], -1)
    return jnp.stack([names[state.targets], other], axis=1)


def _parts(state: World) -> jax.Array:
    """int32[3, 5]: the clauses in words, of SAID; -1 for what is not said."""
    named = _named(state)
    names = jnp.where(named >= 0, NEXT_TO + 1 + named, -1)
    link = jnp.where(named[:, 1] >= 0, NEXT_TO, -1)
    return jnp.stack([_joints(state), len(SAID_JOINTS) + state.verbs, names[:, 0], link, names[:, 1]], axis=1)


def _say(parts: jax.Array) -> Text:
    """The words of parts int32[...], of SAID; -1 says nothing."""
    parts = parts.reshape(-1)
    words, lengths = text.word_table(SAID)
    return text.pack(jnp.asarray(words)[parts], jnp.where(parts >= 0, jnp.asarray(lengths)[parts], 0))


def _floor(state: World) -> jax.Array:
    """bool[R, C]: cells of rooms on which nothing lies."""
    return rooms.inner(state.scale) & ~covered(state.cells)


def _places(state: World) -> jax.Array:
    """int32[14, 2]: where things and doors are."""
    return jnp.concatenate([state.cells, state.doors]).astype(jnp.int32)
