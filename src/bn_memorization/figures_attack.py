"""Pictures of membership inference: ROC curves, gaps against thresholds, AUC against loss."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from bn_memorization.figure_data import Drawn, interval
from bn_memorization.figures import INK, canvas, color, draw_interval, legend, signed
from bn_memorization.judging import Verdict
from bn_memorization.membership import DECIDES, Pool, mean_roc
from bn_memorization.models import PLAIN
from bn_memorization.report import name, setting
from bn_memorization.stats import mean_interval

GUESS = 0.5  # the AUC of guessing
THRESHOLD_COLOR = "#9a6700"


def panels(count: int, height: float = 2.6) -> tuple[Drawn, np.ndarray]:
    """Return a figure with `count` panels of that height in inches, at most three in a row."""
    columns = min(3, count)
    rows = math.ceil(count / columns)
    figure, axes = canvas(rows, columns, height=0.7 + height * rows, sharex=True, sharey=True)
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, axes.flat[:count]


def title(axis: plt.Axes, where: dict) -> None:
    """Name a panel's setting in two lines."""
    first, _, last = setting(where).rpartition(", ")
    axis.set_title(f"{first}\n{last}")


def roc_curves(pairs: Sequence[tuple[Pool, Pool]], profile: str) -> Drawn:
    """Draw both arms' mean ROC of the deciding attack on log axes, a panel a setting.

    The axes begin at the lowest false-positive rate that one model's non-members resolve.
    """
    figure, axes = panels(len(pairs))
    lowest = min(1 / (~pool.keep).sum(axis=1).min() for pool, _ in pairs)
    grid = np.geomspace(lowest, 1, 200)
    for axis, arms in zip(axes, pairs, strict=True):
        for pool in arms:
            found = mean_roc(pool, grid)
            axis.step(
                grid,
                np.maximum(found, lowest / 10),  # zero has no place on a log axis
                where="post",
                color=color(pool.norm),
                ls="--" if pool.norm == PLAIN else "-",
                lw=2,
                label=f"{name(pool.norm)} (n = {len(pool.keep)} models)",
            )
            figure.keep(
                setting=setting(pool.where),
                arm=name(pool.norm),
                models=len(pool.keep),
                false_positive_rate=grid,
                true_positive_rate=found,
            )
        axis.plot([lowest, 1], [lowest, 1], color=INK, lw=1, ls=":", label="guessing")
        axis.set(xscale="log", yscale="log", xlim=(lowest, 1), ylim=(lowest, 1.05))
        title(axis, arms[0].where)
    legend(figure, axes[0])
    figure.supxlabel("false-positive rate")
    figure.supylabel("true-positive rate")
    return signed(figure, profile)


def gaps(verdicts: Sequence[Verdict], profile: str) -> Drawn:
    """Draw every claim's gaps in AUC with their intervals, a row a setting.

    A thick mark in a row stands at the threshold of its claim.
    """
    rows = [(verdict.claim, item) for verdict in verdicts for item in verdict.evidence][::-1]
    figure, ((axis,),) = canvas(height=1.0 + 0.4 * len(rows))
    for place, (claim, item) in enumerate(rows):
        draw_interval(axis, item, place, 100)
        axis.plot(100 * claim.threshold, place, "|", color=THRESHOLD_COLOR, ms=18, mew=3)
        figure.keep(
            claim=claim.title,
            setting=setting(item.where),
            quantity="gap in AUC (points)",
            **interval([item], 100),
            threshold=100 * claim.threshold,
        )
    axis.set_yticks(range(len(rows)), [f"{setting(i.where)} (n = {i.n} pairs)" for _, i in rows])
    axis.axvline(0, color=INK, lw=1)
    axis.set_xlabel("gap in AUC (points)")
    axis.margins(y=0.15)
    return signed(figure, profile)


def against_loss(pairs: Sequence[tuple[Pool, Pool]], profile: str) -> Drawn:
    """Draw both arms' AUC against training loss through training, a panel a setting.

    Loss falls to the right. Bars are 95 % t intervals over pairs of models.
    """
    figure, axes = panels(len(pairs))
    for axis, arms in zip(axes, pairs, strict=True):
        for pool in arms:
            found = [mean_interval(pool.aucs(DECIDES, look=k)) for k in range(len(pool.looks))]
            middle = [gap.estimate for gap in found]
            reach = [gap.high - gap.estimate for gap in found]
            axis.errorbar(
                pool.train_loss.mean(axis=1),
                middle,
                reach,
                color=color(pool.norm),
                ls="--" if pool.norm == PLAIN else "-",
                marker="o",
                ms=4,
                capsize=2,
                label=f"{name(pool.norm)} (n = {len(pool.keep) // 2} pairs)",
            )
            figure.keep(
                setting=setting(pool.where),
                arm=name(pool.norm),
                training_loss_nats=pool.train_loss.mean(axis=1),
                quantity=f"AUC of {DECIDES}",
                **interval(found),
            )
        axis.axhline(GUESS, color=INK, lw=1, ls=":")
        axis.set_xscale("log")
        title(axis, arms[0].where)
    axes[0].invert_xaxis()  # shared by all
    axes[0].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0].xaxis.set_major_formatter("{x:g}")
    axes[0].xaxis.set_minor_locator(NullLocator())
    legend(figure, axes[0])
    figure.supxlabel("training loss (nats), falling to the right")
    figure.supylabel(f"AUC of {DECIDES}")
    return signed(figure, profile)
