"""What clipping bounds, and what it does not: the sum of gradients when one sample leaves."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bn_memorization import train
from bn_memorization.data import Dataset
from bn_memorization.sample import draw
from bn_memorization.shadows import ShadowConfig

FEW = 12  # samples; each leaves the batch once


def movement(model: nn.Module, x: Tensor, y: Tensor, clip: float) -> np.ndarray:
    """Return how far the sum of clipped gradients moves when each sample leaves, over clip, [N].

    Each sample's gradient is taken in training mode within the batch x[N, ...], y[N], scaled down
    to an l2 norm of at most `clip`, and added up. Where no sample has a part in another's gradient
    the sum loses one clipped gradient, and no entry is above 1: DP-SGD's noise is made for that.
    N must be at least 3, so that the batch that is left has a variance; the model is left as it
    was.
    """
    copy = deepcopy(model).train()
    whole = _clipped_sum(copy, x, y, clip)
    rest = [torch.arange(len(y), device=y.device) != left for left in range(len(y))]
    moved = [(whole - _clipped_sum(copy, x[kept], y[kept], clip)).norm() / clip for kept in rest]
    return torch.stack(moved).double().cpu().numpy()


def _clipped_sum(model: nn.Module, x: Tensor, y: Tensor, clip: float) -> Tensor:
    """Return the sum of all samples' clipped gradients as one vector."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    losses = cross_entropy(model(x), y, reduction="none")
    each = torch.eye(len(losses), device=x.device)  # all backward passes at once
    parts = torch.autograd.grad(losses, parameters, each, is_grads_batched=True)
    gradients = torch.cat([part.flatten(1) for part in parts], dim=1)
    norms = gradients.norm(dim=1, keepdim=True)
    return (gradients * (clip / norms.clamp(min=clip))).sum(dim=0)


def by_norm(
    config: ShadowConfig, data: Dataset, norms: Iterable[str], clip: float
) -> dict[str, np.ndarray]:
    """Return `movement` on the first FEW samples of the pool, by norm, in networks before training.

    The networks are the config's but for their norm.
    """
    cpu = torch.device("cpu")
    drawn = draw(config.pool, data, cpu)
    x, y = drawn.x[:FEW], drawn.y[:FEW]
    recipes = {norm: replace(config, norm=norm).recipe for norm in norms}
    return {
        norm: movement(train.new_model(recipe, data, cpu), x, y, clip)
        for norm, recipe in recipes.items()
    }
