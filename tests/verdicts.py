"""Evidence and verdicts made by hand."""

from dataclasses import replace

from bn_memorization.claims import CLAIMS
from bn_memorization.judging import Claim, Evidence, Verdict, judge


def claim(**changes) -> Claim:
    """Return a claim on accuracy that holds above 0 with 3 pairs, but for `changes`."""
    plain = {"unit": "accuracy", "direction": "above", "threshold": 0.0, "least_n": 3}
    return replace(CLAIMS["forced_final"], **plain | changes)


def evidence(low: float, estimate: float, high: float, n: int = 4, **where) -> Evidence:
    where = {"dataset": "mnist", "arch": "lenet", "noise_rate": 0.05} | where
    return Evidence(where, estimate, low, high, n)


def verdict(*items: Evidence, **changes) -> Verdict:
    return judge(claim(**changes), items)


REPRODUCED = evidence(0.1, 0.2, 0.3)
PARTLY = evidence(-0.1, 0.1, 0.3, dataset="fashion_mnist", noise_rate=0.01)
NOT = evidence(-0.3, -0.2, -0.1, dataset="cifar10")
UNTESTED = evidence(0.1, 0.2, 0.3, n=2)
