"""The picture of privacy against utility. Color means norm here, and shape means remedy."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from bn_memorization.config import SETTING
from bn_memorization.figures import INK, PLAIN_COLOR, TREATED_COLOR, WIDTH, signed
from bn_memorization.frontier import FPR, GUESS, PRIVATE
from bn_memorization.report import cell, name, setting
from bn_memorization.tradeoff import DECAY, NOTHING, STOPPING

COLORS = {"batch": TREATED_COLOR, "none": PLAIN_COLOR, "group": "#009E73", "layer": "#CC79A7"}
MARKERS = {NOTHING: "o", DECAY: "D", STOPPING: "<", PRIVATE: "^"}
PENALIZED = "s"  # any form of the penalty
SHORT = {STOPPING: "epoch ", PRIVATE: "ε = "}  # before the strength that stands at a point
MOST_NAMED = 4  # strengths of one remedy that are named at their points
AXES = {"auc": "AUC of the attack", "tpr": f"members found at {cell('noise_rate', FPR)} FPR"}
GUESSING = {"auc": GUESS, "tpr": FPR}


def frontier(points: pd.DataFrame, profile: str) -> Figure:
    """Draw what ways to train give away against their test accuracy, a row of panels a setting.

    `points` is that of `frontier.points`. The left panel has the AUC, the right one the members
    found at a low false-positive rate, where it is resolved. Bars are 95 % t intervals over pairs
    of models. Filled points are on the Pareto front, which the gray steps join; hollow ones are
    not. A thin line leads through the moments of early stopping to the end. Dotted: guessing.
    """
    shown = [quantity for quantity in AXES if points[quantity].notna().any()]
    parts = list(points.groupby(list(SETTING), sort=False))
    figure, axes = plt.subplots(
        len(parts),
        len(shown),
        figsize=(WIDTH, 1.2 + 4.2 * len(parts)),
        squeeze=False,
        layout="constrained",
    )
    for row, (values, part) in zip(axes, parts, strict=True):
        for axis, quantity in zip(row, shown, strict=True):
            _panel(axis, part[part[quantity].notna()], quantity)
        row[0].set_title(setting(dict(zip(SETTING, values, strict=True))), fontsize="small")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    figure.supxlabel("test accuracy", fontsize="medium")
    return signed(figure, profile)


def _panel(axis: plt.Axes, part: pd.DataFrame, quantity: str) -> None:
    axis.axhline(GUESSING[quantity], color=INK, lw=1, ls=":")
    front = part[part[f"front_{quantity}"]].sort_values(["test", quantity])
    # The least that is given away at this test accuracy or more.
    axis.step(front["test"], front[quantity], where="pre", color="0.6", lw=1.2, zorder=1)
    for (norm, remedy), line in part.groupby(["norm", "remedy"], sort=False):
        _group(axis, line, norm, remedy, quantity)
        if remedy == STOPPING:  # its way to the end of training
            end = part[(part["norm"] == norm) & (part["remedy"] == NOTHING)]
            way = pd.concat([line, end])
            axis.plot(way["test"], way[quantity], color=COLORS[norm], lw=0.8, zorder=1)
    axis.set_ylabel(AXES[quantity], fontsize="medium")
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if quantity == "tpr":
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))  # as many digits as its ticks need
    axis.margins(0.08)


def _group(axis: plt.Axes, line: pd.DataFrame, norm: str, remedy: str, quantity: str) -> None:
    """Draw the strengths of one remedy on one norm: bars, markers, and which strength is which."""
    ink, marker = COLORS[norm], MARKERS.get(remedy, PENALIZED)
    axis.errorbar(
        line["test"],
        line[quantity],
        xerr=_reach(line, "test"),
        yerr=_reach(line, quantity),
        ls="",
        ecolor=to_rgba(ink, 0.5),
        elinewidth=0.9,
        zorder=2,
    )
    on = line[f"front_{quantity}"].to_numpy()
    axis.scatter(
        line["test"],
        line[quantity],
        s=44,
        marker=marker,
        facecolors=[ink if is_on else "white" for is_on in on],
        edgecolors=ink,
        linewidths=1.3,
        zorder=3,
        label=_words(norm, remedy),
    )
    if remedy in SHORT or len(line) > 1:
        every = -(-len(line) // MOST_NAMED)  # more names would lie on each other
        for row in line.iloc[::every].to_dict("records"):
            axis.annotate(
                SHORT.get(remedy, "") + row["strength"],
                (row["test"], row[quantity]),
                xytext=(-8, 3),
                ha="right",
                textcoords="offset points",
                fontsize=7,
                color=INK,
            )


def _words(norm: str, remedy: str) -> str:
    words = {NOTHING: "", DECAY: f", {DECAY}", STOPPING: ", stopped early", PRIVATE: f", {PRIVATE}"}
    return name(norm) + words.get(remedy, f", {remedy} penalty")


def _reach(line: pd.DataFrame, column: str) -> np.ndarray:
    low, high = line[column] - line[f"{column}_low"], line[f"{column}_high"] - line[column]
    return np.array([low, high])
