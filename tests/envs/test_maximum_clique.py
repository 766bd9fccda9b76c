"""maximum_clique against plain-Python search, and its picture against its words."""

import itertools

import numpy as np
import play
import pytest

import jaxenv
from jaxenv.render import palette
from jaxenv.render.graphs import places

ENV = jaxenv.make("maximum_clique")[0]
SIZES, PLANTED = (6, 8, 10), (3, 4, 5)
LETTERS = "ABCDEFGHIJ"
Graph = dict[str, set[str]]


def read_text(words: str, n: int) -> Graph:
    near: Graph = {letter: set() for letter in LETTERS[:n]}
    for edge in words.split():
        a, b = edge.split("-")
        near[a].add(b)
        near[b].add(a)
    return near


def is_clique(graph: Graph, nodes: str) -> bool:
    return all(b in graph[a] for a, b in itertools.combinations(nodes, 2))


def largest(graph: Graph) -> int:
    """By Bron and Kerbosch."""

    def grow(size: int, left: set[str], out: set[str]) -> int:
        if not left and not out:
            return size
        best = 0
        for node in sorted(left):
            best = max(best, grow(size + 1, left & graph[node], out & graph[node]))
            left, out = left - {node}, out | {node}
        return best

    return grow(0, set(graph), set())


def action_of(nodes: str) -> np.ndarray:
    return np.pad([LETTERS.index(node) for node in nodes], (0, 10 - len(nodes)), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    graphs = [read_text(words, SIZES[request.param]) for words in play.observations(ENV, states)]
    return request.param, states, graphs, [largest(graph) for graph in graphs]


def test_every_graph_has_a_large_clique_and_they_differ(batch):
    scale, states, graphs, sizes = batch
    assert min(sizes) == PLANTED[scale]
    assert max(sizes) > PLANTED[scale]
    assert not any(node in near for graph in graphs for node, near in graph.items())
    assert play.distinct(states) > (1000, 1990, 1999)[scale]


def test_the_expert_names_a_largest_clique(batch):
    _, states, graphs, sizes = batch
    actions = play.experts(ENV, states)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()
    for graph, size, action in zip(graphs, sizes, actions.tolist(), strict=True):
        nodes = "".join(LETTERS[node] for node in action if node >= 0)
        assert len(set(nodes)) == size
        assert is_clique(graph, nodes)


def test_score_of_any_set(batch):
    _, states, graphs, sizes = batch
    noise = np.random.default_rng(0)
    sets = ["".join(noise.permutation(list(graph))[: noise.integers(1, 6)]) for graph in graphs]
    legal, reward = play.judge(ENV, states, np.stack([action_of(nodes) for nodes in sets]))
    assert legal.all()
    wanted = [
        (1.0 if len(nodes) == size else 0.5 * len(nodes) / size) if is_clique(graph, nodes) else 0.0
        for nodes, graph, size in zip(sets, graphs, sizes, strict=True)
    ]
    np.testing.assert_allclose(reward, wanted, atol=1e-6)
    assert 0.0 in wanted
    assert len(set(wanted)) >= 4


def test_nodes_that_are_not_there_or_named_twice_are_illegal(batch):
    scale, states, _, _ = batch
    some = play.first(states, 20)
    beyond = LETTERS[SIZES[scale] : SIZES[scale] + 1]
    for nodes in ("AA", "ABCA", *(["A" + beyond] if beyond else [])):
        assert not play.judge(ENV, some, np.tile(action_of(nodes), (20, 1)))[0].any()


def test_answers_in_words(batch):
    _, states, graphs, _ = batch
    some = play.first(states, play.SOME)
    edges = [min((a, b) for a, near in graph.items() for b in near) for graph in graphs[: play.SOME]]
    verdict, reward = play.read(ENV, some, [f"{a.lower()}, {b}" for a, b in edges])
    assert (verdict == 0).all()
    assert (reward > 0).all()


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_has_a_line_for_each_edge_and_no_other(batch, canvas):
    scale, states, graphs, _ = batch
    n = SIZES[scale]
    spots = places(n, n) * canvas
    for graph, image in zip(graphs[:30], play.pictures(ENV, play.first(states, 30), canvas), strict=False):
        paper = (image == palette.rgb("paper")).all(-1)
        for a, b in itertools.combinations(range(n), 2):
            along = np.linspace(spots[a], spots[b], 60)
            away = np.minimum(*(np.linalg.norm(along - spots[end], axis=1) for end in (a, b)))
            x, y = np.rint(along[away > 0.09 * canvas]).astype(int).T
            assert (not paper[y, x].any()) == (LETTERS[b] in graph[LETTERS[a]])
