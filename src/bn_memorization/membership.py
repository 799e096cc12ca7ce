"""Membership inference: how well an attack tells members from non-members, arm beside arm.

The unit is a complementary pair of attacked models: its two models are dependent, so their AUCs are
averaged first. All functions are pure and take shadow models as `runs.run_all` returns them.

After the last epoch a model may be asked for several views of each image, which every attack then
stacks (`lira.stacked`). During training, and wherever training loss has a part, it is asked for the
image as it is alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from bn_memorization import lira
from bn_memorization.claims import CLAIMS
from bn_memorization.config import SETTING
from bn_memorization.errors import check_choice
from bn_memorization.judging import Evidence, Verdict, judge
from bn_memorization.models import PLAIN
from bn_memorization.queries import VIEWS
from bn_memorization.shadows import Shadow
from bn_memorization.stats import auc, paired_gap, roc, tpr_at_fpr

ATTACKS: dict[str, lira.Attack] = {
    "online, pooled": lira.online,
    "online, per sample": partial(lira.online, variance="per_sample"),
    "offline one-sided, pooled": lira.offline,
    "offline one-sided, per sample": partial(lira.offline, variance="per_sample"),
    "offline density, pooled": partial(lira.offline, form="density"),
    "offline density, per sample": partial(lira.offline, variance="per_sample", form="density"),
    "global threshold": lira.global_threshold,
}
DECIDES = "online, pooled"  # the attack that decides the claims
# One claim for each share of outliers; other shares are shown and decide nothing.
CLAIM_OF = {0.0: "membership_clean", 0.01: "membership_1", 0.05: "membership_5"}
INTERVAL = "95 % t over pairs of models, one pool"


@dataclass(frozen=True, eq=False)
class Pool:
    """All shadow models of one arm on one pool; K looks, V views, M models, N samples."""

    where: dict[str, object]
    norm: str
    looks: list[int]  # [K], in epochs
    phi: np.ndarray  # float64[K, M, N], of the image as it is
    phi_view: np.ndarray  # float64[V, M, N], after the last epoch, the image as it is first
    phi_naive: np.ndarray  # float64[M, N], the same through float32 probabilities
    phi_batch: np.ndarray  # float64[M, N], the same queried in training mode
    correct: np.ndarray  # bool[K, M, N]
    test_accuracy: np.ndarray  # float64[K, M]
    keep: np.ndarray  # bool[M, N]
    outlier: np.ndarray  # bool[N]
    queries: int = 1  # how many of the views an attack after the last epoch sees

    @cached_property
    def train_loss(self) -> np.ndarray:
        """The mean cross-entropy of each model's members, [K, M], from their margins."""
        return self._loss(self.keep)

    @cached_property
    def clean_loss(self) -> np.ndarray:
        """The same of its members that are no outliers, [K, M]."""
        return self._loss(self.keep & ~self.outlier)

    def _loss(self, chosen: np.ndarray) -> np.ndarray:
        loss = np.where(chosen, np.logaddexp(0, -self.phi), 0.0)
        return loss.sum(axis=-1) / chosen.sum(axis=-1)

    def seen_as(self, margins: np.ndarray) -> "Pool":
        """Return the pool as an attacker has it who reads other margins[M, N] after training."""
        last = {name: getattr(self, name)[-1:] for name in ("looks", "correct", "test_accuracy")}
        return replace(self, phi=margins[None], phi_view=margins[None], queries=1, **last)

    def score(self, attack: str, look: int | None = None) -> np.ndarray:
        """Return the attack's scores, [M, N], higher = member.

        At a look the image is seen as it is; without one, after the last epoch, in `queries` views.
        """
        of_one = ATTACKS[check_choice("attack", attack, ATTACKS)]
        if look is None:
            return lira.stacked(of_one, self.phi_view[: self.queries], self.keep)
        return of_one(self.phi[look], self.keep)

    def aucs(
        self, attack: str, among: np.ndarray | None = None, look: int | None = None
    ) -> np.ndarray:
        """Return the AUC of each pair of models, [P], over the samples where `among` is true."""
        chosen = np.ones(self.keep.shape[1], bool) if among is None else among
        return pair_aucs(self.score(attack, look)[:, chosen], self.keep[:, chosen])


def pair_aucs(score: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Return the mean AUC of the two models of each pair, [P], from score[M, N] and keep[M, N].

    Both models of a pair lack a member or a non-member at once, the more likely the fewer samples
    there are. Such a pair has no AUC and is left out: P says how many have one.
    """
    both = [m for m in range(0, len(keep), 2) if 0 < keep[m].sum() < keep.shape[1]]
    pairs = [[auc(score[i], keep[i]) for i in (m, m + 1)] for m in both]
    return np.array(pairs).reshape(-1, 2).mean(axis=1)


def pools(shadows: Iterable[Shadow], queries: int = 1) -> list[Pool]:
    """Return one pool a setting and arm, attacked with the first `queries` of `queries.VIEWS`.

    Raises ValueError for a model missing or there twice, or more views than there are.
    """
    if not 1 <= queries <= len(VIEWS):
        raise ValueError(f"queries={queries} must be from 1 to {len(VIEWS)}.")
    groups: dict[tuple, list[Shadow]] = {}
    for shadow in shadows:
        key = (*(getattr(shadow.config, name) for name in SETTING), shadow.config.norm)
        groups.setdefault(key, []).append(shadow)
    return [_pool(key, group, queries) for key, group in groups.items()]


def _pool(key: tuple, group: list[Shadow], queries: int) -> Pool:
    group = sorted(group, key=lambda shadow: shadow.config.model)
    found = [shadow.config.model for shadow in group]
    if found != list(range(len(group))):
        raise ValueError(f"{key}: models 0 to {len(group) - 1} wanted, but these are {found}.")

    def stacked(name: str, axis: int) -> np.ndarray:
        return np.stack([shadow.arrays[name] for shadow in group], axis=axis)

    return Pool(
        where=dict(zip(SETTING, key[:-1], strict=True)),
        norm=key[-1],
        looks=group[0].config.looks,
        phi=stacked("phi", 1).astype(np.float64),
        phi_view=stacked("phi_view", 1).astype(np.float64),
        phi_naive=stacked("phi_naive", 0).astype(np.float64),
        phi_batch=stacked("phi_batch", 0).astype(np.float64),
        correct=stacked("correct", 1),
        test_accuracy=stacked("test_accuracy", 1),
        keep=stacked("member", 0),
        outlier=group[0].arrays["outlier"],
        queries=queries,
    )


def paired(pools: Iterable[Pool], norm: str) -> list[tuple[Pool, Pool]]:
    """Return (pool with `norm`, plain pool) of each setting.

    Raises ValueError for a setting without one of its arms, or whose arms differ in masks or
    outliers.
    """
    cells: dict[tuple, dict[str, Pool]] = {}
    for pool in pools:
        cells.setdefault(tuple(pool.where.values()), {})[pool.norm] = pool
    found = []
    for key, arms in cells.items():
        if not {norm, PLAIN} <= arms.keys():
            raise ValueError(f"{key}: arms {sorted(arms)}, but {norm} and {PLAIN} are compared.")
        treated, plain = arms[norm], arms[PLAIN]
        for name in ("keep", "outlier"):
            if not np.array_equal(getattr(treated, name), getattr(plain, name)):
                raise ValueError(f"{key}: the two arms differ in {name}.")
        found.append((treated, plain))
    return found


def compare(pools: Iterable[Pool], norm: str, attack: str = DECIDES) -> list[Evidence]:
    """Return the gap in AUC of each setting, `norm` minus plain, over pairs of attacked models."""
    return [
        gap_of(treated.where, treated.aucs(attack), plain.aucs(attack))
        for treated, plain in paired(pools, norm)
    ]


def gap_of(where: dict, first: np.ndarray, second: np.ndarray) -> Evidence:
    """Return the evidence that the AUCs first[P] minus second[P] of pairs of models give."""
    gap = paired_gap(first, second)
    return Evidence(where, gap.estimate, gap.low, gap.high, gap.n, INTERVAL)


def verdicts(evidence: Sequence[Evidence]) -> list[Verdict]:
    """Return the verdict of each claim for whose share of outliers there is evidence."""
    found = []
    for rate, key in CLAIM_OF.items():
        items = [item for item in evidence if item.where["noise_rate"] == rate]
        if items:
            found.append(judge(CLAIMS[key], items))
    return found


def mean_roc(pool: Pool, grid: np.ndarray, attack: str = DECIDES) -> np.ndarray:
    """Return the share of members found at each false-positive rate of `grid`, mean over models."""
    score = pool.score(attack)
    curves = [roc(*both) for both in zip(score, pool.keep, strict=True)]
    found = [tpr[np.searchsorted(fpr, grid + 1e-12, side="right") - 1] for fpr, tpr in curves]
    return np.mean(found, axis=0)


def mean_tpr(pool: Pool, fpr: float, attack: str = DECIDES) -> float | None:
    """Return the mean over models of `tpr_at_fpr`, None where a model does not resolve it."""
    score = pool.score(attack)
    found = [tpr_at_fpr(*both, fpr) for both in zip(score, pool.keep, strict=True)]
    return None if None in found else float(np.mean(found))
