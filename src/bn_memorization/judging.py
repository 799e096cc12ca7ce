"""How a claim is judged: evidence with intervals becomes one of four verdicts, none typed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bn_memorization.stats import Gap

REPRODUCED = "reproduced"
PARTLY = "partly"
NOT_REPRODUCED = "not reproduced"
NOT_TESTABLE = "not testable at this scale"


@dataclass(frozen=True)
class Claim:
    """One statement and how it is judged.

    It holds where `quantity` lies `direction` ("above" or "below") `threshold`, in `unit`, over at
    least `least_n` units. `chapter` is the notebook that tests it. `number` is that of the claim of
    arXiv:2605.24420 that it states, or, for one of our own controls, that it bears on; 0 for
    one that bears on none.
    """

    key: str
    number: int
    title: str
    statement: str
    quantity: str
    unit: str
    direction: str
    threshold: float
    least_n: int
    chapter: str


def declare(*claims: Claim) -> dict[str, Claim]:
    """Return {key: claim}."""
    return {claim.key: claim for claim in claims}


@dataclass(frozen=True)
class Evidence:
    """A measured effect in one setting `where`, with its interval over `n` units."""

    where: Mapping[str, object]
    estimate: float
    low: float
    high: float
    n: int
    interval: str = "95 % t over seeds"

    @classmethod
    def from_gap(cls, where: Mapping[str, object], gap: Gap) -> "Evidence":
        """Return the evidence that a paired gap gives."""
        return cls(where, gap.estimate, gap.low, gap.high, gap.n)


@dataclass(frozen=True)
class Verdict:
    """A claim's verdict: the word for all settings together, and the word for each."""

    claim: Claim
    word: str
    evidence: tuple[Evidence, ...]
    words: tuple[str, ...]


def judge_one(claim: Claim, evidence: Evidence) -> str:
    """Return the verdict in one setting.

    `reproduced` if the whole interval lies beyond the threshold, `partly` if the estimate does but
    the interval reaches back to it, `not reproduced` if the estimate does not, and `not testable at
    this scale` with fewer than `least_n` units or no interval. Raises ValueError if the estimate is
    NaN.
    """
    if math.isnan(evidence.estimate):
        raise ValueError(f"{claim.key}: the estimate in {dict(evidence.where)} is NaN.")
    if evidence.n < claim.least_n or math.isnan(evidence.low) or math.isnan(evidence.high):
        return NOT_TESTABLE
    sign = {"above": 1, "below": -1}[claim.direction]
    beyond = sign * (evidence.estimate - claim.threshold)
    nearest = min(sign * (end - claim.threshold) for end in (evidence.low, evidence.high))
    if nearest > 0:
        return REPRODUCED
    return PARTLY if beyond > 0 else NOT_REPRODUCED


def judge(claim: Claim, evidence: Sequence[Evidence]) -> Verdict:
    """Return the verdict over all settings: their common word, or `partly` where they differ.

    A claim that no setting reproduces and some do not is `not reproduced`. Settings that are not
    testable count for nothing beside others that are. Raises ValueError when there is no evidence.
    """
    if not evidence:
        raise ValueError(f"{claim.key}: no evidence to judge.")
    words = tuple(judge_one(claim, item) for item in evidence)
    tested = set(words) - {NOT_TESTABLE}
    return Verdict(claim, _common(tested), tuple(evidence), words)


def _common(tested: set[str]) -> str:
    if not tested:
        return NOT_TESTABLE
    if tested <= {PARTLY, NOT_REPRODUCED} and NOT_REPRODUCED in tested:
        return NOT_REPRODUCED
    return tested.pop() if len(tested) == 1 else PARTLY
