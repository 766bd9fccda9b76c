"""maze_2d against a plain-Python maze read from the words of its observation."""

from collections import deque

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("maze_2d")[0]
SIDES = (4, 6, 10)
STEPS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
LETTERS = "UDLR"
TURNS, COUNT = 60, 100


def read_maze(observation: str) -> list[list[str]]:
    return [line.split(" ") for line in observation.split("\n")]


def distances(maze: list[list[str]], goal: tuple[int, int]) -> dict[tuple[int, int], int]:
    away, queue = {goal: 0}, deque([goal])
    while queue:
        row, col = queue.popleft()
        for letter in maze[row][col].replace("-", ""):
            cell = row + STEPS[letter][0], col + STEPS[letter][1]
            if cell not in away:
                away[cell] = away[row, col] + 1
                queue.append(cell)
    return away


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_maze(words) for words in play.observations(ENV, states)]


def test_every_maze_is_a_tree_on_the_whole_board(batch):
    scale, _, mazes = batch
    n = SIDES[scale]
    for maze in mazes:
        assert [len(row) for row in maze] == [n] * n
        doors = {(r, c, s) for r in range(n) for c in range(n) for s in maze[r][c].replace("-", "")}
        assert len(doors) == 2 * (n * n - 1)
        for r, c, letter in doors:
            down, across = STEPS[letter]
            assert (r + down, c + across, LETTERS[LETTERS.index(letter) ^ 1]) in doors
        assert len(distances(maze, (0, 0))) == n * n


def test_the_flag_is_as_far_as_the_scale_says(batch):
    scale, states, mazes = batch
    seen = set()
    for maze, agent, goal in zip(mazes, states.agent.tolist(), states.goal.tolist(), strict=True):
        away = distances(maze, tuple(agent))
        far = away[tuple(goal)]
        assert 2 <= far <= ENV.max_turns[scale]
        assert far <= 7 if scale == 0 else 2 * far >= max(away.values())
        seen.add(far)
    assert seen >= set(range(2, 8)) if scale == 0 else len(seen) > 10
    assert play.distinct(states) > 1900


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_moves_follow_the_walls_and_the_expert_goes_the_only_way(batch, share):
    scale, states, mazes = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths = played.length()
    for i, maze in enumerate(mazes[:COUNT]):
        row, col = states.agent[i].tolist()
        goal = tuple(states.goal[i].tolist())
        if share == 1.0:
            assert lengths[i] == distances(maze, goal)[row, col] <= ENV.max_turns[scale]
        for t in range(min(TURNS, lengths[i])):
            letter = LETTERS[played.actions[t, i]]
            if letter in maze[row][col]:
                row, col = row + STEPS[letter][0], col + STEPS[letter][1]
            assert (row, col) == tuple(played.states[t + 1].agent[i].tolist())
            assert played.terminated[t, i] == ((row, col) == goal) == played.rewards[t, i]


def test_the_expert_works_from_anywhere(batch):
    _, states, mazes = batch
    wandered = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.0, seed=1).states[30]
    actions = play.experts(ENV, wandered)
    for i in np.flatnonzero((wandered.agent != wandered.goal).any(1)):
        away = distances(mazes[i], tuple(wandered.goal[i].tolist()))
        row, col = wandered.agent[i].tolist()
        down, across = STEPS[LETTERS[actions[i]]]
        assert LETTERS[actions[i]] in mazes[i][row][col]
        assert away[row + down, col + across] == away[row, col] - 1
