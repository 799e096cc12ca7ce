"""Forced memorization where both arms have trained equally far, and the chapter's sentences.

At a fixed number of epochs a plain network may just be earlier on the same path. Here the arms of a
pair are read where they have the same loss on clean training samples.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from bn_memorization.judging import Evidence, Verdict
from bn_memorization.memorization import never_half_fitted, paired
from bn_memorization.models import PLAIN
from bn_memorization.report import between, count, number, readable, setting, span
from bn_memorization.stats import paired_gap
from bn_memorization.train import Run


def at_equal_clean(
    runs: Iterable[Run], norm: str, scale: Callable[[float], float] = float
) -> list[tuple[Evidence, float]]:
    """Return the gap in accuracy on corrupted samples at equal clean training loss, and that loss.

    The gap is norm arm - plain arm, paired by seed, a setting each. The loss of a pair is the
    higher of its two last ones, so that both arms have come by it; the one returned is the mean
    over pairs. `scale` is that of `corrupted_at`. Raises ValueError as `memorization.paired` does.
    """
    found = []
    for where, first, second in paired(runs, norm):
        target = [max(map(_last_clean_loss, pair)) for pair in zip(first, second, strict=True)]
        read = partial(corrupted_at, scale=scale)
        gap = paired_gap(*(list(map(read, arm, target)) for arm in (first, second)))
        found.append((Evidence.from_gap(where, gap), float(np.mean(target))))
    return found


def _last_clean_loss(run: Run) -> float:
    return float(run.curve("loss", "clean")[-1])


def corrupted_at(run: Run, target: float, scale: Callable[[float], float] = float) -> float:
    """Return the accuracy on corrupted samples when the clean loss first was down to `target`.

    It lies on the line between the epoch that got there and the one before, accuracy against
    `scale` of the loss, such as np.log. `target` is at least the run's last clean loss.
    """
    accuracy = run.curve("accuracy", "corrupted")
    epoch = moment(run.curve("loss", "clean"), target, scale)
    return float(np.interp(epoch, np.arange(len(accuracy)), accuracy))


def moment(path: np.ndarray, target: float, scale: Callable[[float], float] = float) -> float:
    """Return the place in path[K], counted from 0, at which it first was down to `target`.

    A place between two entries lies on the line between them, `scale` of the path against the
    place. `target` is at least the lowest entry.
    """
    after = int(np.argmax(path <= target))
    if after == 0 or path[after] == target:  # at the start, or with nothing between
        return float(after)
    with np.errstate(divide="ignore"):  # the log of no loss at all is minus infinity: share 0
        start, wanted, end = (scale(value) for value in (path[after - 1], target, path[after]))
    return after - 1 + float((start - wanted) / (start - end))


def table(found: Sequence[tuple[Evidence, float]], profile: str) -> Styler:
    """Return the gap at equal clean loss for readers, a row a setting."""
    rows = [
        {
            "setting": setting(item.where),
            "effect": number(item.estimate, "accuracy"),
            f"interval ({item.interval})": between(item.low, item.high, "accuracy"),
            "n": item.n,
            "clean loss": f"{loss:.3f}",
            "profile": profile,
        }
        for item, loss in found
    ]
    return readable(pd.DataFrame(rows))


def sentence(
    straight: Sequence[tuple[Evidence, float]], log: Sequence[tuple[Evidence, float]]
) -> str:
    """Return one sentence on the gaps at equal clean loss: their range, and how many are clear.

    `straight` are read on lines against the loss, `log` the same gaps on lines against its log.
    """
    ranges, clear = [], []
    for found in (straight, log):
        gaps = [item for item, _ in found]
        ranges.append(span(gaps, "accuracy"))
        clear.append(sum(item.low > 0 for item in gaps))
    return (
        "Read where both arms have the same clean training loss, the gap in accuracy on corrupted "
        f"samples is {ranges[0]} on straight lines between epochs and {ranges[1]} on lines against "
        f"the log of the loss, and its interval lies above zero in {clear[0]} and {clear[1]} of "
        f"{count(len(straight), 'setting')}, respectively."
    )


def censoring(runs: Sequence[Run], norm: str) -> str:
    """Return sentences on how many runs never fitted half of their corrupted samples.

    They count the settings, too, in which an arm has no other run: there t means nothing.
    """
    arms = [arm for _, *both in paired(runs, norm) for arm in both]
    slow = sum(never_half_fitted(run) for arm in arms for run in arm)
    plain = sum(never_half_fitted(run) for run in runs if run.config.norm == PLAIN)
    if not slow:
        return "Every model fitted half of its corrupted samples at some epoch: no time is cut off."
    cells = list(zip(arms[::2], arms[1::2], strict=True))
    whole = sum(any(all(map(never_half_fitted, arm)) for arm in cell) for cell in cells)
    return (
        f"{slow} of {sum(map(len, arms))} models, {plain} of them plain, never fitted half of "
        "their corrupted samples. Each counts with its last epoch, which understates how slow it "
        f"is. In {whole} of {count(len(cells), 'setting')} this holds for all runs of an arm. "
        "Such a setting has no interval, and no part in the verdict."
    )


def answer(
    final: Verdict,
    speed: Verdict,
    loss: Verdict,
    equal: tuple[Sequence[tuple[Evidence, float]], Sequence[tuple[Evidence, float]]],
    arm: str,
) -> str:
    """Return the chapter's answer in plain sentences: three verdicts, and the matched gaps.

    `equal` holds those on straight lines and those on lines against the log of the loss.
    """

    def ahead(verdict: Verdict) -> str:
        return f"{sum(item.estimate > 0 for item in verdict.evidence)} of {len(verdict.evidence)}"

    timed = replace(speed, evidence=tuple(e for e in speed.evidence if not math.isnan(e.low)))
    sooner = "in no setting is the time known"
    if timed.evidence:
        sooner = (
            f"it fits half of them sooner in {ahead(timed)} in which the time is known, by "
            f"{span(timed.evidence, 'epochs')}"
        )
    settings = "setting" if len(final.evidence) == 1 else "settings"
    return (
        f"After the last epoch the network with {arm} fits more corrupted samples than the plain "
        f"one in {ahead(final)} {settings}: the gap is {span(final.evidence, 'accuracy')} "
        f"({final.word}); {sooner} ({speed.word}). Its loss on them, averaged over training, is "
        f"lower in {ahead(loss)}, by {span(loss.evidence, 'nats')} ({loss.word}). "
        f"{sentence(*equal)}"
    )
