"""Pictures of gamma/sigma in trained networks. All channels here are of the arm with BN."""

import math
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import (
    LogLocator,
    MaxNLocator,
    NullLocator,
    PercentFormatter,
    StrMethodFormatter,
)

from bn_memorization.config import SETTING
from bn_memorization.figure_data import Drawn
from bn_memorization.figures import INK, TREATED_COLOR, band, canvas, signed
from bn_memorization.report import name, setting

SPREAD = 0.3  # how far the dots of one layer are spread sideways, in layers
MOST_DOTS = 200  # of one layer; more would hide each other


def ratios_by_layer(channels: pd.DataFrame, profile: str) -> Drawn:
    """Draw gamma/sigma of every channel at the end of training, a panel a setting, a dot a channel.

    `channels` is that of `trained_ratios.final_channels`. Bars are a layer's median; the dashed
    line is 1. Where a layer has many channels, every so many-th is drawn, in order of size.
    """
    figure, panels = _panels(channels)
    for axis, where, frame in panels:
        models = frame.seed.nunique()
        _name(axis, where, models)
        axis.set_yscale("log")
        for layer, values in frame.groupby("layer").ratio:
            drawn = np.sort(values.to_numpy())[:: -(-len(values) // MOST_DOTS)]
            # A fixed spread without random numbers: the same picture each time.
            places = layer + SPREAD * (2 * (np.arange(len(drawn)) * 0.618 % 1) - 1)
            axis.plot(places, drawn, ".", color=TREATED_COLOR, ms=3, alpha=0.35, mew=0)
            figure.keep(
                setting=where,
                models=models,
                bn_layer=layer,
                channels=len(values),
                median=values.median(),
                ratio=drawn,
            )
            ends = [layer - SPREAD, layer + SPREAD]
            axis.plot(ends, [values.median()] * 2, color=INK, lw=2)
        axis.axhline(1, color=INK, ls="--", lw=1)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_locator(NullLocator())
    figure.supxlabel("BN layer, from the input")
    figure.supylabel(r"$|\gamma|/\sigma$ of a channel")
    return signed(figure, profile)


def share_curves(shares: pd.DataFrame, threshold: float, profile: str) -> Drawn:
    """Draw the share of channels with gamma/sigma above 1 against epochs, a panel a setting.

    `shares` is that of `trained_ratios.share_curves`. Thin lines are single models, the thick line
    their mean, the band its 95 % t interval; the dashed line is the claim's threshold.
    """
    figure, panels = _panels(shares)
    for axis, where, frame in panels:
        lines = frame.pivot(index="epoch", columns="seed", values="share")
        _name(axis, where, lines.shape[1])
        band(axis, lines, "batch", marker=".", setting=where, quantity="share above 1")
        axis.axhline(threshold, color=INK, ls="--", lw=1)
        axis.set_ylim(-0.03, 1.03)
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    figure.supxlabel("epoch")
    figure.supylabel(r"channels with $|\gamma|/\sigma$ above 1")
    return signed(figure, profile)


LABELS = {"ratio": r"$|\gamma|/\sigma$", "rho": r"$|\gamma|\,\Vert w \Vert/\sigma$"}


COLUMNS = {"ratio": "gamma/sigma", "rho": "gamma |w|/sigma"}


def through_training(medians: pd.DataFrame, profile: str) -> Drawn:
    """Draw gamma/sigma (left) and the invariant ratio (right) against epochs, a row a network.

    `medians` is that of `trained_invariant.through_training`: a line is a BN layer, from dark (next
    to the input) to light, its band the middle half of the layer's channels. Epoch 0 is the network
    before training.
    """
    networks = list(medians.groupby(["dataset", "arch"], sort=False))
    height = 0.7 + 2.4 * len(networks)
    figure, axes = canvas(len(networks), len(LABELS), height=height, sharex="row")
    for row, (names, network) in zip(axes, networks, strict=True):
        where = ", ".join(map(name, names))
        for axis, (quantity, label) in zip(row, LABELS.items(), strict=True):
            lines = network[network.quantity == quantity]
            _layers(axis, lines)
            figure.keep(
                network=where,
                models=lines.n,
                quantity=COLUMNS[quantity],
                bn_layer=lines.layer,
                epoch=lines.epoch,
                median=lines["median"],
                lower_quartile=lines.low,
                upper_quartile=lines.high,
            )
            axis.set_title(f"{where} (n = {lines.n.iloc[0]})")
            axis.set_ylabel(label)
        row[0].axhline(1, color=INK, ls="--", lw=1)
    figure.supxlabel("epoch")
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


def _name(axis: plt.Axes, where: str, models: int) -> None:
    networks, _, corrupted = where.rpartition(", ")
    axis.set_title(f"{networks}\n{corrupted} (n = {models})")


def _panels(frame: pd.DataFrame) -> tuple[Drawn, Iterator[tuple[plt.Axes, str, pd.DataFrame]]]:
    """Return a figure with a panel for each setting, and (panel, setting, its rows)."""
    parts = list(frame.groupby(list(SETTING), sort=False))
    columns = min(3, math.ceil(math.sqrt(len(parts))))
    rows = -(-len(parts) // columns)
    figure, axes = canvas(rows, columns, height=0.7 + 2.3 * rows, sharey=True)
    for axis in axes.flat[len(parts) :]:
        axis.remove()
    named = [(setting(dict(zip(SETTING, key, strict=True))), part) for key, part in parts]
    return figure, ((axis, *pair) for axis, pair in zip(axes.flat, named, strict=False))
