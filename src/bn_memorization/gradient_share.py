"""Is gamma special? The corrupted samples' share of the gradient of other parameters, beside it.

Outliers may take more than their share of every gradient, not of gamma's alone. So the same share
is measured for beta and for all other parameters: strength is the sum of absolute gradients.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from bn_memorization.config import SETTING
from bn_memorization.errors import BadInput
from bn_memorization.ratios import bn_layers
from bn_memorization.report import setting
from bn_memorization.stats import Gap, paired_gap

GAMMA, BETA, OTHER = "gamma", "beta", "all other parameters"
GROUPS = (GAMMA, BETA, OTHER)
CHUNK = 32  # samples at a time: every one has a gradient as large as the network


def groups(model: nn.Module) -> dict[str, list[str]]:
    """Return {group: names of its parameters}: every trained parameter is in one of GROUPS.

    Raises BadInput for a model without BN layers and for one without other parameters.
    """
    layers = bn_layers(model)
    gamma, beta = ([f"{path}.{name}" for path in layers] for name in ("weight", "bias"))
    trained = [name for name, value in model.named_parameters() if value.requires_grad]
    other = [name for name in trained if name not in {*gamma, *beta}]
    if not (layers and other):
        raise BadInput("The model needs BN layers and other weights. Use norm=batch.")
    return {GAMMA: gamma, BETA: beta, OTHER: other}


def strengths(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, np.ndarray]:
    """Return {group: sum of |d loss_i / d parameter| of each sample, float64[N]}, in running mode.

    The model, which must be in eval mode, stays as it is. Raises BadInput for one in train mode
    and as `groups` does.
    """
    if model.training:
        raise BadInput("The model is in train mode; these gradients are taken in eval mode.")
    names = groups(model)
    values = {name: value.detach() for name, value in model.named_parameters()}

    def loss(values: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, values, (image[None],)), label[None])

    def strength(image: Tensor, label: Tensor) -> Tensor:
        found = grad(loss)(values, image, label)
        sums = [sum(found[name].abs().sum() for name in names[group]) for group in GROUPS]
        return torch.stack(sums)

    parts = [
        vmap(strength)(*part).cpu().double()
        for part in zip(x.split(CHUNK), y.split(CHUNK), strict=True)
    ]
    return dict(zip(GROUPS, torch.cat(parts).numpy().T, strict=True))


def shares(strength: Mapping[str, np.ndarray], is_corrupted: np.ndarray, noise_rate: float) -> dict:
    """Return {group: the corrupted samples' part of the strength over `noise_rate`}.

    `strength` is that of `strengths`; means over samples are weighed as in training, where
    `noise_rate` is the corrupted samples' part.
    """
    found = {}
    for group, values in strength.items():
        corrupted, clean = values[is_corrupted].mean(), values[~is_corrupted].mean()
        found[group] = corrupted / (noise_rate * corrupted + (1 - noise_rate) * clean)
    return found


def over_other(frame: pd.DataFrame) -> Gap:
    """Return the share of gamma minus that of all other parameters, paired within networks.

    `frame` has a row a network, with the shares of each group as columns.
    """
    return paired_gap(frame[GAMMA], frame[OTHER])


def table(frame: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the mean share of each group over networks, a row a setting and moment.

    `frame` has the columns of config.SETTING and moment beside the groups.
    """
    rows = []
    for key, part in frame.groupby([*SETTING, "moment"], sort=False):
        where = setting(dict(zip([*SETTING, "moment"], key, strict=True)))
        rows.append((where, *part[list(GROUPS)].mean(), len(part), profile))
    return pd.DataFrame(rows, columns=["setting", *GROUPS, "n", "profile"])
