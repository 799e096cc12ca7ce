"""Pictures of margin growth in a trained network: predicted beside measured, sample by sample."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bn_memorization.figure_data import Drawn
from bn_memorization.figures import (
    INK,
    NARROW,
    TREATED_COLOR,
    canvas,
    legend,
    log_ticks,
    signed,
)

MARKERS = "osD^vPX"
PANELS = {"predicted": "margin growth", "factor": "growth with BN / growth of the twin"}
# Within the BN arm: corrupted samples in its color, clean ones in gray.
SUBSETS = {"clean": "0.55", "corrupted": TREATED_COLOR}


def growth_by_layer(frame: pd.DataFrame, profile: str) -> Drawn:
    """Draw measured against predicted, each a point a sample and layer, with the line y = x.

    `frame` is that of `trained_growth.own_growth`. Left: the growth of the margin. Right: its ratio
    to the growth of the twin, against the predicted factor. Values that are not positive have no
    place on the axes and are left out.
    """
    figure, (axes,) = canvas(1, 2, height=4.4)
    panels = [
        (axes[0], "predicted", "measured", "predicted margin growth", "measured margin growth"),
        (axes[1], "factor", "ratio", r"predicted mean of $(\gamma/\sigma)^2$",
         "growth with BN / growth of the twin"),
    ]  # fmt: skip
    layers = sorted(frame.layer.unique())
    colors = plt.get_cmap("Greys")(np.linspace(0.45, 1, len(layers)))
    for axis, x, y, xlabel, ylabel in panels:
        axis.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
        for i, layer in enumerate(layers):
            part = frame[frame.layer == layer]
            axis.plot(part[x], part[y], MARKERS[i % len(MARKERS)], color=colors[i], mfc="none",
                      ms=4, lw=0, label=f"BN layer {layer} (n = {len(part)})")  # fmt: skip
            figure.keep(
                panel=PANELS[x],
                bn_layer=layer,
                predicted=part[x].to_numpy(),
                measured=part[y].to_numpy(),
            )
        _diagonal(axis, frame[[x, y]])
    legend(figure, axes[0], columns=3)
    return signed(figure, profile)


def training_step(frame: pd.DataFrame, profile: str) -> Drawn:
    """Draw what a training step did to each margin against the predicted own growth.

    `frame` is the second of `trained_growth.compare`. The vertical axis is linear around zero
    and logarithmic beyond; the curve is equality.
    """
    figure, ((axis,),) = canvas(height=NARROW, width=NARROW)
    axis.set_xscale("log")
    # Linear up to a whole power of ten, or its labels and that of zero would overlap.
    axis.set_yscale("symlog", linthresh=10 ** np.ceil(np.log10(frame.predicted.median())))
    for subset, ink in SUBSETS.items():
        part = frame[frame.subset == subset]
        axis.plot(part.predicted, part.changed, "o", color=ink, mfc="none", ms=4, lw=0,
                  label=f"{subset} (n = {len(part)})")  # fmt: skip
        figure.keep(
            samples=subset, predicted_own_growth=part.predicted, change_of_margin=part.changed
        )
    line = np.geomspace(frame.predicted.min(), frame.predicted.max(), 50)
    axis.plot(line, line, color=INK, lw=0.8, ls="--", label="equal")
    axis.axhline(0, color="0.5", lw=0.8)
    axis.set(xlabel="predicted own growth, all layers", ylabel="change of the margin")
    figure.legend(loc="outside upper center", ncols=3)
    return signed(figure, profile)


def gamma_feedback(solutions: dict[str, pd.DataFrame], profile: str) -> Drawn:
    """Draw gamma (left) and the margin (right) against time, a line a solution of the system.

    `solutions` maps labels to frames of `feedback.simulate`; every other line is dashed.
    """
    figure, (axes,) = canvas(1, 2, height=3.4)
    for i, (label, solution) in enumerate(solutions.items()):
        look = {"color": (TREATED_COLOR, INK)[i // 2 % 2], "ls": ("-", "--")[i % 2], "lw": 1.8}
        axes[0].plot(solution.time, solution.gamma, label=label, **look)
        axes[1].plot(solution.time, solution.margin, **look)
        figure.keep(
            solution=label,
            training_time=solution.time,
            gamma=solution.gamma,
            margin=solution.margin,
        )
    axes[0].set_ylabel(r"$\gamma$")
    axes[1].set_ylabel(r"margin $\varphi$")
    axes[1].axhline(0, color="0.5", lw=0.8)
    figure.supxlabel("training time")
    figure.legend(loc="outside upper center", ncols=2)
    return signed(figure, profile)


def _diagonal(axis: plt.Axes, values: pd.DataFrame) -> None:
    positive = values[(values > 0).all(axis=1)].to_numpy()
    limits = (positive.min() / 1.3, positive.max() * 1.3)
    axis.plot(limits, limits, color=INK, lw=0.8, ls="--", zorder=0, label="equal")
    axis.set(xlim=limits, ylim=limits, aspect="equal")
    log_ticks(axis.xaxis, limits)
    log_ticks(axis.yaxis, limits)
