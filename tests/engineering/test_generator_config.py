"""The generator's configuration: what is allowed, what is rescaled, and the same in words and in memory."""

import numpy as np
import pytest

from train.engineering.config import LIMITS, SIZES, GeneratorConfig, normalised, random_config
from train.engineering.reply import read_config

EIGHTH, HOLE, WAIT = (0.125,) * 8, (0.2,) * 8, (0.3,) * 8


def changed(ratios, place, value):
    return (*ratios[:place], value, *ratios[place + 1 :])


@pytest.mark.parametrize("make", [GeneratorConfig, normalised])
@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ((changed(EIGHTH, 0, -0.1), HOLE, WAIT), "sizes.3.data: -0.1 is not in 0..1"),
        ((EIGHTH, changed(HOLE, 7, 0.51), WAIT), "sizes.10.hole: 0.51 is not in 0..0.5"),
        ((EIGHTH, HOLE, changed(WAIT, 4, float("nan"))), "sizes.7.wait: nan is not in 0..1"),
        ((EIGHTH, HOLE, changed(WAIT, 1, float("inf"))), "sizes.4.wait: inf is not in 0..1"),
        ((EIGHTH[:7], HOLE, WAIT), "data: 7 ratios; one a size 3..10 is needed"),
        ((changed(EIGHTH, 2, 0.2), HOLE, WAIT), "data: the ratios sum to 1.075; they must sum to 1"),
    ],
)
def test_refuses_with_one_line(make, columns, line):
    with pytest.raises(ValueError, match=r"ratio|sizes") as raised:
        make(*columns)
    assert str(raised.value).startswith(line)


@pytest.mark.parametrize("total", [0.95, 0.999, 1.0, 1.03, 1.05])
def test_data_ratios_within_five_percent_are_rescaled(total):
    data = np.array([0.0, 0.3, 0.2, 0.1, 0.0, 0.15, 0.2, 0.05])
    config = normalised((data * total).tolist(), HOLE, WAIT)
    np.testing.assert_allclose(config.data, data, atol=1e-9)
    assert sum(config.data) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("total", [0.0, 0.94, 1.06, 8.0])
def test_other_sums_are_not(total):
    with pytest.raises(ValueError, match=r"must sum to 1 within 0\.05"):
        normalised([total / 8] * 8, HOLE, WAIT)


def test_yaml_and_back_is_the_same_config():
    for seed in range(20):
        config = random_config(seed)
        assert read_config(config.to_yaml()) == config
    sevenths = normalised([1 / 7] * 7 + [0.0], [1 / 3] * 8, [2 / 3] * 8)
    assert read_config(sevenths.to_yaml()) == sevenths
    assert sevenths.data[7] == 0.0
    assert normalised(sevenths.data, sevenths.hole, sevenths.wait) == sevenths
    smallest = normalised([1e-4, 0.9999, *[0.0] * 6], [1e-4] * 8, [0.0] * 8)
    assert read_config(smallest.to_yaml()) == smallest


def test_random_configs_fill_what_is_allowed():
    configs = [random_config(seed) for seed in range(200)]
    assert random_config(7, 1) == random_config(7, 1)
    assert len({random_config(7, number) for number in range(5)} | set(configs)) == 204
    for name, limit in LIMITS.items():
        values = np.array([getattr(config, name) for config in configs])
        expected = np.full(8, 1 / 8 if name == "data" else limit / 2)
        np.testing.assert_allclose(values.mean(0), expected, atol=0.06 * limit)
        assert values.max() > 0.5 if name == "data" else values.max() > 0.97 * limit
        assert values.min() < 0.03 * limit


def test_arrays_for_the_generator():
    arrays = random_config(3).arrays()
    assert {name: (array.shape, array.dtype) for name, array in arrays.items()} == {
        name: ((len(SIZES),), np.dtype(np.float32)) for name in ("data", "hole", "wait")
    }
    np.testing.assert_array_equal(arrays["wait"], np.float32(random_config(3).wait))
