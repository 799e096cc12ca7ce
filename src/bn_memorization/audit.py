"""What an audit finds: pure functions of shadow models and, where there is one, a saved network.

The unit is a complementary pair of shadow models, as in `membership`: each is attacked in turn, and
the AUCs of a pair are averaged first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bn_memorization import lira
from bn_memorization.audit_runs import AuditShadow
from bn_memorization.control_claims import CONTROLS
from bn_memorization.judging import Evidence, Verdict, judge
from bn_memorization.membership import INTERVAL
from bn_memorization.stats import Gap, auc, share_interval, tpr_at_fpr

GUESS = 0.5  # the AUC of guessing
CERTAIN = 1.96  # standard deviations on either side that hold 95 % of a normal distribution


@dataclass(frozen=True, eq=False)
class Audited:
    """All shadow models of an audit side by side; M models, N images, C channels with BN."""

    phi: np.ndarray  # float64[M, N]
    correct: np.ndarray  # bool[M, N], by the labels that training saw
    norm: np.ndarray  # float64[M, N], gradient norms in running mode
    keep: np.ndarray  # bool[M, N], who was a member
    planted: np.ndarray  # bool[N]
    given_label: np.ndarray  # int64[N]
    ratio: np.ndarray  # float64[M, C], |gamma|/sigma
    bn_layer: np.ndarray  # int64[C], from 1
    fast: bool  # whether one pass gave the norms of many images

    def score(self) -> np.ndarray:
        """Return the deciding attack's scores, LiRA online with pooled variance, [M, N]."""
        return lira.online(self.phi, self.keep)

    @property
    def own(self) -> np.ndarray:
        """The images with the label that they came with, bool[N]: all but the planted ones."""
        return ~self.planted


def stack(shadows: Sequence[AuditShadow]) -> Audited:
    """Put the shadow models of one audit together, in the order of their index."""
    arrays = [s.arrays for s in sorted(shadows, key=lambda shadow: shadow.config.model)]

    def stacked(name: str) -> np.ndarray:
        return np.stack([each[name] for each in arrays])

    return Audited(
        phi=stacked("phi").astype(np.float64),
        correct=stacked("correct"),
        norm=stacked("norm").astype(np.float64),
        keep=stacked("member"),
        planted=arrays[0]["planted"],
        given_label=arrays[0]["given_label"],
        ratio=np.abs(stacked("gamma").astype(np.float64)) / stacked("sigma"),
        bn_layer=arrays[0]["bn_layer"].astype(np.int64),
        fast=all(bool(each["fast"]) for each in arrays),
    )


def pair_aucs(score: np.ndarray, truth: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the AUC of each complementary pair, [P], from score, truth and among, all [M, N].

    Only the samples `among` a model's own count. A pair of which one model has no sample of a kind
    has no AUC and is left out.
    """
    found = []
    for first in range(0, len(score), 2):
        parts = [(score[m][among[m]], truth[m][among[m]]) for m in (first, first + 1)]
        if all(0 < t.sum() < len(t) for _, t in parts):
            found.append(np.mean([auc(*part) for part in parts]))
    return np.array(found)


def attack_aucs(audited: Audited) -> np.ndarray:
    """Return how well members are told from the others, an AUC a pair, [P].

    Scored among the images as they came: who was given a wrong label on purpose is easier to tell.
    """
    return _attack_aucs(audited, audited.own)


def attack_aucs_with_planted(audited: Audited) -> np.ndarray:
    """Return the same scored among all images, planted labels with them, [P]."""
    return _attack_aucs(audited, np.ones_like(audited.own))


def _attack_aucs(audited: Audited, among: np.ndarray) -> np.ndarray:
    return pair_aucs(audited.score(), audited.keep, np.broadcast_to(among, audited.keep.shape))


def planted_aucs(audited: Audited) -> np.ndarray:
    """Return how well gradient norms tell planted labels among a model's members, [P]."""
    planted = np.broadcast_to(audited.planted, audited.keep.shape)
    return pair_aucs(audited.norm, planted, audited.keep)


def all_fitted(audited: Audited) -> bool:
    """Return whether every shadow model predicts the label of each of its members."""
    return bool(audited.correct[audited.keep].all())


def verdicts(audited: Audited, where: dict[str, object]) -> list[Verdict]:
    """Return the verdicts of the audit's controls.

    That on planted labels has none without any, and where all labels are fitted: it is not about
    that.
    """
    aucs = {"audit_attack": attack_aucs(audited)}
    if not all_fitted(audited):
        aucs["audit_planted"] = planted_aucs(audited)
    found = []
    for key, values in aucs.items():
        if len(values):
            gap = share_interval(values)
            ends = (end - GUESS for end in (gap.estimate, gap.low, gap.high))
            found.append(judge(CONTROLS[key], [Evidence(where, *ends, gap.n, INTERVAL)]))
    return found


def tpr(audited: Audited, fpr: float) -> float | None:
    """Return the share of members found at a false-positive rate, mean over models.

    Among the images as they came. None where a model has too few non-members to resolve it.
    """
    score, keep = audited.score()[:, audited.own], audited.keep[:, audited.own]
    found = [tpr_at_fpr(*both, fpr) for both in zip(score, keep, strict=True)]
    return None if None in found else float(np.mean(found))


def accuracy(audited: Audited, members: bool) -> float:
    """Return the mean accuracy over models on their members, or on the others."""
    return float(audited.correct[audited.keep if members else ~audited.keep].mean())


def share_above_one(audited: Audited) -> Gap:
    """Return the share of BN channels with gamma/sigma above 1, over pairs of shadow models."""
    share = (audited.ratio > 1).mean(axis=1)
    return share_interval(share.reshape(-1, 2).mean(axis=1))


def layers(ratio: np.ndarray, bn_layer: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
    """Return gamma/sigma by layer from ratio[M, C] and bn_layer[C], a row a layer.

    Columns: layer (its name in the model), channels, median, above (share above 1), both over all
    channels and models.
    """
    rows = []
    for number, name in enumerate(names, start=1):
        values = ratio[:, bn_layer == number]
        above = float((values > 1).mean())
        rows.append((name, values.shape[1], float(np.median(values)), above))
    return pd.DataFrame(rows, columns=["layer", "channels", "median", "above"])


def percentile(norm: np.ndarray) -> np.ndarray:
    """Return each of norm[n]'s rank as a share of n: 1 is the largest; ties share their rank."""
    return rankdata(norm) / len(norm)


def prominence(audited: Audited) -> np.ndarray:
    """Return how large each image's gradient is among the members, [N], 1 at most.

    The mean of its `percentile` among the members, over the models that trained on it.
    """
    ranks = np.zeros_like(audited.norm)
    for rank, norm, keep in zip(ranks, audited.norm, audited.keep, strict=True):
        rank[keep] = percentile(norm[keep])
    return ranks.sum(axis=0) / audited.keep.sum(axis=0)


def held_out(audited: Audited) -> np.ndarray:
    """Return the share of models not trained on an image that predict the label it has, [N]."""
    outside = ~audited.keep
    return (audited.correct & outside).sum(axis=0) / outside.sum(axis=0)


def attack_saved(audited: Audited, phi: np.ndarray) -> np.ndarray:
    """Return LiRA's scores of a network beside the shadow models, from its margins phi[N].

    All M shadow models are used: each image has M/2 that trained on it and as many that did not.
    """
    # As one more pair, which leaves the shadows when it is attacked; its masks have no part then.
    half = audited.keep[:2]
    return lira.online(np.vstack([audited.phi, phi, phi]), np.vstack([audited.keep, half]))[-1]


def of_saved(
    audited: Audited, phi: np.ndarray, member: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (scores, marks) of the attack on a network with margins phi[N], or None.

    None where nothing marks the members, or marks all images alike.
    """
    if member is None or member.all() or not member.any():
        return None
    return attack_saved(audited, phi), member


def by_chance(member: np.ndarray) -> float:
    """Return how far from one half the AUC of an attack that finds nothing may lie.

    For 95 % of images so marked, by the normal approximation of the rank sum.
    """
    inside, outside = int(member.sum()), int((~member).sum())
    return CERTAIN * math.sqrt((inside + outside + 1) / (12 * inside * outside))
