"""minesweeper against a plain-Python field, and its expert's proofs against all layouts of the mines."""

import itertools

import jax
import numpy as np
import play
import pytest
import rollouts

import jaxenv
from envs_jax.grid_logic.minesweeper import safe_cells
from jaxenv import answers

ENV = jaxenv.make("minesweeper")[0]
SIDES, MINES = (5, 8, 10), (3, 8, 14)
TURNS, COUNT = 60, 50
COVERED, FLAG, MINE = 9, 10, 11
Cell = tuple[int, int]
Board = list[list[int]]


def around(n: int, cell: Cell) -> list[Cell]:
    row, col = cell
    steps = itertools.product((-1, 0, 1), repeat=2)
    near = [(row + r, col + c) for r, c in steps if (r, c) != (0, 0)]
    return [(r, c) for r, c in near if 0 <= r < n and 0 <= c < n]


def opened(board: Board, mines: set[Cell], cell: Cell) -> Board:
    """The board after opening a cell without a mine."""
    board, queue = [row[:] for row in board], [cell]
    n = len(board)
    while queue:
        row, col = queue.pop()
        board[row][col] = len(mines & set(around(n, (row, col))))
        if board[row][col] == 0:
            queue += [
                (r, c) for r, c in around(n, (row, col)) if board[r][c] >= COVERED and (r, c) not in queue
            ]
    return board


def after(board: Board, mines: set[Cell], action: list[int]) -> Board | None:
    """The board after a legal action, None for an illegal one."""
    verb, row, col = action
    n = len(board)
    if max(row, col) >= n or board[row][col] not in ((COVERED,), (COVERED, FLAG))[verb]:
        return None
    if verb == 0 and (row, col) not in mines:
        return opened(board, mines, (row, col))
    changed = [line[:] for line in board]
    changed[row][col] = MINE if verb == 0 else COVERED + FLAG - board[row][col]
    return changed


def left(board: Board, mines: set[Cell]) -> set[Cell]:
    """The cells that are still to open."""
    n = len(board)
    return {
        cell for cell in itertools.product(range(n), repeat=2) if board[cell[0]][cell[1]] >= COVERED
    } - mines


def cells(mask: np.ndarray) -> set[Cell]:
    return set(map(tuple, np.argwhere(mask).tolist()))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, SIDES[request.param], states, [cells(mines) for mines in states.mines]


@pytest.fixture(scope="module")
def played(batch):
    _, _, states, _ = batch
    some = play.first(states, COUNT)
    return {share: rollouts.roll(ENV, some, TURNS, share) for share in (0.3, 1.0)}


def test_every_field_begins_with_an_opening_and_they_differ(batch):
    scale, n, states, fields = batch
    assert (states.side == n).all()
    spared = 0
    for board, mines in zip(states.board[:, :n, :n].tolist(), fields, strict=True):
        assert len(mines) == MINES[scale]
        assert max(max(mines)) < n
        assert left(board, mines)
        zero = next((r, c) for r, c in itertools.product(range(n), repeat=2) if board[r][c] == 0)
        whole = opened([[COVERED] * n for _ in range(n)], mines, zero)
        kept = [(r, c) for r, c in itertools.product(range(n), repeat=2) if board[r][c] != whole[r][c]]
        spared += len(kept)
        assert not kept or (left(board, mines) == set(kept) and len(kept) == 1)
    assert spared > 0 if n == 5 else spared < 20
    assert play.distinct(states) > (1300 if n == 5 else 1990)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_turns_follow_the_rules(batch, played, share):
    _, n, _, fields = batch
    told = played[share]
    lengths, transitions, hits = told.length(), 0, 0
    for i in range(COUNT):
        board, mines = told.states[0].board[i, :n, :n].tolist(), fields[i]
        for t in range(min(TURNS, lengths[i])):
            changed = after(board, mines, told.actions[t, i].tolist())
            assert (told.verdicts[t, i] == answers.ILLEGAL) == (changed is None)
            board = board if changed is None else changed
            assert told.states[t + 1].board[i, :n, :n].tolist() == board
            won, lost = not left(board, mines), any(MINE in row for row in board)
            assert told.terminated[t, i] == (won or lost)
            assert told.rewards[t, i] == won
            transitions += 1
            hits += lost
    assert transitions > 100
    assert hits > 0 if share < 1 else hits == 0


def test_the_expert_clears_the_field_in_time(batch, played):
    scale, _, _, _ = batch
    told = played[1.0]
    assert (told.rewards.sum(0) == 1).all()
    assert told.length().max() <= ENV.max_turns[scale]


def layouts(board: Board, count: int) -> list[set[Cell]]:
    """All places of the mines that the numbers allow."""
    n = len(board)
    at = list(itertools.product(range(n), repeat=2))
    closed = [(r, c) for r, c in at if board[r][c] >= COVERED]
    numbers = [((r, c), board[r][c]) for r, c in at if board[r][c] < COVERED]
    sets = map(set, itertools.combinations(closed, count))
    near = [(set(around(n, cell)), number) for cell, number in numbers]
    return [mines for mines in sets if all(len(mines & cells) == number for cells, number in near)]


def plainly_safe(board: Board) -> set[Cell]:
    """What a number alone proves, when the mines that single numbers prove are known."""
    n = len(board)
    closed, mines = left(board, set()), set()
    numbers = [(r, c) for r, c in itertools.product(range(n), repeat=2) if 0 < board[r][c] < COVERED]
    for row, col in numbers:
        near = closed & set(around(n, (row, col)))
        mines |= near if len(near) == board[row][col] else set()
    safe = set()
    for row, col in numbers:
        near = closed & set(around(n, (row, col)))
        safe |= near - mines if len(near & mines) == board[row][col] else set()
    return safe


def test_what_the_expert_proves_is_true(batch, played):
    _, n, _, fields = batch
    states = played[0.3].states[1]
    alive = np.flatnonzero((states.board != MINE).all((1, 2)))
    proven = np.asarray(jax.jit(jax.vmap(safe_cells))(states.board, states.side))
    assert proven[alive].any((1, 2)).mean() > 0.5
    for i in alive.tolist():
        board = states.board[i, :n, :n].tolist()
        assert not cells(proven[i]) & fields[i]
        assert plainly_safe(board) <= cells(proven[i]) <= left(board, set())
    for i in alive[:40].tolist() if n == 5 else ():
        possible = layouts(states.board[i, :n, :n].tolist(), MINES[0])
        assert fields[i] in possible
        assert not any(cells(proven[i]) & mines for mines in possible)


def test_picture_and_text_show_the_board(batch, played):
    _, n, _, _ = batch
    states = played[0.3].states[2]
    words = {"paper": " ", "covered": "#", "covered flag": "F", "mine": "*"}
    for board, picture, observation in zip(
        states.board[:, :n, :n].tolist(), play.tiles(ENV, states), play.observations(ENV, states), strict=True
    ):
        shown = [[words.get(name, name[-1]) for name in row[:n]] for row in picture[:n]]
        assert "\n".join(map("".join, shown)).replace(" ", "0") == observation
        assert observation == "\n".join("".join("012345678#F*"[cell] for cell in row) for row in board)


def test_answers_in_words(batch):
    _, _, states, _ = batch
    told = (
        ("open {} {}", answers.ACCEPTED),
        ("Flag ({}, {})", answers.ACCEPTED),
        ("open {}", answers.NOT_IN_GRAMMAR),
        ("{} {}", answers.NOT_IN_GRAMMAR),
        ("close {} {}", answers.NOT_IN_GRAMMAR),
        ("open flag {} {}", answers.NOT_IN_GRAMMAR),
        ("open 0 {}", answers.NOT_IN_GRAMMAR),
    )
    some = play.first(states, len(told))
    closed = [np.argwhere(board == COVERED)[0] + 1 for board in some.board]
    replies = [words.format(*cell) for (words, _), cell in zip(told, closed, strict=True)]
    assert play.read(ENV, some, replies, 64)[0].tolist() == [verdict for _, verdict in told]
