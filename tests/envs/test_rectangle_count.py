"""rectangle_count against plain Python, its own picture and reasoning-gym."""

import numpy as np
import play
import pytest
from reasoning_gym.cognition.rectangle_count import RectangleCountConfig, RectangleCountDataset

import jaxenv
from jaxenv import answers
from jaxenv.render import palette

ENV = jaxenv.make("rectangle_count")[0]
MOST = (3, 6, 10)


def longest_run(marked: np.ndarray) -> int:
    longest = run = 0
    for mark in marked:
        run = run + 1 if mark else 0
        longest = max(longest, run)
    return longest


def count_edges(image: np.ndarray) -> int:
    """How many horizontal edges a picture has: bands of rows with a run of ink longer than crossings make."""
    inked = (image != palette.rgb("paper")).any(-1)
    shortest_edge = image.shape[0] // 23 * 2
    long = [longest_run(row) >= shortest_edge for row in inked]
    return sum(now and not before for before, now in zip([False, *long], long, strict=False))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return states, states.shown.sum(1), MOST[request.param]


def test_every_instance_is_countable_and_they_differ(batch):
    states, counts, most = batch
    assert np.bincount(counts, minlength=most + 1)[1:].min() > 0.7 * len(counts) / most
    assert (counts.min(), counts.max()) == (1, most)
    top, left, bottom, right = states.boxes.transpose(2, 0, 1).astype(int)
    assert (states.boxes >= 0).all()
    assert (states.boxes <= 23).all()
    assert (bottom - top >= 2).all()
    assert (right - left >= 2).all()
    for ends in (np.concatenate([top, bottom], 1), np.concatenate([left, right], 1)):
        assert all(len(set(row)) == 20 for row in ends.tolist())
    assert play.distinct(states) == len(counts)


def test_no_slot_tells_the_count(batch):
    """Every colour is as likely to be there."""
    states, counts, _ = batch
    np.testing.assert_allclose(states.shown.mean(0), counts.mean() / 10, atol=0.06)


def test_only_the_count_pays(batch):
    states, counts, _ = batch
    np.testing.assert_array_equal(play.experts(ENV, states)[:, 0], counts)
    for change in (-1, 0, 1, 5):
        legal, reward = play.judge(ENV, states, (counts + change)[:, None])
        assert legal.all()
        assert (reward == (change == 0)).all()


def test_text_lists_the_outlines(batch):
    states, counts, _ = batch
    some = play.first(states, 50)
    for box, shown, count, words in zip(
        some.boxes.tolist(), some.shown, counts, play.observations(ENV, some), strict=False
    ):
        lines = [[int(word) for word in line.split(" ")] for line in words.split("\n")]
        assert len(lines) == count
        assert sorted(lines) == sorted(b for b, s in zip(box, shown, strict=True) if s)


@pytest.mark.parametrize("canvas", [96, 256])
def test_picture_has_two_horizontal_and_two_vertical_edges_a_rectangle(batch, canvas):
    states, counts, _ = batch
    images = play.pictures(ENV, play.first(states, 40), canvas)
    for image, count in zip(images, counts, strict=False):
        assert count_edges(image) == 2 * count
        assert count_edges(image.swapaxes(0, 1)) == 2 * count


@pytest.mark.peer("reasoning-gym", "rectangle_count")
def test_agrees_with_reasoning_gym(batch):
    states, counts, _ = batch
    some = play.first(states, play.SOME)
    dataset = RectangleCountDataset(RectangleCountConfig(size=1, seed=0))
    for change in (0, 1, 2, 7):
        replies = [str(count + change) for count in counts[: play.SOME]]
        verdict, reward = play.read(ENV, some, replies)
        theirs = [
            dataset.score_answer(reply, {"answer": str(count), "metadata": {"solution": count}})
            for reply, count in zip(replies, counts, strict=False)
        ]
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == (change == 0)).all()
        assert ((np.array(theirs) == 1) == (change == 0)).all()
