"""One training loop for every model.

A run is a pure function of its `TrainConfig`, the data set and the device: same machine, same
device, one thread, same bits. The seed alone decides which images are drawn, which labels are
flipped, the initial weights and the order of the batches, so that two arms with the same seed
differ by their norm and nothing else.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bn_memorization import models
from bn_memorization.corrupt import flip_labels
from bn_memorization.data import Dataset, normalized
from bn_memorization.errors import BadInput, Failure, check_choice
from bn_memorization.regularize import FORMS, gamma_sigma_penalty

# Raise when a change here, in models, corrupt or data alters what a run returns: records made by
# an older version are then trained again.
VERSION = 2

OPTIMIZERS = ("sgd", "adam")
NO_PENALTY = "none"
PENALTIES = (NO_PENALTY, *FORMS)
SUBSETS = ("corrupted", "clean", "test")
EVAL_BATCH = 512


@dataclass(frozen=True)
class TrainConfig:
    """All that decides a run's result, beside the data and the machine.

    `train_size` images are drawn; `noise_rate` of them get a wrong label. Clean and test curves
    are measured on at most `eval_size` images each, corrupted ones on all. Raises BadInput for a
    value out of range.
    """

    dataset: str
    source: str
    train_size: int
    eval_size: int
    arch: str
    norm: str
    noise_rate: float
    seed: int
    epochs: int
    batch_size: int
    optimizer: str
    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    penalty: str = NO_PENALTY
    penalty_weight: float = 0.0
    penalty_target: float = 1.0

    def __post_init__(self):
        check_choice("penalty", self.penalty, PENALTIES)
        _require("penalty_weight", self.penalty_weight, self.penalty_weight >= 0, "at least 0")
        _require("penalty_target", self.penalty_target, self.penalty_target > 0, "above 0")
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("architecture", self.arch, models.ARCHITECTURES)
        check_choice("norm", self.norm, models.NORMS)
        # One image has no batch variance, so there is no run on one.
        least = {"train_size": 2, "batch_size": 2, "eval_size": 1, "epochs": 1, "seed": 0}
        for name, value in least.items():
            _require(name, getattr(self, name), getattr(self, name) >= value, f"at least {value}")
        for name in ("noise_rate", "momentum"):
            _require(name, getattr(self, name), 0 <= getattr(self, name) < 1, "in [0, 1)")
        _require("lr", self.lr, 0 < self.lr < math.inf, "above 0 and finite")
        decay = self.weight_decay
        _require("weight_decay", decay, 0 <= decay < math.inf, "at least 0 and finite")

    def describe(self) -> str:
        """Return one line that tells this run from its neighbors."""
        return (
            f"{self.arch}/{self.norm} on {self.dataset}, "
            f"{100 * self.noise_rate:g} % flipped, seed {self.seed}"
        )


@dataclass(frozen=True)
class Run:
    """A trained model's record: its config, its measurements and where they came from.

    `arrays` holds, with E epochs (row 0 is before training), S = len(SUBSETS) and C corrupted
    samples:

    - `accuracy[E + 1, S]`, `loss[E + 1, S]`: eval mode, against the labels given in training for
      `corrupted` and `clean`; NaN where a subset is empty.
    - `fitted[E + 1, C]`: whether the model predicts the flipped label that it was given.
    - `corrupted_row[C]`: the sample's row in the data set's training split.
    - `true_label[C]`, `given_label[C]`.
    """

    config: TrainConfig
    arrays: dict[str, np.ndarray]
    meta: dict = field(default_factory=dict)

    def curve(self, quantity: str, subset: str) -> np.ndarray:
        """Return `accuracy` or `loss` of one subset, [E + 1]."""
        return self.arrays[quantity][:, SUBSETS.index(subset)]


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


def make_optimizer(config: TrainConfig, model: nn.Module) -> torch.optim.Optimizer:
    """Return the optimizer that the config names."""
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), config.lr, weight_decay=config.weight_decay)
    return torch.optim.SGD(
        model.parameters(), config.lr, config.momentum, weight_decay=config.weight_decay
    )


# A probe measures a model before training and after every epoch, and leaves it as it was.
Probe = Callable[[nn.Module, Sample], Mapping[str, np.ndarray]]


def fit(
    config: TrainConfig, data: Dataset, *, device: str = "cpu", probes: tuple[Probe, ...] = ()
) -> Run:
    """Train one model and measure it before training and after every epoch.

    What a probe returns under a name is stacked over epochs, [E + 1, ...], into the run's arrays.
    Raises Failure, naming the run, when the loss stops being finite.
    """
    where = torch.device(device)
    sample = draw(config, data, where)
    model = new_model(config, data, where)
    measured, probed = [], []

    def look(epoch: int) -> None:
        measured.append(measure(model, sample.subsets))
        check_finite([loss for loss, _ in measured[-1].values()], epoch, config)
        probed.append({k: v for probe in probes for k, v in probe(model, sample).items()})

    optimize(model, sample.x, sample.y, config, look)
    stacked = {name: np.stack([p[name] for p in probed]) for name in probed[0]}
    return Run(config, _arrays(measured, sample) | stacked)


def new_model(config: TrainConfig, data: Dataset, where: torch.device) -> nn.Module:
    """Return the config's network before training, on the device."""
    return models.build(
        config.arch,
        config.norm,
        in_channels=data.channels,
        image_size=data.image_size,
        classes=len(data.classes),
        seed=config.seed,
    ).to(where, memory_format=torch.channels_last)  # a quarter faster on CPUs


def optimize(
    model: nn.Module, x: Tensor, y: Tensor, config: TrainConfig, look: Callable[[int], None]
) -> None:
    """Train a model in place on x[N, ...], y[N]; call look(epoch) first and after every epoch.

    It is for `look` to stop a run that diverges, by `check_finite`.
    """
    optimizer = make_optimizer(config, model)
    order = torch.Generator().manual_seed(config.seed)
    look(0)
    with _penalty(config, model) as penalty:
        for epoch in range(1, config.epochs + 1):
            model.train()
            shuffled = torch.randperm(len(y), generator=order).to(y.device)
            for batch in shuffled.split(config.batch_size):
                if len(batch) < 2:
                    continue  # one sample has no batch variance; other epochs train on it
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(model(x[batch]), y[batch]) + penalty()
                loss.backward()
                optimizer.step()
            look(epoch)


def check_finite(values: Iterable[np.ndarray], epoch: int, config: TrainConfig) -> None:
    """Raise Failure, naming the run, if a loss or logit measured after an epoch is not finite."""
    if not all(np.isfinite(part).all() for part in values):
        raise Failure(
            f"The loss stopped being finite in epoch {epoch} of {config.describe()}. Lower the "
            f"learning rate (lr={config.lr})."
        )


@contextmanager
def _penalty(config: TrainConfig, model: nn.Module) -> Iterator[Callable[[], Tensor | float]]:
    if config.penalty == NO_PENALTY:
        yield lambda: 0.0
        return
    form = {"weight": config.penalty_weight, "target": config.penalty_target}
    with gamma_sigma_penalty(model, form=config.penalty, **form) as penalty:
        yield penalty.value


@torch.inference_mode()
def measure(model: nn.Module, subsets: dict[str, tuple[Tensor, Tensor]]) -> dict[str, tuple]:
    """Return {subset: (loss[n], correct[n])} in eval mode, which changes no buffer."""
    model.eval()
    result = {}
    for name, (x, y) in subsets.items():
        chunks = [model(part) for part in x.split(EVAL_BATCH)] if len(x) else []
        logits = torch.cat(chunks) if chunks else x.new_zeros((0, 1))
        loss = F.cross_entropy(logits, y, reduction="none")
        result[name] = (loss.cpu().numpy(), (logits.argmax(1) == y).cpu().numpy())
    return result


def _arrays(measured: list[dict[str, tuple]], sample: Sample) -> dict[str, np.ndarray]:
    def means(part: int) -> np.ndarray:
        return np.array([[_mean(m[name][part]) for name in SUBSETS] for m in measured])

    return {
        "loss": means(0),
        "accuracy": means(1),
        "fitted": np.stack([m["corrupted"][1] for m in measured]),
        "corrupted_row": sample.corrupted_row,
        "true_label": sample.true_label,
        "given_label": sample.given_label,
    }


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values, dtype=np.float64)) if values.size else float("nan")


def _require(name: str, value: object, holds: bool, allowed: str) -> None:
    if not holds:
        raise BadInput(f"{name}={value} is out of range: it must be {allowed}.")
