"""simon_sequence against a transcript in plain Python of what it shows."""

import re

import numpy as np
import play
import pytest
import rollouts

import jaxenv
from jaxenv import answers
from jaxenv.render import palette

ENV = jaxenv.make("simon_sequence")[0]
LENGTHS, COLOURS = (4, 7, 10), ("green", "red", "yellow", "blue")
TURNS, COUNT = 11, 150


def watch(scale: int, turns: list) -> list[list[str]]:
    """The colours seen by who reads the words of each turn."""
    seen: list[list[str]] = [[] for _ in range(COUNT)]
    for t, now in enumerate(turns):
        for i, words in enumerate(play.observations(ENV, now)):
            if t < LENGTHS[scale]:
                number, colour = re.fullmatch(r"signal (\d+): (\w+)", words).groups()
                assert int(number) == t + 1
                seen[i].append(colour)
            else:
                assert words == "all signals have been given"
    return seen


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    scale = request.param
    states = play.instances(ENV, scale)
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 1.0)
    turns = played.states[: LENGTHS[scale] + 1]
    return scale, states, turns, watch(scale, turns), played


def test_sequences_are_of_all_kinds(batch):
    scale, states, _, seen, _ = batch
    assert (states.length == LENGTHS[scale]).all()
    assert play.distinct(states) > 1990  # of sequences of ten, of which the shorter are the beginnings
    shares = np.bincount(states.pads[:, : LENGTHS[scale]].ravel(), minlength=5) / states.length.sum()
    np.testing.assert_allclose(shares[1:], 0.25, atol=0.03)
    assert len({tuple(colours) for colours in seen}) > (100, 145, 145)[scale]


def test_what_was_seen_is_the_answer(batch):
    scale, _, turns, seen, _ = batch
    end = turns[-1]
    rng = np.random.default_rng(scale)
    length = LENGTHS[scale]
    replies, wanted = [], []
    for colours in seen:
        told = list(colours)
        for at in rng.choice(length, rng.integers(0, 3), replace=False):
            told[at] = COLOURS[(COLOURS.index(told[at]) + rng.integers(1, 4)) % 4]
        told = told[: length - rng.integers(0, 2)]
        if len(told) < 10 and rng.random() < 0.2:
            told.append("red")
        right = sum(a == b for a, b in zip(told, colours, strict=False))
        wanted.append(1.0 if told == colours else 0.5 * right / length)
        replies.append(", ".join(told) if rng.random() < 0.5 else " ".join(told).upper())
    verdict, reward = play.read(ENV, end, replies)
    assert (verdict == answers.ACCEPTED).all()
    np.testing.assert_allclose(reward, wanted, atol=1e-6)
    assert len(set(wanted)) > 3


def test_replies_out_of_turn_are_refused(batch):
    _, _, turns, _, _ = batch
    replies = ["next", "red", "next next", "red next", "green blue"]
    for now, refused in (
        (turns[0], [False, True, True, True, True]),
        (turns[-1], [True, False, True, True, False]),
    ):
        verdict, _ = play.read(ENV, now, replies + ["red"] * (COUNT - len(replies)))
        assert (verdict[: len(replies)] == answers.ILLEGAL).tolist() == refused


def test_the_expert_wins_with_the_last_turn(batch):
    scale, _, _, _, played = batch
    last = LENGTHS[scale]
    assert (played.verdicts[: last + 1] == answers.ACCEPTED).all()
    assert (played.length() == last + 1).all()
    assert last + 1 == ENV.max_turns[scale]
    assert (played.rewards[last] == 1).all()
    assert (played.rewards.sum(0) == 1).all()


@pytest.mark.parametrize("canvas", [96, 256])
def test_one_pad_shines(batch, canvas):
    """Green, red, yellow and blue by row; the middle tells the signals apart."""
    scale, _, turns, seen, _ = batch
    middles: list[set[bytes]] = []
    third = canvas // 3
    for t, now in enumerate(turns):
        images = play.pictures(ENV, play.first(now, 20), canvas)
        middles.append({image[third:-third, third:-third][8:-8, 8:-8].tobytes() for image in images})
        for i, image in enumerate(images):
            halves = image[: canvas // 2], image[canvas // 2 :]
            quarters = [part for half in halves for part in (half[:, : canvas // 2], half[:, canvas // 2 :])]
            shines = [
                colour
                for colour, quarter in zip(COLOURS, quarters, strict=True)
                if (quarter == palette.rgb(colour)).all(-1).mean() > 0.2
            ]
            assert shines == ([seen[i][t]] if t < LENGTHS[scale] else [])
    assert all(len(looks) == 1 for looks in middles)
    assert len(set.union(*middles)) == len(turns)
