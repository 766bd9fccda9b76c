"""object_tracking against an eye that follows the nearest dot, in words and in pictures."""

import itertools

import numpy as np
import play
import pytest
import rollouts
from scipy import ndimage

import jaxenv
from jaxenv import answers
from jaxenv.render import palette

ENV = jaxenv.make("object_tracking")[0]
DOTS, TARGETS, MOVES = (4, 8, 12), (1, 2, 4), (4, 7, 10)
TURNS, COUNT = 11, 100
Place = tuple[int, int]


def read_text(words: str) -> dict[Place, str]:
    lines = [line.split(" ") for line in words.split("\n")]
    assert lines == sorted(lines, key=lambda line: (int(line[0]), int(line[1])))
    return {(int(row), int(col)): shown for row, col, shown in lines}


def distance(a: Place, b: Place) -> float:
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    scale = request.param
    states = play.instances(ENV, scale)
    return scale, states, rollouts.roll(ENV, states, TURNS, 1.0)


def test_dots_keep_apart_and_linking_is_unique(batch):
    scale, states, played = batch
    count = DOTS[scale]
    assert play.distinct(states) == play.MANY
    assert ((states.targets.sum(1) == TARGETS[scale]) & ~states.targets[:, count:].any(1)).all()
    np.testing.assert_allclose(states.targets[:, :count].mean(0), TARGETS[scale] / count, atol=0.05)
    paths = np.stack([now.places[:, :count].astype(int) for now in played.states[: MOVES[scale] + 1]])
    assert (paths >= 0).all()
    assert (paths <= 28).all()
    moved = 0
    for before, after in itertools.pairwise(paths):
        step = np.linalg.norm(after[:, :, None] - before[:, None], axis=-1)
        others = step + np.where(np.eye(count), 99, 0)
        own = step[:, np.arange(count), np.arange(count)]
        assert own.max() < min(others.min(), 3)
        gaps = np.abs(after[:, :, None] - after[:, None]).max(-1) + np.where(np.eye(count), 99, 0)
        assert gaps.min() >= 5
        moved += (own >= 2).mean() / MOVES[scale]
    assert moved > 0.95
    crossed = np.linalg.norm(paths[-1] - paths[0], axis=-1)
    assert crossed.mean() > 5
    assert len(np.unique(crossed)) > 20


def test_an_eye_that_follows_the_nearest_dot_names_the_targets(batch):
    scale, _, played = batch
    some = [play.first(now, COUNT) for now in played.states[: MOVES[scale] + 1]]
    told = [list(map(read_text, play.observations(ENV, now))) for now in some]
    replies = []
    for i in range(COUNT):
        watched = [place for place, shown in told[0][i].items() if shown == "target"]
        assert len(watched) == TARGETS[scale]
        for frames in told[1:]:
            watched = [min(frames[i], key=lambda place, old=old: distance(place, old)) for old in watched]
            assert "target" not in frames[i].values()
        assert all(set(frames[i].values()) == {"dot"} for frames in told[1:-1])
        assert sorted(told[-1][i].values()) == list("ABCDEFGHIJKL"[: DOTS[scale]])
        replies.append([told[-1][i][place] for place in watched])
    end = some[-1]
    verdict, reward = play.read(ENV, end, [", ".join(reversed(letters)) for letters in replies])
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
    # One target, one target and one other, one other.
    rest = [[one for one in "ABCD" if one not in letters] + ["A"] for letters in replies]
    wrong = [[mine[:1] for mine in replies], [[m[0], r[0]] for m, r in zip(replies, rest, strict=True)]]
    wrong.append([other[:1] for other in rest])
    for letters, few, share in zip(wrong, (1, 2, 1), (1, 1, 0), strict=True):
        verdict, reward = play.read(ENV, end, [" ".join(one).lower() for one in letters])
        clear = np.array([len(other) > 1 for other in rest])
        assert (verdict[clear] == answers.ACCEPTED).all()
        want = 1.0 if few == TARGETS[scale] == share else 0.5 * share / max(few, TARGETS[scale])
        np.testing.assert_allclose(reward[clear], want, atol=1e-6)


def test_replies_out_of_turn_are_refused(batch):
    scale, states, played = batch
    replies = ["next", "next next", "A", "A A", "B next", "L", "A B C D"]
    padded = replies + ["A"] * (COUNT - len(replies))
    for now, refused in (
        (states, [False, True, True, True, True, True, True]),
        (played.states[MOVES[scale]], [True, True, False, True, True, scale < 2, False]),
    ):
        verdict, _ = play.read(ENV, play.first(now, COUNT), padded)
        assert (verdict[: len(replies)] == answers.ILLEGAL).tolist() == refused


def test_the_expert_goes_on_and_wins(batch):
    scale, _, played = batch
    last = MOVES[scale]
    assert (played.verdicts[: last + 1] == answers.ACCEPTED).all()
    assert (played.length() == last + 1).all()
    assert last + 1 == ENV.max_turns[scale]
    assert (played.rewards[last] == 1).all()
    assert (played.rewards.sum(0) == 1).all()


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_shows_the_dots_where_they_are(batch, canvas):
    _, _, played = batch
    unit = canvas // 32
    for now in (played.states[0], played.states[1]):
        images = play.pictures(ENV, play.first(now, 20), canvas)
        for image, words in zip(images, play.observations(ENV, play.first(now, COUNT)), strict=False):
            blobs, count = ndimage.label((image != palette.rgb("backdrop")).any(-1))
            dots = read_text(words)
            assert count == len(dots)
            seen = {}
            for box in ndimage.find_objects(blobs):
                middle = tuple((part.start + part.stop) / 2 / unit - 2 for part in box)
                place = tuple(map(round, middle))
                assert distance(place, middle) < 0.3
                marked = (image[box] == palette.rgb("agent")).all(-1).mean() > 0.2
                seen[place] = "target" if marked else "dot"
            assert seen == dots
