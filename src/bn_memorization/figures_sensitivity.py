"""Pictures of how much the attack's choices matter: models, views, the gap under each."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bn_memorization import sensitivity
from bn_memorization.figures import INK, color, signed
from bn_memorization.figures_attack import legend, panels, title
from bn_memorization.membership import Pool
from bn_memorization.models import PLAIN
from bn_memorization.report import name
from bn_memorization.sensitivity import Aucs, Pairs
from bn_memorization.stats import Gap


def _curve(axis: plt.Axes, pool: Pool, found: Mapping[int, Gap], words: str, **style) -> None:
    """Draw AUCs with their intervals in the color of the arm."""
    middle = [gap.estimate for gap in found.values()]
    # An interval of Student's t can reach beyond what an AUC can be.
    below = [gap.estimate - np.maximum(gap.low, 0.0) for gap in found.values()]
    above = [np.minimum(gap.high, 1.0) - gap.estimate for gap in found.values()]
    label = f"{name(pool.norm)}{words} (n = {len(pool.keep) // 2} pairs)"
    axis.errorbar(
        list(found),
        middle,
        [below, above],
        color=color(pool.norm),
        ms=4,
        capsize=2,
        label=label,
        **style,
    )


def against_models(pairs: Pairs, profile: str) -> Figure:
    """Draw both arms' AUC against the number of models, a panel a setting."""
    figure, axes = panels(len(pairs))
    for axis, arms in zip(axes, pairs, strict=True):
        for pool in arms:
            style = {"ls": "--" if pool.norm == PLAIN else "-", "marker": "o"}
            _curve(axis, pool, sensitivity.against_models(pool), "", **style)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        title(axis, arms[0].where)
    legend(figure, axes[0])
    figure.supxlabel("models of an arm", fontsize="medium")
    figure.supylabel("AUC", fontsize="medium")
    return signed(figure, profile)


def against_views(pairs: Pairs, profile: str) -> Figure:
    """Draw both arms' AUC against the number of views, stacked and averaged, a panel a setting."""
    ways = {
        "stacked": (sensitivity.stacked, {"marker": "o", "ls": "-"}),
        "averaged": (sensitivity.averaged, {"marker": "s", "ls": ":", "mfc": "white"}),
    }
    figure, axes = panels(len(pairs))
    for axis, arms in zip(axes, pairs, strict=True):
        for pool in arms:
            for words, (way, style) in ways.items():
                found = sensitivity.against_views(pool, way)
                _curve(axis, pool, found, f", {words}", **style)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        title(axis, arms[0].where)
    legend(figure, axes[0], columns=2)
    figure.supxlabel("views of each image", fontsize="medium")
    figure.supylabel("AUC", fontsize="medium")
    return signed(figure, profile)


def gaps(pairs: Pairs, choices: Mapping[str, Aucs], profile: str) -> Figure:
    """Draw the gap in AUC under every choice, a panel a setting; bars are 95 % t intervals."""
    found = {words: sensitivity.gaps(pairs, way) for words, way in choices.items()}
    figure, axes = panels(len(pairs), 1.0 + 0.3 * len(choices))
    for panel, (axis, (treated, _)) in enumerate(zip(axes, pairs, strict=True)):
        for place, items in enumerate(reversed(found.values())):
            item = items[panel]
            axis.plot([100 * item.low, 100 * item.high], [place, place], color=INK, lw=2)
            axis.plot(100 * item.estimate, place, "o", color=INK)
        axis.axvline(0, color=INK, ls="--", lw=1)
        axis.set_yticks(range(len(found)), list(reversed(found)))
        axis.set_ylim(-0.6, len(found) - 0.4)
        title(axis, treated.where)
    n = len(pairs[0][0].keep) // 2
    figure.supxlabel(f"gap in AUC (points), n = {n} pairs", fontsize="medium")
    return signed(figure, profile)
