"""othello against plain-Python rules and search; those rules against pgx."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("othello")[0]
SIDES, EMPTIES = (4, 6, 8), (4, 5, 5)
TURNS, COUNT = 5, 40
Cell = tuple[int, int]
Board = tuple[tuple[int, ...], ...]
DIRECTIONS = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if r or c]


def moves(board: Board, mover: int) -> dict[Cell, Board]:
    """The board after each move of 1 or -1."""
    n, after = len(board), {}
    for row, col in np.ndindex(n, n):
        if board[row][col]:
            continue
        turned = []
        for down, across in DIRECTIONS:
            line, r, c = [], row + down, col + across
            while 0 <= r < n and 0 <= c < n and board[r][c] == -mover:
                line.append((r, c))
                r, c = r + down, c + across
            if 0 <= r < n and 0 <= c < n and board[r][c] == mover:
                turned += line
        if turned:
            cells = [list(line) for line in board]
            for r, c in [(row, col), *turned]:
                cells[r][c] = mover
            after[row, col] = tuple(map(tuple, cells))
    return after


def discs(board: Board) -> int:
    return sum(line.count(1) for line in board)


@functools.cache
def forced(board: Board, mover: int) -> int:
    """Discs of 1 at the end with best play by both."""
    for side in (mover, -mover):
        values = [forced(after, -side) for after in moves(board, side).values()]
        if values:
            return max(values) if side == 1 else min(values)
    return discs(board)


def replies(board: Board) -> set[Board]:
    """All boards that may be there when 1 is to move again, or the game is over, and -1 is to move."""
    options = moves(board, -1)
    if not options:
        return {board}
    found = set()
    for after in options.values():
        found |= {after} if moves(after, 1) else replies(after)
    return found


def boards(states, scale: int) -> list[Board]:
    n = SIDES[scale]
    return [tuple(map(tuple, board[:n, :n].tolist())) for board in states.board]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, boards(states, request.param)


def test_games_near_their_end_with_an_exact_target(batch):
    scale, states, all_boards = batch
    n, harder = SIDES[scale], 0
    outside = np.ones((8, 8), bool)
    outside[:n, :n] = False
    assert not states.board[:, outside].any()
    assert play.distinct(states) > (1000, 1950, 1950)[scale]
    empties = [sum(line.count(0) for line in board) for board in all_boards]
    assert set(empties) <= {1, EMPTIES[scale]}
    assert empties.count(1) < 20
    assert all(moves(board, 1) for board in all_boards[: play.SOME])
    for board, target in zip(all_boards[: play.SOME], states.target, strict=False):
        values = [forced(after, -1) for after in moves(board, 1).values()]
        assert target == max(values)
        harder += min(values) < target
    assert harder > 0.5 * play.SOME


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_games_follow_the_rules(batch, share):
    scale, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, now, refused, ended = played.length(), boards(played.states[0], scale), 0, 0
    for t in range(TURNS):
        then = boards(played.states[t + 1], scale)
        for i in np.flatnonzero(lengths > t):
            options = moves(now[i], 1)
            cell = tuple(played.actions[t, i].tolist())
            assert (played.verdicts[t, i] == 0) == (cell in options)
            if cell not in options:
                refused += 1
                assert then[i] == now[i]
                continue
            mine = options[cell]
            assert then[i] in replies(mine)
            if scale == 2:
                assert forced(then[i], 1) == forced(mine, -1)
            answers = moves(mine, -1)
            if scale == 1 and answers:
                most = min(discs(after) for after in answers.values())
                greedy = [after for after in answers.values() if discs(after) == most]
                assert any(then[i] in ({after} if moves(after, 1) else replies(after)) for after in greedy)
            over = not moves(then[i], 1) and not moves(then[i], -1)
            ended += over
            assert played.terminated[t, i] == over
            target = int(played.states[0].target[i])
            paid = 1.0 if discs(then[i]) >= target else 0.5 * discs(then[i]) / target
            assert abs(played.rewards[t, i] - over * paid) < 1e-5
        now = then
    if share == 1:
        assert refused == 0
        assert ended == COUNT
        assert (played.rewards.sum(0) == 1).all()
    else:
        assert refused > COUNT // 4
        assert ended > COUNT // 8


def test_picture_and_words_show_the_board(batch):
    scale, states, all_boards = batch
    n = SIDES[scale]
    for i, (picture, words) in enumerate(
        zip(play.tiles(ENV, states)[:COUNT], play.observations(ENV, states)[:COUNT], strict=True)
    ):
        header, *rows = [[play.layers(name) for name in row[:n]] for row in picture[: n + 1]]
        assert header[0]["stone"] == "black"
        assert header[1]["glyph"] == str(states.target[i])
        stones = [[tile.get("stone") for tile in row] for row in rows]
        signs = [line.split(" ") for line in words.split("\n")]
        for r, c in np.ndindex(n, n):
            disc = all_boards[i][r][c]
            assert stones[r][c] == {1: "black", -1: "white", 0: None}[disc]
            assert signs[r][c] == {1: "B", -1: "W", 0: "."}[disc]


def test_answers_in_words(batch):
    _, states, all_boards = batch
    some = play.first(states, 12)
    replies = []
    for i, board in enumerate(all_boards[:12]):
        taken = next((r, c) for r, c in np.ndindex(4, 4) if board[r][c])
        row, col = next(iter(moves(board, 1))) if i % 2 else taken
        replies.append(f"({row + 1}, {col + 1})")
    verdict, _ = play.read(ENV, some, replies, 64)
    assert verdict.tolist() == [3, 0] * 6


@pytest.mark.peer("pgx", "othello")
@pytest.mark.exhaustive
def test_the_reference_agrees_with_pgx():
    """Legal moves of whole games; in pgx action 64 passes."""
    peer, noise = pgx.make("othello"), np.random.default_rng(0)
    step, state = jax.jit(peer.step), peer.init(jax.random.key(0))
    board = [[0] * 8 for _ in range(8)]
    board[3][4] = board[4][3] = 1
    board[3][3] = board[4][4] = -1
    first, passed = tuple(map(tuple, board)), 0
    for _ in range(20):
        now, mover, over = state, 1, False
        board = first
        while not over:
            options = moves(board, mover)
            legal = np.flatnonzero(now.legal_action_mask).tolist()
            assert legal == (sorted(r * 8 + c for r, c in options) or [64])
            action = int(noise.choice(legal))
            passed += action == 64
            board = board if action == 64 else options[divmod(action, 8)]
            now, mover = step(now, jnp.int32(action)), -mover
            over = bool(now.terminated)
    assert passed > 6
