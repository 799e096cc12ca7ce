"""Privacy against utility for readers: names, tables and the chapter's answer."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown
from pandas.io.formats.style import Styler

from bn_memorization.config import SETTING
from bn_memorization.control_claims import told
from bn_memorization.frontier import FPR, PRIVATE, Way
from bn_memorization.judging import Verdict
from bn_memorization.membership import INTERVAL
from bn_memorization.private import PrivateConfig
from bn_memorization.report import (
    MINUS,
    between,
    cell,
    count,
    name,
    number,
    readable,
    setting,
    span,
)
from bn_memorization.shadows import Shadow
from bn_memorization.stats import paired_gap
from bn_memorization.tradeoff import DECAY, NOTHING, STOPPING

UNRESOLVED = "not resolvable"


def label(norm: str, remedy: str, strength: str) -> str:
    """Return how a way to train is written for readers."""
    words = {
        NOTHING: "",
        DECAY: f", {DECAY} {strength}",
        STOPPING: f", stopped after epoch {strength}",
        PRIVATE: f", {PRIVATE} at ε = {strength}",
    }
    return name(norm) + words.get(remedy, f", {remedy} penalty ({strength})")


def trained(shadows: Sequence[Shadow], profile: str) -> Markdown:
    """Return a sentence on what was trained: how many models, of how many kinds, on what."""
    configs = [shadow.config for shadow in shadows]
    each = len({config.model for config in configs})
    seconds = sum(shadow.meta["seconds"] for shadow in shadows)
    return Markdown(
        f"Profile {profile}: {count(len(configs), 'model')}, {each} of each kind, each on half of "
        f"a pool of {configs[0].pool_size} images; training and querying them took "
        f"{seconds:.0f} s, added over models."
    )


def ways(points: pd.DataFrame, profile: str) -> Styler:
    """Return every way to train with its means and intervals, from `frontier.points`.

    The last column counts the ways that beat it on both axes with intervals clear of zero.
    """
    rows = [
        {
            "setting": setting({key: row[key] for key in SETTING}),
            "trained": label(row["norm"], row["remedy"], row["strength"]),
            "test accuracy": _percent(row, "test"),
            "AUC": f"{row['auc']:.3f} ({row['auc_low']:.3f} to {row['auc_high']:.3f})",
            f"TPR at {cell('noise_rate', FPR)} FPR": _percent(row, "tpr"),
            "on the front of AUC": "yes" if row["front_auc"] else "no",
            "clearly beaten by": len(row["beaten_by"]),
        }
        for row in points.to_dict("records")
    ]
    frame = pd.DataFrame(rows)
    caption = f"Means (with {INTERVAL}) of n = {points['n'].min()} pairs"
    if frame["setting"].nunique() == 1:  # said once, so that the table fits the text width
        caption += f", {frame.pop('setting').iloc[0]}"
    return readable(frame).set_caption(f"{caption} ({profile}).")


def _percent(row: Mapping[str, object], quantity: str) -> str:
    if np.isnan(row[quantity]):
        return UNRESOLVED
    low, high = (100 * row[quantity + end] for end in ("_low", "_high"))
    return f"{cell('', row[quantity])} ({low:.1f} to {high:.1f})".replace("-", MINUS)


def beyond_stopping(found: Sequence[tuple[Way, Way]]) -> str:
    """Return a sentence on penalties beside early stopping, as `beside_stopping` pairs them."""
    if not found:
        return "BN was attacked only at the end of training, so there is no early stop to compare."
    parts = [
        f"{_minus(way, stop)}, BN being there "
        f"{'at least' if stop.test.mean() >= way.test.mean() else 'at its best and not'} as "
        "accurate in the mean"
        for way, stop in found
    ]
    return f"Beside early stopping: {'; '.join(parts)}."


def barely_trained(found: Sequence[tuple[Way, Way]]) -> str:
    """Return a sentence on DP-SGD beside too little training, as `beside_private` pairs them."""
    if not found:
        return (
            "The network without DP-SGD was attacked only at the end of training, so there is no "
            "early stop to compare."
        )
    parts = [
        f"{label(*stop.key)}, has an AUC of {stop.auc.mean():.3f} at a test accuracy of "
        f"{cell('', float(stop.test.mean()))}; {_minus(way, stop)}"
        for way, stop in found
    ]
    return f"With little training and no DP-SGD: {'; '.join(parts)}."


def _minus(way: Way, stop: Way) -> str:
    """Return what a way has more than a stop of AUC and of test accuracy, and both losses."""
    differences = []
    for quantity, unit in (("auc", "AUC"), ("test", "accuracy")):
        gap = paired_gap(getattr(way, quantity), getattr(stop, quantity))
        differences.append(f"{number(gap.estimate, unit)} ({between(gap.low, gap.high, unit)})")
    losses = " and ".join(f"{each.train_loss.mean():.3f}" for each in (way, stop))
    return (
        f"{label(*way.key)} minus {label(*stop.key)} is {differences[0]} of AUC and "
        f"{differences[1]} of test accuracy, at training losses of {losses} nats "
        f"(n = {count(len(way.test), 'pair')}, {setting(way.pool.where)})"
    )


def promised(shadows: Iterable[Shadow], profile: str) -> Styler:
    """Return what DP-SGD was asked for and what the accountant found, a row an epsilon."""
    rows: dict[float, dict[str, object]] = {}
    for shadow in shadows:
        config = shadow.config
        if isinstance(config, PrivateConfig):
            rows[config.epsilon] = {
                "ε asked for": f"{config.epsilon:g}",
                "ε spent": f"{float(shadow.arrays['epsilon']):.3f}",
                "δ": f"{config.delta:g}",
                "noise, over clipping norm": f"{float(shadow.arrays['noise_multiplier']):.3f}",
                "clipping norm": f"{config.clip:g}",
                "mean batch": config.batch_size,
                "epochs": config.epochs,
                "images": config.pool_size // 2,
            }
    caption = f"Each private model, by Opacus's accountant ({profile})."
    return readable(pd.DataFrame(rows.values())).set_caption(caption)


def moved(movements: Mapping[str, np.ndarray], profile: str) -> Styler:
    """Return by how much the sum of clipped gradients moves, from `clipping.movement` by norm."""
    rows = [
        {
            "network": name(norm),
            "median over samples": f"{np.median(moves):.2f}",
            "largest": f"{moves.max():.2f}",
        }
        for norm, moves in movements.items()
    ]
    n = len(next(iter(movements.values())))
    caption = f"Change of the sum, in clipping norms, when one of {n} samples leaves ({profile})."
    return readable(pd.DataFrame(rows)).set_caption(caption)


def on_front(points: pd.DataFrame) -> str:
    """Return which ways are on the front of test accuracy and AUC, setting by setting."""
    parts = []
    groups = list(points.groupby(list(SETTING), sort=False))
    for values, part in groups:
        names = _once(part[part.front_auc].sort_values("test", ascending=False))
        where = f" in {setting(dict(zip(SETTING, values, strict=True)))}" if len(groups) > 1 else ""
        parts.append(
            f"Of {count(len(_once(part)), 'way')} to train, with the early stops of one network "
            f"counted once, {len(names)} lie on the front of test accuracy and AUC{where}: "
            f"{'; '.join(names)}."
        )
    return " ".join(parts)


def _once(points: pd.DataFrame) -> list[str]:
    """Return the names of ways in order, with all early stops of one network under one."""
    keys: dict[tuple[str, str, str], list[str]] = {}
    for norm, remedy, strength in points[["norm", "remedy", "strength"]].itertuples(index=False):
        group = (norm, remedy, "" if remedy == STOPPING else strength)
        keys.setdefault(group, []).append(strength)
    return [label(norm, remedy, ", ".join(found)) for (norm, remedy, _), found in keys.items()]


def answer(
    verdicts: Sequence[Verdict],
    points: pd.DataFrame,
    stops: Sequence[tuple[Way, Way]],
    barely: Sequence[tuple[Way, Way]],
    epsilon: float,
) -> str:
    """Return the chapter's answer in plain sentences.

    `verdicts` are those on the penalty's AUC, its cost, group norm and DP-SGD, in this order;
    `stops` is from `frontier_verdicts.beside_stopping`, `barely` from its `beside_private`.
    """
    penalty, cost, norms, private = (
        f"{span(v.evidence, v.claim.unit)} ({told(v.claim.key, v.word)})" for v in verdicts
    )
    return (
        f"BN without the penalty minus BN with it is {penalty} of AUC and {cost} of test accuracy. "
        f"{beyond_stopping(stops)} BN minus group norm is {norms} of AUC. Against group norm "
        f"trained by DP-SGD at ε = {epsilon:g} the AUC minus that of guessing is {private}, at a "
        "test accuracy of "
        f"{_accuracies(points, PRIVATE, f'{epsilon:g}')}, where BN has "
        f"{_accuracies(points, NOTHING, '', 'batch')}. {barely_trained(barely)} {on_front(points)}"
    )


def _accuracies(points: pd.DataFrame, remedy: str, strength: str, norm: str | None = None) -> str:
    """Return the mean test accuracies of a way over settings as text."""
    chosen = (points.remedy == remedy) & (points.strength == strength)
    if norm is not None:
        chosen &= points.norm == norm
    found = points["test"][chosen]
    low, high = (cell("", float(value)) for value in (found.min(), found.max()))
    return low if low == high else f"{low} to {high}"
