"""Corrupting a training set on purpose, and saying which samples were corrupted.

With one seed every kind of corruption takes the same samples, and those of a lower rate are among
those of a higher one, with the same label and image. Other random number generators are neither
read nor moved.
"""

import numpy as np

from bn_memorization.errors import BadInput
from bn_memorization.foreign import fit_to

FLIP, OOD, NOISE = "flip", "ood", "noise"
CORRUPTIONS = (FLIP, OOD, NOISE)


def flip_labels(
    labels: np.ndarray, rate: float, seed: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Give wrong labels to a share of the samples.

    `labels` is an integer [N]. Of its samples round(rate * N), half to even and at least one if
    `rate` is above 0, get a label uniform over the other n_classes - 1 classes: never the true one.
    Returns the given labels [N] in the type of `labels`, and the index int64[n] of the flipped
    samples, sorted. With the same seed, what is flipped at a lower rate is flipped to the same
    label at a higher one.

    Raises BadInput for a rate outside [0, 1), fewer than 2 classes, no labels, or labels that are
    not integers in [0, n_classes).
    """
    _check(labels, rate, n_classes)
    n = len(labels)
    rng = np.random.default_rng(seed)
    index = np.sort(_places(n, rate, rng))
    shift = rng.integers(1, n_classes, size=n)[index]  # drawn for all, so that rates are nested
    given = labels.copy()
    given[index] = (labels[index].astype(np.int64) + shift) % n_classes
    return given, index


def inject_ood(
    images: np.ndarray,
    labels: np.ndarray,
    rate: float,
    seed: int,
    n_classes: int,
    foreign: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put images of another data set, with random labels, in the place of a share of the samples.

    `images` is uint8[N, H, W] or [N, H, W, 3], `labels` an integer [N], and `foreign` holds images
    [M, h, w] or [M, h, w, 3] that are resized and recolored by `foreign.fit_to`. As many samples as
    `flip_labels` flips are replaced, each by another foreign image, and get a label uniform over
    all classes. Returns the images and labels, new arrays in the types given, and the index
    int64[n] of the replaced samples, sorted.

    Raises BadInput as `flip_labels` does, and if there are too few foreign images.
    """
    _check(labels, rate, n_classes)
    count = _count(len(labels), rate)
    if count > len(foreign):
        raise BadInput(
            f"{count} of {len(labels)} images are to be replaced by foreign ones, and there are "
            f"{len(foreign)} of these. Lower noise_rate or train_size."
        )
    # A stream of its own: the places come from the bare seed.
    chosen = np.random.default_rng([seed, 2]).permutation(len(foreign))[:count]
    newcomers = fit_to(foreign[chosen], images.shape[1:])
    return _replace(images, labels, rate, seed, n_classes, newcomers)


def inject_noise(
    images: np.ndarray, labels: np.ndarray, rate: float, seed: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put images of noise, with random labels, in the place of a share of the samples.

    Every pixel of a noise image is drawn alone, from all pixels that `images` have in its channel:
    the mean and the standard deviation of a channel stay, and all structure goes. Arguments,
    result and errors are those of `inject_ood`, without foreign images.
    """
    _check(labels, rate, n_classes)
    newcomers = _noise(images, _count(len(labels), rate), np.random.default_rng([seed, 3]))
    return _replace(images, labels, rate, seed, n_classes, newcomers)


def _noise(images: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return uint8[count, ...] images of pixels drawn by the share of each byte in a channel."""
    uniform = rng.random((count, *images.shape[1:]))
    channels = [(images, uniform)]
    if images.ndim == 4:
        channels = [(images[..., c], uniform[..., c]) for c in range(images.shape[3])]
    drawn = []
    for pixels, of_channel in channels:
        share = np.bincount(pixels.ravel(), minlength=256) / pixels.size
        # Clipped, as the shares may add up to a little less than 1.
        drawn.append(np.searchsorted(share.cumsum(), of_channel, side="right").clip(0, 255))
    result = drawn[0] if images.ndim == 3 else np.stack(drawn, axis=-1)
    return result.astype(np.uint8)


def _replace(
    images: np.ndarray,
    labels: np.ndarray,
    rate: float,
    seed: int,
    n_classes: int,
    newcomers: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put newcomer k at the k-th place that is drawn, so that rates are nested."""
    n = len(labels)
    rng = np.random.default_rng(seed)
    places = _places(n, rate, rng)
    images, given = images.copy(), labels.copy()
    images[places] = newcomers
    given[places] = rng.integers(0, n_classes, size=n)[places]
    return images, given, np.sort(places)


def _count(n: int, rate: float) -> int:
    return max(1, round(rate * n)) if rate > 0 else 0


def _places(n: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(n)[: _count(n, rate)]


def _check(labels: np.ndarray, rate: float, n_classes: int) -> None:
    if not 0 <= rate < 1:  # also refuses NaN
        raise BadInput(
            f"noise rate is {rate}, and must lie in [0, 1): it is the share of the samples that "
            "are corrupted, 0.05 for 5 %."
        )
    if n_classes < 2:
        raise BadInput(
            f"n_classes is {n_classes}, and must be at least 2 for labels to be flipped or drawn."
        )
    if labels.ndim != 1 or len(labels) == 0 or not np.issubdtype(labels.dtype, np.integer):
        raise BadInput(
            f"labels are {labels.dtype}{list(labels.shape)}, and must be at least one integer in a "
            "one-dimensional array."
        )
    if labels.min() < 0 or labels.max() >= n_classes:
        raise BadInput(
            f"labels run from {labels.min()} to {labels.max()}, and must lie in "
            f"[0, {n_classes}) for {n_classes} classes."
        )
