"""rho = |gamma| |w| / sigma: gamma/sigma in a form that no rescaling of the weights moves.

|w| is the l2 norm of the weights before a BN channel. Multiplying them by c multiplies sigma by c
too (but for eps), so that rho stays while gamma/sigma is divided by c. `invariant_theory` derives
this with eps left aside, and what it means for a step at fixed statistics.
"""

import copy
from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bn_memorization.ratios import fed_by_weights, gamma_sigma, rescaled, weight_norms


def rho(model: nn.Module) -> np.ndarray:
    """Return |gamma| |w| / sigma of every BN channel with the running sigma, float64[C].

    In the order of `ratios.gamma_sigma`; NaN where a layer is not fed by one weighted layer alone.
    """
    return gamma_sigma(model).ratio.to_numpy() * weight_norms(model).astype(float)


def moved(model: nn.Module, x: Tensor, y: Tensor, lr: float) -> float:
    """Return how far one SGD step on the weights before BN moves the logits, as root mean square.

    x[N, ...] with labels y[N] is the batch of the step and what the logits are compared on, with
    batch statistics both times. A copy of the model takes the step, in float64; biases, gamma, beta
    and weights that feed no BN layer stay.
    """
    twin, x = copy.deepcopy(model).double().train(), x.double()
    weights = [before.weight for before, _ in fed_by_weights(twin)]
    before = twin(x)
    gradients = torch.autograd.grad(F.cross_entropy(before, y), weights)
    with torch.no_grad():
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.sub_(gradient, alpha=lr)
        return (twin(x) - before).square().mean().sqrt().item()


def steps(
    model: nn.Module, x: Tensor, y: Tensor, lr: float, factors: Sequence[float]
) -> pd.DataFrame:
    """Return what a step does to one function in several parametrizations, a row a factor c.

    The weights before BN are multiplied by c as in `ratios.rescaled`, first with eps scaled along,
    which changes no output, then with eps kept. Columns: eps; c; medians over channels of
    gamma/sigma and rho; how far a step of rate `lr` and one of rate c^2 `lr` move the logits
    (`moved`), each over that of the model as it is. Raises BadInput as `rescaled` does.
    """
    unit = moved(model, x, y, lr)
    rows = []
    for scale_eps, c in product((True, False), factors):
        scaled = rescaled(model, c, scale_eps=scale_eps)
        rows.append(
            {
                "ε": "scaled" if scale_eps else "kept",
                "c": c,
                "median γ/σ": gamma_sigma(scaled).ratio.median(),
                "median γ|w|/σ": float(np.nanmedian(rho(scaled))),
                "a step of rate η": moved(scaled, x, y, lr) / unit,
                "a step of rate c²η": moved(scaled, x, y, c * c * lr) / unit,
            }
        )
    return pd.DataFrame(rows)
