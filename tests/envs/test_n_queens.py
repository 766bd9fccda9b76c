"""n_queens against plain Python and reasoning-gym."""

import itertools

import numpy as np
import play
import pytest
from reasoning_gym.games.n_queens import NQueensConfig, NQueensDataset

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("n_queens")[0]
SIDES, PLACEMENTS, GIVENS = (5, 7, 10), (10, 40, 724), ((1, 2), (1, 3), (2, 4))
Given = dict[int, int]  # row: column


def attacked(columns: list[int]) -> set[int]:
    """The rows whose queen another one attacks."""
    rows = set()
    for a, b in itertools.combinations(range(len(columns)), 2):
        if columns[a] == columns[b] or abs(columns[a] - columns[b]) == b - a:
            rows |= {a, b}
    return rows


def share(given: Given, columns: list[int]) -> float:
    kept = np.mean([columns[row] == col for row, col in given.items()])
    return float(kept * (1 - len(attacked(columns)) / len(columns)))


def padded(columns: np.ndarray) -> np.ndarray:
    """Answers of rows of columns, which are counted from 0."""
    return np.pad(columns + 1, ((0, 0), (0, 10 - columns.shape[1])), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """(states, the queens that are given, n)"""
    states = play.instances(ENV, request.param)
    assert (states.side == SIDES[request.param]).all()
    givens = [{row: col for row, col in enumerate(board) if col >= 0} for board in states.given.tolist()]
    counts = np.bincount([len(given) for given in givens])
    fewest, most = GIVENS[request.param]
    assert counts[:fewest].sum() == 0
    assert (counts[fewest:] > 0.9 * len(givens) / (most - fewest + 1)).all()
    assert len(counts) == most + 1
    return states, givens, SIDES[request.param]


def test_every_instance_is_solvable_and_they_differ(batch):
    states, givens, n = batch
    for given, solution in zip(givens, states.solution[:, :n].tolist(), strict=True):
        assert share(given, solution) == 1
    assert play.distinct(states) > {5: 140, 7: 1100, 10: 1950}[n]
    # All placements there are occur, as often as each other.
    _, counts = np.unique(states.solution, axis=0, return_counts=True)
    assert len(counts) >= {5: 10, 7: 40, 10: 650}[n]
    assert counts.max() < play.MANY / dict(zip(SIDES, PLACEMENTS, strict=True))[n] * 1.6 + 8


def test_expert_is_a_success(batch):
    states, givens, n = batch
    actions = play.experts(ENV, states)
    for given, action in zip(givens, actions, strict=True):
        assert share(given, (action[:n] - 1).tolist()) == 1
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_placement(batch):
    states, givens, n = batch
    rng = np.random.default_rng(0)
    # Some queens moved, from none to all of them.
    changed = rng.random((len(givens), n)) < rng.random((len(givens), 1)) ** 2
    tries = np.where(changed, rng.integers(0, n, (len(givens), n)), states.solution[:, :n])
    legal, reward = play.judge(ENV, states, padded(tries))
    assert legal.all()
    assert 0.1 < (reward == 1).mean() < 0.9
    for given, columns, paid in zip(givens, tries.tolist(), reward, strict=True):
        right = share(given, columns)
        assert paid == pytest.approx(1 if right == 1 else right / 2)


def test_another_count_or_a_column_off_the_board_is_illegal(batch):
    states, givens, n = batch
    for count in {*range(1, 11)} - {n}:
        action = padded(np.zeros((len(givens), count), int))
        assert not play.judge(ENV, states, action)[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 2] = np.resize([0, -1] if n == 10 else [0, -1, n + 1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_queens(batch):
    states, givens, n = batch
    some = play.first(states, 50)
    for given, picture, words in zip(
        givens, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        names = [[play.layers(name) for name in row[:n]] for row in picture[:n]]
        assert {(r, c) for r in range(n) for c in range(n) if "queen" in names[r][c]} == set(given.items())
        for r, c in itertools.product(range(n), repeat=2):
            assert names[r][c]["square"] == ("dark" if (r + c) % 2 else "light")
        assert words == "\n".join("".join(".Q"[given.get(r) == c] for c in range(n)) for r in range(n))


@pytest.mark.peer("reasoning-gym", "n_queens")
def test_agrees_with_reasoning_gym(batch):
    """Every placement that reasoning-gym accepts for the puzzle is right, and its neighbour is as it says."""
    states, givens, n = batch
    some = play.first(states, play.SOME)
    dataset = NQueensDataset(NQueensConfig(n=n, min_remove=1, max_remove=n, size=1, seed=0))
    rng = np.random.default_rng(1)

    def board(columns: Given) -> list[list[str]]:
        return [["Q" if columns.get(r) == c else "_" for c in range(n)] for r in range(n)]

    tries, theirs, several = [], [], 0
    for at, given in enumerate(givens[: play.SOME]):
        puzzle = board(given)
        fit = [answer for answer in dataset._solutions if dataset._is_tractable_solution(puzzle, answer)]
        entry = {"metadata": {"valid_answers": {dataset._board_to_string(answer) for answer in fit}}}
        several += len(fit) > 1
        columns = [row.index("Q") for row in fit[rng.integers(len(fit))]]
        if at % 2:
            columns[rng.integers(n)] = int(rng.integers(n))
        tries.append(" ".join(str(col + 1) for col in columns))
        theirs.append(dataset.score_answer(dataset._board_to_string(board(dict(enumerate(columns)))), entry))
    verdict, reward = play.read(ENV, some, tries)
    assert (verdict == answers.ACCEPTED).all()
    assert ((reward == 1) == (np.array(theirs) == 1)).all()
    assert several > 30
    assert 100 <= sum(theirs) < 190
