"""Per-sample gradient norms of any network, by the fast way where its layers allow it."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bn_memorization.errors import BadInput
from bn_memorization.gradnorm import per_sample_norms

CHECKED = 3  # samples whose norms are found both ways before the fast way is believed


def norms(model: nn.Module, x: Tensor, y: Tensor) -> tuple[np.ndarray, bool]:
    """Return (norm float64[N], fast): each sample's cross-entropy gradient over all parameters.

    Running mode, so that a sample's gradient is its own. `fast` says that one pass gave those of
    many samples. Where a layer has no rule in `gradnorm.LAYERS`, or where the fast way misses a
    part (weights used outside their layer, frozen ones), they come from one pass a sample. The
    model's modes, buffers and gradients stay as they were.
    """
    known = one_by_one(model, x[:CHECKED], y[:CHECKED])
    try:
        found = per_sample_norms(model, x, y, bn_mode="running")
    except BadInput:
        return one_by_one(model, x, y), False
    if np.allclose(found[:CHECKED], known, rtol=1e-3, atol=0):
        return found, True
    return one_by_one(model, x, y), False


def one_by_one(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the same norms from one backward pass a sample, float64[N], for any layers."""
    modes = [(module, module.training) for module in model.modules()]
    parameters = [p for p in model.parameters() if p.requires_grad]
    model.eval()
    try:
        with torch.enable_grad():
            return np.array([_norm(model, parameters, *one) for one in zip(x, y, strict=True)])
    finally:
        for module, mode in modes:
            module.training = mode


def _norm(model: nn.Module, parameters: list[Tensor], x: Tensor, y: Tensor) -> float:
    # As in gradnorm: the gradient of a well fitted sample needs the digits of float64.
    loss = F.cross_entropy(model(x[None]).cpu().double(), y[None].cpu())
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    squares = [g.double().square().sum() for g in found if g is not None]
    return float(torch.stack(squares).sum().sqrt())
