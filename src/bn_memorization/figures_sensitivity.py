"""Pictures of how much the attack's choices matter: models, views, the gap under each."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from bn_memorization import sensitivity
from bn_memorization.figure_data import Drawn, interval
from bn_memorization.figures import INK, color, draw_interval, legend, signed
from bn_memorization.figures_attack import panels, title
from bn_memorization.membership import Pool
from bn_memorization.models import PLAIN
from bn_memorization.report import name, setting
from bn_memorization.sensitivity import Aucs, Pairs
from bn_memorization.stats import Gap


def _curve(
    axis: plt.Axes, pool: Pool, found: Mapping[int, Gap], x: str, words: str = "", **style
) -> None:
    """Draw AUCs with their intervals in the color of the arm; `x` names what they are against."""
    middle = [gap.estimate for gap in found.values()]
    # An interval of Student's t can reach beyond what an AUC can be.
    below = [gap.estimate - np.maximum(gap.low, 0.0) for gap in found.values()]
    above = [np.minimum(gap.high, 1.0) - gap.estimate for gap in found.values()]
    label = f"{name(pool.norm)}{words and f', {words}'} (n = {len(pool.keep) // 2} pairs)"
    axis.figure.keep(
        setting=setting(pool.where),
        arm=name(pool.norm),
        **({"way": words} if words else {}),
        **{x: list(found)},
        quantity="AUC",
        **interval(found.values())
        | {"low": np.subtract(middle, below), "high": np.add(middle, above)},
    )
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


def against_models(pairs: Pairs, profile: str) -> Drawn:
    """Draw both arms' AUC against the number of models, a panel a setting."""
    figure, axes = panels(len(pairs))
    for axis, arms in zip(axes, pairs, strict=True):
        for pool in arms:
            style = {"ls": "--" if pool.norm == PLAIN else "-", "marker": "o"}
            _curve(axis, pool, sensitivity.against_models(pool), "models", **style)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        title(axis, arms[0].where)
    legend(figure, axes[0])
    figure.supxlabel("models of an arm")
    figure.supylabel("AUC")
    return signed(figure, profile)


def against_views(pairs: Pairs, profile: str) -> Drawn:
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
                _curve(axis, pool, found, "views", words, **style)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        title(axis, arms[0].where)
    legend(figure, axes[0], columns=2)
    figure.supxlabel("views of each image")
    figure.supylabel("AUC")
    return signed(figure, profile)


def gaps(pairs: Pairs, choices: Mapping[str, Aucs], profile: str) -> Drawn:
    """Draw the gap in AUC under every choice, a panel a setting; bars are 95 % t intervals."""
    found = {words: sensitivity.gaps(pairs, way) for words, way in choices.items()}
    figure, axes = panels(len(pairs), 1.0 + 0.3 * len(choices))
    for panel, (axis, (treated, _)) in enumerate(zip(axes, pairs, strict=True)):
        for place, (choice, items) in enumerate(reversed(found.items())):
            draw_interval(axis, items[panel], place, 100)
            figure.keep(
                setting=setting(treated.where),
                choice=choice,
                quantity="gap in AUC (points)",
                **interval([items[panel]], 100),
            )
        axis.axvline(0, color=INK, ls="--", lw=1)
        axis.set_yticks(range(len(found)), list(reversed(found)))
        axis.set_ylim(-0.6, len(found) - 0.4)
        title(axis, treated.where)
    n = len(pairs[0][0].keep) // 2
    figure.supxlabel(f"gap in AUC (points), n = {n} pairs")
    return signed(figure, profile)
