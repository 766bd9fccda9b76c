"""flood_it against a plain-Python fill and greedy plan."""

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("flood_it")[0]
SIDES, COUNTS, SLACK = (5, 7, 9), (3, 4, 5), (1, 2, 3)
TURNS, COUNT = 24, 100
Cell = tuple[int, int]
Board = dict[Cell, int]


def region(board: Board) -> set[Cell]:
    found, queue = {(0, 0)}, [(0, 0)]
    while queue:
        row, col = queue.pop()
        for cell in ((row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)):
            if cell not in found and board.get(cell) == board[0, 0]:
                found.add(cell)
                queue.append(cell)
    return found


def flood(board: Board, colour: int) -> Board:
    return board | dict.fromkeys(region(board), colour)


def greedy(board: Board, count: int) -> list[int]:
    """Always the colour after which the region is largest, the first of equals."""
    plan = []
    while len(set(board.values())) > 1:
        sizes = [len(region(flood(board, colour))) for colour in range(count)]
        plan.append(sizes.index(max(sizes)))
        board = flood(board, plan[-1])
    return plan


def boards(states) -> list[Board]:
    return [
        {(r, c): int(colour[r, c]) for r in range(n) for c in range(n)}
        for colour, n in zip(states.colour, states.side, strict=True)
    ]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, boards(states)


def test_every_plan_floods_the_board_in_the_budget(batch):
    scale, states, all_boards = batch
    assert (states.side == SIDES[scale]).all()
    assert play.distinct(states) > 1990
    for i, (board, plan, left) in enumerate(zip(all_boards, states.plan.tolist(), states.left, strict=True)):
        assert set(board.values()) <= set(range(COUNTS[scale]))
        plan = [colour for colour in plan if colour < 5]
        assert i >= play.SOME or plan == greedy(board, COUNTS[scale])
        for colour in plan:
            assert len(set(board.values())) > 1
            board = flood(board, colour)
        assert len(set(board.values())) == 1
        assert left == min(len(plan) + SLACK[scale], ENV.max_turns[scale])
        assert left >= len(plan)


def test_words_and_picture_show_the_board(batch):
    scale, states, all_boards = batch
    n = SIDES[scale]
    some = play.first(states, COUNT)
    shown = zip(all_boards, some.left, play.observations(ENV, some), play.tiles(ENV, some), strict=False)
    for board, left, words, picture in shown:
        rows = [["RBGYP".index(letter) for letter in line.split(" ")] for line in words.split("\n")]
        assert {(r, c): rows[r][c] for r in range(n) for c in range(n)} == board
        names = [[play.layers(name) for name in row[:n]] for row in picture[: n + 1]]
        assert [[name["painted"][0].upper() for name in row] for row in names[1:]] == [
            line.split(" ") for line in words.split("\n")
        ]
        assert [(r, c) for r in range(n) for c in range(n) if "dot" in names[1 + r][c]] == [(0, 0)]
        assert names[0][0]["glyph"] == str(left)


@pytest.mark.parametrize("share", [0.0, 0.7, 1.0])
def test_moves_follow_the_rules(batch, share):
    scale, states, all_boards = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths, now, left = played.length(), all_boards[:COUNT], some.left.tolist()
    for t in range(TURNS):
        then = boards(played.states[t + 1])
        for i in np.flatnonzero(lengths > t):
            colour = int(played.actions[t, i])
            legal = colour < COUNTS[scale] and colour != now[i][0, 0]
            assert (played.verdicts[t, i] == 0) == legal
            assert then[i] == (flood(now[i], colour) if legal else now[i])
            left[i] -= legal
            assert played.states[t + 1].left[i] == left[i]
            flooded = len(set(then[i].values())) == 1
            assert played.rewards[t, i] == flooded
            assert played.terminated[t, i] == (flooded or left[i] == 0)
        now = then
    if share == 1.0:
        assert (played.rewards.sum(0) == 1).all()
        assert (lengths == (some.plan < 5).sum(1)).all()


def test_the_plan_still_floods_after_other_moves(batch):
    """With the budget as large as need be."""
    _, states, _ = batch
    some = play.first(states, COUNT)
    wandered = rollouts.roll(ENV, some.replace(left=np.full(COUNT, 99, np.int32)), TURNS, 0.0, seed=1).states[
        6
    ]
    rest = (wandered.plan < 5).sum(1) - wandered.done
    away = [len(set(board.values())) > 1 for board in boards(wandered)]
    lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    assert np.sum(away) > 50
    assert (lengths <= rest)[away].all()
