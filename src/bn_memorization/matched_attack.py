"""Membership inference where both arms have trained equally far.

Models are attacked at looks, some epochs apart. A place is a number of looks, whole or not: what is
read there lies on the line between the two looks around it. Equal loss is that on clean members:
how far each arm has fitted its outliers is part of what is asked, so they do not say how far it has
trained. The image is seen as it is alone. All functions are pure.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bn_memorization.control_claims import CONTROLS
from bn_memorization.control_gates import at_equal_loss as agreed_evidence
from bn_memorization.controls import (
    AFTER,
    AUC,
    BEFORE,
    COLUMNS,
    FIXED,
    LOG,
    LONG,
    LOSS,
    TEST,
    read,
)
from bn_memorization.judging import Evidence, Verdict, judge
from bn_memorization.matched import moment
from bn_memorization.membership import CLAIM_OF, DECIDES, Pool, gap_of, paired
from bn_memorization.report import count
from bn_memorization.stats import auc

Pair = tuple[Pool, Pool]  # the pool with the norm, the plain one
Places = list[np.ndarray]  # of both arms, [M] each


@dataclass(frozen=True)
class EqualLoss:
    """The gap in AUC of one setting at equal loss on clean members, and the mean of that loss.

    `straight` and `log` are read on lines against the loss and against its log; `before` and
    `after` are the mean gaps at the looks that lie around the places.
    """

    straight: Evidence
    log: Evidence
    before: float
    after: float
    loss: float


def at_equal_loss(pools: Iterable[Pool], norm: str) -> list[EqualLoss]:
    """Return the gap in AUC, `norm` minus plain, of each setting at equal loss on clean members.

    For each model index the loss is the higher of the two arms' last ones, so that both arms have
    come by it, and the place the first at which each arm did.
    """
    found = []
    for pair in paired(pools, norm):
        gaps = equal_loss(pair, len(pair[0].looks) - 1)
        items = [gap_of(pair[0].where, gaps[way], np.zeros_like(gaps[way])) for way in (LOSS, LOG)]
        around = [float(gaps[way].mean()) for way in (BEFORE, AFTER)]
        target = np.max([pool.clean_loss[-1] for pool in pair], axis=0)
        found.append(EqualLoss(*items, *around, float(target.mean())))
    return found


def equal_loss(pair: Pair, last: int) -> dict[str, np.ndarray]:
    """Return the gaps in AUC, [P], at equal clean loss within the looks up to `last`.

    LOSS and LOG: on lines against the loss and against its log. BEFORE and AFTER: both arms at the
    look before their place, and at the one after it.
    """
    losses = [pool.clean_loss[: last + 1] for pool in pair]
    ends = [path[-1] for path in losses]
    straight, log = (_reach(losses, ends, scale) for scale in (float, np.log))
    around = {BEFORE: np.floor(straight), AFTER: np.ceil(straight)}
    return {way: gaps(pair, at) for way, at in ({LOSS: straight, LOG: log} | around).items()}


def gaps(pair: Pair, places: Sequence[np.ndarray]) -> np.ndarray:
    """Return the gap in AUC of each pair of models, [P], each arm read at its places[M]."""
    first, second = (_pair_means(auc_path(pool), at) for pool, at in zip(pair, places, strict=True))
    return first - second


def auc_path(pool: Pool) -> np.ndarray:
    """Return the AUC of the deciding attack on each model at each look, [K, M]."""
    scores = [pool.score(DECIDES, look) for look in range(len(pool.looks))]
    return np.array([[auc(*one) for one in zip(s, pool.keep, strict=True)] for s in scores])


def _reach(
    paths: Sequence[np.ndarray],
    ends: Sequence[np.ndarray],
    scale: Callable[[float], float] = float,
) -> Places:
    """Return where each model of both arms first was down to the higher of its two arms' ends.

    paths[2, K, M] and ends[2, M], of both arms; `scale` is that of `matched.moment`.
    """
    target = np.max(ends, axis=0)
    return [
        np.array([moment(*both, scale) for both in zip(path.T, target, strict=True)])
        for path in paths
    ]


def _pair_means(path: np.ndarray, at: Sequence[float]) -> np.ndarray:
    """Return path[K, M] at each model's place, mean over the two models of a pair, [M / 2]."""
    values = [read(*both) for both in zip(path.T, at, strict=True)]
    return np.reshape(values, (-1, 2)).mean(axis=1)


def of_pools(pairs: Iterable[Pair], epochs: int) -> pd.DataFrame:
    """Return the gaps in AUC of all pairs of models under every matching, rows as `of_runs` has.

    The arms are matched within their first `epochs` epochs; a pool that goes on is read after its
    last one, too.
    """
    rows = []
    for pair in pairs:
        last, end = pair[0].looks.index(epochs), len(pair[0].looks) - 1
        many = len(pair[0].keep)
        test = [-pool.test_accuracy[: last + 1] for pool in pair]
        found = {FIXED: gaps(pair, [np.full(many, last)] * 2)} | equal_loss(pair, last)
        found[TEST] = gaps(pair, _reach(test, [path.min(axis=0) for path in test]))
        if last < end:
            found[LONG] = gaps(pair, [np.full(many, end)] * 2)
        for matching, values in found.items():
            key = pair[0].where | {"matching": matching, "quantity": AUC}
            key["sizes"] = sizes(pair[0], end if matching == LONG else last)
            rows.extend(key | {"unit": unit, "value": gap} for unit, gap in enumerate(values))
    return pd.DataFrame(rows)[COLUMNS]


def sizes(pool: Pool, look: int) -> str:
    """Return how large the pool is and how long its models had trained at a look."""
    return f"pool of {pool.keep.shape[1]} images, {count(pool.looks[look], 'epoch')}"


def attack_verdicts(values: pd.DataFrame) -> list[Verdict]:
    """Return the verdict on AUC at equal clean loss for each claim's share of outliers."""
    found = []
    for rate, key in CLAIM_OF.items():
        own = values[values.noise_rate == rate]
        if len(own):
            control = CONTROLS[key.replace("membership", "matched_attack")]
            found.append(judge(control, agreed_evidence(control, own, AUC)))
    return found
