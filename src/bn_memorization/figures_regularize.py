"""The picture of what a remedy against memorization costs in test accuracy."""

import math

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bn_memorization.config import SETTING
from bn_memorization.figures import INK, TREATED_COLOR, WIDTH, signed
from bn_memorization.report import setting
from bn_memorization.tradeoff import DECAY, NOTHING, RATE

# Color, marker and line of each method. Every network here has BN, so colors are free for forms.
LOOKS = {
    NOTHING: (TREATED_COLOR, "*", ""),
    "square": ("#009E73", "s", "-"),
    "hinge": ("#CC79A7", "^", "-"),
    "log": ("#56B4E9", "o", "-"),
    DECAY: ("0.35", "D", ":"),
    RATE: ("0.35", "v", "--"),
}


def tradeoff(points: pd.DataFrame, path: pd.DataFrame, profile: str) -> Figure:
    """Draw accuracy on corrupted samples against test accuracy, a panel a setting.

    `points` is that of `tradeoff.points`: a marker is a mean over seeds at the end of training with
    its 95 % t intervals, and a line joins the settings of one method in the order of the runs.
    `path`, that of `tradeoff.path`, is the way of the network without a remedy, epoch by epoch:
    where early stopping would stop.
    """
    parts = list(points.groupby(list(SETTING), sort=False))
    columns = min(2, len(parts))
    rows = math.ceil(len(parts) / columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH, 0.8 + (4.4 if columns == 1 else 3.4) * rows),
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(parts) :]:
        axis.remove()
    ways = path.groupby(list(SETTING))
    for axis, (values, part) in zip(axes.flat, parts, strict=False):
        way = ways.get_group(values)
        axis.plot(
            way.test, way.corrupted, color=TREATED_COLOR, lw=1, label="no remedy, epoch by epoch"
        )
        for method, line in part.groupby("method", sort=False):
            _method(axis, line, method)
        axis.set_title(setting(dict(zip(SETTING, values, strict=True))), fontsize="small")
        axis.set(xlim=_shown(part, way), ylim=(-0.03, 1.03))
        axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    figure.supxlabel("test accuracy", fontsize="medium")
    figure.supylabel("accuracy on flipped samples", fontsize="medium")
    return signed(figure, profile)


def _method(axis: plt.Axes, line: pd.DataFrame, method: str) -> None:
    ink, marker, style = LOOKS[method]
    axis.errorbar(
        line.test,
        line.corrupted,
        xerr=_reach(line, "test"),
        yerr=_reach(line, "corrupted"),
        color=ink,
        marker=marker,
        ms=12 if method == NOTHING else 6,
        ls=style,
        lw=1.4,
        ecolor=to_rgba(ink, 0.5),
        elinewidth=0.8,
        mec=INK,
        mew=0.5,
        label=method,
    )


def _reach(line: pd.DataFrame, column: str) -> list[pd.Series]:
    return [line[column] - line[f"{column}_low"], line[f"{column}_high"] - line[column]]


def _shown(part: pd.DataFrame, way: pd.DataFrame) -> tuple[float, float]:
    """Return the limits of the test axis: all markers are inside, the first epochs may not be."""
    low, high = part.test.min(), max(part.test.max(), way.test.max())
    room = 0.15 * max(high - low, 0.02)
    return low - room, high + room
