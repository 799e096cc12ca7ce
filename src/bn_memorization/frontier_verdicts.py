"""What is compared among ways to train: the controls of chapter 9, and stops to set beside them.

All functions are pure and take the ways that `frontier.ways` returns.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from bn_memorization.control_claims import CONTROLS
from bn_memorization.frontier import GUESS, PRIVATE, Way, by_setting, stopped
from bn_memorization.judging import Evidence, Verdict, judge
from bn_memorization.membership import INTERVAL
from bn_memorization.regularize import FORMS
from bn_memorization.stats import Gap, epochs_until, mean_interval, paired_gap
from bn_memorization.tradeoff import NOTHING


def verdicts(found: Sequence[Way], epsilon: float) -> list[Verdict]:
    """Return the verdicts on the penalty's AUC, its cost, group norm, and DP-SGD at epsilon.

    Each penalty that was trained is a setting of its own.
    """
    penalized = [way for way in found if way.remedy in FORMS]
    grouped = [way for way in found if (way.norm, way.remedy) == ("group", NOTHING)]
    evidence = {
        "tradeoff_penalty": below_bn(found, penalized, "auc"),
        "tradeoff_penalty_cost": below_bn(found, penalized, "test"),
        "tradeoff_norms": below_bn(found, grouped, "auc"),
        "tradeoff_private": above_guessing(found, epsilon),
    }
    return [judge(CONTROLS[key], items) for key, items in evidence.items()]


def below_bn(found: Sequence[Way], chosen: Sequence[Way], quantity: str) -> list[Evidence]:
    """Return BN without a remedy minus each chosen way on the same pool, pair by pair.

    `quantity` is `auc` or `test`.
    """
    evidence = []
    for where, group in by_setting(found):
        bn = getattr(_bn(group), quantity)
        here = (way for way in chosen if way.pool.where == where)
        evidence += [_evidence(way, paired_gap(bn, getattr(way, quantity))) for way in here]
    return evidence


def _bn(group: Iterable[Way]) -> Way:
    (bn,) = (way for way in group if (way.norm, way.remedy) == ("batch", NOTHING))
    return bn


def beside_stopping(found: Sequence[Way]) -> list[tuple[Way, Way]]:
    """Return each penalized way with the moment of BN's training to compare it with, (way, stop).

    The first look, up to the last, whose mean test accuracy is at least the way's; if none is, the
    best look. The choice sees the test images. None where BN was looked at only at the end.
    """
    pairs = []
    for _, group in by_setting(found):
        looks = [*stopped(group), _bn(group)]
        test = [look.test.mean() for look in looks]
        for way in group:
            if way.remedy in FORMS and len(looks) > 1:
                first = epochs_until(test, way.test.mean())
                pairs.append((way, looks[int(np.argmax(test)) if first is None else first]))
    return pairs


def beside_private(found: Sequence[Way], epsilon: float) -> list[tuple[Way, Way]]:
    """Return each way with DP-SGD at epsilon and its network's first early stop, (way, stop).

    The stop is trained without DP-SGD. None where the network was looked at only at the end.
    """
    return [
        (way, stops[0])
        for _, group in by_setting(found)
        for way in _private(group, epsilon)
        if (stops := stopped(group, way.norm))
    ]


def _private(found: Iterable[Way], epsilon: float) -> list[Way]:
    return [way for way in found if (way.remedy, way.strength) == (PRIVATE, f"{epsilon:g}")]


def above_guessing(found: Sequence[Way], epsilon: float) -> list[Evidence]:
    """Return the AUC minus that of guessing of the ways with DP-SGD at epsilon."""
    return [_evidence(way, mean_interval(way.auc - GUESS)) for way in _private(found, epsilon)]


def _evidence(way: Way, gap: Gap) -> Evidence:
    strength = f"ε = {way.strength}" if way.remedy == PRIVATE else way.strength
    where = way.pool.where | {"remedy": ", ".join(filter(None, (way.remedy, strength)))}
    return Evidence(where, gap.estimate, gap.low, gap.high, gap.n, INTERVAL)
