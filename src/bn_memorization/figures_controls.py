"""Pictures of the controls: gaps under every matching, norm beside norm, and batch sizes."""

from collections.abc import Iterator, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
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
from bn_memorization.figure_data import Drawn, interval, numbers
from bn_memorization.figures import INK, canvas, color, draw_interval, legend, signed
from bn_memorization.memorization import final_accuracy
from bn_memorization.models import PLAIN
from bn_memorization.report import name, setting
from bn_memorization.stats import mean_interval
from bn_memorization.train import Run

# Panels: what is shown, times what, in which unit. The number of pairs follows.
PANELS = {
    ACCURACY: (100, "corrupted fitted\n(points"),
    CORRUPTED_LOSS: (1, "corrupted loss\n(nats"),
    GRADIENT: (1, "gradient norms\n(Cliff's δ"),
    AUC: (100, "AUC of the attack\n(points"),
}
GRAY = "0.55"
# What stands in a panel beside its own quantity, in gray: that of the samples that are clean.
BESIDE = {GRADIENT: CLEAN_GRADIENT}
AFTER = ("equal epochs", "equal clean training loss")
# How a row without a gap tells why.
WHY = {
    "ha": "right",
    "va": "center",
    "color": GRAY,
    "bbox": {"fc": "white", "ec": "none", "pad": 1},
}


def matchings(shares: pd.DataFrame, profile: str) -> Drawn:
    """Draw every gap under every matching, a row of panels a setting, a panel a quantity.

    `shares` is that of `controls.shares_left`. A matching in which a quantity was not measured has
    an empty row. Gray squares: see BESIDE.
    """
    settings = list(shares.groupby(list(SETTING), sort=False))
    height = 0.9 + 2.6 * len(settings)
    figure, axes = canvas(len(settings), len(PANELS), height=height, sharey=True)
    order = MATCHINGS[::-1]
    for row, (key, part) in zip(axes, settings, strict=True):
        where = setting(dict(zip(SETTING, key, strict=True)))
        for axis, (quantity, (scale, label)) in zip(row, PANELS.items(), strict=True):
            shown, counts = part[part.matching.isin(order)], []
            for of, shift, ink, marker in ((quantity, 0.12, INK, "o"), *_beside(quantity)):
                for item in shown[shown.quantity == of].itertuples():
                    place = order.index(item.matching) + shift
                    draw_interval(axis, item.gap, place, scale, ink, marker)
                    counts.append(item.gap.n)
                    figure.keep(
                        setting=where,
                        panel=f"{label})".replace("\n", " "),
                        quantity=of,
                        matching=item.matching,
                        **interval([item.gap], scale),
                    )
            axis.axvline(0, color=INK, ls="--", lw=1)
            axis.set_xlabel(f"{label}, {numbers(counts)})", loc="left")
            axis.set_yticks(range(len(order)), order)
            axis.set_ylim(-0.75, len(order) - 0.25)
        row[0].set_title(where, loc="left")
    return signed(figure, profile)


def _beside(quantity: str) -> Iterator[tuple]:
    if quantity in BESIDE:
        yield BESIDE[quantity], -0.15, GRAY, "s"


def norm_gaps(standings: pd.DataFrame, profile: str) -> Drawn:
    """Draw each norm's gap to plain and BN's gap to each norm, a row of panels a setting.

    An arm has no gap to itself; a row without one says why. `standings` is that of
    `norm_controls.standings`. Black: after equal epochs; gray: at equal clean training loss.
    """
    settings = list(standings.groupby(list(SETTING), sort=False))
    norms = list(dict.fromkeys(standings.norm))[::-1]
    height = 0.9 + (0.6 + 0.4 * len(norms)) * len(settings)
    figure, axes = canvas(len(settings), 2, height=height, sharey=True)
    panels = {
        ("to_plain", "to_plain_equal"): "it minus plain",
        ("bn_minus", "bn_minus_equal"): "BN minus it",
    }
    for row, (key, part) in zip(axes, settings, strict=True):
        where = setting(dict(zip(SETTING, key, strict=True)))
        for axis, (columns, label) in zip(row, panels.items(), strict=True):
            counts = []
            for item in part.to_dict("records"):
                place = norms.index(item["norm"])
                about = {"setting": where, "norm": name(item["norm"]), "gap": f"{label} (points)"}
                if isinstance(item[columns[0]], str):
                    figure.keep(**about, no_gap_because=item[columns[0]])
                    across = axis.get_yaxis_transform()  # the panel's width, a row's height
                    axis.text(0.98, place, item[columns[0]], transform=across, **WHY)
                    continue
                looks = ((0.15, INK, "o"), (-0.15, GRAY, "s"))
                for column, after, look in zip(columns, AFTER, looks, strict=True):
                    draw_interval(axis, item[column], place + look[0], 100, *look[1:])
                    counts.append(item[column].n)
                    figure.keep(**about, after=after, **interval([item[column]], 100))
            axis.axvline(0, color=INK, ls="--", lw=1)
            axis.set_xlabel(f"{label} (points, {numbers(counts)})", loc="left")
            axis.set_yticks(range(len(norms)), [name(norm) for norm in norms])
            axis.set_ylim(-0.6, len(norms) - 0.4)
        row[0].set_title(where, loc="left")
    return signed(figure, profile)


def batch_sizes(runs: Sequence[Run], profile: str) -> Drawn:
    """Draw the final accuracy on corrupted and clean samples against batch size, a row a setting.

    Mean over seeds and 95 % t interval, cut at what an accuracy can be, for both arms.
    """
    frame = pd.DataFrame(
        {key: getattr(run.config, key) for key in (*SETTING, "norm", "batch_size")}
        | {subset: final_accuracy(subset)(run) for subset in ("corrupted", "clean")}
        for run in runs
    )
    settings = list(frame.groupby(list(SETTING), sort=False))
    figure, axes = canvas(len(settings), 2, height=0.9 + 2.4 * len(settings), sharey=True)
    for row, (key, part) in zip(axes, settings, strict=True):
        where = setting(dict(zip(SETTING, key, strict=True)))
        for axis, subset in zip(row, ("corrupted", "clean"), strict=True):
            for norm, lines in part.groupby("norm", sort=False):
                _curve(axis, lines, subset, norm, where)
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_locator(FixedLocator(sorted(part.batch_size.unique())))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_locator(NullLocator())
            axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axis.set(ylim=(-0.03, 1.03), xlabel="images a step")
            axis.set_title(f"{subset} samples", loc="right")
        row[0].set_title(where, loc="left")
        row[0].set_ylabel("accuracy at the end")
    legend(figure, axes[0, 0])
    return signed(figure, profile)


def _curve(axis: plt.Axes, lines: pd.DataFrame, subset: str, norm: str, where: str) -> None:
    grouped = list(lines.groupby("batch_size"))
    gaps = [mean_interval(part[subset].to_numpy()) for _, part in grouped]
    middle = np.array([gap.estimate for gap in gaps])
    # An interval of Student's t can reach beyond any accuracy.
    low, high = (np.clip([getattr(gap, end) for gap in gaps], 0, 1) for end in ("low", "high"))
    sizes = [size for size, _ in grouped]
    axis.figure.keep(
        setting=where,
        arm=name(norm),
        samples=subset,
        images_a_step=sizes,
        quantity="accuracy at the end",
        **interval(gaps) | {"low": low, "high": high},
    )
    axis.errorbar(
        sizes,
        middle,
        [middle - low, high - middle],
        color=color(norm),
        ls="--" if norm == PLAIN else "-",
        marker="o",
        capsize=2,
        label=f"{name(norm)} (n = {gaps[0].n})",
    )
