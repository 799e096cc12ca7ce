"""Where a control has no verdict: what takes an interval away, and why.

A gap says nothing about memorization where a network has not learned the other samples, nothing
where both arms have fitted everything, and nothing where the line that it is read on decides it.
All functions are pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bn_memorization.config import SETTING
from bn_memorization.controls import LOG, LOSS, evidence
from bn_memorization.judging import Claim, Evidence, judge_one
from bn_memorization.membership import Pool
from bn_memorization.memorization import LEARNED, final_accuracy, has_learned, paired
from bn_memorization.report import name
from bn_memorization.train import Run

# Share of the corrupted samples from which on there is next to nothing left to fit.
FITTED = 0.95

REASON = "none: "  # before the reason, where an interval's kind is told


def without(item: Evidence, why: str) -> Evidence:
    """Return the evidence without its interval, which says why."""
    return replace(item, low=float("nan"), high=float("nan"), interval=f"{REASON}{why}")


def learned(item: Evidence, arms: Iterable[Sequence[Run]]) -> Evidence:
    """Return the evidence, without an interval where the runs of an arm have not learned."""
    for runs in arms:
        if not has_learned(runs):
            return without(item, f"{name(runs[0].config.norm)} has not learned the clean samples")
    return item


def long_runs(items: Iterable[Evidence], runs: Iterable[Run], norm: str) -> list[Evidence]:
    """Return the evidence of long runs, without an interval where it cannot show a gap.

    That is where an arm has not learned, and where the mean accuracy on corrupted samples of both
    is at least FITTED.
    """
    arms = {tuple(where.values()): both for where, *both in paired(runs, norm)}
    found = []
    for item in items:
        both = arms[tuple(item.where[key] for key in SETTING)]
        ends = [np.mean([final_accuracy("corrupted")(run) for run in arm]) for arm in both]
        full = min(ends) >= FITTED
        found.append(
            without(item, "both fit all, or nearly, and nothing is left to compare")
            if full
            else learned(item, both)
        )
    return found


def long_pools(items: Iterable[Evidence], pairs: Iterable[tuple[Pool, Pool]]) -> list[Evidence]:
    """Return the evidence of long pools, without an interval where an arm lacks its members.

    An arm has fitted them where its models are right on at least LEARNED of them at the end.
    """
    arms = {tuple(pair[0].where[key] for key in SETTING): pair for pair in pairs}
    return [_members(item, arms[tuple(item.where[key] for key in SETTING)]) for item in items]


def _members(item: Evidence, pair: tuple[Pool, Pool]) -> Evidence:
    for pool in pair:
        if pool.correct[-1][pool.keep].mean() < LEARNED:
            return without(item, f"{name(pool.norm)} has not fitted its members")
    return item


def at_equal_loss(claim: Claim, values: pd.DataFrame, quantity: str) -> list[Evidence]:
    """Return the evidence at equal clean loss, read on straight lines.

    It has no interval where lines against the log of the loss would give another verdict: then the
    line between two epochs decides, and no measurement.
    """
    both = (evidence(values, matching, quantity) for matching in (LOSS, LOG))
    return [agreed(claim, *items) for items in zip(*both, strict=True)]


def agreed(claim: Claim, straight: Evidence, log: Evidence) -> Evidence:
    """Return the first of two readings, without its interval where their verdicts differ."""
    if judge_one(claim, straight) == judge_one(claim, log):
        return straight
    return without(straight, "straight and log lines give different verdicts")
