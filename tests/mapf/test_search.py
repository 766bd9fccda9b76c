"""The solver against exact solvers of others: joint search in plain Python, w9-pathfinding, a SAT solver."""

import jax
import numpy as np
import pytest
from reference_mapf import Board, board_of, least_cost

from benchmarks import mapf_oracles as oracles
from benchmarks.mapf_oracles import Case
from jaxenv.mapf.search import Solution, solve, solve_many

SMALL = ((3, 2), (3, 3), (4, 2), (5, 2))  # sides and agents that plain Python can search
LARGE = ((3, 4), (3, 5), (4, 4), (4, 5), (5, 3), (6, 5), (8, 4), (10, 2), (10, 5))
EACH = 4
SECONDS = 2.0


def drawn(picture: str) -> Case:
    """A case from rows of cells: `#` a hole, small letters starts, capitals goals."""
    grid = np.array([row.split() for row in picture.strip().splitlines()])
    names = sorted({letter for cell in grid.flat for letter in cell if letter.islower()})
    find = lambda letter: tuple(np.argwhere(np.char.find(grid, letter) >= 0)[0].tolist())  # noqa: E731
    return Case(grid != "#", tuple(map(find, names)), tuple(find(name.upper()) for name in names))


BY_HAND = {
    "apart": (drawn("a . A\n. . .\nb . B"), (4, 2)),
    "swap around": (drawn("aB bA .\n. . .\n. . ."), (4, 3)),
    # b must cross a's goal, so a arrives later or b goes first.
    "across a goal": (drawn("# a #\nb A B\n# # #"), (4, 2)),
    # Leaving the goal costs all the time before: a steps aside for b and comes back.
    "out of the way": (drawn("b aA B\n# . #\n# # #"), (4, 2)),
    "a ring": (drawn("aD bA .\ndC cB .\n. . ."), (4, 1)),
    "in a corridor": (drawn("aB . bA\n# # #\n# # #"), None),
    "walled off": (drawn("a # A\n. # .\nb B #"), None),
}


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    random = [oracles.random_case(rng, *shape) for shape in SMALL + LARGE for _ in range(EACH)]
    return [case for case, _ in BY_HAND.values()] + random


@pytest.fixture(scope="module")
def least_sum(cases: list[Case]) -> Solution:
    solution = jax.jit(solve_many)(oracles.instances(cases))
    return jax.tree.map(np.asarray, solution)


@pytest.fixture(scope="module")
def least_span(cases: list[Case]) -> Solution:
    solution = jax.jit(lambda batch: solve_many(batch, "makespan"))(oracles.instances(cases))
    return jax.tree.map(np.asarray, solution)


def test_boards_made_by_hand(least_sum: Solution, least_span: Solution) -> None:
    for i, (name, (_, costs)) in enumerate(BY_HAND.items()):
        assert least_sum.sum_of_costs[i] == (costs[0] if costs else -1), name
        assert least_span.makespan[i] == (costs[1] if costs else -1), name
        assert least_sum.unsolvable[i] == least_span.unsolvable[i] == (costs is None), name


def test_every_plan_keeps_the_rules_and_costs_what_it_says(
    cases: list[Case], least_sum: Solution, least_span: Solution
) -> None:
    for solution in (least_sum, least_span):
        for i, case in enumerate(cases):
            said = (solution.sum_of_costs[i], solution.makespan[i])
            if solution.solved[i]:
                assert oracles.walk(case, np.asarray(solution.plan.moves[i])) == said
            else:
                assert said == (-1, -1)
                assert (solution.plan.moves[i] == -1).all()


def test_each_answer_is_of_one_kind(least_sum: Solution, least_span: Solution) -> None:
    for solution in (least_sum, least_span):
        kinds = np.stack([solution.solved, solution.exhausted, solution.unsolvable])
        assert (kinds.sum(0) == 1).all()
        assert solution.exhausted.mean() < 0.05


def test_small_boards_cost_as_little_as_plain_python_says(
    cases: list[Case], least_sum: Solution, least_span: Solution
) -> None:
    batch = jax.tree.map(np.asarray, oracles.instances(cases))
    for i in range(len(BY_HAND) + EACH * len(SMALL)):
        board = board_of(jax.tree.map(lambda leaf, i=i: leaf[i], batch))
        for makespan, solution, cost in (
            (False, least_sum, least_sum.sum_of_costs),
            (True, least_span, least_span.makespan),
        ):
            expected = least_cost(board, makespan)
            assert cost[i] == (-1 if expected is None else expected), board
            assert solution.unsolvable[i] == (expected is None), board


def test_sums_are_those_of_w9_pathfinding(cases: list[Case], least_sum: Solution) -> None:
    pytest.importorskip("w9_pathfinding")
    compared = 0
    for i, case in enumerate(cases):
        if not least_sum.exhausted[i] and (expected := oracles.w9_cost(case, SECONDS)) is not None:
            assert least_sum.sum_of_costs[i] == expected, case
            compared += 1
    assert compared > 0.9 * len(cases)


def test_no_shorter_makespan_satisfies_the_sat_solver(cases: list[Case], least_span: Solution) -> None:
    pytest.importorskip("pysat")
    for i, case in enumerate(cases):
        if least_span.solved[i]:
            assert oracles.possible(case, int(least_span.makespan[i]))
            assert not oracles.possible(case, int(least_span.makespan[i]) - 1), case


def test_a_small_budget_is_never_taken_for_an_answer(cases: list[Case], least_sum: Solution) -> None:
    """And vmap inside vmap is one batch."""
    count = len(cases) // 2 * 2
    batch = jax.tree.map(lambda leaf: leaf[:count].reshape(2, -1, *leaf.shape[1:]), oracles.instances(cases))
    nested = jax.vmap(jax.vmap(lambda instance: solve(instance, tree=2, joint=0)))
    poor = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:]), jax.jit(nested)(batch))
    assert 0.1 < poor.exhausted.mean() < 0.9
    known = poor.solved & least_sum.solved[:count]
    assert (poor.sum_of_costs == least_sum.sum_of_costs[:count])[known].all()
    assert known.sum() > count // 4
    assert (poor.sum_of_costs[poor.exhausted] == -1).all()


def test_one_instance_by_joint_search_alone(cases: list[Case], least_sum: Solution) -> None:
    alone = jax.jit(lambda instance: solve(instance, tree=0))
    batch = oracles.instances(cases)
    for i in range(len(BY_HAND) + EACH):
        solution = alone(jax.tree.map(lambda leaf, i=i: leaf[i], batch))
        assert solution.sum_of_costs == least_sum.sum_of_costs[i]
        assert solution.unsolvable == least_sum.unsolvable[i]
    assert alone._cache_size() == 1  # pyright: ignore[reportAttributeAccessIssue]


def test_an_unknown_cost_is_refused() -> None:
    batch = oracles.instances([BY_HAND["apart"][0]])
    with pytest.raises(ValueError, match="cost: 'length'"):
        solve_many(batch, "length")  # pyright: ignore[reportArgumentType]


def test_the_oracle_of_makespans_is_plain_pythons() -> None:
    pytest.importorskip("pysat")
    rng = np.random.default_rng(1)
    for _ in range(10):
        case = oracles.random_case(rng, 3, 3, most_holes=0.2)
        holes = frozenset((row, col) for row, col in np.argwhere(~case.free).tolist())
        expected = least_cost(Board(3, holes, case.starts, case.goals), makespan=True)
        if expected is None:
            assert not oracles.possible(case, 10)
        else:
            assert [oracles.possible(case, span) for span in (expected - 1, expected)] == [False, True]
