"""four_rooms against MiniGrid itself, and against plain-Python search on boards read from the words."""

import numpy as np
import play
import pytest
import rollouts
from minigrid.core.world_object import Goal, Wall
from minigrid.envs.fourrooms import FourRoomsEnv
from reference_facing import Board, Cell, fewest_turns

import jaxenv

ENV = jaxenv.make("four_rooms")[0]
SIDES = (7, 9, 13)
TURNS, COUNT = 48, 60


def room(board: Board, cell: Cell) -> tuple[bool, bool]:
    return cell[0] > board.n // 2, cell[1] > board.n // 2


def minigrid_of(board: Board) -> FourRoomsEnv:
    """A MiniGrid environment in the same state, in the top left of its larger one; its cells are
    (column, row), within a wall."""
    env = FourRoomsEnv(max_steps=10**6)
    env.reset(seed=0)
    for row in range(board.n + 1):
        for col in range(board.n + 1):
            word = board.cells.get((row, col), "#")
            env.grid.set(col + 1, row + 1, {"#": Wall(), "G": Goal()}.get(word))
    env.agent_pos, env.agent_dir = (board.agent[1] + 1, board.agent[0] + 1), board.heading
    return env


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Board(words, "#") for words in play.observations(ENV, states)]


def test_walls_have_a_gap_on_either_side_and_lead_to_the_goal(batch):
    scale, states, boards = batch
    n, middle, lengths, gaps, far = SIDES[scale], SIDES[scale] // 2, [], set(), 0
    for board in boards:
        assert board.n == n
        for axis in (0, 1):
            across = [board.free((at, middle) if axis == 0 else (middle, at)) for at in range(n)]
            assert across[middle] is False
            assert sum(across[:middle]) == sum(across[middle + 1 :]) == 1
            gaps |= {(axis, at) for at in range(n) if across[at]}
        walls = {cell for cell in board.cells if not board.free(cell)}
        assert len(walls) == 2 * n - 1 - 4
        assert middle not in board.agent + board.goal
        assert room(board, board.agent) != room(board, board.goal)
        far += all(a != b for a, b in zip(room(board, board.agent), room(board, board.goal), strict=True))
        lengths.append(board.fewest_turns())
    assert len(gaps) == 2 * (n - 1)
    assert 0.2 < far / len(boards) < 0.5
    assert min(lengths) > 0
    assert max(lengths) <= ENV.max_turns[scale]
    assert play.distinct(states) > 1990


@pytest.mark.peer("minigrid", "four_rooms")
@pytest.mark.parametrize("share", [0.0, 0.8])
def test_actions_do_what_they_do_in_minigrid(batch, share):
    _, states, boards = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, goals, blocked = played.length(), 0, 0
    for i, board in enumerate(boards[:COUNT]):
        env = minigrid_of(board)
        for t in range(min(TURNS, lengths[i])):
            before = env.agent_pos
            action = int(played.actions[t, i])
            _, reward, terminated, _, _ = env.step(action)
            after = rollouts.one(played.states[t + 1], i)
            assert tuple(int(at) - 1 for at in reversed(env.agent_pos)) == tuple(after.agent.tolist())
            assert env.agent_dir == after.heading
            assert played.terminated[t, i] == terminated
            assert played.rewards[t, i] == (reward > 0)
            goals += bool(terminated)
            blocked += action == 2 and tuple(env.agent_pos) == tuple(before)
    assert goals > 30 if share else blocked > 50


def test_the_expert_takes_a_shortest_way_from_anywhere(batch):
    _, states, boards = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, 1.0)
    assert (played.length() == [board.fewest_turns() for board in boards[:COUNT]]).all()
    assert (played.rewards.sum(0) == 1).all()
    mixed = rollouts.roll(ENV, some, TURNS, 0.0, seed=1)
    wandered = mixed.states[20]
    lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    for i in np.flatnonzero(mixed.length() > 20):
        start, heading = tuple(wandered.agent[i].tolist()), int(wandered.heading[i])
        assert lengths[i] == fewest_turns(start, heading, boards[i].free, {boards[i].goal})


def test_the_picture_shows_the_board(batch):
    _, states, boards = batch
    names = {"#": "wall", ".": "floor", "G": "floor goal"}
    for board, picture in zip(boards, play.tiles(ENV, play.first(states, COUNT)), strict=False):
        for (row, col), word in board.cells.items():
            assert picture[row][col] == names.get(word, f"floor arrow:{board.heading}")
