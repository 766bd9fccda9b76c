"""weighted_shortest_path against Dijkstra's algorithm in plain Python, and its picture against its words."""

import heapq
import itertools

import numpy as np
import play
import pytest

import jaxenv
from envs_jax.graph import lattice
from jaxenv.render import palette

ENV = jaxenv.make("weighted_shortest_path")[0]
SIZES = (6, 9, 12)
LETTERS = "ABCDEFGHIJKL"
Graph = dict[str, dict[str, int]]


def read_text(words: str, n: int) -> Graph:
    graph: Graph = {letter: {} for letter in LETTERS[:n]}
    for line in words.split():
        ends, length = line.split(":")
        a, b = ends.split("-")
        graph[a][b] = graph[b][a] = int(length)
    return graph


def distances(graph: Graph, start: str) -> dict[str, int]:
    found: dict[str, int] = {}
    queue = [(0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if node not in found:
            found[node] = cost
            for other, length in graph[node].items():
                heapq.heappush(queue, (cost + length, other))
    return found


def cost(graph: Graph, way: str, goal: str) -> int | None:
    if way[-1] != goal or any(b not in graph[a] for a, b in itertools.pairwise(way)):
        return None
    return sum(graph[a][b] for a, b in itertools.pairwise(way))


def letters(action: list[int]) -> str:
    return "".join(LETTERS[node] for node in action if node >= 0)


def action_of(way: str) -> np.ndarray:
    return np.pad([LETTERS.index(node) for node in way], (0, 12 - len(way)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    graphs = [read_text(words, SIZES[request.param]) for words in play.observations(ENV, states)]
    ends = [
        (LETTERS[start], LETTERS[goal])
        for start, goal in zip(states.start.tolist(), states.goal.tolist(), strict=True)
    ]
    return request.param, states, graphs, ends


def test_all_nodes_are_joined_and_the_goal_is_far(batch):
    scale, states, graphs, ends = batch
    assert play.distinct(states) > 1990
    for graph, (start, goal) in zip(graphs, ends, strict=True):
        lines = distances({a: dict.fromkeys(near, 1) for a, near in graph.items()}, start)
        assert set(lines) == set(graph)
        assert lines[goal] == max(lines.values()) >= 2
        assert all(1 <= length <= 9 for near in graph.values() for length in near.values())
    share = np.mean([sum(map(len, graph.values())) / 2 for graph in graphs]) / (9, 16, 23)[scale]
    assert 0.7 < share < 0.9
    assert len(set(ends)) > (10, 20, 30)[scale]


def test_the_way_with_the_fewest_lines_is_often_not_the_cheapest(batch):
    scale, _, graphs, ends = batch
    dearer = 0
    for graph, (start, goal) in zip(graphs, ends, strict=True):
        # Each line a thousand dearer: fewest lines first, then length.
        few = distances({a: {b: n + 1000 for b, n in near.items()} for a, near in graph.items()}, start)
        dearer += few[goal] % 1000 > distances(graph, start)[goal]
    assert dearer / len(graphs) > (0.1, 0.15, 0.2)[scale]


def test_the_expert_takes_a_cheapest_way(batch):
    _, states, graphs, ends = batch
    actions = play.experts(ENV, states)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()
    for graph, (start, goal), action in zip(graphs, ends, actions.tolist(), strict=True):
        way = letters(action)
        assert way[0] == start
        assert cost(graph, way, goal) == distances(graph, start)[goal]


def test_score_of_any_way(batch):
    _, states, graphs, ends = batch
    noise = np.random.default_rng(0)
    ways = []
    for graph, (start, goal) in zip(graphs, ends, strict=True):
        way = start
        while len(way) < 12 and way[-1] != goal:
            way += noise.choice(sorted(graph[way[-1]]))
        if noise.random() < 0.2:
            way = way[:-1] + noise.choice(list(graph))
        ways.append(way)
    legal, reward = play.judge(ENV, states, np.stack([action_of(way) for way in ways]))
    assert legal.all()
    wanted = []
    for graph, (start, goal), way in zip(graphs, ends, ways, strict=True):
        best, paid = distances(graph, start)[goal], cost(graph, way, goal)
        wanted.append(0.0 if paid is None else 1.0 if paid == best else 0.5 * best / paid)
    np.testing.assert_allclose(reward, wanted, atol=1e-6)
    assert {0.0, 1.0} <= set(wanted)
    assert len(set(wanted)) > 50


def test_a_way_that_starts_elsewhere_or_leaves_the_graph_is_illegal(batch):
    scale, states, _, ends = batch
    reverse = np.stack([action_of(goal + start) for start, goal in ends])
    assert not play.judge(ENV, states, reverse)[0].any()
    beyond = np.stack([action_of(start + LETTERS[SIZES[scale] % 12]) for start, _ in ends])
    assert play.judge(ENV, states, beyond)[0].all() == (scale == 2)


def test_answers_in_words(batch):
    _, states, _, _ = batch
    some = play.first(states, play.SOME)
    replies = [", ".join(letters(row)) for row in play.experts(ENV, some).tolist()]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == 0).all()
    assert (reward == 1).all()


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_has_lines_lengths_and_ends(batch, canvas):
    scale, states, graphs, ends = batch
    spots = lattice.places(scale) * canvas
    digits: dict[int, set[bytes]] = {}
    for graph, (start, goal), image in zip(
        graphs[:40], ends, play.pictures(ENV, play.first(states, 40), canvas), strict=False
    ):
        for a, b in lattice.ENDS[scale][lattice.THERE[scale]]:
            quarter = (0.68 * spots[a] + 0.32 * spots[b]).astype(int)
            around = image[quarter[1] - 1 : quarter[1] + 2, quarter[0] - 1 : quarter[0] + 2]
            length = graph[LETTERS[a]].get(LETTERS[b], 0)
            assert (around != palette.rgb("paper")).any() == (length > 0)
            if length and (a, b) == tuple(lattice.ENDS[scale][0]):
                x, y = ((spots[a] + spots[b]) / 2).astype(int)
                reach = round(0.05 * canvas)
                digits.setdefault(length, set()).add(
                    image[y - reach : y + reach, x - reach // 2 : x + reach // 2].tobytes()
                )
        for node, (x, y) in zip(graph, spots, strict=True):
            colour = {start: "sticker_green", goal: "sticker_red"}.get(node, "node")
            assert (image[round(y - 0.05 * canvas), round(x)] == palette.rgb(colour)).all()
    # Each length has a look of its own.
    assert len(digits) >= 6
    assert all(len(looks) == 1 for looks in digits.values())
    assert len(set().union(*digits.values())) == len(digits)
