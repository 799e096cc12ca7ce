"""How time and memory grow: LiRA with models and samples, norms and training with batch and depth.

The book fits an exponent to each curve: see `bn_memorization.exponents`.
"""

import functools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from benchmarks import attack, measure, steps, training
from benchmarks.measure import Work
from benchmarks.norms import NETWORKS, problem
from bn_memorization import data
from bn_memorization.gradnorm import per_sample_norms
from bn_memorization.norms import NORMS, convolution
from bn_memorization.resnet import Block

WIDTH, DEEP_BATCH = 16, 64


def lira(models: int, samples: int) -> Work:
    """Return the attack on all models of a pool."""
    return attack.prepare("online, per sample", models, samples)


def norms(mode: str, batch: int) -> Work:
    """Return the norms of so many samples of a LeNet, in batch mode as one batch."""
    model, x, y = problem("lenet", "batch", batch)
    return functools.partial(per_sample_norms, model, x, y, bn_mode=mode)


def deep_norms(blocks: int) -> Work:
    """Return the running-mode norms of a batch in a ResNet of so many blocks."""
    x, y = _deep_batch()
    return functools.partial(per_sample_norms, _deep(blocks).eval(), x, y, bn_mode="running")


def step(batch: int) -> Work:
    """Return one step of training a LeNet."""
    settings = training.config("lenet", "mnist", max(batch, 64), 1)
    settings = replace(settings, batch_size=batch)
    return steps.stepper(settings, data.load("mnist", "embedded"))


def deep_step(blocks: int) -> Work:
    """Return one forward and backward pass of a batch through a ResNet of so many blocks."""
    model, (x, y) = _deep(blocks).train(), _deep_batch()
    parameters = list(model.parameters())
    return lambda: torch.autograd.grad(nn.functional.cross_entropy(model(x), y), parameters)


def _deep(blocks: int) -> nn.Module:
    norm = NORMS["batch"]
    return nn.Sequential(
        convolution(norm, 3, WIDTH, 3),
        norm(WIDTH, True),
        *(Block(norm, WIDTH, WIDTH, 1) for _ in range(blocks)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(WIDTH, 10),
    )


def _deep_batch() -> tuple[torch.Tensor, torch.Tensor]:
    images = data.load(NETWORKS["resnet8"], "embedded")
    x = torch.from_numpy(data.normalize(images.train.images[:DEEP_BATCH], images))
    return x, torch.from_numpy(images.train.labels[:DEEP_BATCH].astype(np.int64))


@dataclass(frozen=True)
class Curve:
    """A work at several values of what varies; `make(value)` sets it up."""

    what: str
    varied: str
    values: tuple[int, ...]
    make: Callable[[int], Work]


CURVES = (
    Curve("LiRA, 4,096 samples", "models", (64, 128, 256, 512, 1024), lambda m: lira(m, 4096)),
    Curve(
        "LiRA, 64 models", "samples", (16384, 32768, 65536, 131072, 262144), lambda n: lira(64, n)
    ),
    Curve(
        "norms in running mode, LeNet",
        "samples",
        (256, 512, 1024, 2048, 4096),
        functools.partial(norms, "running"),
    ),
    Curve(
        "norms in batch mode, LeNet",
        "samples",
        (16, 32, 64, 96, 128),
        functools.partial(norms, "batch"),
    ),
    Curve("training step, LeNet", "samples", (32, 64, 128, 256, 512), step),
    Curve("norms in running mode, 64 samples, ResNet", "blocks", (1, 2, 3, 4, 6), deep_norms),
    Curve("training step, 64 samples, ResNet", "blocks", (1, 2, 3, 4, 6), deep_step),
)


def run(curves: Sequence[Curve] = CURVES, repeats: int = measure.REPEATS) -> Iterator[dict]:
    """Return a line for each curve: values, medians of seconds, growth of peak memory in bytes."""
    torch.set_num_threads(1)
    for curve in curves:
        works = {value: curve.make(value) for value in curve.values}
        seconds, _ = measure.side_by_side(works, repeats)
        yield {
            "what": curve.what,
            "varied": curve.varied,
            "at": list(curve.values),
            "n": repeats,
            "seconds": [statistics.median(seconds[value]) for value in curve.values],
            "bytes": measure.peak_bytes("scaling", *((curve.what, v) for v in curve.values)),
        }


def prepare(what: str, value: int) -> Work:
    """Return the work whose peak memory is measured in a process of its own.

    The smallest was done before: what is set up at the first call is no part of it.
    """
    (curve,) = [curve for curve in CURVES if curve.what == what]
    curve.make(min(curve.values))()
    return curve.make(value)
