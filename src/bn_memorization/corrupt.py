"""Corrupting a training set on purpose, and saying which samples were corrupted."""

import numpy as np

from bn_memorization.errors import BadInput


def flip_labels(
    labels: np.ndarray, rate: float, seed: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Give wrong labels to a share of the samples.

    `labels` is an integer [N]. Of its samples round(rate * N), half to even and at least one if
    `rate` is above 0, get a label uniform over the other n_classes - 1 classes: never the true one.
    Returns the given labels [N] in the type of `labels`, and the index int64[n] of the flipped
    samples, sorted. With the same seed, what is flipped at a lower rate is flipped to the same
    label at a higher one. Other random number generators are neither read nor moved.

    Raises BadInput for a rate outside [0, 1), fewer than 2 classes, no labels, or labels that are
    not integers in [0, n_classes).
    """
    _check(labels, rate, n_classes)
    n = len(labels)
    count = max(1, round(rate * n)) if rate > 0 else 0
    rng = np.random.default_rng(seed)
    index = np.sort(rng.permutation(n)[:count])
    shift = rng.integers(1, n_classes, size=n)[index]  # drawn for all, so that rates are nested
    given = labels.copy()
    given[index] = (labels[index].astype(np.int64) + shift) % n_classes
    return given, index


def _check(labels: np.ndarray, rate: float, n_classes: int) -> None:
    if not 0 <= rate < 1:  # also refuses NaN
        raise BadInput(
            f"noise rate is {rate}, and must lie in [0, 1): it is the share of the samples whose "
            "labels are flipped, 0.05 for 5 %."
        )
    if n_classes < 2:
        raise BadInput(
            f"n_classes is {n_classes}, and must be at least 2 for labels to be flipped."
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
