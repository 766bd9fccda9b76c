"""colour_matching against Python's colorsys and plain rules, and its own picture; its grammar."""

import colorsys
import re

import numpy as np
import play
import pytest
import rollouts

import jaxenv
from jaxenv.render import palette

ENV = jaxenv.make("colour_matching")[0]
TOLERANCES = ((25, 20), (16, 12), (10, 8))
TURNS, COUNT = 6, 200
LIGHT = r"red (\d+) green (\d+) blue (\d+)"
WORDS = re.compile(rf"left {LIGHT}\nright {LIGHT}, hue (\d+), saturation (\d+)")
Colour = tuple[int, int]  # hue and saturation


def read_text(words: str) -> tuple[tuple[int, ...], tuple[int, ...], Colour]:
    numbers = tuple(map(int, WORDS.fullmatch(words).groups()))
    return numbers[:3], numbers[3:6], numbers[6:]


def hue_and_saturation(light: tuple[int, ...]) -> tuple[float, float]:
    hue, saturation, value = colorsys.rgb_to_hsv(*light)
    assert value == 240
    return 360 * hue, 100 * saturation


def apart(a: float, b: float) -> float:
    """Of two hues, the shorter way round."""
    return min(abs(a - b), 360 - abs(a - b))


def is_near(a: Colour, b: Colour, scale: int) -> bool:
    return apart(a[0], b[0]) <= TOLERANCES[scale][0] and abs(a[1] - b[1]) <= TOLERANCES[scale][1]


def adjusted(colour: Colour, knob: int, amount: int) -> Colour | None:
    """The colour after a turn of one of the knobs; None when there is no such saturation."""
    if knob == 0:
        return (colour[0] + amount) % 360, colour[1]
    after = colour[1] + amount
    return (colour[0], after) if 0 <= after <= 100 else None


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, play.observations(ENV, states)


def test_colours_are_as_told_and_far_apart(batch):
    scale, states, words = batch
    assert (states.tolerance == TOLERANCES[scale]).all()
    assert play.distinct(states) > 1990
    for target, own, told in zip(states.target.tolist(), states.own.tolist(), words, strict=True):
        left, right, colour = read_text(told)
        assert list(colour) == own
        for light, (hue, saturation) in ((left, target), (right, own)):
            seen_hue, seen_saturation = hue_and_saturation(light)
            assert apart(seen_hue, hue) < 1
            assert abs(seen_saturation - saturation) < 0.5
        assert 40 <= apart(target[0], own[0]) <= 180
        assert all(40 <= colour[1] <= 100 for colour in (target, own))
    counts = np.histogram(states.target[:, 0], 6, (0, 360))[0]
    np.testing.assert_allclose(counts / play.MANY, 1 / 6, atol=0.04)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_adjustments_follow_the_rules(batch, share):
    scale, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, outcomes = played.length(), set()
    for i in range(COUNT):
        target, own = (tuple(getattr(states, name)[i].tolist()) for name in ("target", "own"))
        for t in range(min(TURNS, lengths[i])):
            knob, amount = played.actions[t, i].tolist()
            stops = knob == 2
            after = own if stops else adjusted(own, knob, amount)
            assert (played.verdicts[t, i] == 3) == (after is None)
            outcomes.add("refused" if after is None else "stopped" if stops else "adjusted")
            assert played.terminated[t, i] == stops
            assert played.rewards[t, i] == (stops and is_near(own, target, scale))
            own = after or own
            assert tuple(played.states[t + 1].own[i].tolist()) == own
    if share == 1.0:
        assert played.rewards.sum(0).all()
        assert lengths.max() == 3 < ENV.max_turns[scale]
        assert outcomes == {"adjusted", "stopped"}
    else:
        assert outcomes == {"adjusted", "stopped", "refused"}
        assert 0 < played.rewards.sum() < COUNT


def test_stopping_pays_within_the_tolerance_and_no_farther(batch):
    scale, states, _ = batch
    some = play.first(states, COUNT)
    for offsets in ((0, 0), TOLERANCES[scale], (-TOLERANCES[scale][0], 0), (TOLERANCES[scale][0] + 1, 0)):
        for sign in (1, -1):
            own = some.target + sign * np.array(offsets)
            own[:, 0] %= 360
            _, reward = play.judge(ENV, some.replace(own=own.astype(np.int32)), np.tile([2, 0], (COUNT, 1)))
            assert (reward == (abs(offsets[0]) <= TOLERANCES[scale][0])).all()


def test_answers_in_words(batch):
    _, states, _ = batch
    good = ("hue -40", "Hue +40", "HUE 180", "saturation 0", "saturation, -1", "stop", " Stop\n")
    bad = (
        *("hue", "40", "", "hue 181", "hue 4 0", "hue - 40", "hue --40", "hue 40-", "hue -4 -4", "hue 4.5"),
        *(
            "40 hue",
            "-40 hue",
            "hue 40 stop",
            "hue 4 please",
            "hue saturation 4",
            "light 4",
            "stop 1",
            "stop -",
        ),
    )
    illegal = ("saturation 101", "saturation -101")
    replies = dict.fromkeys(good, 0) | dict.fromkeys(bad, 2) | dict.fromkeys(illegal, 3)
    verdict, reward = play.read(ENV, play.first(states, len(replies)), list(replies))
    assert dict(zip(replies, verdict.tolist(), strict=True)) == replies
    assert not reward.any()


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_shows_both_colours_and_the_bars(batch, canvas):
    scale, states, _ = batch
    some = play.first(rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.5).states[2], 40)
    unit = canvas // 32
    width, ink = canvas - 2 * unit, palette.rgb("ink")
    shown = zip(
        play.pictures(ENV, some, canvas), play.observations(ENV, some), some.own.tolist(), strict=True
    )
    for image, words, own in shown:
        left, right, _ = read_text(words)
        assert (image[unit : 17 * unit, unit : canvas // 2] == left).all()
        assert (image[unit : 17 * unit, canvas // 2 : canvas - unit] == right).all()
        for top, value, most, near in zip((20, 27), own, (360, 100), TOLERANCES[scale], strict=True):
            bar = image[(top + 1) * unit, unit : canvas - unit].tolist()
            place = value * width // most
            if place < width:
                assert np.abs(np.array(bar[place]) - right).max() <= 4 * (most / width + 1)
            values = np.arange(width) * most // width
            away = np.abs(values - value)
            away = np.minimum(away, 360 - away) if most == 360 else away
            strip, mark = (
                (image[row * unit + unit // 2, unit : canvas - unit] == ink).all(-1)
                for row in (top - 1, top + 3)
            )
            assert (strip == (away <= near)).all()
            assert abs(np.flatnonzero(mark).mean() - min(place, width - 1)) <= 1
