"""Privacy against utility: how well each way to train predicts, and how much it gives away.

A way to train is a norm with or without a remedy. Its test accuracy, the AUC of the membership
attack and the share of members found at a low false-positive rate are taken pair by pair over its
complementary pairs of attacked models, so that ways trained on the same halves can be compared pair
by pair. All functions are pure and take shadow models as `runs.run_all` returns them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bn_memorization.membership import DECIDES, Pool, pools
from bn_memorization.private import PrivateConfig
from bn_memorization.shadows import Shadow, ShadowConfig
from bn_memorization.stats import auc, mean_interval, paired_gap, tpr_at_fpr
from bn_memorization.tradeoff import NOTHING, STOPPING, remedy

PRIVATE = "DP-SGD"
FPR = 0.01  # the false-positive rate at which the share of members found is read
GUESS = 0.5  # the AUC of guessing
QUANTITIES = ("test", "auc", "tpr")


@dataclass(frozen=True, eq=False)
class Way:
    """One way to train, by its shadow models on one pool as they are at one look; P pairs."""

    norm: str
    remedy: str
    strength: str
    pool: Pool
    look: int

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from the other ways on the same pool."""
        return self.norm, self.remedy, self.strength

    @property
    def test(self) -> np.ndarray:
        """The test accuracy of each pair, [P]."""
        return _by_pair(self.pool.test_accuracy[self.look])

    @property
    def train_loss(self) -> np.ndarray:
        """The mean cross-entropy of the members of each pair, [P], in nats."""
        return _by_pair(self.pool.train_loss[self.look])

    @cached_property
    def _score(self) -> np.ndarray:
        return self.pool.score(DECIDES, self.look)

    @cached_property
    def auc(self) -> np.ndarray:
        """The AUC of the deciding attack on each pair, [P]."""
        return _by_pair([auc(*both) for both in zip(self._score, self.pool.keep, strict=True)])

    @cached_property
    def tpr(self) -> np.ndarray | None:
        """The share of members found at FPR in each pair, [P]; None where FPR is not resolved."""
        keep = self.pool.keep
        found = [tpr_at_fpr(*both, FPR) for both in zip(self._score, keep, strict=True)]
        return None if None in found else _by_pair(found)


def _by_pair(values: ArrayLike) -> np.ndarray:
    return np.reshape(np.asarray(values, float), (-1, 2)).mean(axis=1)


def ways(shadows: Iterable[Shadow], *, lr: float, weight_decay: float) -> list[Way]:
    """Return every way to train after its last epoch, setting by setting in the order of the runs.

    `lr` and `weight_decay` are those without a remedy. Raises ValueError for ways on the same pool
    that differ in masks or outliers, and as `membership.pools` does.
    """
    groups: dict[tuple[str, str, str], list[Shadow]] = {}
    for shadow in shadows:
        how = _how(shadow.config, lr=lr, weight_decay=weight_decay)
        groups.setdefault((shadow.config.norm, *how), []).append(shadow)
    found = [
        Way(*key, pool, len(pool.looks) - 1)
        for key, group in groups.items()
        for pool in pools(group)
    ]
    return [way for _, group in by_setting(found) for way in group]


def _how(config: ShadowConfig, *, lr: float, weight_decay: float) -> tuple[str, str]:
    if isinstance(config, PrivateConfig):
        return PRIVATE, f"{config.epsilon:g}"
    return remedy(config, lr=lr, weight_decay=weight_decay)


def by_setting(found: Iterable[Way]) -> list[tuple[dict, list[Way]]]:
    """Return (setting, its ways), in order. Raises ValueError as `ways` does."""
    groups: dict[tuple, list[Way]] = {}
    for way in found:
        groups.setdefault(tuple(way.pool.where.values()), []).append(way)
    for key, group in groups.items():
        for name in ("keep", "outlier"):
            first = getattr(group[0].pool, name)
            if not all(np.array_equal(first, getattr(way.pool, name)) for way in group):
                raise ValueError(f"{key}: not all ways have the same {name}.")
    return [(group[0].pool.where, group) for group in groups.values()]


def stopped(found: Iterable[Way], norm: str = "batch") -> list[Way]:
    """Return the ways that stopping each way with `norm` and no remedy early makes of it.

    One for each look between the first, before training, and the last.
    """
    return [
        replace(way, remedy=STOPPING, strength=f"{way.pool.looks[look]}", look=look)
        for way in found
        if (way.norm, way.remedy) == (norm, NOTHING)
        for look in range(1, way.look)
    ]


def front(gain: ArrayLike, loss: ArrayLike) -> np.ndarray:
    """Return which points lie on the Pareto front of more `gain`[n] for less `loss`[n], bool[n].

    A point is off the front if another has at least its gain and at most its loss, and is better in
    one of them. Equal points are on it together or not at all. Raises ValueError for values that
    are NaN.
    """
    gain, loss = np.asarray(gain, float), np.asarray(loss, float)
    if np.isnan(gain).any() or np.isnan(loss).any():
        raise ValueError("A point with a NaN is neither on the front nor off it.")
    as_good = (gain[:, None] >= gain) & (loss[:, None] <= loss)  # [i, j]: i is as good as j
    better = as_good & ((gain[:, None] > gain) | (loss[:, None] < loss))
    return ~better.any(axis=0)


def clearly_better(first: Way, second: Way) -> bool:
    """Return whether `first` beats `second` on both axes with intervals clear of zero.

    The axes are test accuracy and AUC, compared pair by pair.
    """
    accuracy, attack = paired_gap(first.test, second.test), paired_gap(first.auc, second.auc)
    return accuracy.low > 0 and attack.high < 0


def points(found: Sequence[Way]) -> pd.DataFrame:
    """Return what the figure and the table show, a row a way.

    Columns: the setting's, norm, remedy, strength, n (pairs), for each of QUANTITIES the mean over
    pairs and its 95 % t interval as `_low` and `_high` (NaN for a rate that is not resolved),
    `front_auc` and `front_tpr` (on the Pareto front of its setting) and `beaten_by`, the keys of
    the ways that are clearly better.
    """
    frames = []
    for where, group in by_setting(found):
        part = pd.DataFrame([dict(where) | _point(way) for way in group])
        for quantity in ("auc", "tpr"):
            known, on = part[quantity].notna(), f"front_{quantity}"
            part[on] = False
            part.loc[known, on] = front(part["test"][known], part[quantity][known])
        part["beaten_by"] = [
            [other.key for other in group if clearly_better(other, way)] for way in group
        ]
        frames.append(part)
    return pd.concat(frames, ignore_index=True)


def _point(way: Way) -> dict[str, object]:
    row = {"norm": way.norm, "remedy": way.remedy, "strength": way.strength, "n": len(way.test)}
    for quantity in QUANTITIES:
        values = getattr(way, quantity)
        gap = None if values is None else mean_interval(values)
        ends = (np.nan,) * 3 if gap is None else (gap.estimate, gap.low, gap.high)
        row |= dict(zip((quantity, f"{quantity}_low", f"{quantity}_high"), ends, strict=True))
    return row
