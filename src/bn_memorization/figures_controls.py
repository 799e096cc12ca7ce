"""Pictures of the controls: gaps under every matching, norm beside norm, and batch sizes."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from bn_memorization.config import SETTING
from bn_memorization.controls import (
    ACCURACY,
    AUC,
    CLEAN_GRADIENT,
    CORRUPTED_LOSS,
    GRADIENT,
    MATCHINGS,
)
from bn_memorization.figures import INK, WIDTH, color, signed
from bn_memorization.memorization import final_accuracy
from bn_memorization.models import PLAIN
from bn_memorization.report import name, setting
from bn_memorization.stats import Gap, mean_interval
from bn_memorization.train import Run

# Panels: what is shown, times what, in which unit.
PANELS = {
    ACCURACY: (100, "corrupted fitted\n(points)"),
    CORRUPTED_LOSS: (1, "corrupted loss\n(nats)"),
    GRADIENT: (1, "gradient norms\n(Cliff's delta)"),
    AUC: (100, "AUC of the attack\n(points)"),
}
GRAY = "0.55"
# What stands in a panel beside its own quantity, in gray: that of the samples that are clean.
BESIDE = {GRADIENT: CLEAN_GRADIENT}
# How a row without a gap tells why.
WHY = {
    "ha": "right",
    "va": "center",
    "fontsize": "small",
    "color": GRAY,
    "bbox": {"fc": "white", "ec": "none", "pad": 1},
}


def matchings(shares: pd.DataFrame, profile: str) -> Figure:
    """Draw every gap under every matching, a row of panels a setting, a panel a quantity.

    `shares` is that of `controls.shares_left`. A matching in which a quantity was not measured has
    an empty row. Gray squares: see BESIDE.
    """
    settings = list(shares.groupby(list(SETTING), sort=False))
    figure, axes = plt.subplots(
        len(settings),
        len(PANELS),
        figsize=(WIDTH, 0.9 + 2.6 * len(settings)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    order = MATCHINGS[::-1]
    for row, (key, part) in zip(axes, settings, strict=True):
        for axis, (quantity, (scale, label)) in zip(row, PANELS.items(), strict=True):
            shown = part[part.matching.isin(order)]
            for item in shown[shown.quantity == quantity].itertuples():
                _interval(axis, item.gap, order.index(item.matching) + 0.12, scale)
            for item in shown[shown.quantity == BESIDE.get(quantity)].itertuples():
                _interval(axis, item.gap, order.index(item.matching) - 0.15, scale, GRAY, "s")
            axis.axvline(0, color=INK, ls="--", lw=1)
            axis.set_xlabel(label, loc="left", fontsize="small")
            axis.set_yticks(range(len(order)), order)
            axis.set_ylim(-0.75, len(order) - 0.25)
        row[0].set_title(
            setting(dict(zip(SETTING, key, strict=True))), loc="left", fontsize="small"
        )
    return signed(figure, profile)


def _interval(
    axis: plt.Axes, gap: Gap, place: float, scale: float, ink: str = INK, marker: str = "o"
) -> None:
    axis.plot([scale * gap.low, scale * gap.high], [place, place], color=ink, lw=2)
    axis.plot(scale * gap.estimate, place, color=ink, marker=marker, ms=5)


def norm_gaps(standings: pd.DataFrame, profile: str) -> Figure:
    """Draw each norm's gap to plain and BN's gap to each norm, a row of panels a setting.

    An arm has no gap to itself; a row without one says why. `standings` is that of
    `norm_controls.standings`. Black: after equal epochs; gray: at equal clean training loss.
    """
    settings = list(standings.groupby(list(SETTING), sort=False))
    norms = list(dict.fromkeys(standings.norm))[::-1]
    figure, axes = plt.subplots(
        len(settings),
        2,
        figsize=(WIDTH, 0.9 + (0.6 + 0.4 * len(norms)) * len(settings)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    panels = {
        ("to_plain", "to_plain_equal"): "it minus plain",
        ("bn_minus", "bn_minus_equal"): "BN minus it",
    }
    for row, (key, part) in zip(axes, settings, strict=True):
        for axis, (columns, label) in zip(row, panels.items(), strict=True):
            for item in part.to_dict("records"):
                place = norms.index(item["norm"])
                if isinstance(item[columns[0]], str):
                    across = axis.get_yaxis_transform()  # the panel's width, a row's height
                    axis.text(0.98, place, item[columns[0]], transform=across, **WHY)
                    continue
                _interval(axis, item[columns[0]], place + 0.15, 100)
                _interval(axis, item[columns[1]], place - 0.15, 100, GRAY, "s")
            axis.axvline(0, color=INK, ls="--", lw=1)
            axis.set_xlabel(f"{label} (points)", loc="left")
            axis.set_yticks(range(len(norms)), [name(norm) for norm in norms])
            axis.set_ylim(-0.6, len(norms) - 0.4)
        row[0].set_title(
            setting(dict(zip(SETTING, key, strict=True))), loc="left", fontsize="small"
        )
    return signed(figure, profile)


def batch_sizes(runs: Sequence[Run], profile: str) -> Figure:
    """Draw the final accuracy on corrupted and clean samples against batch size, a row a setting.

    Mean over seeds and 95 % t interval, for both arms.
    """
    frame = pd.DataFrame(
        {key: getattr(run.config, key) for key in (*SETTING, "norm", "batch_size")}
        | {subset: final_accuracy(subset)(run) for subset in ("corrupted", "clean")}
        for run in runs
    )
    settings = list(frame.groupby(list(SETTING), sort=False))
    figure, axes = plt.subplots(
        len(settings),
        2,
        figsize=(WIDTH, 0.9 + 2.4 * len(settings)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for row, (key, part) in zip(axes, settings, strict=True):
        for axis, subset in zip(row, ("corrupted", "clean"), strict=True):
            for norm, lines in part.groupby("norm", sort=False):
                _curve(axis, lines, subset, norm)
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_locator(FixedLocator(sorted(part.batch_size.unique())))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_locator(NullLocator())
            axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axis.set(ylim=(-0.03, 1.03), xlabel="images a step")
            axis.set_title(f"{subset} samples", loc="right", fontsize="small")
        row[0].set_title(
            setting(dict(zip(SETTING, key, strict=True))), loc="left", fontsize="small"
        )
        row[0].set_ylabel("accuracy at the end")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return signed(figure, profile)


def _curve(axis: plt.Axes, lines: pd.DataFrame, subset: str, norm: str) -> None:
    grouped = list(lines.groupby("batch_size"))
    gaps = [mean_interval(part[subset].to_numpy()) for _, part in grouped]
    axis.errorbar(
        [size for size, _ in grouped],
        [gap.estimate for gap in gaps],
        np.array([gap.high - gap.estimate for gap in gaps]),
        color=color(norm),
        ls="--" if norm == PLAIN else "-",
        marker="o",
        capsize=2,
        label=f"{name(norm)} (n = {gaps[0].n})",
    )
