"""A small data set whose labels can be read off its images, and configs to train on it."""

import numpy as np
import torch

from bn_memorization import train
from bn_memorization.catalog import Dataset, Split
from bn_memorization.config import TrainConfig

SIZE = 12  # the smallest image that LeNet takes
CLASSES = ("top", "middle", "bottom")
N_TRAIN, N_TEST = 60, 30


def _split(n: int, rng: np.random.Generator) -> Split:
    labels = rng.permutation(np.arange(n) % len(CLASSES)).astype(np.int64)
    images = rng.integers(0, 60, (n, SIZE, SIZE), np.uint8)
    height = SIZE // len(CLASSES)
    for image, label in zip(images, labels, strict=True):
        image[label * height : (label + 1) * height] += 150  # the bright third is the label
    return Split(images, labels, np.arange(n))


def planted_set(name: str = "planted", source: str = "embedded") -> Dataset:
    """Return 60 training and 30 test images of 12 x 12 gray pixels in three classes."""
    rng = np.random.default_rng(0)
    return Dataset(name, source, _split(N_TRAIN, rng), _split(N_TEST, rng), CLASSES, "5" * 64)


def lenet_in_training():
    """Return a LeNet with BN in the middle of training, and the sample that it is trained on."""
    settings, data, where = config(epochs=3), planted_set(), torch.device("cpu")
    sample = train.draw(settings, data, where)
    model = train.new_model(settings, data, where)
    train.optimize(model, sample.x, sample.y, settings, lambda epoch: None)
    return model, sample


def config(**changes) -> TrainConfig:
    """Return a config that trains on the planted set in well under a second."""
    values = {
        "dataset": "planted",
        "source": "embedded",
        "train_size": 48,
        "eval_size": 24,
        "arch": "lenet",
        "norm": "batch",
        "noise_rate": 0.25,
        "seed": 0,
        "epochs": 2,
        "batch_size": 16,
        "optimizer": "sgd",
        "lr": 0.05,
        "momentum": 0.9,
    }
    return TrainConfig(**values | changes)
