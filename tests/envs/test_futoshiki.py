"""futoshiki against plain-Python rules and a plain-Python solver."""

import itertools

import numpy as np
import play
import pytest
from reference_latin import Puzzle

import jaxenv

ENV = jaxenv.make("futoshiki")[0]
SIDES, GIVENS = (3, 4, 6), (2, 3, 8)


def puzzle_of(given: list[list[int]], right: list[list[int]], below: list[list[int]]) -> Puzzle:
    """Signs: 1 less, 2 greater."""
    smaller = []
    for r, c in itertools.product(range(len(given)), repeat=2):
        for sign, other in ((right[r][c], (r, c + 1)), (below[r][c], (r + 1, c))):
            if sign:
                smaller.append(((r, c), other) if sign == 1 else (other, (r, c)))
    return Puzzle(given, smaller)


def read_text(observation: str) -> Puzzle:
    """From rows like `1<.` with lines of signs between them."""
    lines = observation.split("\n")
    n = (len(lines) + 1) // 2
    assert all(len(line) == 2 * n - 1 for line in lines)
    given = [[int(lines[2 * r][2 * c].replace(".", "0")) for c in range(n)] for r in range(n)]
    smaller = []
    for r, c in itertools.product(range(n), repeat=2):
        across = lines[2 * r][2 * c + 1] if c < n - 1 else " "
        down = lines[2 * r + 1][2 * c] if r < n - 1 else " "
        for sign, less, other in ((across, "<", (r, c + 1)), (down, "^", (r + 1, c))):
            if sign != " ":
                assert sign in "<>^v"
                smaller.append(((r, c), other) if sign == less else (other, (r, c)))
    return Puzzle(given, smaller)


def read_tiles(picture: list[list[str]], n: int) -> Puzzle:
    names = [[play.layers(name) for name in row[:n]] for row in picture[:n]]
    signs = {None: 0, "lt": 1, "gt": 2}
    layers = [[[name.get(kind) for name in row] for row in names] for kind in ("clue", "right", "below")]
    given = [[int(digit or 0) for digit in row] for row in layers[0]]
    right, below = ([[signs[sign] for sign in row] for row in layer] for layer in layers[1:])
    return puzzle_of(given, right, below)


def padded(grid: list[list[int]]) -> np.ndarray:
    return np.pad(np.array(grid), (0, 6 - len(grid)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    n = SIDES[request.param]
    states = play.instances(ENV, request.param)
    assert (states.side == n).all()
    assert ((states.given > 0).sum((1, 2)) == GIVENS[request.param]).all()
    boards = [leaf[:, :n, :n].tolist() for leaf in (states.given, states.right, states.below)]
    return states, [puzzle_of(*board) for board in zip(*boards, strict=True)], n


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles, n = batch
    for puzzle, solution in zip(puzzles, states.solution[:, :n, :n].tolist(), strict=True):
        assert puzzle.solved(solution)
    assert play.distinct(states) > 1900
    signs = np.mean([len(puzzle.smaller) for puzzle in puzzles])
    assert signs == pytest.approx(n * (n - 1), rel=0.05)


def test_all_small_squares_occur():
    squares = play.instances(ENV, 0).solution[:, :3, :3].reshape(-1, 9)
    assert len(np.unique(squares, axis=0)) == 12


def test_expert_is_a_success(batch):
    states, puzzles, n = batch
    actions = play.experts(ENV, states)
    for puzzle, action in zip(puzzles, actions, strict=True):
        assert puzzle.solved(action[:n, :n].tolist())
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_any_completion_counts(batch):
    states, puzzles, n = batch
    tries = play.experts(ENV, states).copy()
    several = 0
    for at, puzzle in enumerate(puzzles[:200]):
        planted = tries[at, :n, :n].tolist()
        ways = list(itertools.islice(puzzle.completions(), 50))
        assert planted in ways or len(ways) == 50
        for other in ways:
            if other != planted:
                tries[at] = padded(other)
                several += 1
                break
    # The 3 x 3 puzzles nearly all have one solution.
    assert several > (0 if n == 3 else 20)
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_grid(batch):
    states, puzzles, n = batch
    rng = np.random.default_rng(0)
    # Some cells changed, from one to all of them.
    changed = rng.random((len(puzzles), 6, 6)) < rng.random((len(puzzles), 1, 1)) ** 2
    tries = np.where(changed, rng.integers(1, n + 1, (len(puzzles), 6, 6)), states.solution)
    tries[:, n:], tries[:, :, n:] = -1, -1
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    for puzzle, right, tried, paid in zip(puzzles, states.right, tries, reward, strict=True):
        grid = tried[:n, :n].tolist()
        across = np.array([pair[0][0] == pair[1][0] for pair in puzzle.smaller], bool)
        assert across.sum() == (right > 0).sum()
        obeyed = np.array(puzzle.obeyed(grid))
        share = np.mean(puzzle.full_groups(grid)) * np.mean(puzzle.kept(grid))
        for way in (across, ~across):
            share *= obeyed[way].mean() if way.any() else 1
        assert paid == pytest.approx(1 if puzzle.solved(grid) else share / 2, abs=1e-6)
        assert (paid == 1) == puzzle.solved(grid)


def test_wrong_size_or_digit_is_illegal(batch):
    states, puzzles, n = batch
    count = len(puzzles)
    for size in set(range(1, 7)) - {n}:
        grid = padded([[1] * size] * size)
        assert not play.judge(ENV, states, np.broadcast_to(grid, (count, 6, 6)))[0].any()
    wrong = play.experts(ENV, states).copy()
    wrong[:, 1, 0] = np.resize([0, n + 1, 9], count)
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_puzzle(batch):
    states, puzzles, n = batch
    some = play.first(states, play.SOME)
    pictures, words = play.tiles(ENV, some), play.observations(ENV, some)
    for puzzle, picture, observation in zip(puzzles, pictures, words, strict=False):
        assert read_text(observation) == puzzle
        assert read_tiles(picture, n) == puzzle
