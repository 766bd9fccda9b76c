"""ice_slide_maze against slides in plain Python on boards read from the words."""

from collections import deque

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("ice_slide_maze")[0]
SIDES, ROCKS, FEWEST, MOST = (5, 8, 12), (4, 10, 22), (2, 3, 4), (4, 7, 11)
WAYS = ((-1, 0), (1, 0), (0, -1), (0, 1))
TURNS, COUNT = 24, 100
Cell = tuple[int, int]


class Board:
    def __init__(self, words: str) -> None:
        rows = [line.split(" ") for line in words.split("\n")]
        self.n = len(rows)
        self.cells = {(r, c): word for r, row in enumerate(rows) for c, word in enumerate(row)}
        (self.agent,) = (cell for cell, word in self.cells.items() if word in "AX")
        (self.flag,) = (cell for cell, word in self.cells.items() if word in "FX")

    def slide(self, cell: Cell, way: int) -> Cell:
        """One cell at a time, as long as the next one is on the board and no rock."""
        down, across = WAYS[way]
        while self.cells.get((cell[0] + down, cell[1] + across), "#") != "#":
            cell = cell[0] + down, cell[1] + across
        return cell

    def slides_left(self, start: Cell) -> float:
        away, queue = {start: 0}, deque([start])
        while queue:
            cell = queue.popleft()
            for way in range(4):
                end = self.slide(cell, way)
                if end not in away:
                    away[end] = away[cell] + 1
                    queue.append(end)
        return away.get(self.flag, np.inf)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Board(words) for words in play.observations(ENV, states)]


def test_every_flag_is_far_but_not_too_far(batch):
    scale, states, boards = batch
    assert play.distinct(states) > (1900, 1990, 1990)[scale]
    lengths = []
    for board in boards:
        assert board.n == SIDES[scale]
        assert list(board.cells.values()).count("#") == ROCKS[scale]
        lengths.append(board.slides_left(board.agent))
    assert min(lengths) >= 1
    assert max(lengths) == MOST[scale]
    assert np.mean(np.array(lengths) >= FEWEST[scale]) > 0.95


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_slides_end_where_they_are_blocked(batch, share):
    _, states, boards = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, refused = played.length(), 0
    for i, board in enumerate(boards[:COUNT]):
        at = board.agent
        for t in range(min(TURNS, lengths[i])):
            end = board.slide(at, int(played.actions[t, i]))
            refused += end == at
            assert (played.verdicts[t, i] == 3) == (end == at)
            at = end
            then = rollouts.one(played.states[t + 1], i)
            assert tuple(then.agent.tolist()) == at
            assert tuple(then.flag.tolist()) == board.flag
            assert played.terminated[t, i] == (at == board.flag) == played.rewards[t, i]
    assert refused > 0


def test_the_expert_takes_a_shortest_way_from_anywhere(batch):
    scale, states, boards = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, 1.0)
    assert (played.length() == [board.slides_left(board.agent) for board in boards[:COUNT]]).all()
    assert played.length().max() <= ENV.max_turns[scale]
    mixed = rollouts.roll(ENV, some, TURNS, 0.0, seed=1)
    wandered = mixed.states[6]
    lengths, checked = rollouts.roll(ENV, wandered, TURNS, 1.0).length(), 0
    for i in np.flatnonzero(mixed.length() > 6):
        left = boards[i].slides_left(tuple(wandered.agent[i].tolist()))
        assert lengths[i] == min(left, TURNS + 1)
        checked += np.isfinite(left)
    assert checked > 10


def test_the_picture_shows_the_board(batch):
    scale, states, boards = batch
    n = SIDES[scale]
    names = {".": "ice", "#": "ice rock", "F": "ice flag", "A": "ice agent", "X": "ice flag agent"}
    for board, picture in zip(boards, play.tiles(ENV, play.first(states, COUNT)), strict=False):
        shown = {(r, c): picture[r][c] for r in range(n) for c in range(n)}
        assert shown == {cell: names[word] for cell, word in board.cells.items()}
