"""Membership inference for readers: tables and sentences, with nothing computed but means."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown
from pandas.io.formats.style import Styler

from bn_memorization.errors import BadInput
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.matched_attack import EqualLoss
from bn_memorization.membership import ATTACKS, DECIDES, Pool, mean_tpr
from bn_memorization.report import between, cell, count, name, number, readable, setting, span
from bn_memorization.shadows import Shadow

NO_OUTLIERS, UNRESOLVED = "no outliers", "not resolvable"
RATES = (0.01, 0.001)  # false-positive rates at which the true-positive rate is shown


def _table(rows: Sequence[dict], caption: str) -> Styler:
    """Return rows as a table; the caption holds what is the same for all of them."""
    return readable(pd.DataFrame(rows)).set_caption(caption)


def _arm(pool: Pool) -> dict[str, str]:
    return {"setting": setting(pool.where), "arm": name(pool.norm)}


def _caption(pools: Sequence[Pool], profile: str) -> str:
    return f"Means over n = {len(pools[0].keep) // 2} pairs ({profile})."


def attacks(pools: Sequence[Pool], profile: str) -> Styler:
    """Return the mean AUC of every attack, a row an attack and setting but the share of outliers.

    A column is an arm at a share of outliers.
    """
    rows: dict[tuple, dict[str, str]] = {}
    for pool in pools:
        place = ", ".join(name(pool.where[key]) for key in ("dataset", "arch", "corruption"))
        share = cell("noise_rate", pool.where["noise_rate"])
        for attack in ATTACKS:
            row = rows.setdefault((place, attack), {"setting": place, "attack": attack})
            row[f"{name(pool.norm)}, {share}"] = f"{pool.aucs(attack).mean():.3f}"
    return _table(list(rows.values()), f"AUC. {_caption(pools, profile)}")


def groups(pools: Sequence[Pool], profile: str) -> Styler:
    """Return the deciding attack by groups of samples and at low false-positive rates."""
    rows = []
    for pool in pools:
        row = _arm(pool)
        row["AUC, all"] = f"{pool.aucs(DECIDES).mean():.3f}"
        row["AUC, outliers"] = _outliers(pool)
        row["AUC, clean"] = f"{pool.aucs(DECIDES, ~pool.outlier).mean():.3f}"
        for rate in RATES:
            found = mean_tpr(pool, rate)
            text = UNRESOLVED if found is None else cell("", found)
            row[f"TPR at {cell('noise_rate', rate)} FPR"] = text
        rows.append(row)
    return _table(rows, _caption(pools, profile))


def _outliers(pool: Pool) -> str:
    if not pool.outlier.any():
        return NO_OUTLIERS
    found, pairs = pool.aucs(DECIDES, pool.outlier), len(pool.keep) // 2
    text = f"{found.mean():.3f}" if len(found) else UNRESOLVED
    return text if len(found) == pairs else f"{text} ({len(found)} of {pairs} pairs)"


def training(pools: Sequence[Pool], profile: str) -> Styler:
    """Return how far each arm was trained: means over models after the last epoch.

    Outliers are counted as fitted where the model predicts the label they were given.
    """
    rows = []
    for pool in pools:
        right, outlier = pool.correct[-1], np.broadcast_to(pool.outlier, pool.keep.shape)
        fitted = {"members": pool.keep & outlier, "non-members": ~pool.keep & outlier}
        row = _arm(pool)
        row["training loss"] = f"{pool.train_loss[-1].mean():.3f}"
        row["accuracy on members"] = cell("", float(right[pool.keep].mean()))
        row["on test"] = cell("", float(pool.test_accuracy[-1].mean()))
        for who, chosen in fitted.items():
            text = cell("", float(right[chosen].mean())) if chosen.any() else NO_OUTLIERS
            row[f"outliers fitted, {who}"] = text
        rows.append(row)
    return _table(rows, _caption(pools, profile))


def at_equal_loss(found: Sequence[EqualLoss], profile: str) -> Styler:
    """Return the gap in AUC at equal loss on clean members, a row a setting and kind of line."""
    rows = []
    for one in found:
        around = {"look before": one.before, "look after": one.after}
        for lines, item in (("straight", one.straight), ("log", one.log)):
            row = {"setting": setting(item.where), "lines": lines} | _effect(item)
            row |= {head: number(gap, "AUC") for head, gap in around.items()}
            rows.append(row | {"loss on clean members": f"{one.loss:.3f}"})
    return _table(rows, f"At equal loss on clean members ({profile}).")


def known(frame: pd.DataFrame, n_models: int, many: int, shift: float, profile: str) -> Styler:
    """Return the table of `calibration.check`: AUCs on made margins beside the right ones.

    Raises BadInput unless `many` is more than `n_models`: equal, two columns would be one.
    """
    if many <= n_models:
        raise BadInput(f"many={many} models must be more than n_models={n_models}.")
    shown = pd.DataFrame(
        {
            "attack": frame["attack"],
            "no shift": [
                f"{gap.estimate:.3f} ({gap.low:.3f} to {gap.high:.3f})" for gap in frame["null"]
            ],
            "right": "0.500",
            f"shift, {n_models} models": [f"{value:.3f}" for value in frame["few"]],
            f"shift, {many} models": [f"{value:.3f}" for value in frame["many"]],
            "right with a shift": [f"{value:.3f}" for value in frame["expected"]],
        }
    )
    return readable(shown).set_caption(f"AUC on made margins, d = {shift:g} ({profile}).")


def verdicts(found: Sequence[Verdict], profile: str) -> Styler:
    """Return the evidence of all claims, a row a setting: threshold, effect, interval, verdict."""
    rows = []
    for verdict in found:
        for item, word in zip(verdict.evidence, verdict.words, strict=True):
            threshold = number(verdict.claim.threshold, verdict.claim.unit)
            rows.append(_effect(item) | {"holds above": threshold, "verdict": word})
    return _table(rows, f"After equal epochs ({profile}).")


def _effect(item: Evidence) -> dict[str, object]:
    return {
        "setting": setting(item.where),
        "effect": number(item.estimate, "AUC"),
        f"interval ({item.interval})": between(item.low, item.high, "AUC"),
        "n": item.n,
    }


def trained(shadows: Sequence[Shadow], profile: str) -> Markdown:
    """Return a sentence on what was trained: how many models, on how many images and epochs."""
    first = shadows[0].config
    seconds = sum(shadow.meta["seconds"] for shadow in shadows)
    return Markdown(
        f"Profile {profile}: {count(len(shadows), 'model')}, each on half of a pool of "
        f"{first.pool_size} images for {count(first.epochs, 'epoch')}; training and querying them "
        f"took {seconds:.0f} s, added over models."
    )


def answer(verdicts: Sequence[Verdict], equal: Sequence[EqualLoss], arm: str) -> str:
    """Return the chapter's answer in plain sentences: the gap by share of outliers, and matched."""
    parts = []
    for verdict in verdicts:
        share = cell("noise_rate", verdict.evidence[0].where["noise_rate"])
        parts.append(f"{span(verdict.evidence, 'AUC')} with {share} outliers ({verdict.word})")
    *most, last = parts
    listed = f"{', '.join(most)} and {last}" if most else last
    ways = ([one.straight for one in equal], [one.log for one in equal])
    straight, log = (span(way, "AUC") for way in ways)
    clear = [sum(item.low > 0 for item in way) for way in ways]
    return (
        f"After equal epochs, the likelihood-ratio attack's AUC against {arm} minus that against "
        f"the plain network is {listed}. Taken where both arms have the same loss on clean "
        f"members, the gap is {straight} on straight lines between two looks and {log} on lines "
        "against the log of the loss, and its interval lies above zero in "
        f"{clear[0]} and {clear[1]} of {count(len(equal), 'setting')}, respectively."
    )
