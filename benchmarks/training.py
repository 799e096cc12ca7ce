"""Training one network, against torchvision's data set and a DataLoader; and two processes."""

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import functional as transform

from benchmarks import measure
from bn_memorization import data, executors, train
from bn_memorization.config import TrainConfig
from bn_memorization.report import name

WORKERS = (0, 4)
RUNS, PROCESSES = 16, 2


class Pictures(Dataset):
    """Images as torchvision's own data sets give them: a PIL image turned into a tensor."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, mean: list, std: list):
        self.images, self.labels, self.mean, self.std = images, labels, mean, std

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, place: int):
        """Return an image [C, S, S] and its label."""
        x = transform.to_tensor(Image.fromarray(self.images[place]))
        return transform.normalize(x, self.mean, self.std), int(self.labels[place])


def config(arch: str, dataset: str, size: int, epochs: int) -> TrainConfig:
    """Return what both sides train."""
    return TrainConfig(
        dataset=dataset, source="embedded", train_size=size, eval_size=100, arch=arch, norm="batch",
        corruption="flip", noise_rate=0.05, epochs=epochs, batch_size=64, optimizer="sgd", lr=0.02,
        momentum=0.9, weight_decay=0.0, seed=0,
    )  # fmt: skip


def ours(settings: TrainConfig, images: data.Dataset) -> None:
    """Train with images that lie in memory as one tensor."""
    sample = train.draw(settings, images, torch.device("cpu"))
    model = train.new_model(settings, images, torch.device("cpu"))
    train.optimize(model, sample.x, sample.y, settings, lambda epoch: None)


def loaded(settings: TrainConfig, images: data.Dataset, workers: int) -> None:
    """Train the same network by the same steps with a DataLoader."""
    channels = images.channels
    pictures = Pictures(
        images.train.images[: settings.train_size],
        images.train.labels[: settings.train_size],
        [0.5] * channels,
        [0.25] * channels,
    )
    loader = DataLoader(
        pictures, settings.batch_size, shuffle=True, num_workers=workers,
        persistent_workers=workers > 0,
    )  # fmt: skip
    model = train.new_model(settings, images, torch.device("cpu")).train()
    optimizer = train.make_optimizer(settings, model)
    for _ in range(settings.epochs):
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), y).backward()
            optimizer.step()


def of_network(settings: TrainConfig, target: float, repeats: int) -> list[dict]:
    """Return the lines of one network."""
    images = data.load(settings.dataset, "embedded")
    works = {"ours": functools.partial(ours, settings, images)}
    works |= {n: functools.partial(loaded, settings, images, n) for n in WORKERS}
    seconds, _ = measure.side_by_side(works, repeats)
    limit = measure.of_product(works["ours"], min(seconds["ours"]))
    what = (
        f"training, {name(settings.arch)}, {settings.train_size:,} images, "
        f"{settings.epochs} epochs of batches of {settings.batch_size}"
    )
    return [
        measure.compared(
            what, f"a DataLoader with {workers} workers over PIL images",
            seconds["ours"], seconds[workers], target=target, **limit,
        )
        for workers in WORKERS
    ]  # fmt: skip


@functools.cache
def _images(name: str) -> data.Dataset:
    return data.load(name, "embedded")


def trained(settings: TrainConfig) -> None:
    """Train in a worker, which reads the images once."""
    ours(settings, _images(settings.dataset))


def side_by_side_runs(settings: TrainConfig, runs: int, repeats: int) -> dict:
    """Return the line of several runs on two processes against one.

    The workers start once, as those of a book do.
    """
    each = [replace(settings, seed=seed) for seed in range(runs)]
    with executors.executor("local:1") as one, executors.executor(f"local:{PROCESSES}") as more:
        seconds, _ = measure.side_by_side(
            {
                "one": lambda: list(one.map(trained, each)),
                "more": lambda: list(more.map(trained, each)),
            },
            repeats,
        )
    line = measure.compared(
        f"{runs} trainings of a {name(settings.arch)} on {PROCESSES} processes", "one process",
        seconds["more"], seconds["one"], target=1.7,
    )  # fmt: skip
    return {**line, "limit": "processes", "of_limit": line["ratio"] / PROCESSES}


def run(scale: int = 1, repeats: int = measure.REPEATS) -> Iterator[dict]:
    """Return all lines; sizes are divided by `scale`."""
    executors.make_deterministic()
    lenet = config("lenet", "mnist", 4096 // scale, 2)
    yield from of_network(lenet, 2, repeats)
    yield from of_network(config("resnet8", "cifar10", 1024 // scale, 1), 1.2, repeats)
    yield side_by_side_runs(replace(lenet, epochs=1), RUNS, repeats)
