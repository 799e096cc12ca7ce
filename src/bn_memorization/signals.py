"""What an attacker reads off a trained model: the logit margin of each sample."""

import numpy as np
from numpy.typing import ArrayLike


def margin(logits: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return phi = z_y - log sum_{j != y} exp(z_j) as float64[N], higher = fitted better.

    `logits` is [N, C] with C >= 2, `labels` integer [N]. With p the softmax probability of the
    label phi = log(p / (1 - p)), the signal of LiRA (Carlini et al. 2022), and the cross-entropy is
    log(1 + exp(-phi)). It is taken from the raw logits in float64 and never through p: in float32 p
    is 1 from a margin of 17 on, and networks that fit best would meet that ceiling first.

    Raises ValueError for shapes that do not fit, labels that are no class, or a logit that is not
    finite, naming its sample.
    """
    z, y = np.asarray(logits, np.float64), np.asarray(labels)
    if z.ndim != 2 or z.shape[1] < 2 or y.shape != z.shape[:1]:
        raise ValueError(f"Need logits [N, C >= 2] and labels [N], not {z.shape} and {y.shape}.")
    if not np.issubdtype(y.dtype, np.integer) or ((y < 0) | (y >= z.shape[1])).any():
        raise ValueError(f"Labels must be whole numbers from 0 to {z.shape[1] - 1}.")
    bad = np.flatnonzero(~np.isfinite(z).all(axis=1))
    if bad.size:
        raise ValueError(f"Logits of {bad.size} samples are not finite, the first: {bad[0]}.")
    rows = np.arange(len(z))
    others = z.copy()
    others[rows, y] = -np.inf
    top = others.max(axis=1)
    # Both terms are subtracted from z_y one by one: with one other class the last is exactly 0.
    return z[rows, y] - top - np.log(np.exp(others - top[:, None]).sum(axis=1))


def naive_margin(logits: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return log p - log(1 - p) through float32 probabilities, float32[N]: the way not to do it.

    p is kept a rounding unit away from 0 and 1, or its logarithm would be infinite; so no margin is
    beyond +-16. It is here to be compared with `margin`. Shapes as there.
    """
    z = np.asarray(logits, np.float32)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True))[np.arange(len(z)), np.asarray(labels)]
    p = np.clip(p, np.finfo(np.float32).eps, 1 - np.finfo(np.float32).eps)
    return (np.log(p) - np.log(1 - p)).astype(np.float32)
