"""Independent exact solvers of multi-agent path finding: w9-pathfinding (C++), pymapf (Python), SAT."""

# pyright: reportMissingImports=false
# The solvers are extras (`test`, `bench`) that the type checker need not find.
import itertools
from collections import deque
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from jaxenv.mapf.instance import MOST_AGENTS, SIDE, Instance

Cell = tuple[int, int]
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))
LONGEST = 64
FAR = 10**6


@dataclass(frozen=True)
class Case:
    """A board as Python sees it: free bool[side, side], starts and goals as (row, column)."""

    free: np.ndarray
    starts: tuple[Cell, ...]
    goals: tuple[Cell, ...]


def random_case(rng: np.random.Generator, side: int, agents: int, most_holes: float = 0.35) -> Case:
    """Holes at a random ratio, distinct starts, distinct goals, each goal reachable and not its start."""
    while True:
        order = rng.permutation(side * side)
        holes = min(round(side * side * rng.uniform(0, most_holes)), side * side - agents)
        free = np.ones(side * side, bool)
        free[order[:holes]] = False
        starts, goals = (rng.permutation(order[holes:])[:agents] for _ in range(2))
        case = Case(free.reshape(side, side), _cells(starts, side), _cells(goals, side))
        ends = zip(case.starts, case.goals, strict=True)
        if all(0 < distances(case.free, goal)[start] < FAR for start, goal in ends):
            return case


def _cells(numbers: np.ndarray, side: int) -> tuple[Cell, ...]:
    return tuple(divmod(int(number), side) for number in numbers)


def instances(cases: list[Case]) -> Instance:
    """Instance with a leading axis."""
    count = len(cases)
    holes = np.ones((count, SIDE, SIDE), bool)
    starts, goals = (np.zeros((count, MOST_AGENTS, 2), np.int32) for _ in range(2))
    for i, case in enumerate(cases):
        side, agents = len(case.free), len(case.starts)
        holes[i, :side, :side] = ~case.free
        starts[i, :agents], goals[i, :agents] = case.starts, case.goals
    sides = np.array([len(case.free) for case in cases], np.int32)
    agents = np.array([len(case.starts) for case in cases], np.int32)
    return Instance(*map(jnp.asarray, (sides, agents, holes, starts, goals)))


def distances(free: np.ndarray, source: Cell) -> np.ndarray:
    """int[side, side]: moves from or to a cell, FAR where there is no way."""
    found = np.full(free.shape, FAR)
    found[source] = 0
    queue = deque([source])
    while queue:
        cell = queue.popleft()
        for after in _around(free, cell):
            if found[after] == FAR:
                found[after] = found[cell] + 1
                queue.append(after)
    return found


def _around(free: np.ndarray, cell: Cell) -> list[Cell]:
    """The free cells one step away, and the cell itself."""
    side = len(free)
    steps = [(cell[0] + down, cell[1] + right) for down, right in STEPS]
    return [(row, col) for row, col in steps if 0 <= row < side and 0 <= col < side and free[row, col]]


def w9_cost(case: Case, seconds: float, complete: bool = True) -> int | None:
    """Least sum of costs by w9-pathfinding's CBS and, with `complete`, then its A*, `seconds` each; -1 where
    A* proves that there is no plan; None where time ran out."""
    from w9_pathfinding import mapf
    from w9_pathfinding.envs import Grid

    grid = Grid(weights=np.where(case.free, 1, -1).tolist(), edge_collision=True)
    starts, goals = ([(col, row) for row, col in cells] for cells in (case.starts, case.goals))
    for solver in (mapf.CBS, mapf.MultiAgentAStar) if complete else (mapf.CBS,):
        try:
            paths = solver(grid).mapf(starts, goals, max_length=2 * LONGEST, max_time=seconds)
        except RuntimeError:
            continue
        return sum(len(path) - 1 for path in paths) if paths else -1
    return None


def pymapf_cost(case: Case, seconds: float) -> int | None:
    """Least sum of costs by pymapf's CBS; None where time ran out."""
    import pymapf

    agents = [
        pymapf.Agent(str(i), start=start, goal=goal)
        for i, (start, goal) in enumerate(zip(case.starts, case.goals, strict=True))
    ]
    problem = pymapf.MAPFProblem(pymapf.GridMap((~case.free).astype(int).tolist()), agents)
    solution = pymapf.solve(problem, "cbs", time_limit=seconds)
    return None if solution is None else solution.sum_of_costs


def possible(case: Case, makespan: int) -> bool:
    """Whether all agents can be at their goals after `makespan` moves: SAT on the time-expanded board.

    A variable says that an agent may be on a cell at a time; only cells from which it still can be in time
    have one.
    """
    from pysat.solvers import Cadical153

    variables: dict[tuple[int, int, Cell], int] = {}
    for agent, (start, goal) in enumerate(zip(case.starts, case.goals, strict=True)):
        gone, left = distances(case.free, start), distances(case.free, goal)
        for time in range(makespan + 1):
            for row, col in np.argwhere((gone <= time) & (left <= makespan - time)).tolist():
                variables[agent, time, (row, col)] = len(variables) + 1
    first = [variables.get((agent, 0, start)) for agent, start in enumerate(case.starts)]
    if None in first:
        return False
    with Cadical153([[variable] for variable in first]) as solver:
        for (agent, time, cell), here in variables.items():
            if time < makespan:
                onward = [variables.get((agent, time + 1, after)) for after in _around(case.free, cell)]
                solver.add_clause([-here, *filter(None, onward)])
            for other in range(agent):
                if there := variables.get((other, time, cell)):
                    solver.add_clause([-here, -there])
                for after in _around(case.free, cell):
                    swap = [(agent, time + 1, after), (other, time, after), (other, time + 1, cell)]
                    if after != cell and all(step in variables for step in swap):
                        solver.add_clause([-here, *(-variables[step] for step in swap)])
        return bool(solver.solve())


def walk(case: Case, moves: np.ndarray) -> tuple[int, int]:
    """(sum of costs, makespan) of a plan, moves int[5, HORIZON]. Raises AssertionError on a broken rule."""
    cells, last = list(case.starts), [0] * len(case.starts)
    for time in range(moves.shape[1]):
        before = list(cells)
        for agent, cell in enumerate(before):
            down, right = STEPS[moves[agent, time]] if moves[agent, time] >= 0 else (0, 0)
            cells[agent] = (cell[0] + down, cell[1] + right)
            assert cells[agent] in _around(case.free, cell), f"agent {agent} leaves the ice at {time}"
            if cells[agent] != cell:
                last[agent] = time + 1
        for a, b in itertools.combinations(range(len(cells)), 2):
            assert cells[a] != cells[b], f"{a} and {b} meet at {time}"
            assert (cells[a], cells[b]) != (before[b], before[a]), f"{a} and {b} swap at {time}"
    assert tuple(cells) == case.goals, "not all have arrived"
    return sum(last), max(last)
