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


def share_interval(values: ArrayLike, level: float = LEVEL) -> Gap:
    """Return the mean of shares or AUCs with its t interval, cut at 0 and 1: none lies beyond."""
    gap = mean_interval(values, level)
    low, high = np.clip([gap.low, gap.high], 0.0, 1.0).tolist()  # NaN stays NaN
    return Gap(gap.estimate, low, high, gap.n)


def epochs_until(curve: ArrayLike, level: float) -> int | None:
    """Return the first epoch at which `curve[E + 1]` is at least `level`, or None if none is.

    Index 0 is before training.
    """
    reached = np.flatnonzero(np.asarray(curve) >= level)
    return int(reached[0]) if reached.size else None


def cliffs_delta(first: ArrayLike, second: ArrayLike) -> float:
    """Return P(a > b) - P(a < b) over all pairs of a in first[n] and b in second[m].

    1 where every a is above every b, 0 where neither is larger in more pairs, -1 the other way;
    ties count nothing. It depends on order alone, so a logarithm changes nothing. Raises ValueError
    for an empty list or a value that is not finite. Source: Cliff (1993), Psychological Bulletin
    114(3).
    """
    first, second = np.asarray(first, float).ravel(), np.sort(np.asarray(second, float).ravel())
    if not (first.size and second.size):
        raise ValueError(f"Both groups need a value: they have {first.size} and {second.size}.")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("Cliff's delta needs finite numbers.")
    below = np.searchsorted(second, first, side="left").mean()
    above = second.size - np.searchsorted(second, first, side="right").mean()
    return float((below - above) / second.size)


def auc(score: ArrayLike, is_member: ArrayLike) -> float:
    """Return the chance that a random member scores above a random non-member, ties counting half.

    `score[N]`, higher = member; `is_member` bool[N]. Raises ValueError for shapes that differ, a
    score that is NaN, or no member or no non-member.
    """
    members, others = _split(score, is_member)
    order = stats.rankdata(np.concatenate([members, others]))  # ties share their mean rank
    wins = order[: members.size].sum() - members.size * (members.size + 1) / 2
    return float(wins / (members.size * others.size))


def roc(score: ArrayLike, is_member: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return (fpr[T + 1], tpr[T + 1]) with each of T different scores as threshold.

    The curve runs from (0, 0) to (1, 1). Equal scores pass a threshold together, whatever their
    order. Raises ValueError as `auc` does.
    """
    members, others = _split(score, is_member)
    thresholds = np.unique(np.concatenate([members, others]))[::-1]

    def share(group: np.ndarray) -> np.ndarray:
        passed = group.size - np.searchsorted(np.sort(group), thresholds, side="left")
        return np.concatenate([[0.0], passed / group.size])

    return share(others), share(members)


def tpr_at_fpr(score: ArrayLike, is_member: ArrayLike, fpr: float) -> float | None:
    """Return the largest share of members found at a false-positive rate of at most `fpr`.

    None when there are fewer than 1 / fpr non-members: then no threshold has a rate that low but
    the one with no false positive at all. Raises ValueError as `auc` does.
    """
    _, others = _split(score, is_member)
    if others.size * fpr < 1 - 1e-9:  # 1,000 non-members do resolve .001
        return None
    false, true = roc(score, is_member)
    return float(true[false <= fpr + 1e-12].max())


def _split(score: ArrayLike, is_member: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the members' and the non-members' scores; raise ValueError for no such groups."""
    score, is_member = np.asarray(score, float), np.asarray(is_member)
    if score.ndim != 1 or score.shape != is_member.shape or is_member.dtype != bool:
        raise ValueError(
            f"Need score[N] and boolean is_member[N], not {score.shape} and "
            f"{is_member.dtype}{is_member.shape}."
        )
    if np.isnan(score).any():
        raise ValueError(f"{np.isnan(score).sum()} scores are NaN.")
    if is_member.all() or not is_member.any():
        raise ValueError(f"{is_member.sum()} of {is_member.size} are members: both kinds needed.")
    return score[is_member], score[~is_member]
