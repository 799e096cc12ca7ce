"""The look of all figures, and the pictures that chapters share. Color means arm in these."""

import math
import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter
from matplotlib_inline.backend_inline import set_matplotlib_formats

from bn_memorization.config import SETTING
from bn_memorization.figure_data import Drawn, interval, pixels
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.models import PLAIN
from bn_memorization.report import name, setting
from bn_memorization.stats import Gap, mean_interval

TREATED_COLOR, PLAIN_COLOR = "#D55E00", "#0072B2"  # Okabe and Ito: told apart by all readers
INK = "#24272b"  # for what is no arm
SUBSET_NAMES = {"corrupted": "corrupted samples", "clean": "clean samples", "test": "test images"}
WIDTH, NARROW = 8.0, 4.4  # inches: the text column; what a phone shows whole
# Points, and there are no other sizes: labels of axes; all else. See figure-wide in custom.css.
TEXT, SMALL = 10, 9
TITLE = 14  # letters that stand above an image of a sheet


def use_style() -> None:
    """Set the look of all figures: SVG, quiet axes, the same bytes for the same picture."""
    sns.set_theme(style="whitegrid", context="notebook")
    sizes = ("font.size", "axes.titlesize", "legend.fontsize", "legend.title_fontsize")
    plt.rcParams |= dict.fromkeys((*sizes, "xtick.labelsize", "ytick.labelsize"), SMALL)
    plt.rcParams |= dict.fromkeys(("axes.labelsize", "figure.labelsize"), TEXT)
    plt.rcParams |= {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.dpi": 100,
        "legend.frameon": False,
        "svg.hashsalt": "bn_memorization",
    }
    set_matplotlib_formats("svg", metadata={"Date": None})


def color(norm: str) -> str:
    """Return an arm's color."""
    return PLAIN_COLOR if norm == PLAIN else TREATED_COLOR


def canvas(
    rows: int = 1, columns: int = 1, *, height: float, width: float = WIDTH, **options
) -> tuple[Drawn, np.ndarray]:
    """Return an empty figure, `height` and `width` in inches, and its panels [rows, columns].

    `options` are those of `matplotlib.pyplot.subplots`.
    """
    return plt.subplots(
        rows,
        columns,
        FigureClass=Drawn,
        figsize=(width, height),
        squeeze=False,
        layout="constrained",
        **options,
    )


def learning_curves(curves: pd.DataFrame, subset: str, quantity: str, profile: str) -> Drawn:
    """Draw a quantity of one subset against epochs, a panel a setting.

    `curves` is that of `memorization.curves`. Thin lines are single models; the thick line is
    their mean and the band its 95 % t interval over seeds.
    """
    panels = list(curves[curves.subset == subset].groupby(list(SETTING), sort=False))
    columns = min(4, math.ceil(math.sqrt(len(panels))))
    rows = -(-len(panels) // columns)
    height = 0.7 + (1.9 if columns > 2 else 2.4) * rows
    figure, axes = canvas(rows, columns, height=height, sharey=True)
    for axis, (values, panel) in zip(axes.flat, panels, strict=False):
        for norm, lines in panel.groupby("norm", sort=False):
            wide = lines.pivot(index="epoch", columns="seed", values=quantity)
            where = setting(dict(zip(SETTING, values, strict=True)))
            band(axis, wide, norm, setting=where, quantity=f"{quantity}, {SUBSET_NAMES[subset]}")
        _dress(axis, where, quantity)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    legend(figure, axes[0, 0])
    unit = {"accuracy": "", "loss": " (nats)"}[quantity]
    figure.supylabel(f"{quantity} on {SUBSET_NAMES[subset]}{unit}")
    figure.supxlabel("epoch")
    return signed(figure, profile)


def _dress(axis: plt.Axes, where: str, quantity: str) -> None:
    networks, _, corrupted = where.rpartition(", ")
    axis.set_title(f"{networks}\n{corrupted}")
    axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    if quantity == "accuracy":
        axis.set_ylim(-0.03, 1.03)
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        axis.set_ylim(bottom=0)


def band(axis: plt.Axes, lines: pd.DataFrame, norm: str, *, marker: str = "", **where) -> None:
    """Draw models as thin lines and their mean with its interval; `lines` is [epoch, seed].

    `where` says in the data which panel that is.
    """
    gaps = [mean_interval(row) for row in lines.to_numpy()]
    axis.plot(lines.index, lines.to_numpy(), color=color(norm), lw=0.6, alpha=0.5)
    axis.plot(
        lines.index,
        [gap.estimate for gap in gaps],
        color=color(norm),
        lw=2,
        ls="--" if norm == PLAIN else "-",
        marker=marker,
        label=f"{name(norm)} (n = {lines.shape[1]})",
    )
    low, high = [gap.low for gap in gaps], [gap.high for gap in gaps]
    axis.fill_between(lines.index, low, high, color=color(norm), alpha=0.15, lw=0)
    models = {f"seed {seed}": values for seed, values in lines.items()}
    axis.figure.keep(**where, arm=name(norm), epoch=lines.index, **interval(gaps), **models)


def forest(
    verdicts: Sequence[Verdict], scales: Sequence[float], units: Sequence[str], profile: str
) -> Drawn:
    """Draw each verdict's gaps with their intervals, a panel a claim, the threshold dashed.

    Values are multiplied by the claim's scale and labeled with its unit.
    """
    height = 1.2 + 0.35 * max(len(verdict.evidence) for verdict in verdicts)
    figure, axes = canvas(1, len(verdicts), height=height, sharey=True)
    for axis, verdict, scale, unit in zip(axes[0], verdicts, scales, units, strict=True):
        for place, item in enumerate(reversed(verdict.evidence)):
            draw_interval(axis, item, place, scale)
            figure.keep(
                panel=unit,
                claim=verdict.claim.title,
                setting=setting(item.where),
                **interval([item], scale),
                threshold=scale * verdict.claim.threshold,
            )
        labels = [f"{setting(item.where)} (n = {item.n})" for item in reversed(verdict.evidence)]
        axis.set_yticks(range(len(labels)), labels)
        axis.axvline(scale * verdict.claim.threshold, color=INK, ls="--", lw=1)
        axis.set_xlabel(unit, loc="left")  # the corner is signed
        axis.set_ylim(-0.75, len(labels) - 0.25)
    return signed(figure, profile)


def draw_interval(
    axis: plt.Axes,
    item: Gap | Evidence,
    place: float,
    scale: float = 1.0,
    ink: str = INK,
    marker: str = "o",
) -> None:
    """Draw an estimate and its interval, lying in the row at `place`, times `scale`."""
    axis.plot([scale * item.low, scale * item.high], [place, place], color=ink, lw=2)
    axis.plot(scale * item.estimate, place, color=ink, marker=marker, ms=5)


def legend(figure: Drawn, axis: plt.Axes, columns: int | None = None) -> None:
    """Write one legend for all panels, that of `axis`, above them; in one row unless told."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns or len(labels))


def signed(figure: Drawn, profile: str) -> Drawn:
    """Write the profile into the corner, and leave it to the cell to show the figure once.

    Raises ValueError for a figure that has kept nothing of what it shows.
    """
    if not figure.kept:
        raise ValueError("nothing was kept of what the figure shows: see figure_data.Drawn.keep")
    strip = 1.5 * SMALL / 72 / figure.get_figheight()  # below all axes, so that it hides nothing
    figure.get_layout_engine().set(rect=(0, strip, 1, 1 - strip))
    figure.text(1, 0, f"profile: {profile}", ha="right", va="bottom", color="0.4")
    plt.close(figure)
    return figure


def contact_sheet(
    images: Sequence[np.ndarray],
    titles: Sequence[str],
    marked: Sequence[bool],
    profile: str,
    columns: int = 8,
) -> Drawn:
    """Draw images, each [H, W] or [H, W, 3], in a grid, each under its title, some framed.

    A thick frame in the color of the treated arm stands around the marked ones.
    """
    rows = -(-len(images) // columns)
    figure, axes = canvas(rows, columns, height=1.35 * rows)
    for axis in axes.flat[len(images) :]:
        axis.remove()
    for axis, image, title, mark in zip(axes.flat, images, titles, marked, strict=False):
        axis.imshow(image, cmap="gray_r" if image.ndim == 2 else None, interpolation="nearest")
        axis.set(xticks=[], yticks=[])
        axis.set_title(_wrapped(title), color="black")
        for spine in axis.spines.values():
            spine.set(visible=True, color=TREATED_COLOR if mark else "0.8", lw=3 if mark else 0.8)
        figure.keep(title=title.replace("\n", " "), framed=mark, **pixels(image))
    return signed(figure, profile)


def _wrapped(title: str) -> str:
    lines = [textwrap.wrap(line, TITLE, break_long_words=False) for line in title.split("\n")]
    return "\n".join(part for line in lines for part in line)


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
) -> Drawn:
    """Draw column `y` against column `x`, both positive if `log`, with the line y = x.

    Both axes have the same limits, so that the line is the diagonal; `note` stands in the corner.
    """
    figure, ((axes,),) = canvas(height=NARROW, width=NARROW)
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
        log_ticks(axes.xaxis, limits)
        log_ticks(axes.yaxis, limits)
    figure.keep(**{_column(xlabel): frame[x], _column(ylabel): frame[y]})
    halfway = 0.62
    axes.annotate("equal", (halfway, halfway), xycoords="axes fraction", xytext=(8, -14),
                  textcoords="offset points", color=INK)  # fmt: skip
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    axes.annotate(note, (0.03, 0.96), xycoords="axes fraction", va="top", color=INK, bbox=paper)
    return signed(figure, profile)


def _column(label: str) -> str:
    """Return the label of an axis without the marks of mathematics, as the name of a column."""
    return label.replace("$", "").replace("\\", "")


def log_ticks(axis: Axis, limits: tuple[float, float]) -> None:
    """Mark powers of ten on a logarithmic axis; where there are few, 1, 2 and 5, as numbers."""
    wide = limits[1] > 30 * limits[0]
    axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5), numticks=6))
    axis.set_minor_locator(NullLocator())
    if not wide:
        axis.set_major_formatter("{x:g}")
