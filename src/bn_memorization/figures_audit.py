"""Pictures of an audit: gamma/sigma by layer, gradient norms, the attack. All are of one network.

Orange is what the audit is about: shadow models, members, planted labels. Ink is the rest.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, StrMethodFormatter

from bn_memorization.audit import Audited
from bn_memorization.audit_input import Images
from bn_memorization.figures import (
    INK,
    PLAIN_COLOR,
    TREATED_COLOR,
    WIDTH,
    contact_sheet,
    signed,
)
from bn_memorization.stats import roc

SPREAD = 0.3  # how far the dots of one layer are spread sideways, in layers
MOST_DOTS = 400  # of one layer; more would hide each other
NOTHING = "The network has no BN layer with γ and running statistics."


def ratios(audited: Audited, saved: np.ndarray | None, profile: str) -> Figure:
    """Draw gamma/sigma of every channel by layer: a dot a channel and shadow model, bars medians.

    `saved`, float64[C] or None, are those of the reader's own network, drawn as crosses. Without BN
    the picture says so.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    if not audited.bn_layer.size:
        axis.axis("off")
        axis.text(0.5, 0.5, NOTHING, ha="center", va="center", color=INK)
        return signed(figure, profile)
    for layer in np.unique(audited.bn_layer):
        of_layer = audited.bn_layer == layer
        values = np.sort(audited.ratio[:, of_layer].ravel())
        drawn = values[:: -(-len(values) // MOST_DOTS)]
        axis.plot(_places(layer, len(drawn)), drawn, ".", color=TREATED_COLOR, ms=3, alpha=0.35)
        axis.plot([layer - SPREAD, layer + SPREAD], [np.median(values)] * 2, color=INK, lw=2)
        if saved is not None:
            own = np.sort(saved[of_layer])[:: -(-of_layer.sum() // MOST_DOTS)]
            axis.plot(_places(layer, len(own)), own, "x", color=PLAIN_COLOR, ms=4, mew=1)
    axis.axhline(1, color=INK, ls="--", lw=1)
    axis.set_yscale("log")
    axis.set_xticks(np.unique(audited.bn_layer))
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set(
        xlabel=f"BN layer, from the input (at most {MOST_DOTS} dots each)",
        ylabel=r"$|\gamma|/\sigma$ of a channel",
    )
    return signed(figure, profile)


def _places(layer: int, count: int) -> np.ndarray:
    # A fixed spread without random numbers: the same picture each time.
    return layer + SPREAD * (2 * (np.arange(count) * 0.618 % 1) - 1)


def norms(audited: Audited, profile: str) -> Figure:
    """Draw the share of images below each gradient norm, all models together, on a log axis.

    A line for the members with the label that they came with, for those with a planted label, if
    there are any, and for the other images, without those with a planted label.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    groups = {
        "members": (audited.keep & ~audited.planted, TREATED_COLOR, "-"),
        "members, planted labels": (audited.keep & audited.planted, TREATED_COLOR, "--"),
        "not members": (~audited.keep & ~audited.planted, INK, "-"),
    }
    for label, (chosen, color, style) in groups.items():
        values = np.sort(audited.norm[chosen])
        if len(values):
            share = np.arange(1, len(values) + 1) / len(values)
            told = f"{label} (n = {len(values)})"
            axis.step(values, share, where="post", color=color, ls=style, lw=2, label=told)
    axis.set_xscale("log")
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    axis.set(xlabel="gradient norm of an image", ylabel="share of images below")
    figure.legend(loc="outside upper center", ncols=3)
    return signed(figure, profile)


def largest(
    images: Images, audited: Audited, place: np.ndarray, rows: np.ndarray, profile: str
) -> Figure:
    """Draw the images in `rows` with label and place[N], those with planted labels framed."""
    labels = [_plain(images.classes[audited.given_label[row]]) for row in rows]
    titles = [f"{label}\n{100 * place[r]:.0f} %" for label, r in zip(labels, rows, strict=True)]
    shown = [images.pixels[row] for row in rows]
    return contact_sheet(shown, titles, [bool(audited.planted[row]) for row in rows], profile)


def _plain(text: str, most: int = 14) -> str:
    """Return a reader's text so that it is drawn as it stands, cut to `most` letters."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return cut.replace("$", r"\$")


def attack(audited: Audited, saved: tuple[np.ndarray, np.ndarray] | None, profile: str) -> Figure:
    """Draw the attack's ROC curves on log axes: thin for each shadow model, thick for their mean.

    Planted labels have no part in them. `saved` holds the scores and marks of the reader's own
    network; its curve is dashed. The dotted line is guessing.
    """
    figure, axis = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    score, keep = audited.score()[:, audited.own], audited.keep[:, audited.own]
    lowest = 1 / (~keep).sum(axis=1).min()
    grid = np.geomspace(lowest, 1, 200)
    curves = [_on(grid, *both) for both in zip(score, keep, strict=True)]
    floor = lowest / 10  # zero has no place on a log axis
    for curve in curves:
        axis.step(grid, np.maximum(curve, floor), color=TREATED_COLOR, lw=0.6, alpha=0.4)
    mean = np.maximum(np.mean(curves, axis=0), floor)
    axis.step(grid, mean, color=TREATED_COLOR, lw=2, label=f"shadow models (n = {len(curves)})")
    if saved is not None:
        own = np.maximum(_on(grid, *saved), floor)
        axis.step(grid, own, color=PLAIN_COLOR, lw=2, ls="--", label="saved network")
    axis.plot(grid, grid, color=INK, ls=":", lw=1, label="guessing")
    axis.set(xscale="log", yscale="log", xlim=(lowest, 1), ylim=(lowest, 1.1))
    axis.set(xlabel="share of others called members", ylabel="share of members found")
    axis.legend(loc="lower right")
    return signed(figure, profile)


def _on(grid: Sequence[float], score: np.ndarray, truth: np.ndarray) -> np.ndarray:
    fpr, tpr = roc(score, truth)
    return tpr[np.searchsorted(fpr, np.asarray(grid) + 1e-12, side="right") - 1]
