"""Margin growth in a trained network: the derived (gamma/sigma)^2 beside a real step, by sample.

A trained BN layer has many channels and a nonlinear network behind it, so the derived growth is
here a first-order term: channel c counts with its own (gamma/sigma)^2 and the slope of the sample's
margin against its output, and channels are summed. Measured is the change of the margin in a step.
All in float64, with stored statistics, for an nn.Sequential such as LeNet.
"""

import copy
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.errors import BadInput
from bn_memorization.gradnorm import patches
from bn_memorization.theory import growth_formula

AGREEMENT = ["rank correlation", "median measured / predicted", "5 % point", "95 % point"]


def margins(logits: Tensor, y: Tensor) -> Tensor:
    """Return phi = z_y - logsumexp of the other logits, [N], with its graph; as `signals.margin`.

    The cross-entropy is softplus(-phi).
    """
    own = logits.gather(1, y[:, None]).squeeze(1)
    return own - logits.scatter(1, y[:, None], -torch.inf).logsumexp(1)


def own_growth(model: nn.Sequential, x: Tensor, y: Tensor, eta: float) -> pd.DataFrame:
    """Compare predicted and measured growth for the weights before each BN layer, by sample.

    x[N, ...], y[N]. One SGD step of rate `eta` is taken on one sample alone and on the weights of
    one layer alone; the model stays as it is. A row a sample and layer (1 is nearest to the image):

    - factor: the predicted factor, the mean of (gamma/sigma)^2 over channels, each weighted with
      the squared gradient that reaches its weights in the twin;
    - predicted: eta s sum_c (gamma_c/sigma_c)^2 |g_c|^2 by the derived formula, g_c the gradient of
      the margin that reaches the weights of channel c in the twin;
    - measured: the growth of the margin, and ratio: measured / twin;
    - twin: the growth where the BN layer is taken out of the step: y = u + constant, with the
      constant that leaves every activation of this sample as it is.
    Raises BadInput for a model without a BN layer right behind a linear or convolutional one.
    """
    model = copy.deepcopy(model).double().eval()
    x = x.double()
    frames = [
        _layer_growth(model, place, x, y, eta).assign(layer=number)
        for number, place in enumerate(_places(model), 1)
    ]
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(ratio=frame.measured / frame.twin)


def _places(model: nn.Sequential) -> list[int]:
    """Return the places of the layers whose output goes into a BN layer."""
    layers = list(model) if isinstance(model, nn.Sequential) else []
    found = [
        i
        for i, (layer, norm) in enumerate(pairwise(layers))
        if isinstance(layer, nn.Linear | nn.Conv2d) and isinstance(norm, _BatchNorm)
    ]
    if not found:
        raise BadInput(
            f"{type(model).__name__} is no nn.Sequential with a BN layer behind a linear or "
            "convolutional one. Use arch=lenet and norm=batch."
        )
    return found


def _layer_growth(
    model: nn.Sequential, place: int, x: Tensor, y: Tensor, eta: float
) -> pd.DataFrame:
    layer, norm, rest = model[place], model[place + 1], model[place + 2 :]
    with torch.no_grad():
        inputs = model[:place](x)
        before = layer(inputs)
    offset = (norm(before) - before).detach()
    squares, slope = _twin_gradient(layer, norm, rest, inputs, y)
    sigma = (norm.running_var + norm.eps).sqrt()
    factors = (norm.weight / sigma).square().detach()  # [C]
    predict = growth_formula()
    # The slope of the margin is in the gradient already, so the readout a is 1 here.
    channels = predict(eta, slope[:, None], 1.0, norm.weight.detach(), sigma, squares)
    rows = range(len(x))
    with_bn = [_grow(layer, inputs[[i]], y[[i]], eta, lambda u: rest(norm(u))) for i in rows]
    twin = [
        _grow(layer, inputs[[i]], y[[i]], eta, lambda u, i=i: rest(u + offset[[i]])) for i in rows
    ]
    return pd.DataFrame(
        {
            "sample": rows,
            "factor": ((squares * factors).sum(1) / squares.sum(1)).numpy(),
            "predicted": channels.sum(1).numpy(),
            "measured": with_bn,
            "twin": twin,
        }
    )


def _twin_gradient(
    layer: nn.Module, norm: nn.Module, rest: nn.Module, inputs: Tensor, y: Tensor
) -> tuple[Tensor, Tensor]:
    """Return |g_c|^2 of each sample and channel, [N, C], and the slope s of the loss, [N].

    g_c = sum over positions p of a_cp x_p, with a the slope of the margin against the output of the
    BN layer and x_p what the kernel sees at p.
    """
    output = norm(layer(inputs)).detach().requires_grad_()
    phi = margins(rest(output), y)
    (a,) = torch.autograd.grad(phi.sum(), output)
    seen = patches(layer, inputs) if isinstance(layer, nn.Conv2d) else inputs[:, :, None]
    g = a.reshape(len(a), a.shape[1], -1) @ seen.transpose(1, 2)  # [N, C, weights a channel]
    return g.square().sum(2), torch.sigmoid(-phi).detach()


def _grow(
    layer: nn.Module, inputs: Tensor, y: Tensor, eta: float, after: Callable[[Tensor], Tensor]
) -> float:
    """Return the growth of a margin when one SGD step moves the layer's weight and nothing else."""

    def phi(weight: Tensor) -> Tensor:
        return margins(after(functional_call(layer, {"weight": weight}, (inputs,))), y)[0]

    weight = layer.weight.detach().requires_grad_()
    before = phi(weight)
    (gradient,) = torch.autograd.grad(F.softplus(-before), weight)
    with torch.no_grad():
        return float(phi(weight - eta * gradient) - before)


def whole_growth(model: nn.Module, x: Tensor, y: Tensor, eta: float) -> np.ndarray:
    """Return the growth when a step on a sample alone moves all parameters, float64[N]."""
    model = copy.deepcopy(model).double().eval()
    values = dict(model.named_parameters())
    growth = []
    for sample, label in zip(x.double().split(1), y.split(1), strict=True):
        before = margins(model(sample), label)[0]
        gradients = torch.autograd.grad(F.softplus(-before), list(values.values()))
        moved = {
            name: value.detach() - eta * gradient
            for (name, value), gradient in zip(values.items(), gradients, strict=True)
        }
        with torch.no_grad():
            growth.append(float(margins(functional_call(model, moved, (sample,)), label) - before))
    return np.array(growth)


def training_growth(
    model: nn.Module, x: Tensor, y: Tensor, lr: float, batch_size: int
) -> np.ndarray:
    """Return what one training step on its batch does to the margin of each sample, float64[N].

    x[N, ...], y[N] are split into batches in their order, and each batch takes one step from the
    same model: train mode, mean loss, plain SGD on all parameters. A rest is filled up with the
    samples before it, or its step would have another scale. Margins are measured in eval mode with
    the stored statistics of before. Raises BadInput for less than one batch.
    """
    if len(y) < batch_size:
        raise BadInput(f"{len(y)} samples are no whole batch of {batch_size}. Give more.")
    before = copy.deepcopy(model).double().eval()
    growth = torch.empty(len(y), dtype=torch.float64)
    for start in reversed(range(0, len(y), batch_size)):  # the first batch of a sample counts
        stop = min(start + batch_size, len(y))
        rows = slice(stop - batch_size, stop)
        part, labels = x[rows].double(), y[rows]
        after = copy.deepcopy(before).train()
        F.cross_entropy(after(part), labels).backward()
        torch.optim.SGD(after.parameters(), lr).step()
        after.load_state_dict(dict(before.named_buffers()), strict=False)
        with torch.no_grad():
            growth[rows] = margins(after.eval()(part), labels) - margins(before(part), labels)
    return growth.numpy()


def compare(
    model: nn.Sequential,
    x: Tensor,
    y: Tensor,
    is_corrupted: np.ndarray,
    *,
    lr: float,
    batch_size: int,
    clean: int = 80,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (by layer, by sample) for the corrupted samples and the first `clean` clean ones.

    Own steps have the rate lr / batch_size, a sample's share of a mean. By layer is `own_growth`;
    by sample has the columns subset, predicted (the sum over layers), whole (`whole_growth`) and
    changed (`training_growth`, with all of x as batches).
    """
    rows = np.flatnonzero(is_corrupted | (np.cumsum(~is_corrupted) <= clean))
    few, eta = torch.from_numpy(rows).to(x.device), lr / batch_size
    by_layer = own_growth(model, x[few], y[few], eta)
    by_sample = pd.DataFrame(
        {
            "subset": np.where(is_corrupted[rows], "corrupted", "clean"),
            "predicted": by_layer.groupby("sample").predicted.sum().to_numpy(),
            "whole": whole_growth(model, x[few], y[few], eta),
            "changed": training_growth(model, x, y, lr, batch_size)[rows],
        }
    )
    return by_layer, by_sample


def agreement(by_layer: pd.DataFrame, by_sample: pd.DataFrame) -> pd.DataFrame:
    """Return how well predicted growth agrees with each measurement, a row each.

    Columns: measured, n, AGREEMENT (Spearman's correlation; quantiles of measured / predicted).
    """
    pairs = {
        f"own step, weights before BN layer {layer}": (part.predicted, part.measured)
        for layer, part in by_layer.groupby("layer")
    }
    pairs["own step, all parameters"] = (by_sample.predicted, by_sample.whole)
    for subset, part in by_sample.groupby("subset", sort=False):
        pairs[f"training step, {subset} samples"] = (part.predicted, part.changed)
    rows = []
    for measured, (first, second) in pairs.items():
        quantiles = np.quantile(second / first, [0.5, 0.05, 0.95])
        rows.append((measured, len(first), spearmanr(first, second)[0], *quantiles))
    return pd.DataFrame(rows, columns=["measured", "n", *AGREEMENT])


def factors(by_layer: pd.DataFrame) -> str:
    """Tell the predicted factor of each layer."""
    ranges = by_layer.groupby("layer").factor.agg(["min", "max"])
    parts = [f"{low:.2f} to {high:.2f} at layer {n}" for n, low, high in ranges.itertuples()]
    below = int((ranges["max"] < 1).sum())
    return (
        f"Over samples, the predicted factor is {'; '.join(parts)}. In {below} of {len(ranges)} "
        "layers it is below one for every sample: there BN slows the fitting by these weights down."
    )


def remark(by_layer: pd.DataFrame, by_sample: pd.DataFrame) -> str:
    """Return the end of a sentence on how far the formula carries in a trained network."""
    own = float((by_layer.measured / by_layer.predicted).median())
    corrupted = by_sample[by_sample.subset == "corrupted"]
    step = float((corrupted.changed / corrupted.predicted).median())
    return (
        f"a step on one sample and one layer gives {own:.2f} times the predicted growth, and a "
        f"training step on a batch moves the margins of flipped samples by {step:.2f} times it "
        "(medians)."
    )
