"""The step size over a run, at the steps that matter."""

import pytest

from train.schedule import rise_and_fall


def test_it_rises_and_falls_in_lines() -> None:
    size = rise_and_fall(2.0, rising=10, updates=50, share=0.1)
    wanted = {0: 0.0, 5: 1.0, 10: 2.0, 30: 1.1, 50: 0.2, 90: 0.2}
    assert {step: float(size(step)) for step in wanted} == pytest.approx(wanted)


def test_it_can_stay() -> None:
    size = rise_and_fall(2.0, rising=0, updates=50, share=1.0)
    assert [float(size(step)) for step in (0, 25, 50)] == [2.0] * 3


def test_a_run_may_be_shorter_than_its_rise() -> None:
    size = rise_and_fall(2.0, rising=10, updates=4, share=0.5)
    assert float(size(4)) == pytest.approx(0.8)
