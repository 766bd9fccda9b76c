"""boss_level against MiniGrid's transitions and BabyAI's own verifier, on worlds read from the words."""

import re

import numpy as np
import play
import pytest
import rollouts
from minigrid.core.world_object import Ball, Box, Door, Key
from minigrid.envs.babyai.core.roomgrid_level import RoomGridLevel
from minigrid.envs.babyai.core.verifier import (
    AfterInstr,
    AndInstr,
    BeforeInstr,
    GoToInstr,
    ObjDesc,
    OpenInstr,
    PickupInstr,
    PutNextInstr,
)

import jaxenv
from envs_jax.navigation.boss_level import THINGS
from envs_jax.navigation.rooms import COLOURS

ENV = jaxenv.make("boss_level")[0]
SIDES, ROOMS, COUNTS, CLAUSES = (6, 4, 3), ((1, 1), (2, 2), (2, 3)), (4, 5, 7), (1, 2, 3)
KINDS = {"key": Key, "ball": Ball, "box": Box}
JOINTS = {", then ": BeforeInstr, " after you ": AfterInstr, " and ": AndInstr}
SIGNS = {"": "", ", then ": "THEN", " after you ": "AFTER", " and ": "AND"}
TURNS, COUNT, COMPARED, COMPARED_TURNS = 120, 24, 14, 80
DROP, TOGGLE, DONE = 4, 5, 6
Cell = tuple[int, int]


class World:
    """A world read from the words of an observation."""

    def __init__(self, words: str) -> None:
        *lines, self.mission = words.split("\n")
        rows = [line.split(" ") for line in lines]
        self.shape = len(rows), len(rows[0])
        self.cells = {(r, c): word for r, row in enumerate(rows) for c, word in enumerate(row)}
        self.doors = {cell: word for cell, word in self.cells.items() if "-door-" in word}
        self.things = {
            cell: word for cell, word in self.cells.items() if "-" in word and cell not in self.doors
        }
        (self.agent,) = (cell for cell, word in self.cells.items() if word in "><^v")
        self.heading = ">v<^".index(self.cells[self.agent])

    def reach(self, opened: bool) -> set[Cell]:
        """Cells that can be walked to; through a locked door if it is opened."""
        found, queue = {self.agent}, [self.agent]
        while queue:
            for cell in beside(queue.pop()):
                word = self.cells.get(cell, "#")
                if cell in found or word == "#" or cell in self.things:
                    continue
                if opened or not word.endswith("locked"):
                    found.add(cell)
                    queue.append(cell)
        return found

    def clauses(self) -> list[tuple[str, str, list[str]]]:
        """What joins each clause to the last, its verb, and what it names."""
        joint, *rest = re.split("(, then | after you | and )", self.mission)
        pairs = zip(["", *rest[::2]], [joint, *rest[1::2]], strict=True)
        return [
            (link, re.split(" the ", said)[0], re.findall("the (\\w+ \\w+)", said)) for link, said in pairs
        ]


def beside(cell: Cell) -> list[Cell]:
    row, col = cell
    return [(row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)]


def instruction(said: str):
    """BabyAI's instruction of a sentence."""
    for joint, kind in JOINTS.items():
        if joint in said:
            return kind(*map(instruction, said.split(joint)))
    things = [ObjDesc(kind, colour) for colour, kind in re.findall("the (\\w+) (\\w+)", said)]
    (kind,) = (
        kind
        for verb, kind in (
            ("go to", GoToInstr),
            ("pick up", PickupInstr),
            ("open", OpenInstr),
            ("put", PutNextInstr),
        )
        if said.startswith(verb)
    )
    return kind(*things)


class Level(RoomGridLevel):
    """A BabyAI level with this world and mission; its cells are (column, row), within a wall."""

    def __init__(self, world: World, scale: int) -> None:
        self.world = world
        rows, cols = ROOMS[scale]
        super().__init__(room_size=SIDES[scale] + 2, num_rows=rows, num_cols=cols, max_steps=10**6)
        self.reset(seed=0)

    def gen_mission(self) -> None:
        for (row, col), word in self.world.cells.items():
            colour, kind, *lock = word.split("-") if "-" in word else ("", word)
            inside = self.grid.get(col + 1, row + 1)
            assert word == "#" or (row, col) in self.world.doors or inside is None
            if kind == "door":
                self.put_obj(Door(colour, lock == ["open"], lock == ["locked"]), col + 1, row + 1)
            elif kind in KINDS:
                self.put_obj(KINDS[kind](colour), col + 1, row + 1)
        self.agent_pos = np.array((self.world.agent[1] + 1, self.world.agent[0] + 1))
        self.agent_dir = self.world.heading
        self.instrs = instruction(self.world.mission)

    def told(self) -> tuple:
        """Agent, heading, what is carried, and what lies where."""
        lying = {}
        for i, thing in enumerate(self.grid.grid):
            row, col = divmod(i, self.width)
            if isinstance(thing, Door):
                lying[row - 1, col - 1] = f"{thing.color}-{2 if thing.is_locked else int(not thing.is_open)}"
            elif thing is not None and thing.type in KINDS:
                lying[row - 1, col - 1] = f"{thing.color}-{thing.type}"
        held = self.carrying and f"{self.carrying.color}-{self.carrying.type}"
        return (int(self.agent_pos[1]) - 1, int(self.agent_pos[0]) - 1), self.agent_dir, held, lying


def told(state) -> tuple:
    things = [THINGS[i] for i in state.things if i >= 0]
    lying = {tuple(cell.tolist()): name for cell, name in zip(state.cells, things, strict=False)}
    doors = zip(state.doors, state.colours, state.locks, strict=True)
    lying |= {tuple(cell.tolist()): f"{COLOURS[colour]}-{lock}" for cell, colour, lock in doors}
    held = things[state.carried] if state.carried >= 0 else None
    return (
        tuple(state.agent.tolist()),
        int(state.heading),
        held,
        {c: n for c, n in lying.items() if c != (-1, -1)},
    )


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [World(words) for words in play.observations(ENV, states)]


@pytest.fixture(scope="module")
def games(batch):
    """Played at random, mostly by the expert, and by the expert alone."""
    some = play.first(batch[1], COUNT)
    return {share: rollouts.roll(ENV, some, TURNS, share) for share in (0.0, 0.85, 1.0)}


def test_worlds_are_joined_and_missions_can_be_fulfilled(batch):
    scale, states, worlds = batch
    verbs, joints, locked = set(), set(), 0
    for world in worlds:
        things, doors = list(world.things.values()), list(world.doors.values())
        assert len(set(things)) == len(things) == COUNTS[scale]
        assert len({door.split("-")[0] for door in doors}) == len(doors)
        free = {cell for cell, word in world.cells.items() if word != "#" and cell not in world.things}
        assert world.reach(opened=True) == free
        for cell in world.things:
            assert set(beside(cell)) & free
        near = world.reach(opened=False)
        if shut := [door.split("-")[0] for door in doors if door.endswith("locked")]:
            locked += 1
            ((cell, key),) = ((cell, name) for cell, name in world.things.items() if name == f"{shut[0]}-key")
            assert set(beside(cell)) & near
            assert key.replace("-", " ") not in world.mission
            assert near < free
        named = []
        for joint, verb, names in world.clauses():
            verbs.add(verb)
            joints.add(joint)
            kinds = [name.split()[1] for name in names]
            assert (kinds == ["door"]) if verb == "open" else verb == "go to" or "door" not in kinds
            assert len(names) == 1 + (verb == "put")
            named += [name for name in names if "door" not in name]
        assert len(world.clauses()) == CLAUSES[scale]
        assert len(set(named)) == len(named)
        assert {name.replace(" ", "-") for name in named} <= set(things)
    assert verbs == {"go to", "pick up", "put"} | ({"open"} if scale else set())
    assert joints == {"", *SIGNS} if scale else {""}
    assert (0.4 < locked / len(worlds) < 0.6) if scale == 2 else locked == 0
    assert play.distinct(states) > 1990


@pytest.mark.peer("minigrid", "boss_level")
@pytest.mark.parametrize("share", [0.0, 0.85, 1.0])
def test_actions_and_success_are_those_of_babyai(batch, games, share):
    scale, _, worlds = batch
    played, won = games[share], 0
    lengths = played.length()
    for i, world in enumerate(worlds[:COMPARED]):
        level = Level(world, scale)
        assert level.mission == world.mission
        for t in range(min(COMPARED_TURNS, lengths[i])):
            action = int(played.actions[t, i])
            # There a box that is toggled is gone.
            if action == TOGGLE and isinstance(level.grid.get(*level.front_pos), Box):
                action = DONE
            # There things are looked up after a drop only: what is carried would count as where it lay.
            level.update_objs_poss()
            _, reward, terminated, _, _ = level.step(action)
            assert level.told() == told(rollouts.one(played.states[t + 1], i))
            assert played.terminated[t, i] == terminated
            assert played.rewards[t, i] == (reward > 0)
            won += terminated
    assert won > (10 if share == 1 else 4 if share else -1)


def test_the_expert_fulfils_every_mission(batch, games):
    scale, _, _ = batch
    assert (games[1.0].rewards.sum(0) == 1).all()
    assert games[1.0].length().max() <= ENV.max_turns[scale]


@pytest.mark.parametrize("turn", [0, 12, 30])
def test_the_picture_shows_the_world_and_the_mission(batch, games, turn):
    scale, _, worlds = batch
    states = games[0.85].states[turn]
    after = [World(words) for words in play.observations(ENV, states)]
    for i, (world, picture) in enumerate(zip(after, play.tiles(ENV, states), strict=True)):
        assert world.mission == worlds[i].mission
        state, (rows, cols) = rollouts.one(states, i), world.shape
        for (row, col), word in world.cells.items():
            name = play.layers(picture[row][col])
            at = (row, col)
            if at == world.agent:
                assert name["arrow"] == str(world.heading)
                assert ("gate" in name) == ((state.doors == at).all(1)).any()
            elif at in world.doors:
                assert name["gate"] == word.replace("-door", "")
            else:
                assert name.get("thing", "wall" if "wall" in name else ".") == word.replace("#", "wall")
        lines = [[play.layers(name) for name in row[:cols]] for row in picture[rows : rows + CLAUSES[scale]]]
        held = told(state)[2]
        assert lines[0].pop() == ({"coloured": "sky", "thing": held} if held else {"coloured": "sky"})
        for line, (joint, verb, names), done in zip(lines, world.clauses(), state.done, strict=False):
            said = "".join(name.get("pair", "") for name in line)
            spelled = {"go to": "GOTO", "pick up": "PICK", "open": "OPEN", "put": "PUTBY"}[verb]
            assert said == SIGNS[joint] + spelled
            seen = [name.get("thing") or name.get("gate") for name in line if {"thing", "gate"} & set(name)]
            assert [sign.replace("-closed", " door").replace("-", " ") for sign in seen] == names
            assert {name["plain"] for name in line} == {"header" if done else "paper"}
