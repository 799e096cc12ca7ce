"""The picture of how time and memory grow with size."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bn_memorization.figures import INK, WIDTH

MOST_TICKS = 6
MARKS = ("o", "s", "^", "D", "v")
UNITS = {"seconds": 1.0, "bytes": 2.0**-20}
LABELS = {"seconds": "seconds", "bytes": "peak memory, MiB"}


def curves(found: Sequence[Mapping], quantities: Sequence[str]) -> Figure:
    """Draw each curve as a line through its marks, on logarithmic axes.

    A column of panels for what varies, a row for each quantity. `found` is that of
    `exponents.curves`.
    """
    varied = list(dict.fromkeys(curve["varied"] for curve in found))
    figure, axes = plt.subplots(
        len(quantities), len(varied), figsize=(WIDTH, 1.0 + 2.1 * len(quantities)),
        sharex="col", sharey="row", squeeze=False, layout="constrained",
    )  # fmt: skip
    for column, name in zip(axes.T, varied, strict=True):
        shown = [curve for curve in found if curve["varied"] == name]
        for axis, quantity in zip(column, quantities, strict=True):
            _panel(axis, shown, quantity)
        column[-1].set_xlabel(f"{name}")
        column[0].legend(
            loc="lower left", bbox_to_anchor=(0, 1), fontsize=7, frameon=False, borderpad=0
        )
    for row, quantity in zip(axes, quantities, strict=True):
        row[0].set_ylabel(LABELS[quantity])
    plt.close(figure)
    return figure


def _panel(axis: plt.Axes, shown: Sequence[Mapping], quantity: str) -> None:
    for curve, mark in zip(shown, MARKS, strict=False):
        values = [UNITS[quantity] * value for value in curve[quantity]]
        axis.plot(
            curve["at"], values, color=INK, marker=mark, markersize=4.5, lw=1,
            markerfacecolor="white" if MARKS.index(mark) % 2 else INK, label=curve["what"],
        )  # fmt: skip
    axis.set(xscale="log", yscale="log")
    axis.minorticks_off()
    sizes = sorted({size for curve in shown for size in curve["at"]})
    if len(sizes) <= MOST_TICKS:
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.grid(visible=True, color="0.9", lw=0.6)
    axis.spines[["top", "right"]].set_visible(False)


def same_bytes() -> AbstractContextManager:
    """Make what is saved as SVG the same bytes for the same picture."""
    return plt.rc_context({"svg.hashsalt": "bn_memorization"})
