"""What the engineer sets: for every board size its share of the data, its holes and its wait instances."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxenv.mapf.instance import SIZES

LIMITS = {"data": 1.0, "hole": 0.5, "wait": 1.0}  # half of the cells: the most holes of the published boards
SUM_TOLERANCE = 0.05  # how far from 1 proposed data ratios may sum
DECIMALS = 4


@dataclass(frozen=True)
class GeneratorConfig:
    """One ratio a size of `SIZES`, in that order.

    data: share of the round's instances, all together 1.
    hole: holes / cells of a board, in [0, 0.5].
    wait: share of the size's instances, in [0, 1], in whose best plan an agent waits or takes a longer way
        than it would alone.

    Raises ValueError naming the size and the ratio that is out of its range.
    """

    data: tuple[float, ...]
    hole: tuple[float, ...]
    wait: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_ranges(self.data, self.hole, self.wait)
        if abs(math.fsum(self.data) - 1.0) > 1e-6:
            raise ValueError(f"data: the ratios sum to {math.fsum(self.data):.6g}; they must sum to 1")

    def arrays(self) -> dict[str, np.ndarray]:
        """data, hole, wait: float32[8], by size 3..10."""
        return {name: np.asarray(getattr(self, name), np.float32) for name in LIMITS}

    def to_yaml(self) -> str:
        """The block that an engineer answers with; `train.engineering.reply` reads it back exactly."""
        rows = zip(SIZES, self.data, self.hole, self.wait, strict=True)
        lines = [
            f"  {size}: {{data: {data}, hole: {hole}, wait: {wait}}}\n" for size, data, hole, wait in rows
        ]
        return "sizes:\n" + "".join(lines)


def normalised(data: Sequence[float], hole: Sequence[float], wait: Sequence[float]) -> GeneratorConfig:
    """The config of these ratios by size, with data ratios made to sum to 1 where they nearly do.

    Ratios are kept to four decimals, finer than one instance of 4,000: a config is then the same in words and
    in memory. Raises ValueError where the data ratios do not sum to 1 within 0.05, and as GeneratorConfig.
    """
    _check_ranges(data, hole, wait)
    total = math.fsum(data)
    if abs(total - 1.0) > SUM_TOLERANCE + 1e-9:
        raise ValueError(f"data: the ratios sum to {total:.4g}; they must sum to 1 within {SUM_TOLERANCE}")
    return GeneratorConfig(_rounded_shares(np.asarray(data)), _rounded(hole), _rounded(wait))


def random_config(seed: int, number: int = 0) -> GeneratorConfig:
    """A config drawn uniformly from all that are allowed, the same for the same seed and round number."""
    draw = np.random.default_rng([seed, number])
    data = draw.dirichlet(np.ones(len(SIZES)))
    hole, wait = (draw.uniform(0.0, LIMITS[name], len(SIZES)) for name in ("hole", "wait"))
    return normalised(data.tolist(), hole.tolist(), wait.tolist())


def _rounded(ratios: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    return tuple(np.round(np.asarray(ratios), DECIMALS).tolist())


def _rounded_shares(data: np.ndarray) -> tuple[float, ...]:
    """Rounding the running sums leaves the whole at 1, a share of 0 at 0 and rounded shares as they are."""
    ends = np.round(np.cumsum(data) / data.sum(), DECIMALS)
    return _rounded(np.diff(ends, prepend=0.0))


def _check_ranges(*columns: Sequence[float]) -> None:
    for (name, limit), column in zip(LIMITS.items(), columns, strict=True):
        if len(column) != len(SIZES):
            raise ValueError(f"{name}: {len(column)} ratios; one a size {SIZES[0]}..{SIZES[-1]} is needed")
        for size, value in zip(SIZES, column, strict=True):
            if not 0.0 <= value <= limit:  # NaN too
                raise ValueError(f"sizes.{size}.{name}: {value:.6g} is not in 0..{limit:g}")
