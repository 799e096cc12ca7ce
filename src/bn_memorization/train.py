"""One training loop for every model.

A run is a pure function of its `TrainConfig`, the data set and the device: same machine, same
device, one thread, same bits. The seed alone decides which images are drawn, which labels are
flipped, the initial weights and the order of the batches, so that two arms with the same seed
differ by their norm and nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bn_memorization import models
from bn_memorization.config import NO_PENALTY, TrainConfig
from bn_memorization.data import Dataset
from bn_memorization.errors import BadInput, Failure
from bn_memorization.hold import weight_holder
from bn_memorization.ratios import bn_layers
from bn_memorization.regularize import gamma_sigma_penalty
from bn_memorization.sample import SUBSETS, Sample, draw

# Raise when a change alters what a run returns: records made by an older version are then trained
# again. It depends on this module; on config, sample, corrupt, data and foreign (what is trained
# on); on models, norms, lenet, resnet, densenet, regularize and hold (the network, its loss and its
# weights); and on
# the probes in run_kinds.PROBES (gradnorm with its PROBED, and ratios).
VERSION = 7

EVAL_BATCH = 512


@dataclass(frozen=True)
class Run:
    """A trained model's record: its config, its measurements and where they came from.

    `arrays` holds, with E epochs (row 0 is before training), S = len(SUBSETS) and C corrupted
    samples:

    - `accuracy[E + 1, S]`, `loss[E + 1, S]`: eval mode, against the labels given in training for
      `corrupted` and `clean`; NaN where a subset is empty.
    - `fitted[E + 1, C]`: whether the model predicts the given label of the sample.
    - `corrupted_row[C]`: the sample's row in the data set's training split.
    - `true_label[C]`, `given_label[C]`: without a true label, `sample.NO_LABEL`.
    - what each probe of `fit` returns under a name of its own, [E + 1, ...]: see `gradnorm.probe`
      and `ratios.probe`.
    """

    config: TrainConfig
    arrays: dict[str, np.ndarray]
    meta: dict = field(default_factory=dict)

    def curve(self, quantity: str, subset: str) -> np.ndarray:
        """Return `accuracy` or `loss` of one subset, [E + 1]."""
        return self.arrays[quantity][:, SUBSETS.index(subset)]


def make_optimizer(config: TrainConfig, model: nn.Module) -> torch.optim.Optimizer:
    """Return the optimizer that the config names."""
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), config.lr, weight_decay=config.weight_decay)
    return torch.optim.SGD(
        model.parameters(), config.lr, config.momentum, weight_decay=config.weight_decay
    )


# A probe measures a model before training and after every epoch, and leaves it as it was.
Probe = Callable[[nn.Module, Sample], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Begun:
    """A run that is ready to be trained: what `optimize` takes, and `finish`, its record after."""

    model: nn.Module
    x: Tensor
    y: Tensor
    config: TrainConfig
    look: Callable[[int], None]
    finish: Callable[[], object]


def fit(
    config: TrainConfig, data: Dataset, *, device: str = "cpu", probes: tuple[Probe, ...] = ()
) -> Run:
    """Train one model and measure it before training and after every epoch.

    What a probe returns under a name is stacked over epochs, [E + 1, ...], into the run's arrays.
    Raises Failure, naming the run, when the loss stops being finite.
    """
    begun = begin(config, data, device=device, probes=probes)
    optimize(begun.model, begun.x, begun.y, begun.config, begun.look)
    return begun.finish()


def begin(
    config: TrainConfig, data: Dataset, *, device: str = "cpu", probes: tuple[Probe, ...] = ()
) -> Begun:
    """Return what `fit` trains, before it is trained."""
    where = torch.device(device)
    sample = draw(config, data, where)
    model = new_model(config, data, where)
    measured, probed = [], []

    def look(epoch: int) -> None:
        measured.append(measure(model, sample.subsets))
        check_finite([loss for loss, _ in measured[-1].values()], epoch, config)
        probed.append({k: v for probe in probes for k, v in probe(model, sample).items()})

    def finish() -> Run:
        stacked = {name: np.stack([p[name] for p in probed]) for name in probed[0]}
        return Run(config, _arrays(measured, sample) | stacked)

    return Begun(model, sample.x, sample.y, config, look, finish)


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
    order = torch.Generator().manual_seed(config.seed)

    def epoch() -> Iterator[tuple[Tensor, Tensor]]:
        for batch in shuffled(order, len(y), config.batch_size):
            where = batch.to(y.device)
            yield x[where], y[where]

    descend(model, config, epoch, F.cross_entropy, look)


def shuffled(order: torch.Generator, n: int, batch_size: int) -> Iterator[Tensor]:
    """Yield the rows of an epoch's batches, int64[B], in an order drawn anew from 0 to n - 1."""
    for batch in torch.randperm(n, generator=order).split(batch_size):
        if len(batch) > 1:  # one sample has no batch variance; other epochs train on it
            yield batch


def descend(
    model: nn.Module,
    config: TrainConfig,
    epoch: Callable[[], Iterable[tuple[Tensor, Tensor]]],
    loss: Callable[[Tensor, Tensor], Tensor],
    look: Callable[[int], None],
) -> None:
    """Take the config's steps on the batches of `epoch()`, which is called for each epoch.

    `loss(logits, labels)` is what a step lowers, and the penalty with it.
    """
    optimizer = make_optimizer(config, model)
    hold = weight_holder(model) if config.hold_weights else _no_hold
    look(0)
    with _penalty(config, model) as penalty:
        for number in range(1, config.epochs + 1):
            model.train()
            for x, y in epoch():
                optimizer.zero_grad(set_to_none=True)
                (loss(model(x), y) + penalty()).backward()
                optimizer.step()
                hold()
            look(number)


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
    with gamma_sigma_penalty(_penalized(config, model), form=config.penalty, **form) as penalty:
        yield penalty.value


def _penalized(config: TrainConfig, model: nn.Module) -> nn.Module:
    if config.penalty_layer is None:
        return model
    layers = list(bn_layers(model).values())
    if config.penalty_layer > len(layers):
        raise BadInput(
            f"penalty_layer={config.penalty_layer}, but {config.arch} with norm {config.norm} has "
            f"{len(layers)} BN layers."
        )
    return layers[config.penalty_layer - 1]


def _no_hold() -> None:
    """Leave the weights as the step left them."""


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
