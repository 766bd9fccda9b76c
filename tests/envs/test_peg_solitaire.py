"""peg_solitaire against jumps between points of the plane."""

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("peg_solitaire")[0]
HOLES, FEWEST, MOST, SIDES = (15, 15, 33), (4, 7, 10), (6, 9, 14), (9, 9, 7)
DISTINCT = (850, 950, 1990)
TURNS, COUNT = 16, 100
Point = tuple[int, int]


class Board:
    """Points by hole, counted from 1, of a board read from the words of an observation. Neighbours in a row
    of the triangle are two columns apart, those in a slanted line one column and two rows."""

    def __init__(self, words: str) -> None:
        rows = [line.split(" ") for line in words.split("\n")]
        self.n = len(rows)
        words_at = {(r, c): word for r, row in enumerate(rows) for c, word in enumerate(row) if word != "."}
        self.point = {int(word.strip("()")): at for at, word in words_at.items()}
        self.pegs = frozenset(int(word) for word in words_at.values() if word[0] != "(")
        triangle = len(self.point) == 15
        self.ways = ((0, 2), (2, 1), (2, -1)) if triangle else ((0, 1), (1, 0))

    def jump(self, pegs: frozenset[int], start: int, end: int) -> frozenset[int] | None:
        """The pegs after a jump; None when it is not allowed."""
        if start not in self.point or end not in self.point:
            return None
        (r0, c0), (r1, c1) = self.point[start], self.point[end]
        straight = any((r1 - r0, c1 - c0) in ((2 * r, 2 * c), (-2 * r, -2 * c)) for r, c in self.ways)
        over = [hole for hole, at in self.point.items() if at == ((r0 + r1) / 2, (c0 + c1) / 2)]
        if not straight or start not in pegs or end in pegs or not set(over) & pegs:
            return None
        return pegs - {start, *over} | {end}

    def stuck(self, pegs: frozenset[int]) -> bool:
        return all(self.jump(pegs, start, end) is None for start in pegs for end in self.point)


def holes(pegs: np.ndarray) -> frozenset[int]:
    return frozenset((np.flatnonzero(pegs) + 1).tolist())


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Board(words) for words in play.observations(ENV, states)]


def test_boards_are_numbered_row_by_row_and_differ(batch):
    scale, states, boards = batch
    for board, pegs in zip(boards, states.pegs, strict=True):
        assert board.n == SIDES[scale]
        assert sorted(board.point.values()) == [board.point[hole] for hole in range(1, HOLES[scale] + 1)]
        assert board.pegs == holes(pegs)
    counts = [len(board.pegs) for board in boards]
    assert max(counts) == MOST[scale] + 1
    assert np.mean(np.array(counts) > FEWEST[scale]) > 0.9
    assert len({board.pegs for board in boards}) > DISTINCT[scale]


def test_every_way_leaves_one_peg(batch):
    """Played by hand, jump by jump, for all instances."""
    _, states, boards = batch
    pegs = [board.pegs for board in boards]
    for t in range(max(MOST)):
        left = states.replace(depth=np.maximum(states.depth - t, 1))
        for i, (start, end) in enumerate(play.experts(ENV, left).tolist()):
            if t < states.depth[i]:
                pegs[i] = boards[i].jump(pegs[i], start, end)
    assert all(len(left) == 1 for left in pegs)


@pytest.mark.parametrize(("share", "lost"), [(0.8, False), (1.0, False), (1.0, True)])
def test_jumps_follow_the_rules(batch, share, lost):
    """Lost, the expert jumps at random."""
    scale, states, boards = batch
    some = play.first(states, COUNT)
    some = some.replace(depth=some.depth * (not lost))
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths, refused, stuck = played.length(), 0, 0
    for i, board in enumerate(boards[:COUNT]):
        pegs = board.pegs
        for t in range(min(TURNS, lengths[i])):
            jump = played.actions[t, i].tolist()
            after = board.jump(pegs, *jump)
            refused += after is None
            assert (played.verdicts[t, i] == 3) == (after is None)
            pegs = after or pegs
            assert holes(played.states[t + 1].pegs[i]) == pegs
            assert played.rewards[t, i] == (len(pegs) == 1)
            over = after is not None and board.stuck(pegs)
            assert played.terminated[t, i] == over
            stuck += over and len(pegs) > 1
    if lost:
        assert stuck > 0
    elif share == 1.0:
        assert stuck == 0
        assert (played.rewards.sum(0) == 1).all()
        assert (lengths == [len(board.pegs) - 1 for board in boards[:COUNT]]).all()
        assert lengths.max() <= ENV.max_turns[scale]
    assert (refused == 0) == (share == 1.0)


def test_only_jumps_are_legal(batch):
    scale, states, boards = batch
    rng = np.random.default_rng(0)
    some = play.first(states, play.SOME)
    for _ in range(10):
        tried = rng.integers(0, HOLES[scale] + 1, (play.SOME, 2))
        legal, _ = play.judge(ENV, some, tried)
        for board, pair, is_legal in zip(boards, tried.tolist(), legal, strict=False):
            assert is_legal == (board.jump(board.pegs, *pair) is not None)


def test_the_picture_shows_pegs_and_numbers(batch):
    scale, states, boards = batch
    for board, picture in zip(boards, play.tiles(ENV, play.first(states, COUNT)), strict=False):
        for row in range(SIDES[scale]):
            for col in range(SIDES[scale]):
                hole = next((hole for hole, at in board.point.items() if at == (row, col)), None)
                kind = "pegged" if hole in board.pegs else "hollow"
                assert picture[row][col] == ("plain:wood" if hole is None else f"plain:wood {kind}:{hole}")
