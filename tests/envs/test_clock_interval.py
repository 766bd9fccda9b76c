"""clock_interval against Python's datetime, and its hands read from the picture."""

from datetime import datetime, timedelta

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("clock_interval")[0]
UNITS = (15, 5, 1)
NOON = datetime(2000, 1, 1, 12)


def interval(first: str, second: str) -> int:
    """Minutes from one time of a 12-hour clock to the next time that the other is shown."""
    began, ended = (datetime.strptime(time, "%I:%M") for time in (first, second))
    if ended <= began:
        ended += timedelta(hours=12)
    return (ended - began) // timedelta(minutes=1)


def shown(minutes: int) -> str:
    return (NOON + timedelta(minutes=int(minutes))).strftime("%I:%M").lstrip("0")


def read_hand(image: np.ndarray, blue: bool, middle: float, reach: float) -> float:
    """Degrees clockwise from the top of the blue or the red hand, by the middle of its outer pixels."""
    canvas = len(image)
    y, x = (np.indices((canvas, canvas)) + 0.5) / canvas - middle
    away = np.hypot(x, y) / 0.27
    warmth = image[..., 0].astype(int) - image[..., 2]
    colour = np.maximum(-warmth if blue else warmth, 40) - 40.0
    here = colour * ((away > reach - 0.25) & (away < reach))
    assert here.max() > 40
    return np.degrees(np.arctan2((here * x).sum(), -(here * y).sum())) % 360


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their two times and the minutes between."""
    states = play.instances(ENV, request.param)
    times = [(shown(first), shown(second)) for first, second in states.minutes]
    return states, times, np.array([interval(*both) for both in times])


def test_every_instance_is_in_range_and_they_differ(batch):
    states, _, gaps = batch
    unit = int(np.gcd.reduce(states.minutes, axis=None))
    assert unit in UNITS
    assert (states.minutes.min(), states.minutes.max()) == (0, 720 - unit)
    assert (gaps % unit == 0).all()
    assert (gaps.min(), gaps.max()) == pytest.approx((unit, 720 - unit), abs=2)
    assert play.distinct(states) > {15: 1200, 5: 1850, 1: 1980}[unit]
    assert np.histogram(gaps, 6, (0, 720))[0].min() > 0.8 * len(gaps) / 6


def test_only_the_minutes_pay(batch):
    states, _, gaps = batch
    np.testing.assert_array_equal(play.experts(ENV, states)[:, 0], gaps)
    for change in (-60, -1, 0, 1, 60):
        legal, reward = play.judge(ENV, states, (gaps + change)[:, None])
        assert legal.all()
        assert (reward == (change == 0)).all()
    _, reward = play.judge(ENV, states, 720 - gaps[:, None])  # from the lower clock to the upper one
    np.testing.assert_array_equal(reward == 1, gaps == 360)


def test_text_tells_the_times(batch):
    states, times, _ = batch
    for (first, second), words in zip(
        times, play.observations(ENV, play.first(states, play.SOME)), strict=False
    ):
        assert words == f"upper clock {first}\nlower clock {second}"


@pytest.mark.parametrize("canvas", [96, 256])
def test_hands_can_be_read_from_the_picture(batch, canvas):
    states, times, _ = batch
    read = 0
    for both, image in zip(times, play.pictures(ENV, play.first(states, 60), canvas), strict=False):
        for time, middle in zip(both, (0.29, 0.71), strict=True):
            minute_angle = read_hand(image, True, middle, 0.84)
            hour, minute = map(int, time.split(":"))
            assert round(minute_angle / 6) % 60 == minute
            if abs((minute_angle - 30 * hour - minute / 2 + 180) % 360 - 180) > 15:  # not one over the other
                hour_angle = read_hand(image, False, middle, 0.52)
                assert round((hour_angle - minute / 2) / 30) % 12 == hour % 12
                read += 1
    assert read > 80


def test_answers_in_words(batch):
    states, _, gaps = batch
    some = play.first(states, play.SOME)
    verdict, reward = play.read(ENV, some, [f" {gap}\n" for gap in gaps[: play.SOME]])
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
    verdict, _ = play.read(ENV, some, ["720", "2:30", "-5", "5 6"] * (play.SOME // 4))
    assert (verdict == answers.NOT_IN_GRAMMAR).all()
