"""go_to_object against MiniGrid's GoToObject, and against plain-Python search."""

import play
import pytest
import rollouts
from minigrid.core.world_object import Ball, Box, Key
from minigrid.envs.gotoobject import GoToObjectEnv
from reference_facing import Cell, fewest_turns

import jaxenv

ENV = jaxenv.make("go_to_object")[0]
SIDES, COUNTS = (6, 7, 8), (2, 5, 9)
KINDS = {"key": Key, "ball": Ball, "box": Box}
DONE, TURNS, COUNT = 3, 40, 60
GYM_DONE = 6


class Room:
    """A room read from the words of an observation."""

    def __init__(self, words: str) -> None:
        *lines, mission = words.split("\n")
        self.n = len(lines)
        self.cells = {(r, c): w for r, line in enumerate(lines) for c, w in enumerate(line.split(" "))}
        self.things = {cell: word for cell, word in self.cells.items() if "-" in word}
        (self.agent,) = (cell for cell, word in self.cells.items() if word in "><^v")
        self.heading = ">v<^".index(self.cells[self.agent])
        self.wanted = mission.removeprefix("go to ")
        ((row, col),) = (cell for cell, word in self.things.items() if word == self.wanted)
        self.target = row, col
        self.beside = {(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)}

    def free(self, cell: Cell) -> bool:
        return cell in self.cells and cell not in self.things

    def fewest_turns(self) -> int:
        """With the last one, to say done."""
        return fewest_turns(self.agent, self.heading, self.free, self.beside) + 1


def minigrid_of(room: Room) -> GoToObjectEnv:
    """A MiniGrid environment in the same state; its cells are (column, row), within a wall."""
    env = GoToObjectEnv(size=room.n + 2, max_steps=10**6)
    env.reset(seed=0)
    for (row, col), word in room.cells.items():
        colour, _, kind = word.partition("-")
        env.grid.set(col + 1, row + 1, KINDS[kind](colour) if kind else None)
    env.agent_pos, env.agent_dir = (room.agent[1] + 1, room.agent[0] + 1), room.heading
    env.target_pos = room.target[1] + 1, room.target[0] + 1
    return env


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Room(words) for words in play.observations(ENV, states)]


def test_every_thing_can_be_reached_in_time_and_rooms_differ(batch):
    scale, states, rooms = batch
    wanted = set()
    for room in rooms:
        assert room.n == SIDES[scale]
        assert len(room.things) == len(set(room.things.values())) == COUNTS[scale]
        assert 1 < room.fewest_turns() <= ENV.max_turns[scale]
        wanted.add(room.wanted)
    assert len(wanted) == 18
    assert play.distinct(states) > 1990


@pytest.mark.peer("minigrid", "go_to_object")
@pytest.mark.parametrize("share", [0.0, 0.9])
def test_actions_do_what_they_do_in_minigrid(batch, share):
    _, states, rooms = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, found, missed = played.length(), 0, 0
    for i, room in enumerate(rooms[:COUNT]):
        env = minigrid_of(room)
        for t in range(min(TURNS, lengths[i])):
            action = int(played.actions[t, i])
            _, reward, terminated, _, _ = env.step(GYM_DONE if action == DONE else action)
            after = rollouts.one(played.states[t + 1], i)
            assert tuple(int(at) - 1 for at in reversed(env.agent_pos)) == tuple(after.agent.tolist())
            assert env.agent_dir == after.heading
            assert played.terminated[t, i] == terminated
            assert played.rewards[t, i] == (reward > 0)
            found += bool(terminated and reward)
            missed += bool(terminated and not reward)
    assert missed > 0
    assert found > 0 or share == 0


def test_the_expert_takes_a_shortest_way(batch):
    _, states, rooms = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 1.0)
    assert (played.length() == [room.fewest_turns() for room in rooms[:COUNT]]).all()
    assert (played.rewards.sum(0) == 1).all()


def test_the_picture_shows_the_room_and_names_the_thing(batch):
    _, states, rooms = batch
    for room, picture in zip(rooms, play.tiles(ENV, play.first(states, COUNT)), strict=False):
        n = room.n
        things = {
            (r, c): play.layers(name)["thing"]
            for r, row in enumerate(picture[:n])
            for c, name in enumerate(row)
            if "thing" in name
        }
        assert things == room.things
        assert play.layers(picture[room.agent[0]][room.agent[1]])["arrow"] == str(room.heading)
        colour, kind = (
            "".join(play.layers(name).get("glyph", "") for name in row[:n]) for row in picture[n : n + 2]
        )
        assert f"{colour}-{kind}".lower() == room.wanted
