"""graph_colouring against reasoning-gym's verifier, and its picture against its words."""

import itertools

import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.graph_color import verify_graph_coloring_solution

import jaxenv
from jaxenv.render import palette
from jaxenv.render.graphs import places

ENV = jaxenv.make("graph_colouring")[0]
SIZES, COUNTS = (6, 8, 10), (4, 3, 3)
COLOURS = ("red", "blue", "yellow", "green")
LETTERS = "ABCDEFGHIJ"


def puzzle(words: str, scale: int) -> dict:
    """A puzzle in reasoning-gym's form."""
    edges = [tuple(edge.split("-")) for edge in words.split()]
    return {
        "vertices": list(LETTERS[: SIZES[scale]]),
        "edges": edges,
        "color_options": list(range(COUNTS[scale])),
    }


def is_right(graph: dict, colours: list[int]) -> bool:
    return verify_graph_coloring_solution(graph, dict(zip(graph["vertices"], colours, strict=True)))[0]


def padded(colours: np.ndarray) -> np.ndarray:
    return np.pad(colours, ((0, 0), (0, 10 - colours.shape[1])), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    words = play.observations(ENV, states)
    return request.param, states, [puzzle(line, request.param) for line in words]


def test_the_graphs_differ_and_need_several_colours(batch):
    scale, states, graphs = batch
    assert play.distinct(states) > (1900, 1990, 1999)[scale]
    for graph in graphs:
        assert {node for edge in graph["edges"] for node in edge} <= set(graph["vertices"])
        assert len(set(graph["edges"])) == len(graph["edges"]) >= SIZES[scale] - 3
    # Two colours are hardly ever enough, which takes an odd cycle.
    odd = sum(not is_two_colourable(graph) for graph in graphs)
    assert odd > 1800


def is_two_colourable(graph: dict) -> bool:
    """By giving each node the other side than the one it was reached from."""
    near = {node: [b for edge in graph["edges"] for b in edge if node in edge] for node in graph["vertices"]}
    side: dict[str, int] = {}
    for start in near:
        queue = [start] if start not in side else []
        side.setdefault(start, 0)
        while queue:
            node = queue.pop()
            for other in set(near[node]) - {node} - set(side):
                side[other] = 1 - side[node]
                queue.append(other)
    return all(side[a] != side[b] for a, b in graph["edges"])


def test_the_expert_colours_every_graph(batch):
    scale, states, graphs = batch
    actions = play.experts(ENV, states)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()
    n = SIZES[scale]
    assert (actions[:, n:] == -1).all()
    assert all(is_right(graph, row[:n]) for graph, row in zip(graphs, actions.tolist(), strict=True))


@pytest.mark.peer("reasoning-gym", "graph_colouring")
def test_any_colouring_is_judged_by_its_lines(batch):
    scale, states, graphs = batch
    noise = np.random.default_rng(0)
    colours = noise.integers(0, COUNTS[scale], (len(graphs), SIZES[scale]))
    # Half of them are right but for a node, or right again.
    near = play.experts(ENV, states)[:, : SIZES[scale]].copy()
    near[np.arange(len(near)), noise.integers(0, SIZES[scale], len(near))] = colours[:, 0]
    colours[::2] = near[::2]
    legal, reward = play.judge(ENV, states, padded(colours))
    assert legal.all()
    for graph, row, paid in zip(graphs, colours.tolist(), reward.tolist(), strict=True):
        side = dict(zip(graph["vertices"], row, strict=True))
        kept = np.mean([side[a] != side[b] for a, b in graph["edges"]])
        assert paid == pytest.approx(1.0 if is_right(graph, row) else kept / 2)
    assert 0.05 < (reward == 1).mean() < 0.95


def test_too_few_colours_or_ones_that_are_not_there_are_illegal(batch):
    scale, states, _ = batch
    some, n = play.first(states, 20), SIZES[scale]
    right = play.experts(ENV, some)
    short, long, foreign = right.copy(), right.copy(), right.copy()
    short[:, n - 1] = -1
    long[:, min(n, 9)] = 0
    foreign[:, 0] = COUNTS[scale]
    assert not play.judge(ENV, some, short)[0].any()
    assert not play.judge(ENV, some, foreign)[0].any()
    assert play.judge(ENV, some, long)[0].all() == (n == 10)


def test_answers_in_words(batch):
    scale, states, _ = batch
    some = play.first(states, play.SOME)
    rows = play.experts(ENV, some)[:, : SIZES[scale]].tolist()
    replies = [", ".join(COLOURS[colour].upper() for colour in row) for row in rows]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == 0).all()
    assert (reward == 1).all()


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_has_the_lines_and_the_colours(batch, canvas):
    scale, states, graphs = batch
    n = SIZES[scale]
    spots = places(n, n) * canvas
    middle = round(0.06 * canvas)
    for graph, image in zip(graphs[:20], play.pictures(ENV, play.first(states, 20), canvas), strict=False):
        paper = (image == palette.rgb("paper")).all(-1)
        for a, b in itertools.combinations(range(n), 2):
            along = np.linspace(spots[a], spots[b], 60)
            away = np.minimum(*(np.linalg.norm(along - spots[end], axis=1) for end in (a, b)))
            x, y = np.rint(along[away > 0.09 * canvas]).astype(int).T
            assert (not paper[y, x].any()) == ((LETTERS[a], LETTERS[b]) in graph["edges"])
        corners = [image[y, x] for y in (middle, -middle) for x in (middle, -middle)]
        for number, pixel in enumerate(corners):
            shown = COLOURS[number] if number < COUNTS[scale] else "paper"
            assert (pixel == palette.rgb(shown)).all()
