"""Feedback through gamma: a sample's margin raises gamma, and gamma speeds the margin up.

Simulated from the derived system for one sample and one channel, and measured in trained networks
as the corrupted samples' share of the gradient of gamma, in running mode.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.integrate import solve_ivp
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from bn_memorization.config import SETTING
from bn_memorization.errors import BadInput
from bn_memorization.judging import Evidence, Verdict
from bn_memorization.report import span
from bn_memorization.stats import Gap
from bn_memorization.theory import gamma_flow

TOLERANCE = 1e-9
WHERE = [*SETTING, "moment"]


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


def summary(pulls: pd.DataFrame, noise_rate: float) -> dict[str, float]:
    """Return the pull at all layers of a network together, from the rows of `pull`.

    share: the corrupted samples' part of the strength of the whole pull over `noise_rate`, their
    part of the samples; up_corrupted and up_clean: from -1 (all toward smaller |gamma|) to 1.
    """
    corrupted, clean = pulls.corrupted.sum(), pulls.clean.sum()
    return {
        "share": corrupted / (noise_rate * corrupted + (1 - noise_rate) * clean),
        "up_corrupted": (pulls.corrupted * pulls.up_corrupted).sum() / corrupted,
        "up_clean": (pulls.clean * pulls.up_clean).sum() / clean,
    }


def evidence(frame: pd.DataFrame, of: Callable[[pd.DataFrame], Gap]) -> list[Evidence]:
    """Return `of` the networks of each setting and moment.

    `frame` has a row a network, with the columns of config.SETTING, moment and what `of` reads.
    """
    return [
        Evidence.from_gap(dict(zip(WHERE, key, strict=True)), of(part))
        for key, part in frame.groupby(WHERE, sort=False)
    ]


def answer(share: Verdict, direction: Verdict, special: Verdict, word: str) -> str:
    """Return the chapter's answer, from its verdicts; `word` is the last one's for readers."""
    unit = share.claim.unit
    by_moment: dict[str, list[Evidence]] = {}
    for item in direction.evidence:
        by_moment.setdefault(item.where["moment"], []).append(item)
    moments = ", ".join(
        f"{span(items, direction.claim.unit)} at {moment}" for moment, items in by_moment.items()
    )
    return (
        f"Corrupted samples take {span(share.evidence, unit)} times their share of the gradient of "
        f"γ ({share.word}). Is γ special? Their share of the gradient of γ minus that of the other "
        f"weights is {span(special.evidence, unit)} (γ's is the larger one: {word}). Their net "
        f"pull toward larger |γ|, over its strength, is {moments} ({direction.word})."
    )
