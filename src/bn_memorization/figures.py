"""The look of all figures, and the pictures that chapters share. Color means arm in these."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter
from matplotlib_inline.backend_inline import set_matplotlib_formats

from bn_memorization.config import SETTING
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.models import PLAIN
from bn_memorization.report import name, setting
from bn_memorization.stats import mean_interval

TREATED_COLOR, PLAIN_COLOR = "#D55E00", "#0072B2"  # Okabe and Ito: told apart by all readers
INK = "#24272b"  # for what is no arm
SUBSET_NAMES = {"corrupted": "corrupted samples", "clean": "clean samples", "test": "test images"}
WIDTH = 8.0  # inches; the text column


def use_style() -> None:
    """Set the look of all figures: SVG, quiet axes, the same bytes for the same picture."""
    sns.set_theme(style="whitegrid", context="notebook", font_scale=0.9)
    plt.rcParams |= {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "medium",
        "figure.dpi": 100,
        "legend.frameon": False,
        "svg.hashsalt": "bn_memorization",
    }
    set_matplotlib_formats("svg", metadata={"Date": None})


def color(norm: str) -> str:
    """Return an arm's color."""
    return PLAIN_COLOR if norm == PLAIN else TREATED_COLOR


def learning_curves(curves: pd.DataFrame, subset: str, quantity: str, profile: str) -> Figure:
    """Draw a quantity of one subset against epochs, a panel a setting.

    `curves` is that of `memorization.curves`. Thin lines are single models; the thick line is
    their mean and the band its 95 % t interval over seeds.
    """
    panels = list(curves[curves.subset == subset].groupby(list(SETTING), sort=False))
    columns = min(4, math.ceil(math.sqrt(len(panels))))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH, 0.7 + (1.9 if columns > 2 else 2.4) * rows),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, (values, panel) in zip(axes.flat, panels, strict=False):
        for norm, lines in panel.groupby("norm", sort=False):
            _band(axis, lines.pivot(index="epoch", columns="seed", values=quantity), norm)
        _dress(axis, setting(dict(zip(SETTING, values, strict=True))), quantity)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    unit = {"accuracy": "", "loss": " (nats)"}[quantity]
    figure.supylabel(f"{quantity} on {SUBSET_NAMES[subset]}{unit}", fontsize="medium")
    figure.supxlabel("epoch", fontsize="medium")
    return signed(figure, profile)


def _dress(axis: plt.Axes, where: str, quantity: str) -> None:
    networks, _, corrupted = where.rpartition(", ")
    axis.set_title(f"{networks}\n{corrupted}", fontsize="small")
    axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    if quantity == "accuracy":
        axis.set_ylim(-0.03, 1.03)
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        axis.set_ylim(bottom=0)


def _band(axis: plt.Axes, lines: pd.DataFrame, norm: str) -> None:
    """Draw models as thin lines and their mean with its interval; `lines` is [epoch, seed]."""
    gaps = [mean_interval(row) for row in lines.to_numpy()]
    axis.plot(lines.index, lines.to_numpy(), color=color(norm), lw=0.6, alpha=0.5)
    axis.plot(
        lines.index,
        [gap.estimate for gap in gaps],
        color=color(norm),
        lw=2,
        ls="--" if norm == PLAIN else "-",
        label=f"{name(norm)} (n = {lines.shape[1]})",
    )
    low, high = [gap.low for gap in gaps], [gap.high for gap in gaps]
    axis.fill_between(lines.index, low, high, color=color(norm), alpha=0.15, lw=0)


def forest(
    verdicts: Sequence[Verdict], scales: Sequence[float], units: Sequence[str], profile: str
) -> Figure:
    """Draw each verdict's gaps with their intervals, a panel a claim, the threshold dashed.

    Values are multiplied by the claim's scale and labeled with its unit.
    """
    height = 1.2 + 0.35 * max(len(verdict.evidence) for verdict in verdicts)
    figure, axes = plt.subplots(
        1, len(verdicts), figsize=(WIDTH, height), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, verdict, scale, unit in zip(axes[0], verdicts, scales, units, strict=True):
        for place, item in enumerate(reversed(verdict.evidence)):
            _interval(axis, item, place, scale)
        labels = [f"{setting(item.where)} (n = {item.n})" for item in reversed(verdict.evidence)]
        axis.set_yticks(range(len(labels)), labels)
        axis.axvline(scale * verdict.claim.threshold, color=INK, ls="--", lw=1)
        axis.set_xlabel(unit, loc="left")  # the corner is signed
        axis.set_ylim(-0.75, len(labels) - 0.25)
    return signed(figure, profile)


def signed(figure: Figure, profile: str) -> Figure:
    """Write the profile into the corner, and leave it to the cell to show the figure once."""
    figure.text(1, 0, f"profile: {profile}", ha="right", va="bottom", fontsize=7, color="0.4")
    plt.close(figure)
    return figure


def _interval(axis: plt.Axes, item: Evidence, place: int, scale: float) -> None:
    axis.plot([scale * item.low, scale * item.high], [place, place], color=INK, lw=2)
    axis.plot(scale * item.estimate, place, "o", color=INK)


def contact_sheet(
    images: Sequence[np.ndarray],
    titles: Sequence[str],
    marked: Sequence[bool],
    profile: str,
    columns: int = 8,
) -> Figure:
    """Draw images, each [H, W] or [H, W, 3], in a grid, each under its title, some framed.

    A thick frame in the color of the treated arm stands around the marked ones.
    """
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, 1.35 * rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(images) :]:
        axis.remove()
    for axis, image, title, mark in zip(axes.flat, images, titles, marked, strict=False):
        axis.imshow(image, cmap="gray_r" if image.ndim == 2 else None, interpolation="nearest")
        axis.set(xticks=[], yticks=[])
        axis.set_title(title, fontsize="x-small", color="black")
        for spine in axis.spines.values():
            spine.set(visible=True, color=TREATED_COLOR if mark else "0.8", lw=3 if mark else 0.8)
    return signed(figure, profile)


def scatter_identity(
    frame: pd.DataFrame,
    x: str,
    y: str,
    *,
    xlabel: str,
    ylabel: str,
    profile: str,
    log: bool = False,
    note: str = "",
) -> Figure:
    """Draw column `y` against column `x`, both positive if `log`, with the line y = x.

    Both axes have the same limits, so that the line is the diagonal; `note` stands in the corner.
    """
    figure, axes = plt.subplots(figsize=(5.2, 5.2), layout="constrained")
    axes.set_aspect("equal")
    if log:
        axes.set(xscale="log", yscale="log")
    axes.scatter(frame[x], frame[y], s=26, facecolor="none", edgecolor=INK, linewidth=0.9)
    limits = (
        min(axes.get_xlim()[0], axes.get_ylim()[0]),
        max(axes.get_xlim()[1], axes.get_ylim()[1]),
    )
    axes.plot(limits, limits, color=INK, linewidth=0.8, linestyle="--", zorder=0)
    axes.set(xlim=limits, ylim=limits, xlabel=xlabel, ylabel=ylabel)
    if log:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(numticks=8))
            axis.set_minor_locator(NullLocator())
    halfway = 0.62
    axes.annotate("equal", (halfway, halfway), xycoords="axes fraction", xytext=(8, -14),
                  textcoords="offset points", color=INK)  # fmt: skip
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    axes.annotate(note, (0.03, 0.96), xycoords="axes fraction", va="top", color=INK, bbox=paper)
    return signed(figure, profile)
