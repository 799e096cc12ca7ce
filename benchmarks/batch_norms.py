"""Per-sample norms in batch mode: exact, through the batch's statistics, against B backward passes.

What `gradnorm` does is B backward passes. Two candidates do the same arithmetic in fewer, larger
pieces: torch's vmap over the backward pass, and `by_layer`.
"""

import functools

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from benchmarks import measure
from benchmarks.norms import problem
from bn_memorization.gradnorm import patches, per_sample_norms

BATCH = 64
TOGETHER = 8  # losses whose gradients are computed at once: more fill no cache


def passes(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the norms, float64[B], by a backward pass a sample, as `gradnorm` does."""
    return per_sample_norms(model, x, y, bn_mode="batch")


def vmapped(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the same with torch's vmap over the backward pass."""
    parameters = list(model.parameters())
    losses = F.cross_entropy(model(x).double(), y, reduction="none")
    squares = []
    for chunk in torch.eye(len(x), dtype=losses.dtype).split(TOGETHER):
        found = vmap(lambda v: torch.autograd.grad(losses, parameters, v, retain_graph=True))(chunk)
        squares.append(sum(g.flatten(1).double().square().sum(1) for g in found))
    return torch.cat(squares).sqrt().numpy()


def by_layer(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the same with the backward pass of inputs alone, and one product a layer.

    vmap gives g[i, n, ...], the gradient of loss i at sample n's place of each layer's output.
    Weights' gradients follow in one product for all losses of a chunk.
    """
    inputs, outputs = {}, {}

    def watch(layer: nn.Module, given: tuple[Tensor], output: Tensor) -> None:
        inputs[layer], outputs[layer] = given[0].detach(), output

    layers = [m for m in model.modules() if list(m.parameters(recurse=False))]
    hooks = [layer.register_forward_hook(watch) for layer in layers]
    start = x.detach().requires_grad_()
    losses = F.cross_entropy(model(start).double(), y, reduction="none")
    for hook in hooks:
        hook.remove()
    seen = {layer: _seen(layer, inputs[layer]) for layer in layers}
    ends = [outputs[layer] for layer in layers]
    squares = []
    for chunk in torch.eye(len(x), dtype=losses.dtype).split(TOGETHER):
        found = vmap(lambda v: torch.autograd.grad(losses, ends, v, retain_graph=True))(chunk)
        squares.append(
            sum(_square(layer, seen[layer], g) for layer, g in zip(layers, found, strict=True))
        )
    return torch.cat(squares).sqrt().numpy()


def _seen(layer: nn.Module, u: Tensor) -> Tensor:
    """Return what a layer's weight multiplies: [B L, in] for weights, z for scales."""
    if isinstance(layer, nn.Conv2d):
        return patches(layer, u).transpose(1, 2).flatten(0, 1)
    if isinstance(layer, _BatchNorm):
        return F.batch_norm(u, None, None, training=True, eps=layer.eps)
    return u


def _square(layer: nn.Module, seen: Tensor, g: Tensor) -> Tensor:
    """Return the squared norm of each loss's gradient over a layer's parameters, [I]."""
    if isinstance(layer, _BatchNorm):
        places = [1, *range(3, g.ndim)]
        weight, bias = (g * seen).sum(places), g.sum(places)
    else:
        if isinstance(layer, nn.Conv2d):
            g = g.flatten(3).permute(0, 2, 1, 3).flatten(2)  # [I, out, B L]
        else:
            g = g.transpose(1, 2)
        weight = (g.flatten(0, 1) @ seen).view(*g.shape[:2], -1)
        bias = g.sum(2) if layer.bias is not None else g.new_zeros(len(g), 1)
    return weight.flatten(1).double().square().sum(1) + bias.double().square().sum(1)


def run(batch: int = BATCH, repeats: int = measure.REPEATS):
    """Return the lines of both networks and both candidates."""
    torch.set_num_threads(1)
    lines = []
    for arch in ("lenet", "resnet8"):
        model, x, y = problem(arch, "batch", batch)
        model.train()
        works = {
            name: functools.partial(call, model, x, y)
            for name, call in (("passes", passes), ("vmap", vmapped), ("by layer", by_layer))
        }
        seconds = measure.side_by_side(works, repeats)
        found = {name: work() for name, work in works.items()}
        limit = measure.of_product(works["passes"], min(seconds["passes"]))
        lines += [
            measure.compared(
                f"batch-mode norms, {arch}, B = {batch}, {way}",
                "B backward passes, as gradnorm does them",
                seconds[name], seconds["passes"], target=2,
                error=measure.relative(found[name], found["passes"]), tolerance=1e-5, **limit,
            )
            for name, way in (("vmap", "vmap over backward"), ("by layer", "a product a layer"))
        ]  # fmt: skip
    return lines
