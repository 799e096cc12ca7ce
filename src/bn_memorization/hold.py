"""Weights before BN held at their norms, so that a learning rate means the same all through a run.

Scaling such weights by c changes no output and divides the turn that a step gives them by c^2. So
whatever lets them grow, as a penalty on gamma/sigma does, also lowers the effective learning rate.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from bn_memorization.errors import BadInput
from bn_memorization.ratios import fed_by_weights


def weight_holder(model: nn.Module) -> Callable[[], None]:
    """Return a function that scales the weights before each BN layer back to their norm as of now.

    Where a linear or convolutional layer feeds a BN layer and nothing else, the weights [C, ...] of
    each channel keep their l2 norm; bias, running mean and running variance follow, so that z and
    all outputs stay what they were but for eps. Call it after every step. Raises BadInput when no
    BN layer directly follows such a layer.
    """
    pairs = list(fed_by_weights(model))
    if not pairs:
        raise BadInput(
            "No batch normalization directly follows a linear or convolutional layer: no weights "
            "to hold. Use norm=batch, or hold_weights=False."
        )
    started = [_norms(before) for before, _ in pairs]

    @torch.no_grad()
    def hold() -> None:
        for (before, layer), norms in zip(pairs, started, strict=True):
            scale = norms / _norms(before)
            before.weight.mul_(scale.view(-1, *[1] * (before.weight.ndim - 1)))
            if before.bias is not None:
                before.bias.mul_(scale)
            layer.running_mean.mul_(scale)
            layer.running_var.mul_(scale.square())

    return hold


def _norms(layer: nn.Module) -> Tensor:
    return layer.weight.detach().flatten(1).norm(dim=1)
