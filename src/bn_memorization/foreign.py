"""Images of another data set, for out-of-distribution samples: which, and brought to shape."""

import hashlib
from dataclasses import replace

import numpy as np
from PIL import Image

from bn_memorization.catalog import Dataset

# What each data set gets: ours, not the paper's, and all to be had from data/embedded.
FOREIGN = {
    "mnist": "fashion_mnist",
    "fashion_mnist": "mnist",
    "cifar10": "fashion_mnist",
    "cifar100": "fashion_mnist",
}


def with_foreign(data: Dataset, other: Dataset) -> Dataset:
    """Return `data` with `other` as its foreign data set, and a hash over both."""
    digest = hashlib.sha256(f"{data.sha256} {other.sha256}\n".encode()).hexdigest()
    return replace(data, foreign=other, sha256=digest)


def fit_to(images: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return images as uint8[N, *shape], resized and recolored as needed.

    `images` is uint8[N, h, w] or [N, h, w, 3], `shape` (H, W) or (H, W, 3). Sizes change by
    Pillow's bilinear filter. Gray becomes three equal channels; color becomes its luma by ITU-R
    BT.601.
    """
    mode = "RGB" if len(shape) == 3 else "L"
    size = (shape[1], shape[0])
    fitted = np.empty((len(images), *shape), np.uint8)
    for place, image in zip(fitted, images, strict=True):
        picture = Image.fromarray(image).convert(mode)
        if picture.size != size:
            picture = picture.resize(size, Image.Resampling.BILINEAR)
        place[...] = np.asarray(picture)
    return fitted
