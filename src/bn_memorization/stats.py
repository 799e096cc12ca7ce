"""Statistics of paired runs: the unit is the trained model, and every gap has an interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

LEVEL = 0.95


@dataclass(frozen=True)
class Gap:
    """A mean paired difference with its two-sided interval over `n` pairs."""

    estimate: float
    low: float
    high: float
    n: int


def paired_gap(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> Gap:
    """Return the mean of first - second over pairs, with Student's t interval.

    `first[n]` and `second[n]` hold one number a trained model, paired by seed. With a handful of
    pairs a bootstrap interval is too narrow; t is exact for normal differences. One pair gives no
    interval (NaN). If all differences are equal the interval has no width.

    Raises ValueError for shapes that differ, no pair, or a value that is not finite.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    if first.shape != second.shape or first.ndim != 1 or first.size == 0:
        raise ValueError(f"Pairs need two equal lists, not shapes {first.shape}, {second.shape}.")
    if not np.isfinite([first, second]).all():
        raise ValueError(f"Pairs need finite numbers, not {first} and {second}.")
    difference = first - second
    n, estimate = difference.size, float(difference.mean())
    if n == 1:
        return Gap(estimate, float("nan"), float("nan"), 1)
    reach = stats.t.ppf((1 + level) / 2, n - 1) * difference.std(ddof=1) / np.sqrt(n)
    return Gap(estimate, estimate - float(reach), estimate + float(reach), n)


def mean_interval(values: ArrayLike, level: float = LEVEL) -> Gap:
    """Return the mean of `values[n]` with Student's t interval: a gap against zero."""
    return paired_gap(values, np.zeros(np.shape(values)), level)


def epochs_until(curve: ArrayLike, level: float) -> int | None:
    """Return the first epoch at which `curve[E + 1]` is at least `level`, or None if none is.

    Index 0 is before training.
    """
    reached = np.flatnonzero(np.asarray(curve) >= level)
    return int(reached[0]) if reached.size else None
