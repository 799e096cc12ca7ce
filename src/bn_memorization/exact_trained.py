"""Moving statistics in a trained network: what is left of a sample's own growth, by layer.

The batch is one of training, in batch mode; the statistics of one BN layer move with the weights
before it, those of all other layers keep their values. In a convolution sample i has a term at
each position p, and with a_p the slope of its margin there, what moves it is sum_p a_p c_p in place
of sum_p a_p x_p: c_p is that of `theory_exact`, for which all positions of the batch are terms.
"""

import copy
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.config import SETTING
from bn_memorization.errors import BadInput
from bn_memorization.judging import Evidence
from bn_memorization.ratios import bn_layers
from bn_memorization.stats import mean_interval
from bn_memorization.trained_growth import Seen, margins, pairs, see

FULL, CONVOLUTION = "fully connected", "convolutional"
NUMBERS = ["|z|", "own terms", "mean moves", "both move"]


@torch.no_grad()
def of_batch(model: nn.Module, x: Tensor) -> nn.Module:
    """Return a float64 copy in eval mode whose stored statistics are those of the batch x[N, ...].

    It gives every sample of the batch the activations that training gives it. Raises BadInput for
    fewer than two samples.
    """
    if len(x) < 2:
        raise BadInput(f"A batch of {len(x)} has no variance: give at least 2 images.")
    model = copy.deepcopy(model).double().train()

    def store(norm: _BatchNorm, inputs: tuple[Tensor]) -> None:
        dims = [0, *range(2, inputs[0].ndim)]
        norm.running_mean.copy_(inputs[0].mean(dims))
        norm.running_var.copy_(inputs[0].var(dims, unbiased=False))

    layers = bn_layers(model).values()
    for norm in layers:
        norm.momentum = 0.0  # or the pass itself would mix its own estimate in
    hooks = [norm.register_forward_pre_hook(store) for norm in layers]
    model(x.double())
    for hook in hooks:
        hook.remove()
    return model.eval()


def corrections(model: nn.Module, x: Tensor, y: Tensor) -> pd.DataFrame:
    """Return what moving statistics leave of each sample's own growth, a row a layer and sample.

    x[N, ...], y[N] are one batch of training. Columns:

    - layer (1 is nearest to the image), kind (FULL or CONVOLUTION), sample, m (terms);
    - z: root mean square of the sample's z over channels and positions, each weighted with
      (gamma/sigma)^2 |a_p x_p|^2, its part in the growth with fixed statistics;
    - map: 1 - (1 + z^2)/m, and room: the same with all positions of the sample in one step, 1 -
      (A^2 + B^2)/(m sum_p a_p^2) with A = sum_p a_p, B = sum_p a_p z_p, the mean over channels;
      both leave eps out;
    - mean_only: the growth where the mean moves and sigma does not, and correction: where both
      move, each over the growth with fixed statistics, channels summed with (gamma/sigma)^2.

    Raises BadInput for one sample and for a network without a BN layer behind weights.
    """
    model = of_batch(model, x)
    layers = pairs(model)
    frames = [
        _layer(*pair, seen).assign(layer=number)
        for number, (pair, seen) in enumerate(
            zip(layers, see(model, layers, x.double(), y), strict=True), 1
        )
    ]
    return pd.concat(frames, ignore_index=True)


def _layer(layer: nn.Module, norm: nn.Module, seen: Seen) -> pd.DataFrame:
    a, sigma = seen.a, (norm.running_var + norm.eps).sqrt()
    z = seen.u.reshape(a.shape) - norm.running_mean[:, None]
    z = z / sigma[:, None]  # [N, C, P]
    m = len(a) * a.shape[2]
    ratio = (norm.weight / sigma).square().detach()  # [C]
    own = a @ seen.x.transpose(1, 2)  # sum_p a_p x_p, [N, C, K]
    total, with_z = a.sum(2), (a * z).sum(2)  # A and B, [N, C]
    inputs, inputs_z = seen.x.mean((0, 2)), torch.tensordot(z, seen.x, ([0, 2], [0, 2])) / m
    mean_moves = own - total[:, :, None] * inputs
    both_move = mean_moves - with_z[:, :, None] * inputs_z

    def growth(gradient: Tensor) -> Tensor:
        return gradient.square().sum(2) @ ratio

    parts = ratio[:, None] * a.square() * seen.x.square().sum(1)[:, None]  # [N, C, P]
    z_sq = (parts * z.square()).sum((1, 2)) / parts.sum((1, 2))
    squares = a.square().sum(2)
    weights = ratio * own.square().sum(2)
    # A channel whose ReLU is shut passes nothing: it has no weight, and no share to divide by.
    room = 1 - (total**2 + with_z**2) / (m * squares.clamp_min(torch.finfo(a.dtype).tiny))
    fixed = growth(own)
    return pd.DataFrame(
        {
            "kind": CONVOLUTION if isinstance(layer, nn.Conv2d) else FULL,
            "sample": range(len(a)),
            "m": m,
            "z": z_sq.sqrt().numpy(force=True),
            "map": (1 - (1 + z_sq) / m).numpy(force=True),
            "room": ((weights * room).sum(1) / weights.sum(1)).numpy(force=True),
            "mean_only": (growth(mean_moves) / fixed).numpy(force=True),
            "correction": (growth(both_move) / fixed).numpy(force=True),
        }
    )


def by_batches(
    model: nn.Module, x: Tensor, y: Tensor, is_corrupted: np.ndarray, batch_size: int
) -> pd.DataFrame:
    """Return `corrections` of whole batches of x[N, ...] in their order, with the column subset.

    A rest that fills no batch is left out. Raises BadInput for less than one batch.
    """
    if len(y) < batch_size:
        raise BadInput(f"{len(y)} samples are no whole batch of {batch_size}. Give more.")
    frames = []
    for start in range(0, len(y) - batch_size + 1, batch_size):
        rows = slice(start, start + batch_size)
        frame = corrections(model, x[rows], y[rows])
        corrupted = is_corrupted[rows][frame["sample"]]
        subset = np.where(corrupted, "corrupted", "clean")
        frames.append(frame.assign(subset=subset, sample=frame["sample"] + start))
    return pd.concat(frames, ignore_index=True)


def all_move(
    model: nn.Module, x: Tensor, y: Tensor, is_corrupted: np.ndarray, batch_size: int
) -> pd.DataFrame:
    """Return the correction where every BN layer's statistics move, a row a layer and sample.

    By autograd, for the corrupted samples of the first batch of x[N, ...], y[N] that has any.
    Columns: layer, sample, all, and one (the correction where the statistics of that layer alone
    move). Raises BadInput if no whole batch has a corrupted sample.
    """
    batches = range(0, len(y) - batch_size + 1, batch_size)
    start = next((s for s in batches if is_corrupted[s : s + batch_size].any()), None)
    if start is None:
        raise BadInput(f"No batch of {batch_size} holds a corrupted sample. Give more.")
    rows = slice(start, start + batch_size)
    x, y = x[rows], y[rows]
    known = corrections(model, x, y).rename(columns={"correction": "one"})
    fixed = of_batch(model, x)
    moving = of_batch(model, x).train()
    found = []
    for sample in np.flatnonzero(is_corrupted[rows]):
        both = (_squares(network, x.double(), y, sample) for network in (fixed, moving))
        found += [(n, sample, b / a) for n, (a, b) in enumerate(zip(*both, strict=True), 1)]
    frame = pd.DataFrame(found, columns=["layer", "sample", "all"])
    return frame.merge(known[["layer", "sample", "one"]], on=["layer", "sample"])


def _squares(network: nn.Module, x: Tensor, y: Tensor, sample: int) -> list[float]:
    """Return the squared norm of a margin's gradient for the weights before each BN layer."""
    weights = [layer.weight for layer, _ in pairs(network)]
    gradients = torch.autograd.grad(margins(network(x), y)[sample], weights)
    return [float(gradient.square().sum()) for gradient in gradients]


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return medians over samples, a row a layer and subset, of frames of `by_batches`.

    Columns: BN layer, kind, m, samples, n and NUMBERS.
    """
    rows = []
    for key, part in frame.groupby(["layer", "kind", "m", "subset"], sort=True):
        medians = part[["z", "room", "mean_only", "correction"]].median()
        rows.append((*key, len(part), *medians))
    return pd.DataFrame(rows, columns=["BN layer", "kind", "m", "samples", "n", *NUMBERS])


def convolution(frame: pd.DataFrame) -> pd.Series:
    """Return the corrupted samples' median correction in convolutional layers, by seed.

    `frame` holds rows of `by_batches` with the column seed.
    """
    part = frame[(frame.kind == CONVOLUTION) & (frame.subset == "corrupted")]
    return part.groupby("seed").correction.median()


def outliers(frame: pd.DataFrame) -> pd.Series:
    """Return the mean correction of corrupted samples minus that of clean ones, by seed.

    In fully connected layers alone. `frame` is as for `convolution`.
    """
    full = frame[frame.kind == FULL].groupby(["seed", "subset"]).correction.mean()
    means = full.unstack().reindex(columns=["corrupted", "clean"])
    return means.corrupted - means.clean


def evidence(frame: pd.DataFrame, of: Callable[[pd.DataFrame], pd.Series]) -> list[Evidence]:
    """Return the mean of a statistic over networks, for each setting that has it.

    `frame` is as for `convolution`, with the columns of config.SETTING; `of` gives a value a seed,
    or none where a network has no such layer.
    """
    found = []
    for key, part in frame.groupby(list(SETTING), sort=False):
        values = of(part)
        if len(values):
            where = dict(zip(SETTING, key, strict=True))
            found.append(Evidence.from_gap(where, mean_interval(values)))
    return found
