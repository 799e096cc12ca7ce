"""Pictures of what a remedy against memorization costs in test accuracy."""

import math
from collections.abc import Iterator

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.ticker import PercentFormatter

from bn_memorization.config import SETTING
from bn_memorization.figure_data import Drawn
from bn_memorization.figures import INK, TREATED_COLOR, canvas, legend, signed
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

BARS = ["test_low", "test_high", "corrupted_low", "corrupted_high"]


def tradeoff(points: pd.DataFrame, path: pd.DataFrame, profile: str) -> Drawn:
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
        figure.keep(
            setting=setting(dict(zip(SETTING, values, strict=True))),
            line="no remedy, epoch by epoch",
            epoch=way.epoch,
            test_accuracy=way.test,
            corrupted_accuracy=way.corrupted,
        )
        for line, method in _lines(part):
            _method(axis, line, method, method)
        axis.set(xlim=_shown(part, way))
    return _finished(figure, profile)


def sides(free: pd.DataFrame, held: pd.DataFrame, profile: str) -> Drawn:
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
) -> tuple[Drawn, Iterator[tuple[plt.Axes, tuple, pd.DataFrame]]]:
    """Return a figure with a titled panel for each setting, and (panel, setting, its rows)."""
    parts = list(points.groupby(list(SETTING), sort=False))
    columns = min(2, len(parts))
    rows = math.ceil(len(parts) / columns)
    height = 0.8 + (4.4 if columns == 1 else 3.4) * rows
    figure, axes = canvas(rows, columns, height=height)
    for axis in axes.flat[len(parts) :]:
        axis.remove()
    for axis, (values, part) in zip(axes.flat, parts, strict=False):
        axis.set_title(f"{setting(dict(zip(SETTING, values, strict=True)))} (n = {part.n.min()})")
    panels = zip(axes.flat, parts, strict=False)
    return figure, ((axis, values, part) for axis, (values, part) in panels)


def _finished(figure: Drawn, profile: str) -> Drawn:
    for axis in figure.axes:
        axis.set(ylim=(-0.03, 1.03))
        axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    legend(figure, figure.axes[0], columns=4)
    figure.supxlabel("test accuracy")
    figure.supylabel("accuracy on corrupted samples")
    return signed(figure, profile)


def _method(
    axis: plt.Axes, line: pd.DataFrame, method: str, label: str, *, hollow: bool = False
) -> None:
    ink, marker, style = LOOKS[method]
    bars = line[BARS].clip(0, 1)  # an interval of Student's t can reach beyond any accuracy
    axis.figure.keep(
        setting=[setting(where) for where in line[[*SETTING]].to_dict("records")],
        line=label,
        strength=line.setting,
        n=line.n,
        test_accuracy=line.test,
        test_low=bars.test_low,
        test_high=bars.test_high,
        corrupted_accuracy=line.corrupted,
        corrupted_low=bars.corrupted_low,
        corrupted_high=bars.corrupted_high,
    )
    axis.errorbar(
        line.test,
        line.corrupted,
        xerr=[line.test - bars.test_low, bars.test_high - line.test],
        yerr=[line.corrupted - bars.corrupted_low, bars.corrupted_high - line.corrupted],
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


def _shown(part: pd.DataFrame, way: pd.DataFrame) -> tuple[float, float]:
    """Return the limits of the test axis: all bars are inside, the first epochs may not be."""
    ends = part[["test", "test_low", "test_high"]].clip(0, 1)
    low, high = ends.min(axis=None), max(ends.max(axis=None), way.test.max())
    room = 0.05 * max(high - low, 0.02)
    return low - room, high + room
