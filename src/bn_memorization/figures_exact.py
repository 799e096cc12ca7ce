"""Pictures of moving statistics, and of who pulls at gamma and at the other parameters."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D

from bn_memorization.config import SETTING
from bn_memorization.exact_trained import FULL
from bn_memorization.figure_data import Drawn, interval
from bn_memorization.figures import INK, TREATED_COLOR, canvas, draw_interval, signed
from bn_memorization.figures_growth import MARKERS, SUBSETS
from bn_memorization.gradient_share import BETA, GAMMA, OTHER
from bn_memorization.report import setting
from bn_memorization.stats import mean_interval

LEVELS = np.linspace(0, 1, 11)
STEPS = 150  # of the map, either way
CLEAN = 80  # clean samples a layer that are drawn; more would hide the corrupted ones
GROUP_COLORS = {GAMMA: TREATED_COLOR, BETA: "0.55", OTHER: INK}


def correction_map(cases: pd.DataFrame, trained: pd.DataFrame, profile: str) -> Drawn:
    """Draw 1 - (1 + z^2)/m over m and |z| with samples on it (left), and corrections (right).

    `cases` is that of `growth_exact.check_exact`, `trained` that of `exact_trained.by_batches`.
    Right, on a logarithmic axis, is what the sample's own terms take; the curve is what they leave.
    """
    clean = trained[trained.subset == "clean"].groupby("layer").head(CLEAN)
    trained = pd.concat([clean, trained[trained.subset == "corrupted"]])
    figure, ((left, right),) = canvas(1, 2, height=4.6)
    _map(left, figure, trained)
    right.plot(1 - cases.room, cases.correction, ".", color="0.7", ms=5, lw=0)
    _keep(figure, cases, samples="random batches")
    for (layer, subset), part in trained.groupby(["layer", "subset"], sort=True):
        right.plot(1 - part.room, part.correction, **_look(layer, subset))
        _keep(figure, part, samples=subset, bn_layer=layer, terms=part.m, z=part.z)
    taken = np.geomspace(min(1e-3, (1 - trained.room).min()), 1, 100)
    right.plot(taken, 1 - taken, color=INK, lw=1, ls="--")
    highest = max(1.0, float(trained.correction.quantile(0.99)))
    right.set(xscale="log", ylim=(-0.03, 1.1 * highest))
    right.set_xlabel("taken by own terms", loc="left")  # the corner is signed
    right.set_ylabel("correction, mean and variance move")
    figure.legend(handles=_handles(trained, cases), loc="outside upper center", ncols=4)
    return signed(figure, profile)


def _keep(figure: Drawn, part: pd.DataFrame, **columns: object) -> None:
    figure.keep(**columns, taken_by_own_terms=1 - part.room, correction=part.correction)


def _map(axis: plt.Axes, figure: Drawn, trained: pd.DataFrame) -> None:
    m = np.geomspace(4, max(1e5, 3 * trained.m.max()), STEPS)
    z = np.geomspace(0.3, np.sqrt(m[-1]), STEPS)
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


def _handles(trained: pd.DataFrame, cases: pd.DataFrame) -> list[Line2D]:
    def handle(label: str, marker: str, color: str) -> Line2D:
        return Line2D([], [], color=color, marker=marker, mfc="none", ms=5, lw=0, label=label)

    layers = trained[["layer", "kind"]].drop_duplicates().sort_values("layer")
    found = [
        handle(f"BN layer {layer}, {'full' if kind == FULL else 'conv.'}", _marker(layer), INK)
        for layer, kind in layers.itertuples(index=False)
    ]
    for subset, ink in SUBSETS.items():
        n = (trained.subset == subset).sum()
        found.append(handle(f"{subset} (n = {n})", "s", ink))
    return [*found, handle(f"random batches (n = {len(cases)})", ".", "0.7")]


def pull_shares(frame: pd.DataFrame, profile: str) -> Drawn:
    """Draw the corrupted samples' share of each group's gradient, a row a setting and moment.

    `frame` has a row a network: the columns of config.SETTING, moment and one for each of
    gradient_share.GROUPS. Mean over networks with its 95 % t interval.
    """
    rows = list(frame.groupby([*SETTING, "moment"], sort=False))
    figure, ((axis,),) = canvas(height=1.4 + 0.55 * len(rows))
    for place, ((*where, moment), part) in enumerate(reversed(rows)):
        for step, (group, ink) in enumerate(GROUP_COLORS.items()):
            gap, height = mean_interval(part[group]), place + 0.2 * (1 - step)
            draw_interval(axis, gap, height, ink=ink, marker=MARKERS[step])
            figure.keep(
                setting=setting(dict(zip(SETTING, where, strict=True))),
                moment=moment,
                parameters=group,
                quantity="share of the gradient over share of the samples",
                **interval([gap]),
            )
    labels = [
        f"{setting(dict(zip(SETTING, where, strict=True)))},\n{moment} (n = {len(part)})"
        for (*where, moment), part in rows
    ]
    axis.set_yticks(range(len(rows)), labels[::-1])
    axis.axvline(1, color=INK, ls="--", lw=1)
    axis.set_xlabel("share of the gradient over share of the samples", loc="left")
    looks = [
        Line2D([], [], color=ink, marker=marker, ms=5, label=group)
        for (group, ink), marker in zip(GROUP_COLORS.items(), MARKERS, strict=False)
    ]
    figure.legend(handles=looks, loc="outside upper center", ncols=3)
    return signed(figure, profile)
