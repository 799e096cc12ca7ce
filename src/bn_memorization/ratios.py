"""gamma/sigma of every batch normalization channel of a network.

gamma is the learned scale of a channel, sigma = sqrt(var + eps) the standard deviation it divides
by: the running one in eval mode, the batch's own in training.
"""

import copy
from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from torch import Tensor, fx, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.errors import BadInput
from bn_memorization.sample import Sample

COLUMNS = ("layer", "channel", "gamma", "sigma", "ratio")
WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


def bn_layers(model: nn.Module) -> dict[str, _BatchNorm]:
    """Return {path in the model: layer} of every BN layer that has gamma and running statistics."""
    return {
        path: module
        for path, module in model.named_modules()
        if isinstance(module, _BatchNorm) and module.affine and module.track_running_stats
    }


def gamma_sigma(model: nn.Module) -> pd.DataFrame:
    """Return gamma/sigma of every BN channel, a row a channel, with the running sigma.

    Columns: layer (from 1, in the order of the model's modules), channel (from 0), gamma (signed),
    sigma = sqrt(running_var + eps) and ratio = |gamma|/sigma, in float64. A model without BN has no
    rows. It reads the model and changes nothing.
    """
    found = channels(model)
    frame = pd.DataFrame({"layer": found["bn_layer"].astype(int)})
    frame["channel"] = frame.groupby("layer").cumcount()
    frame["gamma"] = found["gamma"].astype(float)
    frame["sigma"] = found["sigma"].astype(float)
    frame["ratio"] = frame.gamma.abs() / frame.sigma
    return frame[list(COLUMNS)]


# Part of what a run returns: raise train.VERSION with a change.
def probe(model: nn.Module, sample: Sample) -> dict[str, np.ndarray]:
    """Measure `channels` and `weight_norms` in training: a `train.Probe`, which needs no sample."""
    return channels(model) | {"weight_norm": weight_norms(model)}


def weight_norms(model: nn.Module) -> np.ndarray:
    """Return the l2 norm of the weights before each BN channel, float32[C], in the order below.

    NaN where a BN layer is not fed by one linear or convolutional layer alone. Scaling the weights
    by c scales the norm and sigma alike: gamma/sigma times the norm stays what it is.
    """
    layers = bn_layers(model)
    norms = {layer: torch.full_like(layer.running_var, torch.nan) for layer in layers.values()}
    for before, layer in fed_by_weights(model) if layers else ():
        norms[layer] = before.weight.detach().flatten(1).norm(dim=1)
    return _joined(list(norms.values()))


def channels(model: nn.Module) -> dict[str, np.ndarray]:
    """Return gamma[C] and the running sigma[C], float32, and bn_layer[C] of all BN channels.

    C counts the channels of all layers together, in layer order; bn_layer, int16, numbers the
    layers from 1. Without BN the arrays are empty.
    """
    layers = list(bn_layers(model).values())
    gamma = [layer.weight.detach() for layer in layers]
    sigma = [(layer.running_var + layer.eps).sqrt() for layer in layers]
    sizes = [layer.num_features for layer in layers]
    return {
        "gamma": _joined(gamma),
        "sigma": _joined(sigma),
        "bn_layer": np.repeat(np.arange(1, len(layers) + 1, dtype=np.int16), sizes),
    }


def _joined(parts: list[Tensor]) -> np.ndarray:
    # A copy: on the CPU .numpy() would be a view that training goes on writing to.
    parts = [np.array(part.cpu().numpy(), np.float32) for part in parts]
    return np.concatenate([np.empty(0, np.float32), *parts])


@torch.no_grad()
def batch_sigma(model: nn.Module, x: Tensor) -> np.ndarray:
    """Return the sigma[C] that training would use on the images x[B, ...], in the order of C above.

    One pass with batch statistics in every BN layer, as in training; sigma is
    sqrt(var + eps) with the biased variance. All else of the model stays in eval mode, and its
    modes and buffers are left as they were. A layer that the pass goes through more than once
    counts with its last time. Raises BadInput for fewer than two images.
    """
    if len(x) < 2:
        raise BadInput(f"A batch of {len(x)} has no variance: give at least 2 images.")
    layers, measured = bn_layers(model), {}

    def measure(layer: _BatchNorm, inputs: tuple[Tensor]) -> None:
        u = inputs[0]
        variance = u.var([0, *range(2, u.ndim)], unbiased=False)
        measured[layer] = (variance + layer.eps).sqrt()

    modes = {module: module.training for module in model.modules()}
    hooks = [layer.register_forward_pre_hook(measure) for layer in layers.values()]
    try:
        model.eval()
        for layer in layers.values():
            layer.train()
        # Training mode moves the running statistics; these are copies.
        functional_call(model, {name: b.clone() for name, b in model.named_buffers()}, (x,))
    finally:
        for hook in hooks:
            hook.remove()
        for module, mode in modes.items():
            module.training = mode
    return _joined([measured[layer] for layer in layers.values()])


@torch.no_grad()
def rescaled(model: nn.Module, c: float, *, scale_eps: bool = True) -> nn.Module:
    """Return a copy in which the weights before BN are multiplied by c > 0 and BN follows suit.

    Where a linear or convolutional layer feeds a BN layer and nothing else, its weight and bias are
    multiplied by c, and the BN layer's running mean by c, running variance and eps by c^2. Then mu
    and sigma are c times what they were, so z = (u - mu)/sigma and all outputs stay the same, in
    eval and in training mode, while gamma/sigma is divided by c. With `scale_eps` False eps stays
    what it was, as it would in practice: sigma is then c sqrt(var + eps/c^2), which is c times the
    old one only as far as eps is small beside var.

    Raises BadInput when c is not above 0, or when no BN layer directly follows such a layer.
    """
    if not c > 0:
        raise BadInput(f"c={c} must be above 0: it divides gamma/sigma.")
    scaled = copy.deepcopy(model)
    pairs = list(fed_by_weights(scaled))
    if not pairs:
        raise BadInput("No batch normalization directly follows a linear or convolutional layer.")
    for before, layer in pairs:
        for parameter in before.parameters():
            parameter.mul_(c)
        layer.running_mean.mul_(c)
        layer.running_var.mul_(c * c)
        if scale_eps:
            layer.eps *= c * c
    return scaled


class _Tracer(fx.Tracer):
    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        # By itself it looks into every class that is not torch's own, BN with cut statistics too.
        own = isinstance(module, (_BatchNorm, *WEIGHTED))
        return own or super().is_leaf_module(module, name)


def fed_by_weights(model: nn.Module) -> Iterator[tuple[nn.Module, _BatchNorm]]:
    """Yield (layer with weights, BN layer) where the one's output goes to the other alone."""
    layers = bn_layers(model)
    for node in _Tracer().trace(model).nodes:
        if node.op != "call_module" or node.target not in layers:
            continue
        (source,) = node.args
        if source.op == "call_module" and len(source.users) == 1:
            before = model.get_submodule(source.target)
            if isinstance(before, WEIGHTED):
                yield before, layers[node.target]
