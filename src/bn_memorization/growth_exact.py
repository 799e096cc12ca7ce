"""A sample's own margin growth through batch statistics, measured on torch layers in float64.

Linear(d, 1) -> BatchNorm1d(1) in train mode -> Linear(1, 1) on a batch of m samples, with the
logistic loss softplus(-phi) of sample i alone: its gradient flows through mean and variance. Of
`theory_exact` only the derived formula is used, to predict.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from bn_memorization.errors import BadInput
from bn_memorization.theory_exact import exact_formula

RATES = (0.1, 0.01, 0.001, 0.0001)


@dataclass(frozen=True, eq=False)
class BatchCase:
    """A batch and one channel: `x` float64 of shape [m, d], `w` of shape [d], the rest scalars.

    `i` is the row of the sample that takes the step, `t` (-1 or +1) its label, eps as in torch.
    Raises BadInput if the shapes do not fit, i is no row or t no label, or for fewer than 2 rows.
    """

    x: np.ndarray
    w: np.ndarray
    i: int
    gamma: float
    beta: float
    a: float
    b: float
    t: int
    eta: float
    eps: float = 1e-5

    def __post_init__(self):
        if np.ndim(self.x) != 2 or np.shape(self.x)[1:] != np.shape(self.w):
            shapes = f"{np.shape(self.x)} and {np.shape(self.w)}"
            raise BadInput(f"x and w have shapes {shapes}; give x[m, d] and w[d].")
        if self.m < 2:
            raise BadInput(f"A batch of {self.m} has no variance; give at least 2 rows.")
        if not 0 <= self.i < self.m:
            raise BadInput(f"i = {self.i} is no row of the batch; use 0 to {self.m - 1}.")
        if self.t not in (-1, 1):
            raise BadInput(f"t = {self.t} is not a label; use -1 or +1.")

    @property
    def m(self) -> int:
        """The number of terms in the statistics."""
        return len(self.x)

    @property
    def sigma(self) -> float:
        """The standard deviation that BN divides by."""
        return math.sqrt(float((self.x @ self.w).var()) + self.eps)

    @property
    def z(self) -> np.ndarray:
        """The normalized inputs of the batch, [m]."""
        u = self.x @ self.w
        return (u - u.mean()) / self.sigma

    @property
    def margin(self) -> float:
        """The margin of sample i before the step."""
        return float(self.t * (self.a * (self.gamma * self.z[self.i] + self.beta) + self.b))

    @property
    def correction(self) -> float:
        """By what the moving statistics change the growth: |c_i|^2 / |x_i|^2."""
        own = self.x[self.i]
        return float(np.sum(self._left() ** 2) / (own @ own))

    @property
    def room(self) -> float:
        """The sum of the squared weights with which the inputs enter c_i; 1 - (1 + z^2)/m."""
        z = self.z
        return float(1 - (1 + z[self.i] ** 2 * (2 - np.mean(z**2))) / self.m)

    def _left(self) -> np.ndarray:
        """Return c_i, [d]."""
        z = self.z
        # Centered first: the same, as the z_j sum to 0, with fewer digits lost.
        centered = self.x - self.x.mean(0)
        return centered[self.i] - z[self.i] * (z @ centered) / self.m

    def predicted(self) -> float:
        """Return the derived growth, with s = 1/(1 + exp(phi))."""
        slope = 1 / (1 + math.exp(self.margin))
        left_sq = float(np.sum(self._left() ** 2))
        return exact_formula()(self.eta, slope, self.a, self.gamma, self.sigma, left_sq)


def random_batches(n: int, seed: int) -> list[BatchCase]:
    """Draw `n` batches of 4 to 64 samples with 2 to 16 entries, one of them more or less far out.

    Inputs have a mean of their own, as behind a ReLU; sample i stands 1 to 10 times as far from it
    as the others. |gamma/sigma| covers about 0.1 to 10, gamma, a and t take both signs, eta is 0.1
    to 10, and the margin before the step lies between -2 and 2. Raises BadInput unless n >= 1.
    """
    if n < 1:
        raise BadInput(f"cases = {n} is not allowed; ask for at least 1 random case.")
    rng = np.random.default_rng([seed, 2])
    return [_random_batch(rng) for _ in range(n)]


def _random_batch(rng: np.random.Generator) -> BatchCase:
    m, d = round(4 * 16 ** rng.uniform()), int(rng.integers(2, 17))
    x = rng.standard_normal((m, d))
    x[0] *= 10 ** rng.uniform()
    x += rng.standard_normal(d) * rng.uniform(0, 2)
    i = int(rng.integers(m))
    x[[0, i]] = x[[i, 0]]
    gamma_sign, a_sign, t = (int(sign) for sign in rng.choice([-1, 1], size=3))
    case = BatchCase(
        x=x,
        w=rng.standard_normal(d) * 10 ** rng.uniform(-0.5, 0.5) / np.sqrt(d),
        i=i,
        gamma=gamma_sign * float(10 ** rng.uniform(-0.5, 0.5)),
        beta=float(rng.standard_normal()),
        a=a_sign * float(rng.uniform(0.5, 2)),
        b=0.0,
        t=t,
        eta=float(10 ** rng.uniform(-1, 1)),
    )
    return replace(case, b=t * (float(rng.uniform(-2, 2)) - case.margin))


def _margin_of(case: BatchCase) -> tuple[nn.Module, Tensor]:
    """Return the channel as a torch network, and the batch."""
    norm = nn.BatchNorm1d(1, eps=case.eps, track_running_stats=False)
    network = nn.Sequential(nn.Linear(len(case.w), 1, bias=False), norm, nn.Linear(1, 1)).double()
    values = ([case.w], [case.gamma], [case.beta], [[case.a]], [case.b])
    with torch.no_grad():
        for parameter, value in zip(network.parameters(), values, strict=True):
            parameter.copy_(torch.as_tensor(np.array(value)))
    return network, torch.as_tensor(case.x)


def measured_growth(case: BatchCase) -> float:
    """Return the growth to first order in eta: the margin's derivative along the own step.

    The step is eta times the gradient of loss i, and the derivative of the margin along it is
    taken by a second pass of autograd; both go through the batch statistics.
    """
    network, x = _margin_of(case)
    w = network[0].weight

    def phi(weight: Tensor) -> Tensor:
        u = x @ weight.squeeze(0)
        return case.t * network[1:](u[:, None])[case.i, 0]

    (gradient,) = torch.autograd.grad(nn.functional.softplus(-phi(w)), w)
    return float(torch.autograd.functional.jvp(phi, w.detach(), -case.eta * gradient)[1])


def finite_growth(case: BatchCase, rate: float) -> float:
    """Return the growth over `rate` in one SGD step of that rate, the batch's statistics after it.

    For eta small it nears `measured_growth` over eta.
    """
    network, x = _margin_of(case)
    before = case.t * network(x)[case.i, 0]
    nn.functional.softplus(-before).backward()
    torch.optim.SGD([network[0].weight], lr=rate).step()
    with torch.no_grad():
        return float(case.t * network(x)[case.i, 0] - before) / rate


def check_exact(n: int = 100, seed: int = 0) -> pd.DataFrame:
    """Compare the derived growth with autograd on `n` random batches, one row a case.

    Columns: m; z (of sample i); room; correction; predicted; measured; relative_error.
    """
    cases = random_batches(n, seed)
    frame = pd.DataFrame(
        {
            "m": [case.m for case in cases],
            "z": [case.z[case.i] for case in cases],
            "room": [case.room for case in cases],
            "correction": [case.correction for case in cases],
            "predicted": [case.predicted() for case in cases],
            "measured": [measured_growth(case) for case in cases],
        }
    )
    error = (frame.measured - frame.predicted).abs() / frame.measured.abs()
    return frame.assign(relative_error=error)


def finite_steps(n: int = 100, seed: int = 0) -> pd.DataFrame:
    """Return how far real steps are from first order, over `n` random batches, a row a rate.

    Columns: learning rate, and the median and the largest relative difference.
    """
    cases = random_batches(n, seed)
    limits = np.array([measured_growth(case) / case.eta for case in cases])
    rows = []
    for rate in RATES:
        off = np.abs(np.array([finite_growth(case, rate) for case in cases]) / limits - 1)
        rows.append((rate, float(np.median(off)), float(off.max())))
    return pd.DataFrame(rows, columns=["learning rate", "median difference", "largest difference"])
