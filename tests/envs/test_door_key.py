"""door_key against MiniGrid itself, and against plain-Python search."""

import functools

import numpy as np
import play
import pytest
import rollouts
from minigrid.core.world_object import Ball, Door, Goal, Key
from minigrid.envs.doorkey import DoorKeyEnv
from reference_door_key import DROP, LOCKED, State, turns_to_goal

import jaxenv

ENV = jaxenv.make("door_key")[0]
SIDES, DISTINCT = (5, 6, 8), (39, 450, 1500)
# Share of the instances that begin with a ball in the hand; at the smallest side 1 in 4 can.
BALLS = (0.2, 0.3, 0.4)
TURNS, COUNT = 64, 40
HANDS = ("", "key", "ball")
WITHOUT_DROP = tuple(action for action in range(6) if action != DROP)
search = functools.cache(turns_to_goal)


def minigrid_of(state) -> DoorKeyEnv:
    """A MiniGrid environment in the same state; its cells are (column, row)."""
    n = int(state.side)
    env = DoorKeyEnv(size=n, max_steps=10**6)
    env.reset(seed=0)
    for x in range(1, n - 1):
        for y in range(1, n - 1):
            env.grid.set(x, y, None)
    row, col = state.door.tolist()
    env.grid.vert_wall(col, 0)
    env.grid.set(col, row, Door("yellow", is_locked=True))
    env.grid.set(n - 2, n - 2, Goal())
    env.grid.set(int(state.key[1]), int(state.key[0]), Key("yellow"))
    env.agent_pos, env.agent_dir = (int(state.agent[1]), int(state.agent[0])), int(state.heading)
    env.carrying = Ball("blue") if HANDS[state.hand] == "ball" else None
    return env


def told(env: DoorKeyEnv, door: tuple[int, int]) -> State:
    """The state of a MiniGrid environment."""
    gate = env.grid.get(door[1], door[0])
    assert isinstance(gate, Door)
    lies = {thing.type: divmod(i, env.width) for i, thing in enumerate(env.grid.grid) if thing}
    return State(
        (int(env.agent_pos[1]), int(env.agent_pos[0])),
        int(env.agent_dir),
        env.carrying.type if env.carrying else "",
        lies.get("key"),
        lies.get("ball"),
        door,
        0 if gate.is_open else 2 if gate.is_locked else 1,
        env.width,
    )


def plain(state) -> State:
    key, ball = (None if cell[0] < 0 else tuple(cell.tolist()) for cell in (state.key, state.ball))
    door, agent = tuple(state.door.tolist()), tuple(state.agent.tolist())
    hand = HANDS[state.hand]
    return State(agent, int(state.heading), hand, key, ball, door, int(state.lock), int(state.side))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def test_instances_are_as_minigrid_makes_them_and_solvable(batch):
    scale, states = batch
    n = SIDES[scale]
    lengths = []
    for i in range(play.MANY):
        state = plain(rollouts.one(states, i))
        assert state.side == n
        assert 2 <= state.door[1] <= n - 3
        assert 1 <= state.door[0] <= n - 3
        assert state.lock == LOCKED
        assert state.key is not None
        for cell in (state.agent, state.key):
            assert 1 <= cell[0] <= n - 2
            assert 1 <= cell[1] < state.door[1]
        assert state.agent != state.key
        assert state.ball is None
        assert state.hand in ("", "ball")
        # Enough to see that there is a way; that it is a shortest one is seen below.
        lengths.append(search(state.act(DROP), WITHOUT_DROP) + (state.hand == "ball"))
    assert min(lengths) > 0
    assert max(lengths) <= ENV.max_turns[scale]
    assert play.distinct(states) >= DISTINCT[scale]
    assert np.mean(states.hand == HANDS.index("ball")) > BALLS[scale]


@pytest.mark.peer("minigrid", "door_key")
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_actions_do_what_they_do_in_minigrid(batch, share):
    _, states = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths, transitions, locks, dropped = played.length(), 0, set(), set()
    for i in range(COUNT):
        env = minigrid_of(rollouts.one(some, i))
        door = tuple(some.door[i].tolist())
        for t in range(min(TURNS, lengths[i])):
            carried = env.carrying
            _, _, terminated, _, _ = env.step(int(played.actions[t, i]))
            after = plain(rollouts.one(played.states[t + 1], i))
            assert told(env, door) == after
            assert played.terminated[t, i] == terminated == played.rewards[t, i]
            transitions += 1
            locks.add(after.lock)
            if carried and not env.carrying:
                dropped.add(carried.type)
    assert transitions >= 1000 or share > 0
    assert dropped == {"key", "ball"}
    assert share == 0 or locks == {0, 1, 2}


def test_the_expert_takes_a_shortest_way_and_drops_the_ball_first(batch):
    scale, states = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, 1.0)
    for i, length in enumerate(played.length()):
        state = plain(rollouts.one(some, i))
        assert length == search(state) <= ENV.max_turns[scale]
        assert (played.actions[:length, i] == DROP).tolist() == [state.hand == "ball"] + [False] * (
            length - 1
        )


def test_the_expert_is_optimal_from_anywhere(batch):
    """Also when the door was shut again or something dropped elsewhere; but where a ball that was dropped
    later is passed, a few moves may be lost."""
    _, states = batch
    mixed = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.5, seed=1)
    for at in (6, 12):
        wandered = mixed.states[at]
        lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
        for i in np.flatnonzero(mixed.length() > at)[:15]:
            state = plain(rollouts.one(wandered, i))
            assert 0 <= lengths[i] - search(state) <= (2 if state.hand == "ball" or state.ball else 0)
