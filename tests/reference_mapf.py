"""The rules of MAPF-FrozenLake in plain Python: paths, checks, costs, and the least cost by joint search."""

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.mapf.instance import HORIZON, MOST_AGENTS, SIDE, Instance, Plan

Cell = tuple[int, int]
DELTAS = {"UP": (-1, 0), "DOWN": (1, 0), "LEFT": (0, -1), "RIGHT": (0, 1), "WAIT": (0, 0)}
WORDS = tuple(DELTAS)


@dataclass(frozen=True)
class Board:
    side: int
    holes: frozenset[Cell]
    starts: tuple[Cell, ...]
    goals: tuple[Cell, ...]

    def on(self, cell: Cell) -> bool:
        return 0 <= cell[0] < self.side and 0 <= cell[1] < self.side

    def free(self, cell: Cell) -> bool:
        return self.on(cell) and cell not in self.holes


def board_of(instance: Instance) -> Board:
    """Of an instance as NumPy arrays."""
    side, agents = int(instance.side), int(instance.agents)
    holes = frozenset((r, c) for r in range(side) for c in range(side) if instance.holes[r, c])
    starts, goals = (
        tuple(map(tuple, cells[:agents].tolist())) for cells in (instance.starts, instance.goals)
    )
    return Board(side, holes, starts, goals)


def instance_of(board: Board) -> Instance:
    holes = np.ones((SIDE, SIDE), bool)
    for row, col in itertools.product(range(board.side), repeat=2):
        holes[row, col] = (row, col) in board.holes
    starts, goals = (np.zeros((MOST_AGENTS, 2), np.int32) for _ in range(2))
    starts[: len(board.starts)], goals[: len(board.goals)] = board.starts, board.goals
    arrays = np.int32(board.side), np.int32(len(board.starts)), holes, starts, goals
    return Instance(*map(jnp.asarray, arrays))


def plan_of(words: dict[int, Sequence[str]]) -> Plan:
    """Of each agent's words."""
    moves = np.full((MOST_AGENTS, HORIZON), -1, np.int8)
    for agent, path in words.items():
        moves[agent, : len(path)] = [WORDS.index(word) for word in path]
    return Plan(jnp.asarray(moves))


def words_of(moves: np.ndarray) -> dict[int, list[str]]:
    """Of moves [5, HORIZON], of the agents that have any."""
    return {a: [WORDS[m] for m in row if m >= 0] for a, row in enumerate(moves.tolist()) if row[0] >= 0}


def stack(trees: Sequence) -> jax.Array:
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *trees)


def step(cell: Cell, word: str) -> Cell:
    return cell[0] + DELTAS[word][0], cell[1] + DELTAS[word][1]


def walk(start: Cell, words: Sequence[str]) -> list[Cell]:
    return list(itertools.accumulate(words, step, initial=start))


def collide(before: Sequence[Cell], after: Sequence[Cell]) -> bool:
    return any(
        after[i] == after[j] or (after[i] == before[j] and after[j] == before[i])
        for i, j in itertools.combinations(range(len(after)), 2)
    )


def failed(board: Board, paths: dict[int, list[Cell]]) -> set[str]:
    """The names of the checks that an answer fails, of the cells of each agent it names."""
    agents = range(len(board.starts))
    longest = max(map(len, paths.values()))
    full = {}
    for a in agents:
        path = paths.get(a, [board.starts[a]])
        full[a] = path + [path[-1]] * (longest - len(path))
    joint = list(zip(*full.values(), strict=True))
    found = set()
    if any(abs(p[0] - q[0]) + abs(p[1] - q[1]) > 1 for a in agents for p, q in itertools.pairwise(full[a])):
        found.add("legal_moves")
    if any(collide(before, after) for before, after in itertools.pairwise(joint)):
        found.add("no_collision")
    if any(full[a][-1] != board.goals[a] for a in agents):
        found.add("goals_reached")
    if any(full[a][0] != board.starts[a] for a in agents):
        found.add("right_starts")
    if sorted(paths) != list(agents):
        found.add("right_agents")
    if any(cell in board.holes for a in agents for cell in full[a]):
        found.add("no_hole")
    if any(not board.on(cell) for a in agents for cell in full[a]):
        found.add("on_board")
    return found


def arrival(path: list[Cell], goal: Cell) -> int:
    """Moves until the path is on its goal for good."""
    return max((t + 1 for t, cell in enumerate(path) if cell != goal), default=0)


def costs(board: Board, paths: dict[int, list[Cell]]) -> tuple[int, int]:
    """(sum of costs, makespan) of a valid answer."""
    times = [arrival(paths[a], goal) for a, goal in enumerate(board.goals)]
    return sum(times), max(times)


def least_cost(board: Board, makespan: bool = False) -> int | None:
    """Dijkstra over the cells of all agents and which of them have stopped at their goals for good."""
    agents = range(len(board.starts))
    start = board.starts, (False,) * len(board.starts)
    queue, best = [(0, start)], {start: 0}
    while queue:
        cost, (cells, stopped) = heapq.heappop(queue)
        if best[cells, stopped] < cost:
            continue
        if all(stopped):
            return cost
        # An agent on its goal may stop, free of cost.
        following = [
            (cost, (cells, tuple(stopped[b] or b == a for b in agents)))
            for a in agents
            if not stopped[a] and cells[a] == board.goals[a]
        ]
        choices = [WORDS if not stopped[a] else ("WAIT",) for a in agents]
        paid = 1 if makespan else len(cells) - sum(stopped)
        for words in itertools.product(*choices):
            after = tuple(step(cells[a], words[a]) for a in agents)
            if all(map(board.free, after)) and not collide(cells, after):
                following.append((cost + paid, (after, stopped)))
        for cost_after, state in following:
            if cost_after < best.get(state, 10**9):
                best[state] = cost_after
                heapq.heappush(queue, (cost_after, state))
    return None


def lone_costs(board: Board) -> list[int | None]:
    """The least cost of each agent were it alone."""
    ends = zip(board.starts, board.goals, strict=True)
    return [least_cost(Board(board.side, board.holes, (start,), (goal,))) for start, goal in ends]
