"""connector against the rules of Jumanji's Connector in plain NumPy, with its encoding of the grid."""

import itertools

import jax
import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("connector")[0]
SIDES, AGENTS = (6, 8, 10), (3, 5, 8)
COLOURS = ("red", "blue", "green", "orange", "purple", "yellow", "grey", "black")
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))
KINDS = ("", "-head", "-target", "-done")
TURNS, COUNT = 20, 60
ACCEPTED, ILLEGAL = 0, 3
Cell = tuple[int, int]


class Grid:
    """Of agent a: path 3 a + 1, position 3 a + 2, target 3 a + 3; the position hides a reached target."""

    def __init__(self, words: str) -> None:
        rows = [line.split(" ") for line in words.split("\n")]
        self.n = len(rows)
        self.code = np.zeros((self.n, self.n), int)
        self.position: dict[int, Cell] = {}
        self.connected: set[int] = set()
        for (r, row), c in itertools.product(enumerate(rows), range(self.n)):
            if row[c] != ".":
                colour, _, kind = row[c].partition("-")
                agent = COLOURS.index(colour)
                self.code[r, c] = 3 * agent + {"": 1, "head": 2, "target": 3, "done": 2}[kind]
                if kind in ("head", "done"):
                    self.position[agent] = r, c
                if kind == "done":
                    self.connected.add(agent)

    def can_enter(self, agent: int, cell: Cell) -> bool:
        inside = 0 <= cell[0] < self.n and 0 <= cell[1] < self.n
        return agent not in self.connected and inside and self.code[cell] in (0, 3 * agent + 3)

    def beside(self, agent: int) -> list[Cell]:
        row, col = self.position[agent]
        return [(row + dr, col + dc) for dr, dc in STEPS[:4]]

    def step(self, moves: list[int]) -> int:
        """All at once; of those that would enter one cell only the last does. Returns how many did not."""
        wants = {}
        for agent, move in enumerate(moves):
            row, col = self.position[agent]
            cell = row + STEPS[move][0], col + STEPS[move][1]
            if move < 4 and self.can_enter(agent, cell):
                wants[agent] = cell
        last = {cell: agent for agent, cell in sorted(wants.items())}
        for cell, agent in last.items():
            if self.code[cell] == 3 * agent + 3:
                self.connected.add(agent)
            self.code[self.position[agent]] = 3 * agent + 1
            self.code[cell] = 3 * agent + 2
            self.position[agent] = cell
        return len(wants) - len(last)

    def over(self) -> bool:
        return not any(self.can_enter(agent, cell) for agent in self.position for cell in self.beside(agent))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Grid(words) for words in play.observations(ENV, states)]


def test_paths_from_heads_to_targets_keep_apart(batch):
    scale, states, grids = batch
    lengths, straight = [], []
    for grid, places in zip(grids, states.places, strict=True):
        assert grid.n == SIDES[scale]
        assert sorted(grid.position) == list(range(AGENTS[scale]))
        assert not grid.connected
        assert set(np.unique(grid.code)) == {0} | {3 * a + k for a in range(AGENTS[scale]) for k in (2, 3)}
        cell_at = {int(places[cell]): cell for cell in np.ndindex(grid.n, grid.n)}
        assert sorted(cell_at) == list(range(grid.n**2))
        passed = set()
        for agent, cell in grid.position.items():
            (target,) = map(tuple, np.argwhere(grid.code == 3 * agent + 3).tolist())
            way = [cell_at[at] for at in range(int(places[cell]), int(places[target]) + 1)]
            assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in itertools.pairwise(way))
            assert not passed & set(way)
            passed |= set(way)
            lengths.append(len(way))
            straight.append(abs(cell[0] - target[0]) + abs(cell[1] - target[1]))
    assert min(lengths) >= 6
    assert max(lengths) - 1 <= ENV.max_turns[scale]
    assert np.mean(straight) > 3
    assert play.distinct(states) > 1990


@pytest.mark.parametrize("share", [0.0, 0.8, 1.0])
def test_moves_follow_the_rules_of_jumanji(batch, share):
    scale, states, _ = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    after = [play.observations(ENV, state) for state in played.states]
    lengths = played.length()
    for i in range(COUNT):
        grid = Grid(after[0][i])
        for t in range(min(TURNS, lengths[i])):
            moves = [move for move in played.actions[t, i].tolist() if move >= 0]
            legal = len(moves) == AGENTS[scale]
            assert (played.verdicts[t, i] == ACCEPTED) == legal
            if legal:
                grid.step(moves)
            shown = Grid(after[t + 1][i])
            assert (shown.code == grid.code).all()
            assert shown.connected == grid.connected
            assert played.terminated[t, i] == (legal and grid.over())
            assert played.rewards[t, i] == (played.terminated[t, i] and len(grid.connected) == AGENTS[scale])
        assert share < 1 or played.rewards[:, i].sum() == 1


def test_of_those_that_enter_one_cell_the_last_moves(batch):
    """Heads put round a free cell all go there; blocked ones stay."""
    scale, states, _ = batch
    some = play.first(states, COUNT)
    heads = some.heads.copy()
    heads[:, :3] = (0, 1), (1, 0), (1, 2)
    targets = some.targets.copy()
    rest = [(r, c) for r, c in np.ndindex(SIDES[scale], SIDES[scale]) if r > 2]
    for agent in range(AGENTS[scale]):
        targets[:, agent] = rest[-1 - agent]
        if agent > 2:
            heads[:, agent] = rest[2 * agent]
    trails = np.zeros_like(some.trails)
    for agent in range(AGENTS[scale]):
        trails[:, heads[0, agent, 0], heads[0, agent, 1]] = 1 + agent
    placed = some.replace(heads=heads, targets=targets, trails=trails)
    action = np.full((COUNT, 8), -1)
    action[:, : AGENTS[scale]] = 4
    action[:, :3] = 1, 3, 2
    names = ["down", "right", "left", *["noop"] * (AGENTS[scale] - 3)]
    assert (play.read(ENV, placed, [" ".join(names)] * COUNT)[0] == ACCEPTED).all()
    assert (play.read(ENV, placed, [" ".join(names[1:])] * COUNT)[0] == ILLEGAL).all()
    grid = Grid(play.observations(ENV, placed)[0])
    assert grid.step(action[0, : AGENTS[scale]].tolist()) == 2
    after = jax.jit(ENV.transition)(jax.random.key(0), rollouts.one(placed, 0), action[0])[0]
    assert after.heads[:3].tolist() == [[0, 1], [1, 0], [1, 1]]
    assert [list(grid.position[agent]) for agent in range(3)] == after.heads[:3].tolist()


def test_the_picture_shows_the_board(batch):
    _, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.8)
    layers = dict(zip(KINDS, ("wire", "plug", "socket", "plugged"), strict=True))
    for t in (0, 3, TURNS):
        shown = zip(play.observations(ENV, played.states[t]), play.tiles(ENV, played.states[t]), strict=True)
        for words, picture in shown:
            for line, row in zip(words.split("\n"), picture, strict=False):
                for word, name in zip(line.split(" "), row, strict=False):
                    colour, dash, kind = word.partition("-")
                    assert name == ("paper" if word == "." else f"paper {layers[dash + kind]}:{colour}")
