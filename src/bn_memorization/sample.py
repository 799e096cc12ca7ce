"""The images that one run trains on and is measured on, drawn by its seed alone."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bn_memorization.config import TrainConfig
from bn_memorization.corrupt import FLIP, NOISE, flip_labels, inject_noise, inject_ood
from bn_memorization.data import Dataset, normalize
from bn_memorization.errors import BadInput

SUBSETS = ("corrupted", "clean", "test")
NO_LABEL = -1


@dataclass(frozen=True)
class Sample:
    """The images that one run trains on and is measured on, as tensors on its device."""

    x: Tensor  # float32[N, C, H, W]
    y: Tensor  # int64[N], the labels given in training
    subsets: dict[str, tuple[Tensor, Tensor]]
    corrupted_row: np.ndarray
    true_label: np.ndarray
    given_label: np.ndarray


@dataclass(frozen=True)
class Corrupted:
    """A run's training set as bytes: images uint8[N, ...], given labels int64[N].

    `rows[N]` are rows of the data set's training split. The samples in `index[C]`, sorted, are
    corrupted; their true labels are `true_label[C]`, NO_LABEL for foreign images and noise.
    """

    images: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    index: np.ndarray
    true_label: np.ndarray


def check_size(config: TrainConfig, data: Dataset) -> None:
    """Raise BadInput for more training images than there are, or too few to have every class."""
    available = len(data.train.labels)
    if config.train_size > available:
        raise BadInput(
            f"train_size={config.train_size}, but {data.name} ({data.source}) has {available} "
            f"training images. Choose at most {available}, or source=auto for the full set."
        )
    absent = absent_classes(data.train.labels[drawn_rows(config, data)], data)
    if absent:
        raise BadInput(
            f"{config.describe()}: train_size={config.train_size} leaves no image of class "
            f"{absent}. Raise train_size."
        )


def absent_classes(labels: np.ndarray, data: Dataset) -> str:
    """Return the names of the classes that are not among the labels, joined by commas."""
    absent = np.setdiff1d(np.arange(len(data.classes)), labels)
    return ", ".join(data.classes[label] for label in absent)


def drawn_rows(config: TrainConfig, data: Dataset) -> np.ndarray:
    """Return the rows of the training split that a run draws, int64[train_size], in its order."""
    # A stream of its own: the corruptions start from the bare seed.
    rng = np.random.default_rng([config.seed, 1])
    return rng.permutation(len(data.train))[: config.train_size]


def corrupt(config: TrainConfig, data: Dataset) -> Corrupted:
    """Draw the run's training images and corrupt some, by `config.seed` alone.

    Raises BadInput as `check_size` does and for more foreign images than its foreign data set has,
    and ValueError when it has no foreign data set and needs one.
    """
    check_size(config, data)
    rows = drawn_rows(config, data)
    images, true = data.train.images[rows], data.train.labels[rows].astype(np.int64)
    how = (config.noise_rate, config.seed, len(data.classes))
    if config.corruption == FLIP:
        given, index = flip_labels(true, *how)
        return Corrupted(images, given, rows, index, true[index])
    if config.corruption == NOISE:
        images, given, index = inject_noise(images, true, *how)
    elif data.foreign is None:
        raise ValueError(f"{data.name} needs a foreign data set: see foreign.with_foreign.")
    else:
        images, given, index = inject_ood(images, true, *how, data.foreign.train.images)
    return Corrupted(images, given, rows, index, np.full(len(index), NO_LABEL))


def draw(config: TrainConfig, data: Dataset, device: torch.device) -> Sample:
    """Return the run's images as tensors; raises as `corrupt` does."""
    corrupted = corrupt(config, data)
    index, rows = corrupted.index, corrupted.rows
    clean = np.setdiff1d(np.arange(len(rows)), index)[: config.eval_size]

    x = torch.from_numpy(normalize(corrupted.images, data)).to(device)
    y = torch.from_numpy(corrupted.labels).to(device)
    test_x = torch.from_numpy(normalize(data.test.images[: config.eval_size], data)).to(device)
    test_y = torch.from_numpy(data.test.labels[: config.eval_size].astype(np.int64)).to(device)
    return Sample(
        x=x,
        y=y,
        subsets={
            "corrupted": (x[index], y[index]),
            "clean": (x[clean], y[clean]),
            "test": (test_x, test_y),
        },
        corrupted_row=rows[index],
        true_label=corrupted.true_label,
        given_label=corrupted.labels[index],
    )
