"""Pictures of what a remedy against memorization costs in test accuracy."""

import math
from collections.abc import Iterator

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
    figure, panels = _panels(points)
    ways = path.groupby(list(SETTING))
    for axis, values, part in panels:
        way = ways.get_group(values)
        axis.plot(
            way.test, way.corrupted, color=TREATED_COLOR, lw=1, label="no remedy, epoch by epoch"
        )
        for line, method in _lines(part):
            _method(axis, line, method, method)
        axis.set(xlim=_shown(part, way))
    return _finished(figure, profile)


def sides(free: pd.DataFrame, held: pd.DataFrame, profile: str) -> Figure:
    """Draw the same settings with weights free (full) and held (hollow), joined, a panel a setting.

    Both are those of `tradeoff.points`; the axes are those of `tradeoff`.
    """
    figure, panels = _panels(free)
    others = held.groupby(list(SETTING))
    for axis, values, part in panels:
        other = others.get_group(values)
        for (_, one), (_, two) in zip(part.iterrows(), other.iterrows(), strict=True):
            ink = LOOKS[one.method][0]
            axis.plot([one.test, two.test], [one.corrupted, two.corrupted], color=ink, lw=1, ls=":")
        for line, method in _lines(part):
            _method(axis, line, method, f"{method}, free")
        for line, method in _lines(other):
            _method(axis, line, method, f"{method}, held", hollow=True)
        both = pd.concat([part, other])
        axis.set(xlim=_shown(both, both))
    return _finished(figure, profile)


def _lines(part: pd.DataFrame) -> list[tuple[pd.DataFrame, str]]:
    return [(line, method) for method, line in part.groupby("method", sort=False)]


def _panels(
    points: pd.DataFrame,
) -> tuple[Figure, Iterator[tuple[plt.Axes, tuple, pd.DataFrame]]]:
    """Return a figure with a titled panel for each setting, and (panel, setting, its rows)."""
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
    for axis, (values, _) in zip(axes.flat, parts, strict=False):
        axis.set_title(setting(dict(zip(SETTING, values, strict=True))), fontsize="small")
    panels = zip(axes.flat, parts, strict=False)
    return figure, ((axis, values, part) for axis, (values, part) in panels)


def _finished(figure: Figure, profile: str) -> Figure:
    for axis in figure.axes:
        axis.set(ylim=(-0.03, 1.03))
        axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    figure.supxlabel("test accuracy", fontsize="medium")
    figure.supylabel("accuracy on corrupted samples", fontsize="medium")
    return signed(figure, profile)


def _method(
    axis: plt.Axes, line: pd.DataFrame, method: str, label: str, *, hollow: bool = False
) -> None:
    ink, marker, style = LOOKS[method]
    axis.errorbar(
        line.test,
        line.corrupted,
        xerr=_reach(line, "test"),
        yerr=_reach(line, "corrupted"),
        color=ink,
        marker=marker,
        ms=12 if method == NOTHING else 6,
        ls="" if hollow else style,
        mfc="white" if hollow else ink,
        lw=1.4,
        ecolor=to_rgba(ink, 0.5),
        elinewidth=0.8,
        mec=ink if hollow else INK,
        mew=1.2 if hollow else 0.5,
        label=label,
    )


def _reach(line: pd.DataFrame, column: str) -> list[pd.Series]:
    return [line[column] - line[f"{column}_low"], line[f"{column}_high"] - line[column]]


def _shown(part: pd.DataFrame, way: pd.DataFrame) -> tuple[float, float]:
    """Return the limits of the test axis: all markers are inside, the first epochs may not be."""
    low, high = part.test.min(), max(part.test.max(), way.test.max())
    room = 0.15 * max(high - low, 0.02)
    return low - room, high + room
