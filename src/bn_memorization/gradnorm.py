"""Per-sample gradient norms: how hard one sample pulls at all parameters of a network.

Under batch normalization this is not one quantity. In `running` mode the statistics are stored
numbers, each sample has a loss of its own, and one forward and one backward pass give all norms.
In `batch` mode the statistics are the batch's own: every sample's loss depends on every sample, and
only there do the per-sample gradients add up to the gradient of the batch.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.errors import BadInput, check_choice
from bn_memorization.norms import ChannelAffine, CutBatchNorm1d, CutBatchNorm2d
from bn_memorization.sample import Sample

CHUNK = 32  # samples a pass: the unfolded inputs of more convolutions fill no cache
# Samples a subset that the probe measures: more would outweigh the training. Part of what a run
# returns, as all of the probe is: raise train.VERSION with a change.
PROBED = 100


def per_sample_norms(model: nn.Module, x: Tensor, y: Tensor, *, bn_mode: str) -> np.ndarray:
    """Return the l2 norm over all parameters of each sample's cross-entropy gradient, float64[N].

    Inputs x[N, ...] and int64 labels y[N], on the model's device. `bn_mode` is "running" (eval
    mode: the gradient of a sample is that of a batch of one) or "batch" (train mode: x is one
    batch, see `gradients_in_batch`). The model's modes, buffers, gradients and hooks stay as
    they were.

    Raises BadInput for another mode and for what the mode's function refuses.
    """
    return MODES[check_choice("bn_mode", bn_mode, MODES)](model, x, y)


def _running(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the norms in running mode. Raises BadInput for a layer that is not in LAYERS."""
    layers = _layers(model)
    with _undisturbed(model, training=False):
        parts = zip(x.split(CHUNK), y.split(CHUNK), strict=True)
        squares = [_chunk(model, layers, *part) for part in parts] if len(x) else []
    return np.sqrt(np.concatenate([np.empty(0), *squares]))


def _chunk(model: nn.Module, layers: dict[nn.Module, str], x: Tensor, y: Tensor) -> np.ndarray:
    """Return the squared norms of one chunk, float64[N], summed over layers."""
    squares: list[np.ndarray] = []
    seen = set()

    def watch(layer: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        if layer in seen:
            raise BadInput(
                f"Layer {layers[layer]} is used twice in one pass: its two gradients add up before "
                "the norm is taken, which this fast path cannot do. Use it once."
            )
        seen.add(layer)
        u = inputs[0].detach()
        # A hook of the tensor, because an in-place activation may follow.
        output.register_hook(lambda g: squares.append(LAYERS[type(layer)](layer, u, g)))

    hooks = [layer.register_forward_hook(watch) for layer in layers]
    try:
        x = x.detach().requires_grad_()
        # With the input as the only target no gradient of a weight is computed.
        torch.autograd.grad(_losses(model(x), y).sum(), x)
    finally:
        for hook in hooks:
            hook.remove()
    return np.sum([np.zeros(len(x)), *squares], axis=0)


def _losses(logits: Tensor, y: Tensor) -> Tensor:
    # In float64: the gradient of a well fitted sample is 1 - p, of which float32 keeps few digits.
    return F.cross_entropy(logits.cpu().double(), y.cpu(), reduction="none")


def gradients_in_batch(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of each sample's loss through the whole batch, [N, P].

    Train mode, with x[N, ...] as the one batch: row i is d loss_i / d parameters, with the batch's
    mean and variance differentiated through, so the rows sum to the gradient of the summed loss.
    One backward pass a sample. P counts all parameters, in the model's order. The model stays as
    it was.

    Raises BadInput for fewer than two samples, which have no batch statistics.
    """
    if len(x) < 2:
        raise BadInput(f"bn_mode=batch needs a batch of at least 2 samples, not {len(x)}.")
    parameters = [p for p in model.parameters() if p.requires_grad]
    with _undisturbed(model, training=True):
        rows = [
            torch.autograd.grad(loss, parameters, retain_graph=True, materialize_grads=True)
            for loss in _losses(model(x), y)
        ]
    return torch.stack([torch.cat([g.flatten() for g in row]) for row in rows])


def _batch(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    return np.sqrt(_squares(gradients_in_batch(model, x, y)))


MODES = {"running": _running, "batch": _batch}


@contextmanager
def _undisturbed(model: nn.Module, training: bool) -> Iterator[None]:
    """Put the model into train or eval mode for a block; then give modes and buffers back."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        with torch.enable_grad():
            model.train(training)
            yield
    finally:
        for module, mode in modes:
            module.training = mode
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)


def _layers(model: nn.Module) -> dict[nn.Module, str]:
    """Return {layer: name} of all layers with parameters. Raises BadInput for one not covered."""
    found, owned = {}, set()
    for name, layer in model.named_modules():
        own = list(layer.parameters(recurse=False))
        if not own:
            continue
        shown = f"{name or 'the model'} ({layer})"
        if type(layer) not in LAYERS:
            known = ", ".join(kind.__name__ for kind in LAYERS)
            raise BadInput(
                f"Layer {shown} has parameters and no per-sample rule. Known layers: {known}. Use "
                "bn_mode=batch or add a rule to gradnorm.LAYERS."
            )
        if isinstance(layer, nn.Conv2d) and not _plain_convolution(layer):
            raise BadInput(f"Layer {shown}: only convolutions of one group, padded with zeros.")
        if isinstance(layer, _BatchNorm) and layer.running_var is None:
            raise BadInput(f"Layer {shown} stores no statistics, so it has no running mode.")
        if not owned.isdisjoint(own):
            raise BadInput(f"Layer {shown} shares a parameter with another layer. Give it its own.")
        owned.update(own)
        found[layer] = shown
    return found


def _plain_convolution(layer: nn.Conv2d) -> bool:
    zeros = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    return layer.groups == 1 and zeros


# One rule a kind of layer: (layer, input u[N, ...], gradient of the output g[N, ...]) to the
# squared norm of each sample's gradient over the layer's parameters, float64[N].


def _squares(rows: Tensor) -> np.ndarray:
    """Return the squared norm of each row, float64[N]."""
    norms = torch.linalg.vector_norm(rows.flatten(1), dim=1)
    return norms.cpu().double().square().numpy()


def _linear(layer: nn.Linear, u: Tensor, g: Tensor) -> np.ndarray:
    if u.ndim != 2:
        raise BadInput(f"{layer}: only inputs [N, features], not {list(u.shape)}.")
    # The gradient is the outer product g u^T, whose norm is |g| |u|.
    return _squares(g) * (_squares(u) + (layer.bias is not None))


def _conv(layer: nn.Conv2d, u: Tensor, g: Tensor) -> np.ndarray:
    g = g.flatten(2)  # [N, out, L], with L positions
    total = _squares(g @ patches(layer, u).transpose(1, 2))
    return total if layer.bias is None else total + _squares(g.sum(2))


def patches(layer: nn.Conv2d, u: Tensor) -> Tensor:
    """Return what the kernel sees at each position, [N, in * k * k, L], as F.unfold does.

    A copy through strides: here several times faster than F.unfold.
    """
    top, left = layer.padding
    u = F.pad(u, (left, left, top, top)).contiguous()
    kernel, step, gap = layer.kernel_size, layer.stride, layer.dilation
    size = [(u.shape[2 + i] - gap[i] * (kernel[i] - 1) - 1) // step[i] + 1 for i in (0, 1)]
    n, c, *pixel = u.stride()
    strides = [n, c, *(pixel[i] * gap[i] for i in (0, 1)), *(pixel[i] * step[i] for i in (0, 1))]
    return u.as_strided((*u.shape[:2], *kernel, *size), strides).reshape(
        len(u), -1, math.prod(size)
    )


def _scale_and_shift(z: Tensor, g: Tensor) -> np.ndarray:
    """Return the squares for y = gamma z + beta, both of one value a channel."""
    scale, shift = g * z, g
    if g.ndim > 2:
        scale, shift = scale.flatten(2).sum(2), shift.flatten(2).sum(2)  # over positions
    return _squares(scale) + _squares(shift)


def _batchnorm(layer: _BatchNorm, u: Tensor, g: Tensor) -> np.ndarray:
    z = F.batch_norm(u, layer.running_mean, layer.running_var, eps=layer.eps)
    if not layer.weight.requires_grad:  # gamma is held: only beta is trained
        z = torch.zeros_like(z)
    return _scale_and_shift(z, g)


def _groupnorm(layer: nn.GroupNorm, u: Tensor, g: Tensor) -> np.ndarray:
    return _scale_and_shift(F.group_norm(u, layer.num_groups, eps=layer.eps), g)


def _affine(layer: ChannelAffine, u: Tensor, g: Tensor) -> np.ndarray:
    return _scale_and_shift(u, g)


LAYERS: dict[type[nn.Module], Callable[..., np.ndarray]] = {
    nn.Linear: _linear,
    nn.Conv2d: _conv,
    nn.BatchNorm1d: _batchnorm,
    nn.BatchNorm2d: _batchnorm,
    CutBatchNorm1d: _batchnorm,
    CutBatchNorm2d: _batchnorm,
    nn.GroupNorm: _groupnorm,
    ChannelAffine: _affine,
}


def probe(model: nn.Module, sample: Sample) -> dict[str, np.ndarray]:
    """Return the running-mode norms of the first PROBED corrupted and clean samples.

    {"norm_corrupted": float32[n], "norm_clean": float32[m]}, for `train.fit`.
    """
    return {
        f"norm_{subset}": per_sample_norms(
            model, *(part[:PROBED] for part in sample.subsets[subset]), bn_mode="running"
        ).astype(np.float32)
        for subset in ("corrupted", "clean")
    }
