"""The still figures in whose places the pictures that answer to touch are drawn.

Each is drawn from the data that its picture has.
"""

import base64
import io
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from scipy.stats import norm as normal

from bn_memorization import explorer
from bn_memorization.figure_data import Drawn, pixels
from bn_memorization.figures import INK, PLAIN_COLOR, TREATED_COLOR, canvas, signed

COLORS = (TREATED_COLOR, PLAIN_COLOR)  # the arm with a norm comes first
STYLES = ("-", "--")
TERMS = (16, 64, 1024)
MOMENTS = 4  # epochs at which the training is shown
FADED = 5  # what is left of the ink of an image that is not fitted: one in so many
ALLOWED = 0.05  # false-positive rate at which the threshold is drawn


def growths(data: dict, profile: str) -> Drawn:
    """Draw growth over |z| for some numbers of terms; `data` is that of `explorer.picture`."""
    start, formula = data["start"], explorer.functions()
    figure, ((axis,),) = canvas(height=3.4)
    furthest = data["ranges"]["z"][1]
    fixed = formula["fixed"](*start.values())
    axis.axhline(1, color=PLAIN_COLOR, lw=2, label="plain")
    axis.axhline(fixed, color=TREATED_COLOR, lw=2, ls="--", label="BN, fixed statistics")
    figure.keep(line=["plain", "BN, fixed statistics"], growth_plain_step_is_1=[1, fixed])
    for m, width in zip(TERMS, (1, 2, 3), strict=True):
        z = np.linspace(0, min(furthest, float(formula["bound"](0, 1, 0, m))), 400)
        grown = formula["exact"](start["gamma"], start["sigma"], z, m)
        axis.plot(z, grown, color=TREATED_COLOR, lw=width, label=f"BN, moving, m = {m}")
        figure.keep(line="BN, moving statistics", terms=m, z=z, growth_plain_step_is_1=grown)
    axis.set(xlim=(0, furthest), ylim=(0, 1.15 * max(fixed, 1)), ylabel="growth, plain step = 1")
    axis.set_xlabel("|z| of the sample", loc="left")  # the corner is signed
    axis.legend(loc="lower left", bbox_to_anchor=(0, 0.02), ncols=2)
    return signed(figure, profile)


def attack_on_first(data: dict, profile: str) -> Drawn:
    """Draw the attack on the first image, in the network that trained on it, and both ROC curves.

    `data` is that of `one_sample.picture`.
    """
    sample = data["samples"][0]
    network = sample["trained_on"]
    figure, (axes,) = canvas(1, 4, height=2.7, width_ratios=(0.6, 1.3, 1.3, 1.3))
    image = tiles(data["sprite"], len(data["samples"]))[0]
    axes[0].imshow(image)
    figure.keep(panel="image", title=sample["title"], **pixels(image))
    axes[0].set_title(sample["title"].replace(" labeled ", "\nlabeled "))
    axes[0].axis("off")
    axes[1].sharex(axes[2])
    axes[1].sharey(axes[2])
    for axis, arm, ink, ls, whole in zip(
        axes[1:3], sample["arms"], COLORS, STYLES, data["arms"], strict=True
    ):
        _margins(axis, arm, arm["phi"][network], ink, whole["name"])
        axis.set_title(f"{whole['name']}: score {arm['score'][network]:.2f}")
        tpr, lowest = np.array(whole["tpr"][network]), data["rates"][0]
        axes[3].step(data["rates"], np.maximum(tpr, lowest / 10), where="post", color=ink, ls=ls)
        at = int(np.searchsorted(data["rates"], ALLOWED))
        axes[3].plot(data["rates"][at], tpr[at], "o", color=ink)
        roc = {"panel": "ROC", "arm": whole["name"]}
        figure.keep(
            **roc,
            mark="curve",
            false_positive_rate=data["rates"],
            true_positive_rate=whole["tpr"][network],
        )
        for mark, place in (
            ("at the threshold", (data["rates"][at], tpr[at])),
            ("own score", arm["place"][network]),
        ):
            figure.keep(**roc, mark=mark, false_positive_rate=place[0], true_positive_rate=place[1])
        axes[3].plot(*np.maximum(arm["place"][network], lowest), "o", mec=ink, mfc="none", ms=10)
    ends = (data["rates"][0] / 1.8, 1.6)  # room for marks at the ends
    axes[3].plot(ends, ends, color=INK, lw=1, ls=":")
    axes[3].set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes[3].set_xlabel("false-positive rate", loc="left")  # the corner is signed
    axes[3].set_title("true-positive rate")
    return signed(figure, profile)


def tiles(sprite: str, count: int) -> list[np.ndarray]:
    """Return the `count` images, uint8[h, w, 3], that stand side by side in a PNG address."""
    packed = io.BytesIO(base64.b64decode(sprite.partition(",")[2]))
    return np.split(np.asarray(Image.open(packed).convert("RGB")), count, axis=1)


def _margins(axis: plt.Axes, arm: dict, target: float, ink: str, name: str) -> None:
    about = {"panel": "margins", "arm": name}
    axis.figure.keep(**about, mark="the attacked network", margin=target)
    for side, face, ls, place in (("in", ink, "-", -0.08), ("out", "none", "--", -0.18)):
        margins, mu, sigma = (arm[side][key] for key in ("margins", "mu", "sigma"))
        reach = np.linspace(mu - 4 * sigma, mu + 4 * sigma, 200)
        density = normal.pdf(reach, mu, sigma)
        axis.plot(reach, density, color=ink, ls=ls, lw=2)
        axis.figure.keep(**about, mark=f"models with it {side}", margin=margins)
        axis.figure.keep(**about, mark=f"normal, {side}", margin=reach, density=density)
        height = place * normal.pdf(0, 0, arm["in"]["sigma"])
        axis.plot(margins, np.full(len(margins), height), "o", mec=ink, mfc=face, ms=5, lw=0)
    axis.axvline(target, color=INK, lw=2)
    axis.axhline(0, color="0.6", lw=0.8)
    axis.set(xlabel="margin", yticks=[])


def moments(data: dict, profile: str) -> Drawn:
    """Draw which images each arm has fitted at some epochs, an arm a row.

    `data` is that of `playback.picture`.
    """
    epochs = sorted({round(data["epochs"] * k / MOMENTS) for k in range(1, MOMENTS + 1)} - {0})
    images = tiles(data["sprite"], len(data["titles"]))
    figure, axes = canvas(2, len(epochs), height=3.6)
    for number, (title, image) in enumerate(zip(data["titles"], images, strict=True)):
        figure.keep(part="image", image=number, title=title, **pixels(image))
    for row, arm, ink in zip(axes, data["arms"], COLORS, strict=True):
        for axis, epoch in zip(row, epochs, strict=True):
            axis.imshow(mosaic(images, arm["fitted"][epoch]), interpolation="none")
            axis.set(xticks=[], yticks=[])
            figure.keep(
                part="fitted",
                arm=arm["name"],
                epoch=epoch,
                samples_fitted=arm["count"][epoch],
                samples=data["samples"],
                image=range(len(images)),
                fitted=[int(bit) for bit in arm["fitted"][epoch]],
            )
            fitted = f"{arm['count'][epoch]} of {data['samples']}"
            axis.set_title(f"{arm['name']}, epoch {epoch}: {fitted}")
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
