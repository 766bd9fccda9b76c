"""sliding_tile against plain-Python rules and breadth-first search over all boards of side 2 and 3."""

from collections import deque

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("sliding_tile")[0]
SIDES, LONGEST = (2, 3, 4), (6, 12, 30)
TURNS, COUNT = 80, 100
Board = tuple[int, ...]
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def slide(board: Board, n: int, move: int) -> Board | None:
    """The board after a tile has moved into the gap; None when there is no such tile."""
    row, col = divmod(board.index(0), n)
    row, col = row - STEPS[move][0], col - STEPS[move][1]
    if not (0 <= row < n and 0 <= col < n):
        return None
    tile, changed = board[row * n + col], list(board)
    changed[board.index(0)], changed[row * n + col] = tile, 0
    return tuple(changed)


def solved(n: int) -> Board:
    return (*range(1, n * n), 0)


def all_distances(n: int) -> dict[Board, int]:
    away, queue = {solved(n): 0}, deque([solved(n)])
    while queue:
        board = queue.popleft()
        for move in range(4):
            after = slide(board, n, move)
            if after is not None and after not in away:
                away[after] = away[board] + 1
                queue.append(after)
    return away


def is_solvable(board: Board, n: int) -> bool:
    """By parity: of the tiles' order and, on an even side, of the gap's row."""
    tiles = [tile for tile in board if tile]
    swaps = sum(a > b for i, a in enumerate(tiles) for b in tiles[i + 1 :])
    return (swaps if n % 2 else swaps + board.index(0) // n + n - 1) % 2 == 0


def boards(states) -> list[Board]:
    return [tuple(b[:n, :n].reshape(-1).tolist()) for b, n in zip(states.board, states.side, strict=True)]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    assert (states.side == SIDES[request.param]).all()
    return request.param, states


def test_every_instance_is_solvable_and_not_solved(batch):
    scale, states = batch
    n = SIDES[scale]
    found = boards(states)
    assert solved(n) not in found
    assert all(is_solvable(board, n) for board in found)
    assert len(set(found)) == 11 if scale == 0 else len(set(found)) > (500, 1800)[scale - 1]
    if scale < 2:
        away = all_distances(n)
        assert {away[board] for board in found} >= set(range((1, 4)[scale], LONGEST[scale] + 1))
        assert max(away[board] for board in found) <= LONGEST[scale]


def test_the_words_show_the_board(batch):
    _, states = batch
    some = play.first(states, COUNT)
    for board, words in zip(boards(some), play.observations(ENV, some), strict=True):
        assert [0 if word == "." else int(word) for word in words.split()] == list(board)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_slides_follow_the_rules(batch, share):
    scale, states = batch
    n = SIDES[scale]
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths, now = played.length(), boards(some)
    for t in range(TURNS):
        then = boards(played.states[t + 1])
        for i in np.flatnonzero(lengths > t):
            after = slide(now[i], n, played.actions[t, i])
            assert (played.verdicts[t, i] == 3) == (after is None)
            assert then[i] == (after or now[i])
            assert played.terminated[t, i] == (then[i] == solved(n)) == played.rewards[t, i]
        now = then
    if share == 1.0:
        assert lengths.max() <= LONGEST[scale] <= ENV.max_turns[scale]


def test_the_expert_works_from_anywhere_and_is_optimal_on_side_2(batch):
    scale, states = batch
    wandered = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.0, seed=1).states[40]
    away = all_distances(2) if scale == 0 else {}
    lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    for board, length in zip(boards(wandered), lengths, strict=True):
        if board == solved(SIDES[scale]):
            continue
        assert length <= TURNS
        assert scale > 0 or length == away[board]
