"""course_schedule against Python's graphlib, and its picture against its words."""

import graphlib

import numpy as np
import play
import pytest

import jaxenv
from envs_jax.graph import lattice
from jaxenv.render import palette

ENV = jaxenv.make("course_schedule")[0]
SIZES = (6, 9, 12)
LETTERS = "ABCDEFGHIJKL"
Needs = dict[str, set[str]]


def read_text(words: str, n: int) -> Needs:
    needs: Needs = {letter: set() for letter in LETTERS[:n]}
    for arrow in words.split():
        before, after = arrow.split(">")
        needs[after].add(before)
    return needs


def takable(needs: Needs) -> set[str]:
    """Those that reach no circle, as graphlib sees it: each by the courses it needs alone."""
    found = set()
    for course in needs:
        needed, queue = {course}, [course]
        while queue:
            for other in needs[queue.pop()] - needed:
                needed.add(other)
                queue.append(other)
        try:
            graphlib.TopologicalSorter({c: needs[c] for c in needed}).prepare()
            found.add(course)
        except graphlib.CycleError:
            pass
    return found


def prefix(needs: Needs, order: str) -> int:
    """How many of the first courses come after all that they need."""
    for at, course in enumerate(order):
        if not needs[course] <= set(order[:at]):
            return at
    return len(order)


def action_of(order: str) -> np.ndarray:
    return np.pad([LETTERS.index(c) for c in order], (0, 12 - len(order)), constant_values=-1)


def letters(action: list[int]) -> str:
    return "".join(LETTERS[course] for course in action if course >= 0)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    graphs = [read_text(words, SIZES[request.param]) for words in play.observations(ENV, states)]
    return request.param, states, graphs, [takable(needs) for needs in graphs]


def test_some_courses_can_be_taken_and_often_not_all(batch):
    scale, states, graphs, can = batch
    assert play.distinct(states) > (1400, 1990, 1999)[scale]
    counts = np.array([len(courses) for courses in can])
    assert counts.min() >= 1
    assert 0.25 < (counts < SIZES[scale]).mean() < 0.55
    assert len(set(counts.tolist())) > (3, 5, 7)[scale]
    arrows = np.array([sum(map(len, needs.values())) for needs in graphs])
    assert abs(arrows.mean() / (9, 16, 23)[scale] - 0.8) < 0.02


def test_the_expert_takes_all_that_can_be_taken(batch):
    _, states, graphs, can = batch
    actions = play.experts(ENV, states)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()
    for needs, courses, action in zip(graphs, can, actions.tolist(), strict=True):
        order = letters(action)
        assert len(order) == len(courses)
        assert set(order) == courses
        assert prefix(needs, order) == len(order)


def test_score_of_any_order(batch):
    scale, states, graphs, can = batch
    noise = np.random.default_rng(0)
    orders = []
    for at, action in enumerate(play.experts(ENV, states).tolist()):
        best = letters(action)
        if at % 3 == 0:
            orders.append("".join(noise.permutation(list(LETTERS[: SIZES[scale]]))))
        elif at % 3 == 1:
            orders.append(best[: noise.integers(1, len(best) + 1)])
        else:
            orders.append(best + "".join(sorted(set(LETTERS[: SIZES[scale]]) - set(best))))
    legal, reward = play.judge(ENV, states, np.stack([action_of(order) for order in orders]))
    assert legal.all()
    wanted = []
    for needs, courses, order in zip(graphs, can, orders, strict=True):
        good = prefix(needs, order)
        right = good == len(order) == len(courses)
        wanted.append(1.0 if right else 0.5 * good / len(courses))
    np.testing.assert_allclose(reward, wanted, atol=1e-6)
    assert 0.05 < np.mean(np.array(wanted) == 1) < 0.6
    assert len(set(wanted)) > 7


def test_courses_that_are_not_there_or_named_twice_are_illegal(batch):
    scale, states, _, _ = batch
    some = play.first(states, 20)
    beyond = ["A" + LETTERS[SIZES[scale]]] if scale < 2 else []
    for order in ("AA", "ABCA", *beyond):
        assert not play.judge(ENV, some, np.tile(action_of(order), (20, 1)))[0].any()


def test_answers_in_words(batch):
    _, states, _, _ = batch
    some = play.first(states, play.SOME)
    replies = [" ".join(letters(row)).lower() for row in play.experts(ENV, some).tolist()]
    verdict, reward = play.read(ENV, some, replies)
    assert (verdict == 0).all()
    assert (reward == 1).all()


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_has_the_arrows(batch, canvas):
    """There is a line where there is an arrow, and more ink at the end it leads to."""
    scale, states, graphs, _ = batch
    spots = lattice.places(scale) * canvas
    y, x = np.mgrid[:canvas, :canvas] + 0.5
    for needs, image in zip(graphs[:20], play.pictures(ENV, play.first(states, 20), canvas), strict=False):
        paper = (image == palette.rgb("paper")).all(-1)
        dark = image.sum(-1) < 200
        for a, b in lattice.ENDS[scale][lattice.THERE[scale]]:
            middle = ((spots[a] + spots[b]) / 2).astype(int)
            first, last = LETTERS[a] in needs[LETTERS[b]], LETTERS[b] in needs[LETTERS[a]]
            assert (not paper[middle[1], middle[0]]) == (first or last)
            along = (spots[b] - spots[a]) / np.linalg.norm(spots[b] - spots[a]) * 0.115 * canvas
            ink = [
                dark[np.hypot(x - at[0], y - at[1]) < 0.025 * canvas].sum()
                for at in (spots[a] + along, spots[b] - along)
            ]
            assert [ink[0] > 2, ink[1] > 2] == [last, first]
