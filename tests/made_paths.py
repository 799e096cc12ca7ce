"""Paths of gamma/sigma and |w| through training, made by hand."""

import numpy as np
import planted

from bn_memorization.trained_invariant import Path


def path(ratio, size, layer=None, left_out=0, **changes):
    """Return a path with ratio and size [E + 1, C]."""
    ratio, size = np.array(ratio, float), np.array(size, float)
    config = planted.config(epochs=len(ratio) - 1, **changes)
    return Path(config, np.array(layer or [1] * ratio.shape[1]), ratio, size, left_out)
