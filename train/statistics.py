"""95 % intervals for what an evaluation counts, over independent instances."""

from typing import NamedTuple

import numpy as np

Z95 = 1.959963984540054  # the 0.975 quantile of the standard normal distribution


class Estimate(NamedTuple):
    """A value and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def wilson_interval(successes: int, total: int) -> Estimate:
    """The success rate in [0, 1] with Wilson's score interval (1927), sound at 0 and 1 and for few instances.

    Raises ValueError unless 0 <= successes <= total and total > 0.
    """
    if not 0 <= successes <= total or total == 0:
        raise ValueError(f"{successes} successes of {total}")
    p, z2 = successes / total, Z95**2
    centre = (p + z2 / (2 * total)) / (1 + z2 / total)
    half = Z95 * np.sqrt(p * (1 - p) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    return Estimate(p, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


def mean_estimate(estimates: list[Estimate]) -> Estimate:
    """The mean of independent estimates, each environment with the same weight.

    The distances from the values to the ends add up in quadrature (MOVER, Zou and Donner 2008), which keeps
    Wilson's intervals sound where a normal interval would have width 0. Raises ValueError for no estimate.
    """
    if not estimates:
        raise ValueError("the mean of no estimates")
    value, low, high = np.array(estimates).T
    mean, n = value.mean(), len(estimates)
    below, above = np.sqrt(((value - low) ** 2).sum()) / n, np.sqrt(((high - value) ** 2).sum()) / n
    return Estimate(float(mean), float(mean - below), float(mean + above))


def paired_difference(before: np.ndarray, after: np.ndarray) -> Estimate:
    """Mean over environments of after - before, both bool (or scores) [E, N] on the same N instances of each.

    Pairing takes the instances' own difficulty out of the interval. It is the normal interval of a stratified
    sample: the environments are fixed, their instances are drawn. Raises ValueError for shapes that differ or
    N < 2.
    """
    before, after = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if before.shape != after.shape or before.ndim != 2 or before.shape[1] < 2:
        raise ValueError(f"need two [E, N] arrays with N >= 2, not {before.shape} and {after.shape}")
    difference = after - before
    environments, instances = difference.shape
    variance = difference.var(axis=1, ddof=1).sum() / instances / environments**2
    mean, half = difference.mean(), Z95 * np.sqrt(variance)
    return Estimate(float(mean), float(mean - half), float(mean + half))
