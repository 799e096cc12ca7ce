"""Pictures of gamma/sigma in trained networks. All channels here are of the arm with BN."""

import math
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import (
    LogLocator,
    MaxNLocator,
    NullLocator,
    PercentFormatter,
    StrMethodFormatter,
)

from bn_memorization.config import SETTING
from bn_memorization.figures import INK, TREATED_COLOR, WIDTH, signed
from bn_memorization.report import name, setting
from bn_memorization.stats import mean_interval

SPREAD = 0.3  # how far the dots of one layer are spread sideways, in layers
MOST_DOTS = 400  # of one layer; more would hide each other


def ratios_by_layer(channels: pd.DataFrame, profile: str) -> Figure:
    """Draw gamma/sigma of every channel at the end of training, a panel a setting, a dot a channel.

    `channels` is that of `trained_ratios.final_channels`. Bars are a layer's median; the dashed
    line is 1. Where a layer has many channels, every so many-th is drawn, in order of size.
    """
    figure, panels = _panels(channels)
    for axis, frame in panels:
        axis.set_yscale("log")
        for layer, values in frame.groupby("layer").ratio:
            drawn = np.sort(values.to_numpy())[:: max(1, len(values) // MOST_DOTS)]
            # A fixed spread without random numbers: the same picture each time.
            places = layer + SPREAD * (2 * (np.arange(len(drawn)) * 0.618 % 1) - 1)
            axis.plot(places, drawn, ".", color=TREATED_COLOR, ms=3, alpha=0.35, mew=0)
            ends = [layer - SPREAD, layer + SPREAD]
            axis.plot(ends, [values.median()] * 2, color=INK, lw=2)
        axis.axhline(1, color=INK, ls="--", lw=1)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_locator(NullLocator())
    figure.supxlabel("BN layer, from the input", fontsize="medium")
    figure.supylabel(r"$|\gamma|/\sigma$ of a channel", fontsize="medium")
    return signed(figure, profile)


def share_curves(shares: pd.DataFrame, threshold: float, profile: str) -> Figure:
    """Draw the share of channels with gamma/sigma above 1 against epochs, a panel a setting.

    `shares` is that of `trained_ratios.share_curves`. Thin lines are single models, the thick line
    their mean, the band its 95 % t interval; the dashed line is the claim's threshold.
    """
    figure, panels = _panels(shares)
    for axis, frame in panels:
        lines = frame.pivot(index="epoch", columns="seed", values="share")
        gaps = [mean_interval(row) for row in lines.to_numpy()]
        axis.plot(lines.index, lines.to_numpy(), color=TREATED_COLOR, lw=0.6, alpha=0.5)
        axis.plot(
            lines.index, [gap.estimate for gap in gaps], color=TREATED_COLOR, lw=2, marker="."
        )
        low, high = [gap.low for gap in gaps], [gap.high for gap in gaps]
        axis.fill_between(lines.index, low, high, color=TREATED_COLOR, alpha=0.15, lw=0)
        axis.axhline(threshold, color=INK, ls="--", lw=1)
        axis.set_ylim(-0.03, 1.03)
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    figure.supxlabel("epoch", fontsize="medium")
    figure.supylabel(r"channels with $|\gamma|/\sigma$ above 1", fontsize="medium")
    return signed(figure, profile)


LABELS = {"ratio": r"$|\gamma|/\sigma$", "rho": r"$|\gamma|\,\Vert w \Vert/\sigma$"}


def through_training(medians: pd.DataFrame, profile: str) -> Figure:
    """Draw gamma/sigma (left) and the invariant ratio (right) against epochs, a row a network.

    `medians` is that of `trained_invariant.through_training`: a line is a BN layer, from dark (next
    to the input) to light, its band the middle half of the layer's channels. Epoch 0 is the network
    before training.
    """
    networks = list(medians.groupby(["dataset", "arch"], sort=False))
    figure, axes = plt.subplots(
        len(networks),
        len(LABELS),
        figsize=(WIDTH, 0.7 + 2.4 * len(networks)),
        sharex="row",
        squeeze=False,
        layout="constrained",
    )
    for row, (names, network) in zip(axes, networks, strict=True):
        for axis, (quantity, label) in zip(row, LABELS.items(), strict=True):
            _layers(axis, network[network.quantity == quantity])
            axis.set_title(", ".join(map(name, names)), fontsize="small")
            axis.set_ylabel(label)
        row[0].axhline(1, color=INK, ls="--", lw=1)
    figure.supxlabel("epoch", fontsize="medium")
    return signed(figure, profile)


def _layers(axis: plt.Axes, lines: pd.DataFrame) -> None:
    layers = list(lines.groupby("layer"))
    axis.set_yscale("log")
    inks = plt.cm.viridis(np.linspace(0, 0.9, len(layers)))
    for ink, (_, line) in zip(inks, layers, strict=True):
        axis.plot(line.epoch, line["median"], color=ink, lw=1.8)
        axis.fill_between(line.epoch, line.low, line.high, color=ink, alpha=0.12, lw=0)
    axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_locator(NullLocator())


def _panels(
    frame: pd.DataFrame,
) -> tuple[Figure, Iterator[tuple[plt.Axes, pd.DataFrame]]]:
    """Return a figure with a titled panel for each setting, and (panel, rows of that setting)."""
    parts = list(frame.groupby(list(SETTING), sort=False))
    columns = min(3, math.ceil(math.sqrt(len(parts))))
    rows = -(-len(parts) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH, 0.7 + 2.3 * rows),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(parts) :]:
        axis.remove()
    for axis, (values, _) in zip(axes.flat, parts, strict=False):
        networks, _, corrupted = setting(dict(zip(SETTING, values, strict=True))).rpartition(", ")
        axis.set_title(f"{networks}\n{corrupted}", fontsize="small")
    return figure, zip(axes.flat, [part for _, part in parts], strict=False)
