"""The images that a network is audited with: from this repository, or a reader's own."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from bn_memorization import data, embedded, paths
from bn_memorization.audit_files import MOST_BYTES, Found, colored, read_folder, read_npz
from bn_memorization.catalog import array_sha256
from bn_memorization.errors import BadInput, check_choice

EMBEDDED = "embedded:"
LEAST_IMAGES = 50
IMAGENET = np.float32([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])  # mean and std, torchvision's
SCALINGS = ("standard", "unit", "imagenet")


@dataclass(frozen=True, eq=False)
class Images:
    """The images of one audit, and where each came from.

    `pixels` uint8[N, H, W, 3], `labels` int64[N], `names` and `classes` as text. `member` bool[N]
    says who was trained on where the reader's file does, else None. `available` counts the images
    that N were drawn from. `sha256` is that of pixels, labels and marks together.
    """

    pixels: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]
    classes: tuple[str, ...]
    member: np.ndarray | None
    available: int

    @property
    def sha256(self) -> str:
        """The sha256 of all arrays, which run records are filed under."""
        arrays = [self.pixels, self.labels, *(() if self.member is None else (self.member,))]
        shapes = repr([array.shape for array in arrays])
        text = shapes + "".join(array_sha256(array) for array in arrays)
        return hashlib.sha256(text.encode()).hexdigest()


def located(text: str) -> Path:
    """Return the path that a reader typed; a relative one counts from the repository."""
    return paths.root() / Path(text).expanduser()


@lru_cache(maxsize=4)
def load(where: str, *, most: int, size: int, seed: int, num_classes: int) -> Images:
    """Return at most `most` images, drawn by `seed` where there are more, in their order.

    `where` is "embedded:mnist" (or fashion_mnist, cifar10), a folder with one folder a class, or an
    .npz file: see `audit_files`. `size` 0 keeps the images as they are; `num_classes` 0 counts the
    classes. Raises BadInput for anything else, fewer than LEAST_IMAGES images or two classes, and
    labels beyond `num_classes`.
    """
    found = _find(where)
    classes = _class_names(found, num_classes)
    order = np.random.default_rng([seed, 6]).permutation(len(found.labels))
    rows = np.sort(order[:most])
    labels = found.labels[rows]
    if len(rows) < LEAST_IMAGES:
        raise BadInput(
            f"images={where} has {len(rows)} images. At least {LEAST_IMAGES} are needed: shadow "
            "models train on halves of them, and fewer tell nothing."
        )
    if len(np.unique(labels)) < 2:
        raise BadInput(f"images={where}: all {len(rows)} images have one label. Two are needed.")
    return Images(
        _fitting(found.pixels(rows, size)),
        labels,
        tuple(found.names[row] for row in rows),
        classes,
        None if found.member is None else found.member[rows],
        len(found.labels),
    )


def _find(where: str) -> Found:
    if where.startswith(EMBEDDED):
        return _from_repository(where.removeprefix(EMBEDDED))
    path = located(where)
    try:
        if path.is_dir():
            return read_folder(path)
        if path.suffix == ".npz" and path.is_file():
            return read_npz(path)
        there = path.exists()
    except OSError as error:
        raise BadInput(f"images={where} cannot be read: {error.strerror}.") from error
    raise BadInput(
        f"images={where} is {'neither a folder nor an .npz file' if there else 'not there'}. Give "
        "a folder with one folder a class, a file ending in .npz with arrays x and y (pickles are "
        f"never read), or one of {', '.join(EMBEDDED + name for name in embedded.SIZES)}."
    )


def _from_repository(name: str) -> Found:
    check_choice(f"name behind {EMBEDDED}", name, embedded.SIZES)
    found = data.load(name, "embedded")
    split = found.train
    return Found(
        split.labels.astype(np.int64),
        tuple(f"row {row}" for row in split.rows),
        found.classes,
        None,
        lambda rows, size: colored(split.images[rows], size),
    )


def _class_names(found: Found, num_classes: int) -> tuple[str, ...]:
    highest = int(found.labels.max())
    if num_classes and highest >= num_classes:
        raise BadInput(
            f"num_classes={num_classes}, but a label is {highest}; they are counted from 0. Leave "
            "num_classes at 0 to count the classes."
        )
    count = num_classes or max(len(found.classes), highest + 1)
    if count > 10_000:
        raise BadInput(f"A label is {highest}: at most 10,000 classes are allowed.")
    return found.classes + tuple(f"class {label}" for label in range(len(found.classes), count))


def _fitting(pixels: np.ndarray) -> np.ndarray:
    if 4 * pixels.size > 2 * MOST_BYTES:
        raise BadInput(
            f"{len(pixels)} images of {pixels.shape[1]} x {pixels.shape[2]} pixels do not fit into "
            "memory as numbers. Lower pool_size or set image_size."
        )
    flat = pixels.reshape(-1, 3)
    if (flat.min(axis=0) == flat.max(axis=0)).any():
        raise BadInput("All pixels of all images have one value in a color channel.")
    return pixels


def scaled(pixels: np.ndarray, how: str) -> np.ndarray:
    """Return pixels uint8[N, H, W, 3] as a network sees them, float32[N, 3, H, W].

    `unit`: from 0 to 1. `standard`: then each channel with mean 0 and standard deviation 1 over
    these images. `imagenet`: with the mean and standard deviation that torchvision's weights use.
    """
    check_choice("scaling", how, SCALINGS)
    unit = np.moveaxis(pixels, 3, 1).astype(np.float32) / 255
    if how == "unit":
        return unit
    if how == "imagenet":
        mean, std = IMAGENET
    else:
        flat = pixels.reshape(-1, 3) / 255
        mean, std = flat.mean(axis=0), flat.std(axis=0)
    return ((unit - mean[:, None, None]) / std[:, None, None]).astype(np.float32)
