"""The eight checks and the costs against plain Python, and cases made by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_mapf as plain
from reference_mapf import Board

from jaxenv.mapf import checks, rules
from jaxenv.mapf.checks import CHECKS, Paths
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS

NO_HOLES = frozenset()
ROW = Board(3, NO_HOLES, ((0, 0), (2, 0)), ((0, 2), (2, 2)))  # two agents that go side by side
FOLLOWERS = Board(3, NO_HOLES, ((0, 1), (0, 0)), ((0, 2), (0, 1)))
FACING = Board(3, NO_HOLES, ((0, 0), (0, 1)), ((0, 1), (0, 0)))
# Agent 0's goal lies on the only way of agent 1.
CROSSING = Board(3, frozenset({(1, 0), (1, 1), (1, 2)}), ((0, 1), (0, 0)), ((0, 1), (0, 2)))
CORNER = Board(3, frozenset({(1, 1)}), ((0, 0), (2, 2)), ((0, 2), (2, 0)))
R, L, U, D, W = "RIGHT", "LEFT", "UP", "DOWN", "WAIT"

CASES = {
    "side by side": (ROW, {0: [R, R], 1: [R, R]}, set()),
    "unequal lengths": (ROW, {0: [R, R], 1: [W, W, R, R]}, set()),
    "waits at the end": (ROW, {0: [R, R, W, W, W], 1: [R, R]}, set()),
    "following": (FOLLOWERS, {0: [R], 1: [R]}, set()),
    "following in a ring": (
        Board(3, NO_HOLES, ((0, 0), (0, 1), (1, 1), (1, 0)), ((0, 1), (1, 1), (1, 0), (0, 0))),
        {0: [R], 1: [D], 2: [L], 3: [U]},
        set(),
    ),
    "following too late": (FOLLOWERS, {0: [W, R], 1: [R]}, {"no_collision"}),
    "swap": (FACING, {0: [R], 1: [L]}, {"no_collision"}),
    "swap around": (FACING, {0: [D, R, U], 1: [W, L]}, set()),
    "meeting": (CORNER, {0: [R, R], 1: [U, U, D, D, L, L]}, {"no_collision"}),
    "hit after arrival": (ROW, {0: [R, R], 1: [R, R, U, U, D, D]}, {"no_collision"}),
    "a roundabout way": (ROW, {0: [W] * 5 + [D, U, R, R], 1: [R, R]}, set()),
    "waits on a goal that another must cross": (CROSSING, {0: [R, L], 1: [R, R]}, {"no_collision"}),
    "stays on a goal that another crosses": (
        Board(3, NO_HOLES, ((1, 1), (0, 0)), ((0, 1), (0, 2))),
        {0: [U], 1: [W, W, R, R]},
        {"no_collision"},
    ),
    "lets the other pass first": (
        Board(3, NO_HOLES, ((1, 1), (0, 0)), ((0, 1), (0, 2))),
        {0: [W, U], 1: [R, R]},
        set(),
    ),
    "leaves its goal again": (ROW, {0: [R, R, L], 1: [R, R]}, {"goals_reached"}),
    "comes back to its goal": (ROW, {0: [R, R, L, R], 1: [R, R]}, set()),
    "too short": (ROW, {0: [R, R], 1: [R]}, {"goals_reached"}),
    "through a hole": (CORNER, {0: [D, R, R, U], 1: [L, L]}, {"no_hole"}),
    "over the edge": (ROW, {0: [U, R, R, D], 1: [R, R]}, {"on_board"}),
    "far beyond the edge": (ROW, {0: [R, R], 1: [D] * 30 + [R, R] + [U] * 30}, {"on_board"}),
    "one agent left out": (ROW, {0: [R, R]}, {"right_agents", "goals_reached"}),
    "one agent too many": (ROW, {0: [R, R], 1: [R, R], 2: [D]}, {"right_agents"}),
    "another agent instead": (ROW, {0: [R, R], 3: [R, R]}, {"right_agents", "goals_reached"}),
    "as long as can be": (ROW, {0: [R, R], 1: [W] * (HORIZON - 2) + [R, R]}, set()),
}


@pytest.fixture(scope="module")
def compiled():
    def run(instance, paths, parsed):
        told = checks.judge(instance, paths, parsed, jnp.int32(4), "sum_of_costs")
        return told, rules.cost(instance, paths.cells, "makespan")

    return jax.jit(jax.vmap(run))


def names(passed: np.ndarray) -> set[str]:
    return {name for name, flag in zip(CHECKS, passed.tolist(), strict=True) if not flag}


def walked(board: Board, answer: dict[int, list[str]]) -> dict[int, list[plain.Cell]]:
    return {
        a: plain.walk((board.starts[a] if a < len(board.starts) else (0, 0)), w) for a, w in answer.items()
    }


def judged(compiled, boards, plans):
    instances, batch = plain.stack([plain.instance_of(b) for b in boards]), plain.stack(plans)
    paths = jax.jit(jax.vmap(checks.paths))(instances, batch)
    return compiled(instances, paths, jnp.ones(len(boards), bool))


def test_cases_made_by_hand(compiled):
    boards, answers, wanted = zip(*CASES.values(), strict=True)
    told, makespan = judged(compiled, boards, [plain.plan_of(answer) for answer in answers])
    for i, name in enumerate(CASES):
        assert names(told.passed[i]) == wanted[i] == plain.failed(boards[i], walked(boards[i], answers[i])), (
            name
        )
        assert told.valid[i] == (not wanted[i]), name
        if not wanted[i]:
            spent = plain.costs(boards[i], walked(boards[i], answers[i]))
            assert (told.cost[i], makespan[i]) == spent, name
            assert told.optimal[i] == (spent[0] <= 4), name


def test_an_answer_that_does_not_parse_fails_that_check_alone(compiled):
    instance = plain.stack([plain.instance_of(ROW)])
    paths = jax.vmap(checks.paths)(instance, plain.stack([plain.plan_of({})]))
    told, _ = compiled(instance, paths, jnp.zeros(1, bool))
    assert names(told.passed[0]) == {"parses"}
    assert not told.valid[0]
    assert not told.optimal[0]


def random_paths(noise: np.random.Generator) -> tuple[Board, dict[int, list[plain.Cell]]]:
    """A random board, and cells of random words in which now and then a cell jumps or the start is wrong."""
    side, agents = int(noise.integers(3, 11)), int(noise.integers(2, 6))
    cells = [(r, c) for r in range(side) for c in range(side)]
    order = [cells[i] for i in noise.permutation(len(cells))]
    starts, goals = order[:agents], order[max(0, len(order) - agents) :]
    holes = frozenset(order[agents : agents + int(noise.integers(0, side))]) - {*starts, *goals}
    board = Board(side, holes, tuple(starts), tuple(goals))
    paths = {}
    for agent in range(agents - (noise.random() < 0.1)):
        words = noise.choice(plain.WORDS, noise.integers(1, 9))
        paths[agent] = plain.walk(starts[agent], words)
        if noise.random() < 0.5:
            paths[agent].append(goals[agent])
        if noise.random() < 0.1:
            paths[agent][0] = goals[agent]
    return board, paths


def as_arrays(board: Board, paths: dict[int, list[plain.Cell]]) -> Paths:
    cells = np.zeros((HORIZON + 1, MOST_AGENTS, 2), np.int32)
    for agent in range(len(board.starts)):
        path = paths.get(agent, [board.starts[agent]])
        cells[:, agent] = path + [path[-1]] * (HORIZON + 1 - len(path))
    return Paths(jnp.asarray(cells), jnp.asarray([agent in paths for agent in range(MOST_AGENTS)]))


def test_random_paths_as_plain_python_judges_them(compiled):
    noise = np.random.default_rng(0)
    made = [random_paths(noise) for _ in range(2000)]
    instances = plain.stack([plain.instance_of(board) for board, _ in made])
    told, _ = compiled(instances, plain.stack([as_arrays(*one) for one in made]), jnp.ones(len(made), bool))
    passed = np.asarray(told.passed)
    for (board, paths), flags in zip(made, passed, strict=True):
        assert names(flags) == plain.failed(board, paths)
    shares = passed[:, 1:].mean(0)
    assert ((shares > 0.02) & (shares < 0.98)).all(), dict(zip(CHECKS[1:], shares, strict=True))
