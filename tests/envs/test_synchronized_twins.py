"""synchronized_twins against its rules in plain Python, and breadth-first search over both places."""

from collections import deque

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("synchronized_twins")[0]
SIDES, WALLS, NEAREST = (4, 5, 6), (3, 5, 8), (3, 6, 9)
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
MOVES = ("up", "down", "left", "right")
OTHER = {"up": "up", "down": "down", "left": "right", "right": "left"}
TURNS, COUNT = 40, 60
Cell = tuple[int, int]


class Boards:
    """Two boards read from the words of an observation."""

    def __init__(self, words: str) -> None:
        rows = [line.split(" ") for line in words.split("\n")]
        self.n = len(rows)
        assert all(len(row) == 2 * self.n + 1 for row in rows)
        ((between,),) = ({row[self.n] for row in rows},)
        self.mirrored = {"|": False, "M": True}[between]
        halves = [row[: self.n] for row in rows], [row[self.n + 1 :] for row in rows]
        self.cells = [{(r, c): half[r][c] for r in range(self.n) for c in range(self.n)} for half in halves]
        self.twins = tuple(self.only(cells, "TH") for cells in self.cells)
        self.flags = tuple(self.only(cells, "FH") for cells in self.cells)

    @staticmethod
    def only(cells: dict[Cell, str], words: str) -> Cell:
        (found,) = (cell for cell, word in cells.items() if word in words)
        return found

    def move(self, twins: tuple[Cell, Cell], command: str) -> tuple[Cell, Cell]:
        commands = command, OTHER[command] if self.mirrored else command
        after = []
        for cells, (row, col), own in zip(self.cells, twins, commands, strict=True):
            ahead = row + STEPS[own][0], col + STEPS[own][1]
            after.append(ahead if cells.get(ahead, "#") != "#" else (row, col))
        return after[0], after[1]

    def fewest_moves(self, start: tuple[Cell, Cell]) -> int:
        """By breadth-first search, each board's moves looked up; -1 without a way."""
        left, right = (
            {cell: [self.move((cell, cell), command)[side] for command in MOVES] for cell in cells}
            for side, cells in enumerate(self.cells)
        )
        away, queue = {start: 0}, deque([start])
        while queue:
            now = queue.popleft()
            if now == self.flags:
                return away[now]
            for after in zip(left[now[0]], right[now[1]], strict=True):
                if after not in away:
                    away[after] = away[now] + 1
                    queue.append(after)
        return -1


def twins(state) -> tuple[Cell, Cell]:
    left, right = map(tuple, state.twins.tolist())
    return left, right


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Boards(words) for words in play.observations(ENV, states)]


def test_both_flags_can_be_reached_in_time(batch):
    scale, states, boards = batch
    lengths, flips = [], 0
    for board in boards:
        assert board.n == SIDES[scale]
        assert all(sum(word == "#" for word in cells.values()) == WALLS[scale] for cells in board.cells)
        lengths.append(board.fewest_moves(board.twins))
        flips += board.mirrored
    assert min(lengths) > 0
    assert max(lengths) <= ENV.max_turns[scale] // 2
    assert np.mean(np.array(lengths) >= NEAREST[scale]) > 0.9
    assert 0.45 < flips / len(boards) < 0.55
    assert play.distinct(states) > 1990


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_a_command_moves_both(batch, share):
    _, states, boards = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, apart, ended = played.length(), 0, 0
    for i, board in enumerate(boards[:COUNT]):
        now = board.twins
        for t in range(min(TURNS, lengths[i])):
            then = board.move(now, MOVES[played.actions[t, i]])
            apart += (then[0] == now[0]) != (then[1] == now[1])
            now = then
            assert twins(rollouts.one(played.states[t + 1], i)) == now
            assert played.terminated[t, i] == played.rewards[t, i] == (now == board.flags)
            ended += now == board.flags
    assert apart > 100
    assert ended > 40 or share == 0


def test_the_expert_takes_the_fewest_moves_from_anywhere(batch):
    _, states, boards = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, 1.0)
    assert (played.length() == [board.fewest_moves(board.twins) for board in boards[:COUNT]]).all()
    mixed = rollouts.roll(ENV, some, TURNS, 0.0, seed=1)
    wandered, compared = mixed.states[9], 0
    lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    for i in np.flatnonzero(mixed.length() > 9):
        fewest = boards[i].fewest_moves(twins(rollouts.one(wandered, i)))
        if 0 < fewest <= TURNS:
            assert lengths[i] == fewest
            compared += 1
    assert compared > 30


def test_the_picture_shows_both_boards(batch):
    scale, states, _ = batch
    n = SIDES[scale]
    names = {
        ".": "floor",
        "#": "wall",
        "F": "floor flag",
        "T": "floor agent",
        "H": "plain:goal agent",
        "|": "plain:paper alike",
        "M": "plain:paper mirrored",
    }
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.7)
    for t in (0, 5, TURNS):
        shown = zip(play.observations(ENV, played.states[t]), play.tiles(ENV, played.states[t]), strict=True)
        for i, (words, picture) in enumerate(shown):
            assert Boards(words).twins == twins(rollouts.one(played.states[t], i))
            rows = [[names[word] for word in line.split(" ")] for line in words.split("\n")]
            assert rows == [row[: 2 * n + 1] for row in picture[:n]]
