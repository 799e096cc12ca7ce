"""The still figures in whose places the pictures that answer to touch are drawn.

Each is drawn from the data that its picture has.
"""

import base64
import io
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from scipy.stats import norm as normal

from bn_memorization import explorer
from bn_memorization.figures import INK, PLAIN_COLOR, TREATED_COLOR, WIDTH, signed

COLORS = (TREATED_COLOR, PLAIN_COLOR)  # the arm with a norm comes first
STYLES = ("-", "--")
TERMS = (16, 64, 1024)
MOMENTS = 4  # epochs at which the training is shown
FADED = 5  # what is left of the ink of an image that is not fitted: one in so many
ALLOWED = 0.05  # false-positive rate at which the threshold is drawn


def growths(data: dict, profile: str) -> Figure:
    """Draw growth over |z| for some numbers of terms; `data` is that of `explorer.picture`."""
    start, formula = data["start"], explorer.functions()
    figure, axis = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    furthest = data["ranges"]["z"][1]
    fixed = formula["fixed"](*start.values())
    axis.axhline(1, color=PLAIN_COLOR, lw=2, label="plain")
    axis.axhline(fixed, color=TREATED_COLOR, lw=2, ls="--", label="BN, fixed statistics")
    for m, width in zip(TERMS, (1, 2, 3), strict=True):
        z = np.linspace(0, min(furthest, float(formula["bound"](0, 1, 0, m))), 400)
        grown = formula["exact"](start["gamma"], start["sigma"], z, m)
        axis.plot(z, grown, color=TREATED_COLOR, lw=width, label=f"BN, moving, m = {m}")
    axis.set(xlim=(0, furthest), ylim=(0, 1.15 * max(fixed, 1)), ylabel="growth, plain step = 1")
    axis.set_xlabel("|z| of the sample", loc="left")  # the corner is signed
    axis.legend(loc="lower left", bbox_to_anchor=(0, 0.02), ncols=2)
    return signed(figure, profile)


def attack_on_first(data: dict, profile: str) -> Figure:
    """Draw the attack on the first image, in the network that trained on it, and both ROC curves.

    `data` is that of `one_sample.picture`.
    """
    sample = data["samples"][0]
    network = sample["trained_on"]
    figure, axes = plt.subplots(
        1, 4, figsize=(WIDTH, 2.7), width_ratios=(0.6, 1.3, 1.3, 1.3), layout="constrained"
    )
    axes[0].imshow(tiles(data["sprite"], len(data["samples"]))[0])
    axes[0].set_title(sample["title"].replace(" labeled ", "\nlabeled "), fontsize="small")
    axes[0].axis("off")
    axes[1].sharex(axes[2])
    axes[1].sharey(axes[2])
    for axis, arm, ink, ls, whole in zip(
        axes[1:3], sample["arms"], COLORS, STYLES, data["arms"], strict=True
    ):
        _margins(axis, arm, arm["phi"][network], ink)
        axis.set_title(f"{whole['name']}: score {arm['score'][network]:.2f}", fontsize="small")
        tpr, lowest = np.array(whole["tpr"][network]), data["rates"][0]
        axes[3].step(data["rates"], np.maximum(tpr, lowest / 10), where="post", color=ink, ls=ls)
        at = int(np.searchsorted(data["rates"], ALLOWED))
        axes[3].plot(data["rates"][at], tpr[at], "o", color=ink)
        axes[3].plot(*np.maximum(arm["place"][network], lowest), "o", mec=ink, mfc="none", ms=10)
    ends = (data["rates"][0] / 1.8, 1.6)  # room for marks at the ends
    axes[3].plot(ends, ends, color=INK, lw=1, ls=":")
    axes[3].set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes[3].set_xlabel("false-positive rate", loc="left")  # the corner is signed
    axes[3].set_title("true-positive rate", fontsize="small")
    return signed(figure, profile)


def tiles(sprite: str, count: int) -> list[np.ndarray]:
    """Return the `count` images, uint8[h, w, 3], that stand side by side in a PNG address."""
    packed = io.BytesIO(base64.b64decode(sprite.partition(",")[2]))
    return np.split(np.asarray(Image.open(packed).convert("RGB")), count, axis=1)


def _margins(axis: plt.Axes, arm: dict, target: float, ink: str) -> None:
    for side, face, ls, place in (("in", ink, "-", -0.08), ("out", "none", "--", -0.18)):
        margins, mu, sigma = (arm[side][key] for key in ("margins", "mu", "sigma"))
        reach = np.linspace(mu - 4 * sigma, mu + 4 * sigma, 200)
        axis.plot(reach, normal.pdf(reach, mu, sigma), color=ink, ls=ls, lw=2)
        height = place * normal.pdf(0, 0, arm["in"]["sigma"])
        axis.plot(margins, np.full(len(margins), height), "o", mec=ink, mfc=face, ms=5, lw=0)
    axis.axvline(target, color=INK, lw=2)
    axis.axhline(0, color="0.6", lw=0.8)
    axis.set(xlabel="margin", yticks=[])


def moments(data: dict, profile: str) -> Figure:
    """Draw which images each arm has fitted at some epochs, an arm a row.

    `data` is that of `playback.picture`.
    """
    epochs = sorted({round(data["epochs"] * k / MOMENTS) for k in range(1, MOMENTS + 1)} - {0})
    images = tiles(data["sprite"], len(data["titles"]))
    figure, axes = plt.subplots(
        2, len(epochs), figsize=(WIDTH, 3.6), squeeze=False, layout="constrained"
    )
    for row, arm, ink in zip(axes, data["arms"], COLORS, strict=True):
        for axis, epoch in zip(row, epochs, strict=True):
            axis.imshow(mosaic(images, arm["fitted"][epoch]), interpolation="none")
            axis.set(xticks=[], yticks=[])
            fitted = f"{arm['count'][epoch]} of {data['samples']}"
            axis.set_title(f"{arm['name']}, epoch {epoch}: {fitted}", fontsize="small")
            for spine in axis.spines.values():
                spine.set(visible=True, color=ink, lw=2)
    return signed(figure, profile)


def mosaic(images: Sequence[np.ndarray], fitted: str, columns: int = 8) -> np.ndarray:
    """Return images, uint8[h, w, 3], in rows of `columns` as one; those not fitted are faded.

    "1" in `fitted` stands for a fitted one. What is left of the last row is white.
    """
    rows = -(-len(images) // columns)
    places = np.full((rows * columns, *images[0].shape), 255, np.uint8)
    for place, image, bit in zip(places, images, fitted, strict=False):
        place[:] = image if bit == "1" else 255 - (255 - image.astype(int)) // FADED
    grid = places.reshape(rows, columns, *images[0].shape)
    return np.concatenate([np.concatenate(list(row), axis=1) for row in grid], axis=0)
