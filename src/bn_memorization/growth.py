"""A sample's own margin growth in one SGD step, measured on torch layers in float64.

Linear(d, 1) -> BatchNorm1d(1) -> Linear(1, 1) with stored statistics, beside its plain twin
Linear(d, 1) -> Linear(1, 1), both with the logistic loss softplus(-phi). Autograd takes the
gradient and torch's SGD the step; of `theory` only the derived formula is used, to predict.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import nn

from bn_memorization.errors import BadInput
from bn_memorization.theory import growth_formula


@dataclass(frozen=True, eq=False)
class Case:
    """One sample and one channel: `x` and `w` float64 of shape [d], the rest scalars.

    `var` is the stored variance, so that sigma = sqrt(var + eps) as in torch; `t` is -1 or +1.
    Raises BadInput if the shapes differ, t is no label or sigma is not real and positive.
    """

    x: np.ndarray
    w: np.ndarray
    gamma: float
    beta: float
    mu: float
    var: float
    a: float
    b: float
    t: int
    eta: float
    eps: float = 1e-5

    def __post_init__(self):
        if np.ndim(self.x) != 1 or np.shape(self.x) != np.shape(self.w):
            shapes = f"{np.shape(self.x)} and {np.shape(self.w)}"
            raise BadInput(f"x and w have shapes {shapes}; give two vectors of one length d.")
        if self.t not in (-1, 1):
            raise BadInput(f"t = {self.t} is not a label; use -1 or +1.")
        if not self.var + self.eps > 0:
            raise BadInput(f"var + eps = {self.var + self.eps} is not allowed; make it positive.")

    @property
    def sigma(self) -> float:
        """The standard deviation that BN divides by."""
        return math.sqrt(self.var + self.eps)

    @property
    def margin(self) -> float:
        """The margin phi = t f before the step."""
        z = (self.w @ self.x - self.mu) / self.sigma
        return float(self.t * (self.a * (self.gamma * z + self.beta) + self.b))

    @property
    def plain_bias(self) -> float:
        """The readout bias that gives the plain twin the same margin, hence the same slope (A3)."""
        return float(self.t * self.margin - self.a * (self.w @ self.x))

    def rescaled(self, c: float) -> "Case":
        """Return the same function of x with w, mu and sigma times `c`, which must be positive.

        Raises BadInput unless c > 0.
        """
        if not c > 0:
            raise BadInput(f"c = {c} is not allowed; a scale is positive.")
        var = (c * self.sigma) ** 2 - self.eps
        return replace(self, w=c * self.w, mu=c * self.mu, var=var)


def random_cases(n: int, seed: int) -> list[Case]:
    """Draw `n` cases whose growth the difference of two float64 margins can show.

    |gamma| and sigma are log-uniform within a factor sqrt(10) of 1, so |gamma/sigma| covers 0.1 to
    10; |x| is 1 to 4, |a| is 0.5 to 2, eta is 0.1 to 10, d is 2 to 16, and gamma, a and t take both
    signs. The readout bias puts the margin before the step between -2 and 2. A tiny input or step,
    or a saturated loss, would drown the growth in the rounding of the margins themselves.
    Raises BadInput unless n >= 1.
    """
    if n < 1:
        raise BadInput(f"cases = {n} is not allowed; ask for at least 1 random case.")
    rng = np.random.default_rng(seed)
    return [_random_case(rng) for _ in range(n)]


def _random_case(rng: np.random.Generator) -> Case:
    d = int(rng.integers(2, 17))
    direction, w = rng.standard_normal(d), rng.standard_normal(d) / np.sqrt(d)
    x = direction / np.linalg.norm(direction) * 4 ** rng.uniform()
    size, sigma = 10 ** rng.uniform(-0.5, 0.5, size=2)
    gamma_sign, a_sign, t = (int(sign) for sign in rng.choice([-1, 1], size=3))
    case = Case(
        x=x,
        w=w,
        gamma=gamma_sign * float(size),
        beta=float(rng.standard_normal()),
        mu=float(w @ x - sigma * rng.uniform(-2, 2)),
        var=float(sigma**2 - Case.eps),
        a=a_sign * float(rng.uniform(0.5, 2)),
        b=0.0,
        t=t,
        eta=float(10 ** rng.uniform(-1, 1)),
    )
    return replace(case, b=t * (float(rng.uniform(-2, 2)) - case.margin))


def predicted_growth(case: Case) -> float:
    """Return the derived growth eta s a^2 (gamma/sigma)^2 |x|^2 with s = 1/(1 + exp(phi))."""
    slope = 1.0 / (1.0 + math.exp(case.margin))
    norm_sq = float(case.x @ case.x)
    return growth_formula()(case.eta, slope, case.a, case.gamma, case.sigma, norm_sq)


def measured_growth(case: Case) -> float:
    """Return the growth with BN, its statistics stored and fixed, by autograd and one SGD step."""
    network = nn.Sequential(_linear(case.w), _batchnorm(case), _linear([case.a], case.b))
    return _grow(network, case)


def measured_growth_plain(case: Case) -> float:
    """Return the growth of the plain twin, which starts from the same w and the same margin."""
    network = nn.Sequential(_linear(case.w), _linear([case.a], case.plain_bias))
    return _grow(network, case)


def check_against_autograd(
    n: int = 100, seed: int = 0, predict: Callable[[Case], float] = predicted_growth
) -> pd.DataFrame:
    """Compare `predict` with torch on `n` random cases, one row a case.

    Columns, all float64: gamma_over_sigma; factor (its square); predicted; measured;
    relative_error = |measured - predicted| / |measured|, with no floor and no absolute part, which
    the ranges of `random_cases` allow; plain (growth of the plain twin); ratio (measured / plain).
    Raises BadInput unless n >= 1.
    """
    cases = random_cases(n, seed)
    frame = pd.DataFrame(
        {
            "gamma_over_sigma": [case.gamma / case.sigma for case in cases],
            "predicted": [predict(case) for case in cases],
            "measured": [measured_growth(case) for case in cases],
            "plain": [measured_growth_plain(case) for case in cases],
        }
    )
    return frame.assign(
        factor=frame.gamma_over_sigma**2,
        ratio=frame.measured / frame.plain,
        relative_error=(frame.measured - frame.predicted).abs() / frame.measured.abs(),
    )


def _linear(weight, bias: float | None = None) -> nn.Linear:
    # skip_init: all values are set below, and torch's own random numbers stay untouched
    layer = nn.utils.skip_init(nn.Linear, len(weight), 1, bias is not None, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weight, dtype=torch.float64)[None, :])  # [1, d]
        if bias is not None:
            layer.bias.fill_(bias)
    return layer


def _batchnorm(case: Case) -> nn.BatchNorm1d:
    layer = nn.BatchNorm1d(1, eps=case.eps, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.fill_(case.gamma)
        layer.bias.fill_(case.beta)
        layer.running_mean.fill_(case.mu)
        layer.running_var.fill_(case.var)
    return layer.eval()  # eval: the stored statistics are used, and stay (A1)


def _grow(network: nn.Sequential, case: Case) -> float:
    x = torch.as_tensor(case.x, dtype=torch.float64)[None, :]  # [1, d]: this sample alone (A4)
    before = case.t * network(x).squeeze()
    nn.functional.softplus(-before).backward()
    torch.optim.SGD([network[0].weight], lr=case.eta).step()  # only w moves (A2)
    with torch.no_grad():
        return float(case.t * network(x).squeeze() - before)
