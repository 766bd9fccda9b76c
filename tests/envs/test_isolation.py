"""isolation against plain search over sets of cells."""

import functools

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("isolation")[0]
SIDES, FEWEST, MOST, STEPS_TO_WIN = (4, 5, 5), (6, 8, 9), (8, 10, 11), (2, 2, 3)
TURNS, COUNT = 6, 100
Cell = tuple[int, int]
Board = tuple[frozenset[Cell], Cell, Cell]


def steps(free: frozenset[Cell], pawn: Cell) -> list[Cell]:
    return [cell for cell in free if max(abs(cell[0] - pawn[0]), abs(cell[1] - pawn[1])) == 1]


@functools.cache
def forces(free: frozenset[Cell], mover: Cell, other: Cell, within: int) -> bool:
    """The mover can get the other stuck within so many of its own steps."""
    for cell in steps(free, mover):
        left = free - {cell}
        replies = steps(left, other)
        if not replies or (
            within > 1 and all(forces(left - {reply}, cell, reply, within - 1) for reply in replies)
        ):
            return True
    return False


def soonest(free: frozenset[Cell], mover: Cell, other: Cell) -> int:
    return next((n for n in (1, 2, 3) if forces(free, mover, other, n)), 4)


def boards(states) -> list[Board]:
    """As the tiles show them."""
    found = []
    for picture in play.tiles(ENV, states):
        cells = {(r, c): name for r, row in enumerate(picture) for c, name in enumerate(row)}
        (you,) = [cell for cell, name in cells.items() if name == "floor pawn:blue"]
        (other,) = [cell for cell, name in cells.items() if name == "floor pawn:red"]
        found.append((frozenset(cell for cell, name in cells.items() if name == "floor"), you, other))
    return found


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, boards(states)


def test_a_win_can_be_forced_from_the_start(batch):
    scale, _, all_boards = batch
    soon = []
    for free, you, other in all_boards:
        soon.append(soonest(free, you, other))
        assert all(max(cell) < SIDES[scale] for cell in [*free, you, other])
        assert len(free) == 1 or FEWEST[scale] <= len(free) <= MOST[scale]
    assert max(soon) <= 3
    assert np.mean(np.array(soon) == STEPS_TO_WIN[scale]) > 0.7
    assert len(set(all_boards)) > 1900


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_games_follow_the_rules(batch, share):
    """And the opponent takes the wins that it sees."""
    scale, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, refused, seen = played.length(), 0, 0
    # All states of all turns at once, in the shape that is compiled already.
    flat = [
        np.concatenate([getattr(state, name) for state in played.states])
        for name in ("free", "you", "other", "scale")
    ]
    padded = [np.resize(leaf, play.MANY) for leaf in flat]
    every = boards(type(states)(*padded))
    for i in range(COUNT):
        for t in range(min(TURNS, lengths[i])):
            (free, you, other), after = every[t * COUNT + i], every[(t + 1) * COUNT + i]
            cell = tuple(played.actions[t, i].tolist())
            assert (played.verdicts[t, i] == 0) == (cell in steps(free, you))
            if cell not in steps(free, you):
                refused += 1
                assert after == (free, you, other)
                continue
            left = free - {cell}
            replies = steps(left, other)
            assert played.rewards[t, i] == (not replies)
            if not replies:
                assert after == (left, cell, other)
                assert played.terminated[t, i]
                continue
            assert after in [(left - {reply}, cell, reply) for reply in replies]
            assert played.terminated[t, i] == (not steps(after[0], cell))
            within = next((n for n in range(1, scale + 1) if forces(left, other, cell, n)), 0)
            seen += within > 0
            assert within != 1 or played.terminated[t, i]
            if within == 2:
                mine = steps(after[0], cell)
                assert all(forces(after[0] - {mine_next}, after[2], mine_next, 1) for mine_next in mine)
    if share == 1:
        assert refused == 0
        assert (played.rewards.sum(0) == 1).all()
        assert lengths.max() <= 3
    else:
        assert refused > COUNT // 4
        assert scale == 0 or seen > 0


def test_the_words_show_the_board(batch):
    scale, states, all_boards = batch
    n = SIDES[scale]
    for (free, you, other), words in zip(
        all_boards[:COUNT], play.observations(ENV, states)[:COUNT], strict=True
    ):
        rows = [line.split(" ") for line in words.split("\n")]
        found = {(r, c): rows[r][c] for r in range(n) for c in range(n)}
        assert [cell for cell, word in found.items() if word == "B"] == [you]
        assert [cell for cell, word in found.items() if word == "R"] == [other]
        assert {cell for cell, word in found.items() if word == "."} == free


def test_answers_in_words(batch):
    _, states, all_boards = batch
    some = play.first(states, 12)
    replies = []
    for i, (free, you, _) in enumerate(all_boards[:12]):
        row, col = steps(free, you)[0] if i % 2 else you
        replies.append(f"({row + 1}, {col + 1})")
    verdict, _ = play.read(ENV, some, replies, 64)
    assert verdict.tolist() == [3, 0] * 6
