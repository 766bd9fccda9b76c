"""shortest_path_grid against plain Python, which reads the words, and reasoning-gym."""

from collections import Counter, deque

import jax
import numpy as np
import play
import pytest
from reasoning_gym.graphs.shortest_path import ShortestPathConfig, ShortestPathDataset

import jaxenv
from jaxenv import answers, grids

ENV = jaxenv.make("shortest_path_grid")[0]
SIDES = (4, 7, 12)
LONGEST, INFEASIBLE = 48, 4
TILES = {"floor": ".", "wall": "#", "floor agent": "A", "floor flag": "F"}

Cell = tuple[int, int]


def read_words(words: str) -> dict[Cell, str]:
    return {(r, c): cell for r, line in enumerate(words.split("\n")) for c, cell in enumerate(line)}


def find(board: dict[Cell, str], thing: str) -> Cell:
    (place,) = (cell for cell, shown in board.items() if shown == thing)
    return place


def step(cell: Cell, move: int) -> Cell:
    down, across = ((-1, 0), (1, 0), (0, -1), (0, 1))[move]
    return cell[0] + down, cell[1] + across


def shortest(board: dict[Cell, str]) -> tuple[int | None, int]:
    """The fewest moves from the agent to the flag (None: no way), and how many ways have so few."""
    start = find(board, "A")
    moves, ways, queue = {start: 0}, Counter({start: 1}), deque([start])
    while queue:
        here = queue.popleft()
        for there in (step(here, move) for move in range(4)):
            if board.get(there, "#") == "#":
                continue
            if there not in moves:
                moves[there] = moves[here] + 1
                queue.append(there)
            if moves[there] == moves[here] + 1:
                ways[there] += ways[here]
    flag = find(board, "F")
    return moves.get(flag), ways[flag]


def arrives(board: dict[Cell, str], moves: list[int]) -> bool:
    cell = find(board, "A")
    for move in moves:
        cell = step(cell, move)
        if board.get(cell, "#") == "#":
            return False
    return board[cell] == "F"


def padded(moves: list[int]) -> np.ndarray:
    return np.pad(np.array(moves, int), (0, LONGEST - len(moves)), constant_values=-1)


def unpadded(action: np.ndarray) -> list[int]:
    return action[action >= 0].tolist()


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their boards and the fewest moves, None where there is no way."""
    scale = request.param
    states = play.instances(ENV, scale)
    boards = [read_words(words) for words in play.observations(ENV, states)]
    assert {max(board) for board in boards} == {(SIDES[scale] - 1,) * 2}
    return states, boards, [shortest(board)[0] for board in boards]


def test_a_quarter_has_no_way_and_the_ways_wind(batch):
    states, boards, fewest = batch
    n = max(boards[0])[0] + 1
    assert np.mean([moves is None for moves in fewest]) == pytest.approx(0.25, abs=0.03)
    lengths, apart = [], []
    for board, moves in zip(boards, fewest, strict=True):
        (row, col), (to_row, to_col) = find(board, "A"), find(board, "F")
        away = abs(row - to_row) + abs(col - to_col)
        assert away > n // 2
        if moves is not None:
            lengths.append(moves)
            apart.append(away)
    assert max(lengths) <= LONGEST
    assert np.mean(lengths) > {4: 1.02, 7: 1.1, 12: 1.2}[n] * np.mean(apart)
    assert play.distinct(states) > (1800 if n == 4 else 1990)


def test_one_cell_is_between_a_way_and_none(batch):
    """Where there is no way, some wall is the only thing that parts the two."""
    _, boards, fewest = batch
    parted = [board for board, moves in zip(boards, fewest, strict=True) if moves is None][:30]
    for board in parted:
        walls = [cell for cell, shown in board.items() if shown == "#"]
        assert any(shortest(board | {cell: "."})[1] for cell in walls)


def test_expert_goes_a_shortest_way_and_is_a_success(batch):
    states, boards, fewest = batch
    actions = play.experts(ENV, states)
    for board, moves, action in zip(boards, fewest, actions, strict=True):
        said = unpadded(action)
        assert said == [INFEASIBLE] if moves is None else arrives(board, said) and len(said) == moves
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_expert_goes_each_of_the_shortest_ways(batch):
    states, boards, _ = batch
    ways = [shortest(board)[1] for board in boards[: play.SOME]]
    at = max(range(play.SOME), key=lambda n: ways[n] if ways[n] <= 6 else 0)
    same = jax.tree.map(lambda leaf: np.repeat(leaf[at : at + 1], len(boards), 0), states)
    assert len(np.unique(play.experts(ENV, same), axis=0)) == ways[at] > 1


def test_every_other_way_pays_by_its_length(batch):
    """Shortest ways with a step to and fro put in somewhere, or with a move changed."""
    states, boards, fewest = batch
    rng = np.random.default_rng(0)
    tries = []
    for action in play.experts(ENV, states):
        moves = unpadded(action)
        at = int(rng.integers(len(moves)))
        if rng.random() < 0.7 and len(moves) < LONGEST - 1:
            there = int(rng.integers(4))
            moves[at:at] = [there, there ^ 1]
        else:
            moves[at] = int(rng.integers(4))
        tries.append([move for move in moves if move != INFEASIBLE])
    legal, reward = play.judge(ENV, states, np.stack([padded(moves) for moves in tries]))
    assert legal.all()
    paid = {1.0: 0, 0.0: 0}
    for board, best, moves, mark in zip(boards, fewest, tries, reward, strict=True):
        there = arrives(board, moves)
        assert mark == pytest.approx(0 if not there else 1 if len(moves) == best else best / len(moves) / 2)
        paid[float(mark)] = paid.get(float(mark), 0) + 1
    assert paid[1.0] > 10
    assert paid[0.0] > 100
    assert sum(paid.values()) - paid[1.0] - paid[0.0] > 100


def test_to_give_up_pays_where_there_is_no_way(batch):
    states, _, fewest = batch
    _, reward = play.judge(ENV, states, np.repeat(padded([INFEASIBLE])[None], len(fewest), 0))
    np.testing.assert_array_equal(reward == 1, [moves is None for moves in fewest])
    assert set(reward.tolist()) == {0.0, 1.0}
    for mixed in ([0, INFEASIBLE], [INFEASIBLE, 1], [INFEASIBLE, INFEASIBLE]):
        assert not play.judge(ENV, states, np.repeat(padded(mixed)[None], len(fewest), 0))[0].any()


def test_picture_shows_the_board(batch):
    states, boards, _ = batch
    for board, picture in zip(boards, play.tiles(ENV, play.first(states, 50)), strict=False):
        assert {cell: TILES[picture[cell[0]][cell[1]]] for cell in board} == board


@pytest.mark.peer("reasoning-gym", "shortest_path_grid")
def test_agrees_with_reasoning_gym(batch):
    states, boards, _ = batch
    some = play.first(states, play.SOME)
    n = max(boards[0])[0] + 1
    dataset = ShortestPathDataset(ShortestPathConfig(size=1, seed=0))
    words = (*grids.MOVES, "infeasible")
    rights, wrongs, entries = [], [], []
    for board, action in zip(boards, play.experts(ENV, states)[: play.SOME], strict=False):
        theirs = {".": "O", "#": "X", "A": "*", "F": "#"}
        matrix = [[theirs[board[row, col]] for col in range(n)] for row in range(n)]
        answer = " ".join(dataset._get_answer(matrix)) or "infeasible"
        entries.append({"answer": answer, "metadata": {"matrix": matrix}})
        rights.append(" ".join(words[move] for move in unpadded(action)))
        wrongs.append(" ".join(words[move] for move in unpadded(action)[:-1]) or "up")
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies, capacity=300)
        theirs = [dataset.score_answer(r, e) for r, e in zip(replies, entries, strict=True)]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
