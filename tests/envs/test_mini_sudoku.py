"""mini_sudoku against plain Python and reasoning-gym."""

import itertools

import numpy as np
import play
import pytest
from reasoning_gym.games.mini_sudoku import MiniSudokuConfig, MiniSudokuDataset
from reference_latin import intercalates, sudoku

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("mini_sudoku")[0]
EMPTY = (5, 8, 12)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    assert ((states.given == 0).sum((1, 2)) == EMPTY[request.param]).all()
    return states, [sudoku(given) for given in states.given.tolist()]


def test_every_instance_is_solvable_and_they_differ(batch):
    states, puzzles = batch
    for puzzle, solution in zip(puzzles, states.solution.tolist(), strict=True):
        assert puzzle.solved(solution)
    assert play.distinct(states) > 1990


def test_expert_is_a_success(batch):
    states, puzzles = batch
    actions = play.experts(ENV, states)
    assert all(puzzle.solved(action) for puzzle, action in zip(puzzles, actions.tolist(), strict=True))
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_all_grids_of_both_classes_occur():
    grids = np.concatenate([play.instances(ENV, scale).solution for scale in range(3)])
    unique = np.unique(grids.reshape(-1, 16), axis=0).reshape(-1, 4, 4).tolist()
    kinds = [intercalates(grid) for grid in unique]
    assert (len(unique), kinds.count(12), kinds.count(4)) == (288, 96, 192)


def test_any_completion_counts():
    states = play.instances(ENV, 2)
    solution = states.solution.tolist()
    others = [
        next((other for other in sudoku(given).completions() if other != planted), None)
        for given, planted in zip(states.given[:600].tolist(), solution, strict=False)
    ]
    several = [n for n, other in enumerate(others) if other is not None]
    assert len(several) > 100
    tries = states.solution.astype(np.int32)
    tries[several] = np.array([others[n] for n in several])
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    assert (reward == 1).all()


def test_score_of_any_grid(batch):
    states, puzzles = batch
    rng = np.random.default_rng(0)
    # Some cells changed, from one to all of them.
    changed = rng.random((len(puzzles), 4, 4)) < rng.random((len(puzzles), 1, 1)) ** 2
    tries = np.where(changed, rng.integers(1, 5, (len(puzzles), 4, 4)), states.solution)
    legal, reward = play.judge(ENV, states, tries)
    assert legal.all()
    for puzzle, tried, paid in zip(puzzles, tries.tolist(), reward, strict=True):
        # Here a cell that is not given counts as kept.
        kept = (sum(puzzle.kept(tried)) + sum(row.count(0) for row in puzzle.given)) / 16
        share = np.mean(puzzle.full_groups(tried)) * kept
        assert paid == pytest.approx(1 if puzzle.solved(tried) else share / 2)
        assert (paid == 1) == puzzle.solved(tried)


def test_not_four_lines_of_one_to_four_is_illegal(batch):
    states, _ = batch
    wrong = states.solution.astype(np.int32)
    wrong[:, 1, 2] = np.resize([0, 5, 9, -1], len(wrong))
    assert not play.judge(ENV, states, wrong)[0].any()


def test_picture_and_text_show_the_givens(batch):
    states, puzzles = batch
    some = play.first(states, 50)
    for puzzle, picture, observation in zip(
        puzzles, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        names = [[play.layers(name) for name in row] for row in picture]
        assert [[int(name.get("glyph", 0)) for name in row] for row in names] == puzzle.given
        for row, col in itertools.product(range(4), repeat=2):
            assert names[row][col]["edge"] == "r" * (col == 1) + "d" * (row == 1) or row == col == 1
        assert names[1][1]["edge"] == "rd"
        assert observation == "\n".join("".join(map(str, row)) for row in puzzle.given).replace("0", ".")


@pytest.mark.peer("reasoning-gym", "mini_sudoku")
def test_agrees_with_reasoning_gym(batch):
    states, puzzles = batch
    some = play.first(states, play.SOME)
    dataset = MiniSudokuDataset(MiniSudokuConfig(size=1, seed=0))
    rng = np.random.default_rng(1)
    rights, wrongs, entries = [], [], []
    for puzzle, solution in zip(puzzles, some.solution.tolist(), strict=False):
        rights.append(dataset._board_to_string(solution))
        metadata = {"puzzle": puzzle.given, "solution": solution}
        entries.append({"answer": rights[-1], "metadata": metadata})
        spoilt = [row[:] for row in solution]
        row, col = rng.integers(4, size=2)
        spoilt[row][col] = 1 + (spoilt[row][col] - 1 + rng.integers(1, 4)) % 4
        wrongs.append(dataset._board_to_string(spoilt))
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies)
        theirs = [dataset.score_answer(r, e) for r, e in zip(replies, entries, strict=True)]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
        assert ((np.array(theirs) == 1) == solved).all()
