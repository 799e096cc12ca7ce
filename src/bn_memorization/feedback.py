"""Feedback through gamma: a sample's margin raises gamma, and gamma speeds the margin up.

Simulated from the derived system for one sample and one channel, and measured in trained networks
as the corrupted samples' share of the gradient of gamma, in running mode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.integrate import solve_ivp
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.errors import BadInput
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.report import number, span
from bn_memorization.stats import mean_interval
from bn_memorization.theory import gamma_flow

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Start:
    """One channel and its sample before training: the symbols of `theory`, norm_sq = |x|^2."""

    gamma: float = 1.0
    z: float = 0.5
    a: float = 1.0
    t: int = 1
    sigma: float = 1.0
    norm_sq: float = 1.0
    margin: float = -2.0


def simulate(start: Start, times: Sequence[float], gamma_rate: float = 1.0) -> pd.DataFrame:
    """Solve the derived system under gradient flow with the logistic loss; a row a time.

    Columns: time, gamma, z, margin. `gamma_rate` is the learning rate of gamma over that of the
    weights; 0 holds gamma. The offset of the margin (beta and b) follows from start.margin.
    """
    rate_of_gamma, rate_of_z = gamma_flow()
    offset = start.margin - start.t * start.a * start.gamma * start.z

    def margin(gamma: np.ndarray, z: np.ndarray) -> np.ndarray:
        return start.t * start.a * gamma * z + offset

    def rates(_: float, state: np.ndarray) -> list[float]:
        gamma, z = state
        s = 1 / (1 + np.exp(margin(gamma, z)))
        now = (s, start.t, start.a, gamma, z, start.sigma, start.norm_sq)
        return [gamma_rate * rate_of_gamma(*now), rate_of_z(*now)]

    times = np.asarray(times, float)
    solved = solve_ivp(
        rates, (times[0], times[-1]), [start.gamma, start.z], t_eval=times,
        rtol=TOLERANCE, atol=TOLERANCE,
    )  # fmt: skip
    gamma, z = solved.y
    return pd.DataFrame({"time": times, "gamma": gamma, "z": z, "margin": margin(gamma, z)})


def gamma_gradients(model: nn.Module, x: Tensor, y: Tensor) -> list[np.ndarray]:
    """Return d loss_i / d gamma_c of each BN layer, float64[N, C] each, in running mode.

    The model, which must be in eval mode, stays as it is. Raises BadInput for one in train mode
    and for one without affine BN layers.
    """
    if model.training:
        raise BadInput("The model is in train mode; gamma's gradients are taken in eval mode.")
    gammas = {
        f"{name}.weight": layer.weight.detach()
        for name, layer in model.named_modules()
        if isinstance(layer, _BatchNorm) and layer.affine
    }
    if not gammas:
        raise BadInput("The model has no BN layer with gamma. Use norm=batch.")

    def loss(values: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, values, (image[None],)), label[None])

    found = vmap(grad(loss), (None, 0, 0))(gammas, x, y)
    return [found[name].detach().cpu().double().numpy() for name in gammas]


def pull(model: nn.Module, x: Tensor, y: Tensor, is_corrupted: np.ndarray) -> pd.DataFrame:
    """Return how corrupted and clean samples pull at gamma, a row a BN layer.

    With g_ic = d loss_i / d gamma_c: `corrupted` and `clean` are the means over samples of
    sum_c |g_ic|; `up_corrupted` and `up_clean` the means of -sum_c g_ic sign(gamma_c), the part
    that makes |gamma| grow, over those. Columns: layer (1 is nearest to the image) and these.
    """
    gammas = [m.weight for m in model.modules() if isinstance(m, _BatchNorm) and m.affine]
    rows = []
    for layer, (g, gamma) in enumerate(zip(gamma_gradients(model, x, y), gammas, strict=True), 1):
        strength = np.abs(g).sum(1)
        up = -(g * torch.sign(gamma.detach()).cpu().numpy()).sum(1)
        row = {"layer": layer}
        for name, mask in (("corrupted", is_corrupted), ("clean", ~is_corrupted)):
            row[name] = strength[mask].mean()
            row[f"up_{name}"] = up[mask].mean() / row[name]
        rows.append(row)
    return pd.DataFrame(rows)


def summary(pulls: pd.DataFrame, noise_rate: float) -> pd.DataFrame:
    """Return the pull at all layers together, a row a moment and seed.

    `pulls` holds rows of `pull` with the columns moment and seed. Columns: moment, seed; share, the
    corrupted samples' part of the strength of the whole pull over `noise_rate`, their part of the
    samples; up_corrupted and up_clean, from -1 (all toward smaller |gamma|) to 1.
    """
    rows = []
    for (moment, seed), part in pulls.groupby(["moment", "seed"], sort=False):
        corrupted, clean = part.corrupted.sum(), part.clean.sum()
        row = {"moment": moment, "seed": seed}
        row["share"] = corrupted / (noise_rate * corrupted + (1 - noise_rate) * clean)
        row["up_corrupted"] = (part.corrupted * part.up_corrupted).sum() / corrupted
        row["up_clean"] = (part.clean * part.up_clean).sum() / clean
        rows.append(row)
    return pd.DataFrame(rows)


def evidence(summed: pd.DataFrame, column: str, where: Mapping[str, object]) -> list[Evidence]:
    """Return the mean of a column of `summary` over seeds, with its interval, for each moment."""
    return [
        Evidence.from_gap({**where, "moment": moment}, mean_interval(part[column]))
        for moment, part in summed.groupby("moment", sort=False)
    ]


def answer(share: Verdict, direction: Verdict) -> str:
    """Return the feedback's part of the chapter's answer, from its two verdicts."""
    moments = ", ".join(
        f"{number(item.estimate, direction.claim.unit)} at {item.where['moment']}"
        for item in direction.evidence
    )
    return (
        f"Of the gradient of γ flipped samples take {span(share.evidence, share.claim.unit)} times "
        f"their share ({share.word}). Their net pull toward larger |γ|, over its strength, is "
        f"{moments} ({direction.word})."
    )
