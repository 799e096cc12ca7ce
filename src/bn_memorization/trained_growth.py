"""Margin growth in a trained network: the derived (gamma/sigma)^2 beside a real step, by sample.

A trained BN layer has many channels and a nonlinear network behind it, so the derived growth is
here a first-order term: channel c counts with its own (gamma/sigma)^2 and the slope of the sample's
margin against its output, and channels are summed. Measured is the change of the margin in a step.
All in float64, with stored statistics, for every BN layer right behind weights.
"""

import copy
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.errors import BadInput
from bn_memorization.gradnorm import patches
from bn_memorization.ratios import fed_by_weights
from bn_memorization.theory import growth_formula


def margins(logits: Tensor, y: Tensor) -> Tensor:
    """Return phi = z_y - logsumexp of the other logits, [N], with its graph; as `signals.margin`.

    The cross-entropy is softplus(-phi).
    """
    own = logits.gather(1, y[:, None]).squeeze(1)
    return own - logits.scatter(1, y[:, None], -torch.inf).logsumexp(1)


@dataclass(frozen=True)
class Seen:
    """What one BN layer and the weights before it see of samples, with the slopes of the margins.

    `x` [N, K, P]: the input of the weights at each of P positions; `u` and `y` [N, C, ...]: the
    layer's input and output; `a` [N, C, P]: slope of the sample's margin against y; `slope` [N]: s.
    """

    x: Tensor
    u: Tensor
    y: Tensor
    a: Tensor
    slope: Tensor


def pairs(model: nn.Module) -> list[tuple[nn.Module, _BatchNorm]]:
    """Return (layer with weights, BN layer) of all BN layers right behind weights.

    In the order in which the network goes through them. Raises BadInput if there is none.
    """
    found = [(a, b) for a, b in fed_by_weights(model) if isinstance(a, nn.Linear | nn.Conv2d)]
    if not found:
        raise BadInput(
            f"{type(model).__name__} has no BN layer right behind a linear or convolutional one. "
            "Use a network with norm=batch."
        )
    return found


def see(
    model: nn.Module, layers: list[tuple[nn.Module, _BatchNorm]], x: Tensor, y: Tensor
) -> list[Seen]:
    """Return what each pair of layers sees of x[N, ...] with the labels y[N].

    The model, in eval mode, stays as it is.
    """
    found = {}

    def note(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        found[module] = (inputs[0], output)

    hooks = [module.register_forward_hook(note) for pair in layers for module in pair]
    try:
        phi = margins(model(x), y)
    finally:
        for hook in hooks:
            hook.remove()
    slopes = torch.autograd.grad(phi.sum(), [found[norm][1] for _, norm in layers])
    rate = torch.sigmoid(-phi).detach()
    seen = []
    for (layer, norm), a in zip(layers, slopes, strict=True):
        inputs, (u, out) = found[layer][0].detach(), found[norm]
        terms = patches(layer, inputs) if isinstance(layer, nn.Conv2d) else inputs[:, :, None]
        flat = a.reshape(len(a), a.shape[1], -1)
        seen.append(Seen(terms, u.detach(), out.detach(), flat, rate))
    return seen


def own_growth(model: nn.Module, x: Tensor, y: Tensor, eta: float) -> pd.DataFrame:
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
    layers = pairs(model)
    frames = [
        _layer_growth(model, *pair, seen, x, y, eta).assign(layer=number)
        for number, (pair, seen) in enumerate(zip(layers, see(model, layers, x, y), strict=True), 1)
    ]
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(ratio=frame.measured / frame.twin)


def _layer_growth(
    model: nn.Module,
    layer: nn.Module,
    norm: nn.Module,
    seen: Seen,
    x: Tensor,
    y: Tensor,
    eta: float,
) -> pd.DataFrame:
    squares = (seen.a @ seen.x.transpose(1, 2)).square().sum(2)  # |g_c|^2, [N, C]
    sigma = (norm.running_var + norm.eps).sqrt()
    factors = (norm.weight / sigma).square().detach()  # [C]
    # The slope of the margin is in the gradient already, so the readout a is 1 here.
    gamma = norm.weight.detach()
    channels = growth_formula()(eta, seen.slope[:, None], 1.0, gamma, sigma, squares)
    with_bn, twin = [], []
    for i in range(len(x)):
        step = (model, layer, x[[i]], y[[i]], eta)
        with_bn.append(_grow(*step))
        with _constant(norm, seen.y[[i]] - seen.u[[i]]):
            twin.append(_grow(*step))
    return pd.DataFrame(
        {
            "sample": range(len(x)),
            "factor": ((squares * factors).sum(1) / squares.sum(1)).numpy(force=True),
            "predicted": channels.sum(1).numpy(force=True),
            "measured": with_bn,
            "twin": twin,
        }
    )


@contextmanager
def _constant(norm: nn.Module, offset: Tensor):
    """Let the BN layer add a constant and do nothing else."""
    hook = norm.register_forward_hook(lambda module, inputs, output: inputs[0] + offset)
    try:
        yield
    finally:
        hook.remove()


def _grow(model: nn.Module, layer: nn.Module, x: Tensor, y: Tensor, eta: float) -> float:
    """Return the growth of a margin when one SGD step moves the layer's weight and nothing else."""
    (name,) = (f"{path}.weight" for path, module in model.named_modules() if module is layer)

    def phi(weight: Tensor) -> Tensor:
        return margins(functional_call(model, {name: weight}, (x,)), y)[0]

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
    model: nn.Module,
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
