"""The images that one run trains on and is measured on, drawn by its seed alone."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bn_memorization.config import TrainConfig
from bn_memorization.corrupt import flip_labels
from bn_memorization.data import Dataset, normalized
from bn_memorization.errors import BadInput

SUBSETS = ("corrupted", "clean", "test")


@dataclass(frozen=True)
class Sample:
    """The images that one run trains on and is measured on, as tensors on its device."""

    x: Tensor  # float32[N, C, H, W]
    y: Tensor  # int64[N], with the flipped labels in place
    subsets: dict[str, tuple[Tensor, Tensor]]
    corrupted_row: np.ndarray
    true_label: np.ndarray
    given_label: np.ndarray


def check_size(config: TrainConfig, data: Dataset) -> None:
    """Raise BadInput when the config asks for more training images than the data set has."""
    available = len(data.train.labels)
    if config.train_size > available:
        raise BadInput(
            f"train_size={config.train_size}, but {data.name} ({data.source}) has {available} "
            f"training images. Choose at most {available}, or source=auto for the full set."
        )


def draw(config: TrainConfig, data: Dataset, device: torch.device) -> Sample:
    """Draw the run's training images and flip the labels of some, by `config.seed` alone.

    Raises BadInput when more images are asked for than the data set has.
    """
    check_size(config, data)
    available = len(data.train.labels)
    # A stream of its own: flip_labels starts from the bare seed.
    rows = np.random.default_rng([config.seed, 1]).permutation(available)[: config.train_size]
    true = data.train.labels[rows].astype(np.int64)
    given, corrupted = flip_labels(true, config.noise_rate, config.seed, len(data.classes))
    clean = np.setdiff1d(np.arange(len(rows)), corrupted)[: config.eval_size]

    train_images, test_images = normalized(data)
    x = torch.from_numpy(train_images[rows]).to(device)
    y = torch.from_numpy(given).to(device)
    test_x = torch.from_numpy(test_images[: config.eval_size]).to(device)
    test_y = torch.from_numpy(data.test.labels[: config.eval_size].astype(np.int64)).to(device)
    return Sample(
        x=x,
        y=y,
        subsets={
            "corrupted": (x[corrupted], y[corrupted]),
            "clean": (x[clean], y[clean]),
            "test": (test_x, test_y),
        },
        corrupted_row=rows[corrupted],
        true_label=true[corrupted],
        given_label=given[corrupted],
    )
