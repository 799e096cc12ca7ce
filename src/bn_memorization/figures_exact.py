"""Pictures of moving statistics, and of who pulls at gamma and at the other parameters."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bn_memorization.config import SETTING
from bn_memorization.exact_trained import FULL
from bn_memorization.figures import INK, TREATED_COLOR, WIDTH, signed
from bn_memorization.figures_growth import MARKERS, SUBSETS
from bn_memorization.gradient_share import BETA, GAMMA, OTHER
from bn_memorization.report import setting
from bn_memorization.stats import mean_interval

LEVELS = np.linspace(0, 1, 11)
CLEAN = 80  # clean samples a layer that are drawn; more would hide the corrupted ones
GROUP_COLORS = {GAMMA: TREATED_COLOR, BETA: "0.55", OTHER: INK}


def correction_map(cases: pd.DataFrame, trained: pd.DataFrame, profile: str) -> Figure:
    """Draw 1 - (1 + z^2)/m over m and |z| with samples on it (left), and corrections (right).

    `cases` is that of `growth_exact.check_exact`, `trained` that of `exact_trained.by_batches`.
    Right, on a logarithmic axis, is what the sample's own terms take; the curve is what they leave.
    """
    clean = trained[trained.subset == "clean"].groupby("layer").head(CLEAN)
    trained = pd.concat([clean, trained[trained.subset == "corrupted"]])
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.6), layout="constrained")
    _map(left, figure, trained)
    right.plot(1 - cases.room, cases.correction, ".", color="0.7", ms=5, lw=0)
    for (layer, subset), part in trained.groupby(["layer", "subset"], sort=True):
        right.plot(1 - part.room, part.correction, **_look(layer, subset))
    taken = np.geomspace(min(1e-3, (1 - trained.room).min()), 1, 100)
    right.plot(taken, 1 - taken, color=INK, lw=1, ls="--")
    highest = max(1.0, float(trained.correction.quantile(0.99)))
    right.set(xscale="log", ylim=(-0.03, 1.1 * highest))
    right.set_xlabel("taken by own terms", loc="left")  # the corner is signed
    right.set_ylabel("correction, mean and variance move")
    figure.legend(handles=_handles(trained), loc="outside upper center", ncols=4, fontsize="small")
    return signed(figure, profile)


def _map(axis: plt.Axes, figure: Figure, trained: pd.DataFrame) -> None:
    m = np.geomspace(4, max(1e5, 3 * trained.m.max()), 300)
    z = np.geomspace(0.3, np.sqrt(m[-1]), 300)
    left = 1 - (1 + z[:, None] ** 2) / m
    shades = axis.contourf(
        m, z, np.where(left < 0, np.nan, left), LEVELS, cmap="Blues", norm=Normalize(0, 2.2)
    )
    axis.plot(m, np.sqrt(m - 1), color=INK, lw=1)
    axis.annotate(r"$z^2 = m - 1$", (300, 40), color=INK, ha="right")
    for (layer, subset), part in trained.groupby(["layer", "subset"], sort=True):
        # Spread to one side of the layer's m, or samples would hide each other.
        ends = {"clean": (1.1, 2.2), "corrupted": (0.45, 0.9)}[subset]
        axis.plot(part.m * np.geomspace(*ends, len(part)), part.z, **_look(layer, subset))
    axis.set(xscale="log", yscale="log", xlabel="terms in the statistics $m$", ylabel="$|z|$")
    axis.grid(False)
    figure.colorbar(shades, ax=axis, location="left", label=r"$1 - (1 + z^2)/m$", aspect=40)


def _marker(layer: int) -> str:
    return MARKERS[(layer - 1) % len(MARKERS)]


def _look(layer: int, subset: str) -> dict:
    first = 3 if subset == "corrupted" else 2  # the few lie above the many
    look = {"marker": _marker(layer), "color": SUBSETS[subset], "zorder": first}
    return look | {"mfc": "none", "ms": 4, "lw": 0, "mew": 0.8}


def _handles(trained: pd.DataFrame) -> list[Line2D]:
    def handle(label: str, marker: str, color: str) -> Line2D:
        return Line2D([], [], color=color, marker=marker, mfc="none", ms=5, lw=0, label=label)

    layers = trained[["layer", "kind"]].drop_duplicates().sort_values("layer")
    found = [
        handle(f"BN layer {layer}, {'full' if kind == FULL else 'conv.'}", _marker(layer), INK)
        for layer, kind in layers.itertuples(index=False)
    ]
    found += [handle(f"{subset} samples", "s", ink) for subset, ink in SUBSETS.items()]
    return [*found, handle("random batches", ".", "0.7")]


def pull_shares(frame: pd.DataFrame, profile: str) -> Figure:
    """Draw the corrupted samples' share of each group's gradient, a row a setting and moment.

    `frame` has a row a network: the columns of config.SETTING, moment and one for each of
    gradient_share.GROUPS. Mean over networks with its 95 % t interval.
    """
    rows = list(frame.groupby([*SETTING, "moment"], sort=False))
    figure, axis = plt.subplots(figsize=(WIDTH, 1.4 + 0.55 * len(rows)), layout="constrained")
    for place, (_, part) in enumerate(reversed(rows)):
        for step, (group, ink) in enumerate(GROUP_COLORS.items()):
            gap, height = mean_interval(part[group]), place + 0.2 * (1 - step)
            axis.plot([gap.low, gap.high], [height, height], color=ink, lw=2)
            label = group if place == 0 else None
            axis.plot(gap.estimate, height, MARKERS[step], color=ink, ms=5, lw=0, label=label)
    labels = [
        f"{setting(dict(zip(SETTING, where, strict=True)))},\n{moment} (n = {len(part)})"
        for (*where, moment), part in rows
    ]
    axis.set_yticks(range(len(rows)), labels[::-1])
    axis.axvline(1, color=INK, ls="--", lw=1)
    axis.set_xlabel("share of the gradient over share of the samples", loc="left")
    figure.legend(loc="outside upper center", ncols=3)
    return signed(figure, profile)
