"""lava_crossing against MiniGrid itself, and against plain-Python search on boards read from the words."""

import numpy as np
import play
import pytest
import rollouts
from minigrid.core.world_object import Goal, Lava
from minigrid.envs.crossing import CrossingEnv
from reference_facing import Board, fewest_turns

import jaxenv

ENV = jaxenv.make("lava_crossing")[0]
SIDES, RIVERS, DISTINCT = (5, 7, 9), (1, 3, 5), (300, 1600, 1900)
FORWARD, TURNS, COUNT = 2, 48, 40


def rivers(board: Board) -> list[tuple[int, int]]:
    """(axis, line) of the odd rows and columns that are lava save for one gap."""

    def burns(axis: int, k: int) -> int:
        return sum(not board.free((k, at) if axis == 0 else (at, k)) for at in range(board.n))

    return [(axis, k) for axis in (0, 1) for k in range(1, board.n, 2) if burns(axis, k) == board.n - 1]


def minigrid_of(board: Board) -> CrossingEnv:
    """A MiniGrid environment in the same state; its cells are (column, row), within a wall."""
    env = CrossingEnv(size=board.n + 2, num_crossings=0, max_steps=10**6)
    env.reset(seed=0)
    for (row, col), word in board.cells.items():
        env.grid.set(col + 1, row + 1, {"L": Lava(), "G": Goal()}.get(word))
    env.agent_pos, env.agent_dir = (board.agent[1] + 1, board.agent[0] + 1), board.heading
    return env


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Board(words, "L") for words in play.observations(ENV, states)]


def test_every_goal_can_be_reached_through_the_gaps_and_boards_differ(batch):
    scale, states, boards = batch
    n, lengths, count = SIDES[scale], [], RIVERS[scale]
    for board in boards:
        assert board.n == n
        assert {board.agent[0], board.goal[0]} == {board.agent[1], board.goal[1]} == {0, n - 1}
        found = rivers(board)
        assert len(found) == count
        lava = {cell for cell in board.cells if not board.free(cell)}
        beds = {(r, c) for r in range(n) for c in range(n) if (0, r) in found or (1, c) in found}
        assert lava < beds
        assert len(beds - lava) == count
        lengths.append(board.fewest_turns())
    assert min(lengths) >= 2 * (n - 1)
    assert max(lengths) <= ENV.max_turns[scale]
    assert play.distinct(states) >= DISTINCT[scale]


@pytest.mark.peer("minigrid", "lava_crossing")
@pytest.mark.parametrize("share", [0.0, 0.8])
def test_actions_do_what_they_do_in_minigrid(batch, share):
    _, states, boards = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, deaths, goals, transitions = played.length(), 0, 0, 0
    for i, board in enumerate(boards[:COUNT]):
        env = minigrid_of(board)
        for t in range(min(TURNS, lengths[i])):
            _, reward, terminated, _, _ = env.step(int(played.actions[t, i]))
            after = rollouts.one(played.states[t + 1], i)
            assert tuple(int(at) - 1 for at in reversed(env.agent_pos)) == tuple(after.agent.tolist())
            assert env.agent_dir == after.heading
            assert played.terminated[t, i] == terminated
            assert played.rewards[t, i] == (reward > 0)
            deaths += bool(terminated and not reward)
            goals += bool(terminated and reward)
            transitions += 1
    assert deaths > 0
    assert goals > 0 if share else transitions > 300


def test_the_expert_takes_a_shortest_way_from_anywhere(batch):
    _, states, boards = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, 1.0)
    assert (played.length() == [board.fewest_turns() for board in boards[:COUNT]]).all()
    mixed = rollouts.roll(ENV, some, TURNS, 0.8, seed=1)
    wandered = mixed.states[8]
    lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    for i in np.flatnonzero(mixed.length() > 8):
        start, heading = tuple(wandered.agent[i].tolist()), int(wandered.heading[i])
        assert lengths[i] == fewest_turns(start, heading, boards[i].free, {boards[i].goal})
