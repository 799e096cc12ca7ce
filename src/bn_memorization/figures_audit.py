"""Pictures of an audit: gamma/sigma by layer, gradient norms, the attack. All are of one network.

Orange is what the audit is about: shadow models, members, planted labels. Ink is the rest.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, StrMethodFormatter

from bn_memorization.audit import Audited
from bn_memorization.audit_input import Images
from bn_memorization.figure_data import Drawn
from bn_memorization.figures import (
    INK,
    NARROW,
    PLAIN_COLOR,
    TREATED_COLOR,
    canvas,
    contact_sheet,
    signed,
)
from bn_memorization.stats import roc

SPREAD = 0.3  # how far the dots of one layer are spread sideways, in layers
MOST_DOTS = 400  # of one layer; more would hide each other
STEPS = 300  # of one curve of shares; more are told apart by nobody
NOTHING = "The network has no BN layer with γ and running statistics."


def ratios(audited: Audited, saved: np.ndarray | None, profile: str) -> Drawn:
    """Draw gamma/sigma of every channel by layer: a dot a channel and shadow model, bars medians.

    `saved`, float64[C] or None, are those of the reader's own network, drawn as crosses. Without BN
    the picture says so.
    """
    figure, ((axis,),) = canvas(height=3.2)
    if not audited.bn_layer.size:
        axis.axis("off")
        axis.text(0.5, 0.5, NOTHING, ha="center", va="center", color=INK)
        figure.keep(note=NOTHING)
        return signed(figure, profile)
    for layer in np.unique(audited.bn_layer):
        of_layer = audited.bn_layer == layer
        values = np.sort(audited.ratio[:, of_layer].ravel())
        drawn = values[:: -(-len(values) // MOST_DOTS)]
        about = {"bn_layer": layer, "median": np.median(values)}
        figure.keep(network="shadow models", **about, ratio=drawn)
        axis.plot(_places(layer, len(drawn)), drawn, ".", color=TREATED_COLOR, ms=3, alpha=0.35)
        axis.plot([layer - SPREAD, layer + SPREAD], [np.median(values)] * 2, color=INK, lw=2)
        if saved is not None:
            own = np.sort(saved[of_layer])[:: -(-of_layer.sum() // MOST_DOTS)]
            axis.plot(_places(layer, len(own)), own, "x", color=PLAIN_COLOR, ms=4, mew=1)
            figure.keep(network="saved network", **about, ratio=own)
    axis.axhline(1, color=INK, ls="--", lw=1)
    axis.set_yscale("log")
    axis.set_xticks(np.unique(audited.bn_layer))
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set(
        xlabel=f"BN layer, from the input (n = {len(audited.ratio)} models, "
        f"at most {MOST_DOTS} dots a layer)",
        ylabel=r"$|\gamma|/\sigma$ of a channel",
    )
    return signed(figure, profile)


def _places(layer: int, count: int) -> np.ndarray:
    # A fixed spread without random numbers: the same picture each time.
    return layer + SPREAD * (2 * (np.arange(count) * 0.618 % 1) - 1)


def norms(audited: Audited, profile: str) -> Drawn:
    """Draw the share of images below each gradient norm, all models together, on a log axis.

    A line for the members with the label that they came with, for those with a planted label, if
    there are any, and for the other images, without those with a planted label.
    """
    figure, ((axis,),) = canvas(height=3.2)
    groups = {
        "members": (audited.keep & ~audited.planted, TREATED_COLOR, "-"),
        "members, planted labels": (audited.keep & audited.planted, TREATED_COLOR, "--"),
        "not members": (~audited.keep & ~audited.planted, INK, "-"),
    }
    for label, (chosen, color, style) in groups.items():
        values = np.sort(audited.norm[chosen])
        if len(values):
            rank = np.unique(
                np.linspace(1, len(values), min(len(values), STEPS)).round().astype(int)
            )
            norm, share = values[rank - 1], rank / len(values)
            told = f"{label} (n = {len(values)})"
            axis.step(norm, share, where="post", color=color, ls=style, lw=2, label=told)
            figure.keep(images=label, n=len(values), gradient_norm=norm, share_up_to_it=share)
    axis.set_xscale("log")
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    axis.set(xlabel="gradient norm of an image", ylabel="share of images below")
    figure.legend(loc="outside upper center", ncols=3)
    return signed(figure, profile)


def largest(
    images: Images, audited: Audited, place: np.ndarray, rows: np.ndarray, profile: str
) -> Drawn:
    """Draw the images in `rows` with label and place[N], those with planted labels framed."""
    labels = [_plain(images.classes[audited.given_label[row]]) for row in rows]
    titles = [f"{label}\n{100 * place[r]:.0f} %" for label, r in zip(labels, rows, strict=True)]
    shown = [images.pixels[row] for row in rows]
    return contact_sheet(shown, titles, [bool(audited.planted[row]) for row in rows], profile)


def _plain(text: str, most: int = 14) -> str:
    """Return a reader's text so that it is drawn as it stands, cut to `most` letters."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return cut.replace("$", r"\$")


def attack(audited: Audited, saved: tuple[np.ndarray, np.ndarray] | None, profile: str) -> Drawn:
    """Draw the attack's ROC curves on log axes: thin for each shadow model, thick for their mean.

    Planted labels have no part in them. `saved` holds the scores and marks of the reader's own
    network; its curve is dashed. The dotted line is guessing.
    """
    figure, ((axis,),) = canvas(height=4.2, width=NARROW)
    score, keep = audited.score()[:, audited.own], audited.keep[:, audited.own]
    lowest = 1 / (~keep).sum(axis=1).min()
    grid = np.geomspace(lowest, 1, 200)
    curves = [_on(grid, *both) for both in zip(score, keep, strict=True)]
    floor = lowest / 10  # zero has no place on a log axis
    for i, curve in enumerate(curves):
        _keep(figure, grid, curve, f"shadow model {i + 1}")
        axis.step(grid, np.maximum(curve, floor), color=TREATED_COLOR, lw=0.6, alpha=0.4)
    mean = np.maximum(np.mean(curves, axis=0), floor)
    _keep(figure, grid, mean, f"mean of shadow models, n = {len(curves)}")
    axis.step(grid, mean, color=TREATED_COLOR, lw=2, label=f"shadow models (n = {len(curves)})")
    if saved is not None:
        own = np.maximum(_on(grid, *saved), floor)
        _keep(figure, grid, own, "saved network")
        axis.step(grid, own, color=PLAIN_COLOR, lw=2, ls="--", label="saved network")
    axis.plot(grid, grid, color=INK, ls=":", lw=1, label="guessing")
    axis.set(xscale="log", yscale="log", xlim=(lowest, 1), ylim=(lowest, 1.1))
    axis.set(xlabel="share of others called members", ylabel="share of members found")
    axis.legend(loc="lower right")
    return signed(figure, profile)


def _keep(figure: Drawn, grid: np.ndarray, curve: np.ndarray, network: str) -> None:
    figure.keep(network=network, share_of_others=grid, share_of_members=curve)


def _on(grid: Sequence[float], score: np.ndarray, truth: np.ndarray) -> np.ndarray:
    fpr, tpr = roc(score, truth)
    return tpr[np.searchsorted(fpr, np.asarray(grid) + 1e-12, side="right") - 1]
