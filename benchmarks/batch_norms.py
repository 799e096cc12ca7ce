"""Per-sample norms in batch mode: exact, through the batch's statistics, against B backward passes.

What `gradnorm` does is one forward and B backward passes. Four candidates do the same in other
pieces: torch's vmap over the backward pass, `by_layer`, `batch_parts`, and the same passes with
channels last. Each has the norms of the first samples of a batch alone.
"""

import copy
import functools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from benchmarks import measure
from benchmarks.batch_parts import in_parts
from benchmarks.measure import Work
from benchmarks.norms import problem
from bn_memorization.gradnorm import patches
from bn_memorization.report import name

BATCH = 64
LOSSES = {"lenet": 64, "resnet8": 16}  # so many of the batch's samples have their norms taken
TOGETHER = 8  # losses whose gradients are computed at once: more fill no cache


def passes(model: nn.Module, x: Tensor, y: Tensor, losses: int) -> np.ndarray:
    """Return the norms of the first samples, float64[losses], by a backward pass each.

    As `gradnorm.gradients_in_batch` does for all.
    """
    parameters = list(model.parameters())
    squares = []
    for loss in _losses(model, x, y)[:losses]:
        found = torch.autograd.grad(loss, parameters, retain_graph=True)
        squares.append(sum(g.double().square().sum() for g in found))
    return torch.stack(squares).sqrt().numpy()


def channels_last(model: nn.Module, x: Tensor, y: Tensor) -> Work:
    """Return the same work on a copy of the network whose channels lie last in memory."""
    copied = copy.deepcopy(model).to(memory_format=torch.channels_last)
    return functools.partial(passes, copied, x.contiguous(memory_format=torch.channels_last), y)


def _losses(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x).double(), y, reduction="none")


def vmapped(model: nn.Module, x: Tensor, y: Tensor, losses: int) -> np.ndarray:
    """Return the same with torch's vmap over the backward pass."""
    parameters = list(model.parameters())
    all_losses = _losses(model, x, y)
    squares = []
    for chunk in torch.eye(len(x), dtype=all_losses.dtype)[:losses].split(TOGETHER):
        found = vmap(lambda v: torch.autograd.grad(all_losses, parameters, v, retain_graph=True))(
            chunk
        )
        squares.append(sum(g.flatten(1).double().square().sum(1) for g in found))
    return torch.cat(squares).sqrt().numpy()


def by_layer(model: nn.Module, x: Tensor, y: Tensor, losses: int) -> np.ndarray:
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
    all_losses = _losses(model, start, y)
    for hook in hooks:
        hook.remove()
    seen = {layer: _seen(layer, inputs[layer]) for layer in layers}
    ends = [outputs[layer] for layer in layers]
    squares = []
    for chunk in torch.eye(len(x), dtype=all_losses.dtype)[:losses].split(TOGETHER):
        found = vmap(lambda v: torch.autograd.grad(all_losses, ends, v, retain_graph=True))(chunk)
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


def of_network(arch: str, batch: int, losses: int, repeats: int) -> Iterator[dict]:
    """Return a line for each candidate. What they find is compared with passes in float64."""
    model, x, y = problem(arch, "batch", batch)
    model.train()
    ways = {
        "vmap over backward": functools.partial(vmapped, model, x, y),
        "a product a layer": functools.partial(by_layer, model, x, y),
        "channels last": channels_last(model, x, y),
    }
    if arch == "lenet":
        ways["in two parts"] = functools.partial(in_parts, model, x, y)
    works = {way: functools.partial(call, losses) for way, call in ways.items()}
    works["passes"] = functools.partial(passes, model, x, y, losses)
    seconds, found = measure.side_by_side(works, repeats)
    wanted = passes(copy.deepcopy(model).double(), x.double(), y, losses)
    operations = measure.operations(works["passes"])
    least = operations / measure.product_rate()
    for way in ways:
        yield measure.compared(
            f"batch-mode norms, {name(arch)}, B = {batch}, {way}",
            "B backward passes, as gradnorm does them",
            seconds[way], seconds["passes"], target=2, losses=losses,
            error=measure.relative(found[way], wanted), tolerance=1e-5,
            error_there=measure.relative(found["passes"], wanted),
            limit="passes", of_limit=least / min(seconds[way]),
            possible=min(seconds["passes"]) / least,
        )  # fmt: skip


def run(batch: int = BATCH, repeats: int = measure.REPEATS) -> Iterator[dict]:
    """Return the lines of both networks."""
    torch.set_num_threads(1)
    for arch, losses in LOSSES.items():
        yield from of_network(arch, batch, min(losses, batch), repeats)
