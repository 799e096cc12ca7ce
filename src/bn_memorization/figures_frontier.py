"""The picture of privacy against utility. Color means norm here, and shape means remedy."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator, PercentFormatter

from bn_memorization.config import SETTING
from bn_memorization.figure_data import Drawn, numbers
from bn_memorization.figures import INK, PLAIN_COLOR, TREATED_COLOR, canvas, legend, signed
from bn_memorization.frontier import FPR, GUESS, PRIVATE
from bn_memorization.report import cell, name, setting
from bn_memorization.tradeoff import DECAY, NOTHING, STOPPING

COLORS = {"batch": TREATED_COLOR, "none": PLAIN_COLOR, "group": "#009E73", "layer": "#CC79A7"}
MARKERS = {NOTHING: "o", DECAY: "D", STOPPING: "<", PRIVATE: "^"}
PENALIZED = "s"  # any form of the penalty
SHORT = {STOPPING: "epoch ", PRIVATE: "ε = "}  # before the strength that stands at a point
# Where a name stands beside its point: norms lie near each other.
LEFT = {"xytext": (-8, 4), "ha": "right"}
BESIDE = {("group", STOPPING): {"xytext": (6, -11), "ha": "left"}}
AXES = {"auc": "AUC of the attack", "tpr": f"members found at {cell('noise_rate', FPR)} FPR"}
GUESSING = {"auc": GUESS, "tpr": FPR}


def frontier(points: pd.DataFrame, profile: str) -> Drawn:
    """Draw what ways to train give away against their test accuracy, a row of panels a setting.

    `points` is that of `frontier.points`. The left panel has the AUC, the right one the members
    found at a low false-positive rate, where it is resolved. Bars are 95 % t intervals over pairs
    of models. Filled points are on the Pareto front, which the gray steps join; hollow ones are
    not. A thin line leads through the moments of early stopping to the end. Dotted: guessing.
    """
    shown = [quantity for quantity in AXES if points[quantity].notna().any()]
    parts = list(points.groupby(list(SETTING), sort=False))
    figure, axes = canvas(len(parts), len(shown), height=1.2 + 4.2 * len(parts))
    for row, (values, part) in zip(axes, parts, strict=True):
        for axis, quantity in zip(row, shown, strict=True):
            _panel(axis, part[part[quantity].notna()], quantity)
        where = setting(dict(zip(SETTING, values, strict=True)))
        row[0].set_title(f"{where} ({numbers(part.n)} pairs)")
    legend(figure, axes[0, 0], columns=3)
    figure.supxlabel("test accuracy")
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
    axis.set_ylabel(AXES[quantity])
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if quantity == "tpr":
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))  # as many digits as its ticks need
    axis.margins(0.08)


def _group(axis: plt.Axes, line: pd.DataFrame, norm: str, remedy: str, quantity: str) -> None:
    """Draw the strengths of one remedy on one norm: bars, markers, and which strength is which."""
    ink, marker = COLORS[norm], MARKERS.get(remedy, PENALIZED)
    axis.figure.keep(
        setting=[setting(where) for where in line[[*SETTING]].to_dict("records")],
        quantity=AXES[quantity],
        norm=name(norm),
        remedy=remedy,
        strength=line["strength"],
        n=line["n"],
        test_accuracy=line["test"],
        test_low=line["test_low"],
        test_high=line["test_high"],
        mean=line[quantity],
        low=line[f"{quantity}_low"],
        high=line[f"{quantity}_high"],
        on_pareto_front=line[f"front_{quantity}"],
    )
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
        # Where stopping ends is where training does; between the ends names would hide points.
        named = line.iloc[[0]] if remedy == STOPPING else line.iloc[[0, -1]].drop_duplicates("test")
        for row in named.to_dict("records"):
            axis.annotate(
                SHORT.get(remedy, "") + row["strength"],
                (row["test"], row[quantity]),
                textcoords="offset points",
                color=INK,
                path_effects=[withStroke(linewidth=3, foreground="white")],
                **BESIDE.get((norm, remedy), LEFT),
            )


def _words(norm: str, remedy: str) -> str:
    words = {NOTHING: "", DECAY: f", {DECAY}", STOPPING: ", stopped early", PRIVATE: f", {PRIVATE}"}
    return name(norm) + words.get(remedy, f", {remedy} penalty")


def _reach(line: pd.DataFrame, column: str) -> np.ndarray:
    low, high = line[column] - line[f"{column}_low"], line[f"{column}_high"] - line[column]
    return np.array([low, high])
