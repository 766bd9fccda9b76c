"""cliff_walking against gymnasium's CliffWalking, and against plain Python on boards read from the words."""

import dataclasses
from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import play
import pytest
import rollouts
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv

import jaxenv
from envs_jax.navigation.cliff_walking import Cliff

ENV = jaxenv.make("cliff_walking")[0]
ROWS, COLS, STRONGEST = (4, 5, 6), (6, 8, 10), (0, 1, 2)
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
GYM_ACTION = (0, 2, 3, 1)  # gymnasium's up, right, down, left, in the order of ours
WINDS = {"^^": -2, "^": -1, "0": 0, "v": 1, "vv": 2}
TURNS, COUNT = 64, 100
Cell = tuple[int, int]


class Board:
    """A cliff read from the words of an observation at the start."""

    def __init__(self, words: str) -> None:
        *self.rows, winds = (line.split(" ") for line in words.split("\n"))
        self.wind = [WINDS[word] for word in winds]
        self.start, self.goal = self.find("A"), self.find("G")

    def find(self, letter: str) -> Cell:
        return next((r, c) for r, row in enumerate(self.rows) for c, word in enumerate(row) if word == letter)

    def walk(self, cell: Cell, move: int) -> Cell:
        last_row, last_col = len(self.rows) - 1, len(self.wind) - 1
        row = min(max(cell[0] + STEPS[move][0], 0), last_row)
        col = min(max(cell[1] + STEPS[move][1], 0), last_col)
        if row > 0 and self.rows[row][col] != "C":
            row = min(max(row + self.wind[col], 0), last_row)
        return self.start if self.rows[row][col] == "C" else (row, col)

    def fewest_turns(self, start: Cell) -> int:
        away, queue = {start: 0}, deque([start])
        while self.goal not in away:
            cell = queue.popleft()
            for move in range(4):
                to = self.walk(cell, move)
                if to not in away:
                    away[to] = away[cell] + 1
                    queue.append(to)
        return away[self.goal]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Board(words) for words in play.observations(ENV, states)]


def test_every_cliff_has_a_way_round_and_they_differ(batch):
    scale, states, boards = batch
    heights, winds = set(), set()
    for board in boards[:400]:
        rows = board.rows
        assert (len(rows), len(board.wind)) == (ROWS[scale], COLS[scale])
        assert "C" not in rows[0]
        for col in range(1, COLS[scale] - 1):
            column = [row[col] for row in rows]
            heights.add(column.count("C"))
            assert column[-column.count("C") :] == ["C"] * column.count("C")
        assert {board.start, board.goal} == {(ROWS[scale] - 1, 0), (ROWS[scale] - 1, COLS[scale] - 1)}
        assert board.wind[0] == board.wind[-1] == 0
        winds |= set(board.wind)
        assert board.fewest_turns(board.start) <= ENV.max_turns[scale]
    assert heights == {1, 2}
    assert winds == set(range(-STRONGEST[scale], STRONGEST[scale] + 1))
    assert play.distinct(states) == 32 if scale == 0 else play.distinct(states) > 1800


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_moves_follow_the_rules(batch, share):
    _, states, boards = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, falls, blown, transitions = played.length(), 0, 0, 0
    for i, board in enumerate(boards[:COUNT]):
        cell = board.start
        for t in range(min(TURNS, lengths[i])):
            before, move = cell, played.actions[t, i]
            cell = board.walk(cell, move)
            assert tuple(played.states[t + 1].agent[i].tolist()) == cell
            assert played.terminated[t, i] == (cell == board.goal) == played.rewards[t, i]
            falls += cell == board.start != before
            blown += abs(cell[0] - before[0]) > 1 or abs(cell[0] - before[0]) + abs(cell[1] - before[1]) > 1
            transitions += 1
    assert transitions > 1000
    assert min(falls, blown) > 0


def test_the_expert_takes_a_shortest_way_from_anywhere(batch):
    scale, states, boards = batch
    some = play.first(states, COUNT)
    mixed = rollouts.roll(ENV, some, TURNS, 0.7, seed=1)
    for at in (0, 5, 10):
        before = mixed.states[at]
        lengths = rollouts.roll(ENV, before, TURNS, 1.0).length()
        for i in np.flatnonzero(mixed.length() > at):
            fewest = boards[i].fewest_turns(tuple(before.agent[i].tolist()))
            assert lengths[i] == fewest
            assert at > 0 or fewest <= ENV.max_turns[scale]


@pytest.mark.peer("gymnasium", "cliff_walking")
def test_every_move_is_gymnasiums():
    """All states and moves of a cliff of height one without wind, as wide as ours can be."""
    env = CliffWalkingEnv()
    env.shape = (4, 10)
    env.start_state_index = 30
    env._cliff = np.zeros(env.shape, bool)
    env._cliff[3, 1:-1] = True
    height = jnp.ones(10, jnp.int8).at[jnp.array([0, 9])].set(0)
    start, goal, rows, cols = jnp.array([0, 9, 4, 10])
    state = Cliff(height, jnp.zeros(10, jnp.int8), jnp.zeros(2, jnp.int32), start, goal, rows, cols)

    @jax.jit
    @jax.vmap
    def turn(agent, action):
        before = dataclasses.replace(state, agent=agent)
        after, reward, terminated = ENV.transition(jax.random.key(0), before, action)
        return after.agent, reward, terminated

    told = [(r, c, a) for r in range(4) for c in range(10) for a in range(4)]
    row, col, action = np.array(told, np.int32).T
    agent, reward, terminated = map(np.asarray, turn(np.stack([row, col], 1), action))
    for i, (r, c, a) in enumerate(told):
        outcomes = env._calculate_transition_prob([r, c], GYM_ACTION[a])
        ((_, next_state, _, ended),) = outcomes
        assert next_state == agent[i] @ [10, 1]
        assert reward[i] == ended == terminated[i]
