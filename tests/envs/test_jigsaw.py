"""jigsaw against a plain-Python search that fits pieces by their seams, and its own picture."""

import numpy as np
import play
import pytest
import rollouts

import jaxenv
from jaxenv.render import palette

ENV = jaxenv.make("jigsaw")[0]
SIDES, TURNS, COUNT = (2, 3, 4), 30, 60
COLOURS = {"R": "red", "Y": "yellow", "G": "green", "B": "blue", "W": "white", "K": "black"}
Piece = tuple[str, str, str]  # three rows of three letters
Board = tuple[Piece, ...]


def read_text(words: str) -> Board:
    """The pieces row by row."""
    lines = [line.split(" ") for line in words.split("\n") if line.strip()]
    return tuple(piece for at in range(0, len(lines), 3) for piece in zip(*lines[at : at + 3], strict=True))


def fits(board: Board, piece: Piece, n: int) -> bool:
    """The next piece goes on with the one before it in its row and the one above."""
    at = len(board)
    left_fits = at % n == 0 or all(mine[0] == left[-1] for mine, left in zip(piece, board[-1], strict=True))
    return left_fits and (at < n or piece[0] == board[at - n][-1])


def is_whole(board: Board, n: int) -> bool:
    return all(fits(board[:at], piece, n) for at, piece in enumerate(board))


def search(placed: Board, left: Board, n: int) -> bool:
    """Some order of the pieces that are left makes the picture whole."""
    return not left or any(
        fits(placed, piece, n) and search((*placed, piece), left[:at] + left[at + 1 :], n)
        for at, piece in enumerate(left)
    )


def swap(board: Board, n: int, action: list[int]) -> Board | None:
    """The board after the swap of two pieces, None when the answer does not name two."""
    rows, cols = action[::2], action[1::2]
    ends = [(row - 1) * n + col - 1 for row, col in zip(rows, cols, strict=True)]
    if not all(1 <= at <= n for at in action) or ends[0] == ends[1]:
        return None
    changed = list(board)
    changed[ends[0]], changed[ends[1]] = board[ends[1]], board[ends[0]]
    return tuple(changed)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_text(words) for words in play.observations(ENV, states)]


def test_the_pieces_make_a_picture_that_is_not_whole_yet(batch):
    scale, states, boards = batch
    n = SIDES[scale]
    assert (states.side == n).all()
    assert len(set(boards)) == len(boards)
    for board in boards:
        assert len(board) == n * n
        assert not is_whole(board, n)
        assert search((), board, n)


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_swaps_follow_the_rules(batch, share):
    scale, states, boards = batch
    n = SIDES[scale]
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, now, refused = played.length(), boards[:COUNT], 0
    for t in range(min(TURNS, lengths.max())):
        then = [read_text(words) for words in play.observations(ENV, played.states[t + 1])]
        for i in np.flatnonzero(lengths > t):
            after = swap(now[i], n, played.actions[t, i].tolist())
            refused += after is None
            assert (played.verdicts[t, i] == 3) == (after is None)
            assert then[i] == (after or now[i])
            assert played.terminated[t, i] == is_whole(then[i], n) == played.rewards[t, i]
        now = then
    if share == 1.0:
        assert refused == 0
        assert lengths.max() <= n * n - 1 <= ENV.max_turns[scale]
    else:
        assert refused > 0


def test_no_piece_is_at_home_and_the_hint_tells_where_one_belongs(batch):
    scale, states, boards = batch
    n = SIDES[scale]
    for home, board in zip(states.home.tolist(), boards, strict=True):
        places = [4 * (at // n) + at % n for at in range(n * n)]
        order = [home[place] for place in places]
        assert sorted(order) == places
        assert all(belongs != place for belongs, place in zip(order, places, strict=True))
        assert is_whole(tuple(board[order.index(place)] for place in places), n)


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_shows_the_points(batch, canvas):
    scale, states, boards = batch
    n = SIDES[scale]
    inks = np.stack([palette.rgb(name) for name in COLOURS.values()]).astype(int)
    gap = max(canvas // 64, 1)
    size = (canvas + gap) // n
    margin = (canvas + gap - n * size) // 2
    for board, image in zip(boards, play.pictures(ENV, play.first(states, 20), canvas), strict=False):
        for at, piece in enumerate(board):
            top, left = (margin + place * size for place in divmod(at, n))
            for row, col in np.ndindex(3, 3):
                y, x = (start + at * (size - gap - 1) // 2 for start, at in ((top, row), (left, col)))
                away = np.abs(image[y, x].astype(int) - inks).sum(1)
                assert list(COLOURS)[away.argmin()] == piece[row][col]
