"""game_2048 against plain-Python rules and pgx's 2048."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("game_2048")[0]
GOALS, TILES = (32, 128, 512), ([2, 2], [2, 2, 64], [2, 2, 64, 128, 256])
PGX_ACTION = (1, 3, 0, 2)  # pgx's left 0, up 1, right 2, down 3, in the order of ours
TURNS, COUNT = 66, 60
Board = list[list[int]]


def slide_row(row: list[int]) -> list[int]:
    tiles, after = [tile for tile in row if tile], []
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tile += tiles.pop(0)
        after.append(tile)
    return after + [0] * (4 - len(after))


def slide(board: Board, move: int) -> Board:
    if move < 2:
        return np.transpose(slide(np.transpose(board).tolist(), move + 2)).tolist()
    return [slide_row(row) if move == 2 else slide_row(row[::-1])[::-1] for row in board]


def boards(states) -> list[Board]:
    return np.where(states.tiles > 0, 2 ** states.tiles.astype(int), 0).tolist()


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def test_instances_hold_their_tiles(batch):
    """The large ones along an edge from a corner, the 2s anywhere."""
    scale, states = batch
    edges = set()
    for board in boards(states):
        assert sorted(tile for row in board for tile in row if tile) == TILES[scale]
        large = [(tile, cell) for cell, tile in np.ndenumerate(board) if tile > 2]
        edges.add(tuple(cell for _, cell in sorted(large, reverse=True)))
    assert len(edges) == (1, 4, 8)[scale]
    for edge in edges:
        assert set(edge[:1]) <= {(0, 0), (0, 3), (3, 0), (3, 3)}
        assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in itertools.pairwise(edge))
    assert (2**states.goal == GOALS[scale]).all()
    assert (states.tiles == 1).any(0).all()
    assert play.distinct(states) > (110, 350, 500)[scale]


def test_words_and_picture_show_the_board(batch):
    scale, states = batch
    some = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 1.0).states[9]
    shown = zip(boards(some), play.observations(ENV, some), play.tiles(ENV, some), strict=True)
    for board, words, picture in shown:
        assert [[int(w.replace(".", "0")) for w in line.split(" ")] for line in words.split("\n")] == board
        names = [[play.layers(name) for name in row] for row in picture]
        assert [[int(name.get("glyph", 0)) for name in row] for row in names[1:]] == board
        assert names[0][1]["glyph"] == str(GOALS[scale])


@pytest.mark.parametrize("share", [0.0, 0.9, 1.0])
def test_moves_follow_the_rules(batch, share):
    scale, states = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, fours, spawned = played.length(), 0, 0
    now = boards(played.states[0])
    for t in range(TURNS):
        then = boards(played.states[t + 1])
        for i in np.flatnonzero(lengths > t):
            slid = slide(now[i], played.actions[t, i])
            assert (played.verdicts[t, i] == 3) == (slid == now[i])
            assert slid != now[i] or share < 1
            if slid == now[i]:
                assert then[i] == now[i]
                continue
            differ = np.argwhere(np.not_equal(slid, then[i])).tolist()
            new = [(slid[r][c], then[i][r][c]) for r, c in differ]
            assert new in ([(0, 2)], [(0, 4)])
            fours, spawned = fours + (new == [(0, 4)]), spawned + 1
            reached = max(map(max, then[i])) >= GOALS[scale]
            stuck = all(slide(then[i], move) == then[i] for move in range(4))
            assert played.rewards[t, i] == reached
            assert played.terminated[t, i] == (reached or stuck)
        now = then
    assert 0.07 < fours / spawned < 0.13
    if share == 1.0:
        won = (played.rewards.sum(0) == 1) & (lengths <= ENV.max_turns[scale])
        assert won.mean() >= ENV.expert_success[scale]


@pytest.mark.peer("pgx", "game_2048")
@pytest.mark.exhaustive
def test_agrees_with_pgx(batch):
    """The boards of both after a move are the same but for the tile that appears."""
    _, states = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.9)
    peer = pgx.make("2048")
    start = peer.init(jax.random.key(0))

    def turn(board, move, key):
        return peer.step(start.replace(_board=board), move, key)._board

    step = jax.jit(jax.vmap(turn))
    made = (played.verdicts == 0) & (np.arange(TURNS)[:, None] < played.length())
    before, ours = (
        np.stack([state.tiles for state in part])[made].reshape(-1, 16).astype(np.int32)
        for part in (played.states[:TURNS], played.states[1:])
    )
    moves = np.array(PGX_ACTION)[played.actions[made]]
    count = 1000
    keys = jax.random.split(jax.random.key(1), count)
    theirs = np.asarray(step(jnp.asarray(before[:count]), jnp.asarray(moves[:count]), keys))
    differ = theirs != ours[:count]
    assert (differ.sum(1) <= 2).all()
    assert (np.minimum(theirs, ours[:count])[differ] <= 1).all()
    assert (np.maximum(theirs, ours[:count])[differ] <= 2).all()
