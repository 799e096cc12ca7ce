"""What rescaling the weights before BN does to gamma/sigma and to a step, line by line.

The channel is that of `theory`: u = w . x, z = (u - mu)/sigma, y = gamma z + beta, readout a y + b.
Multiply w by c > 0. That mu and sigma are multiplied by c follows from their definitions, here for
a batch of BATCH inputs of any dimension d, with eps left aside. So z and all outputs stay, and
gamma/sigma is divided by c. rho = gamma |w| / sigma stays. As sigma / |w| is the spread of the
input along the direction of w alone, rho is what gamma/sigma would be with |w| = 1. With
gamma/sigma = rho / |w| the growth of a sample's own margin at fixed statistics, that of `theory`,
falls into a factor of the function, rho^2, and one of the step, eta / |w|^2: the effective
learning rate.
"""

from collections.abc import Sequence
from functools import lru_cache

import sympy as sp

from bn_memorization.theory import Step, derive_fixed

BATCH = 3  # inputs in the batch whose statistics are written out
ASIDE = r"$\varepsilon$ is left aside"
FIXED = r"At fixed statistics: $\mu$ and $\sigma$ do not move in the step"

_c, _k = sp.symbols("c k", positive=True)
_size = sp.Symbol(r"\lVert w \rVert", positive=True)
_size_c = sp.Symbol(r"\lVert c w \rVert", positive=True)
_mu_c = sp.Symbol(r"\mu(c w)", real=True)
_sigma_c = sp.Symbol(r"\sigma(c w)", positive=True)
_gamma, _rho, _mu, _a = sp.symbols("gamma rho mu a", real=True)
_sigma, _eta = sp.Symbol("sigma", positive=True), sp.Symbol("eta", real=True)
_j, _l = sp.symbols("j l", integer=True)
_d = sp.Symbol("d", integer=True, positive=True)
_w, _x = sp.IndexedBase("w", real=True), sp.IndexedBase("x", real=True)
_us = sp.symbols(f"u_1:{BATCH + 1}", real=True)
_us_c = [sp.Symbol(rf"u_{{{i}}}(c w)", real=True) for i in range(1, BATCH + 1)]


def _mean(of: Sequence[sp.Expr]) -> sp.Expr:
    return sp.Mul(sp.Rational(1, BATCH), sp.Add(*of), evaluate=False)


def _deviation(us: Sequence[sp.Expr], mu: sp.Expr) -> sp.Expr:
    return sp.sqrt(_mean([(u - mu) ** 2 for u in us]))


def _norm(factor: sp.Expr) -> sp.Expr:
    return sp.sqrt(sp.Sum((factor * _w[_l]) ** 2, (_l, 1, _d)))


def _statistics() -> tuple[tuple[Step, ...], dict[sp.Expr, sp.Expr]]:
    """Return the lines on what c does to u, mu and sigma, and their results by symbol.

    Each line uses the results of those before.
    """
    u = sp.Sum(_w[_l] * _x[_j, _l], (_l, 1, _d))
    u_c = sp.Sum(_c * _w[_l] * _x[_j, _l], (_l, 1, _d))
    terms = Step("the pre-activation of input j scales", "u_j(c w)", u_c, _c * u)
    scaled = {new: terms.rhs.subs(u, old) for new, old in zip(_us_c, _us, strict=True)}
    of_mean = scaled | {_mu: _mean(_us)}
    mean = Step("its batch mean scales", _mu_c.name, _mean(_us_c), _c * _mu, None, of_mean)
    wide = _deviation(_us_c, _mu_c)
    of_sigma = scaled | {_mu_c: mean.rhs, _sigma: _deviation(_us, _mu)}
    spread = Step("sigma scales", _sigma_c.name, wide, _c * _sigma, ASIDE, of_sigma)
    return (terms, mean, spread), scaled | {_mu_c: mean.rhs, _sigma_c: spread.rhs}


@lru_cache(maxsize=1)
def derive_invariant() -> tuple[Step, ...]:
    """Derive what a rescaling by c leaves and what it moves; each line is asserted.

    Lines 4 to 6 take mu and sigma of c w from lines 2 and 3. The last line rescales gamma by k and
    the readout by 1/k, which changes no output either: the growth stays, rho does not. Raises
    Failure if a line is not an identity. Source: derived here; that scale-invariant weights have
    the effective rate eta / |w|^2 is known (van Laarhoven, 2017, arXiv:1706.05350).
    """
    whole = sp.UnevaluatedExpr
    statistics, moved = _statistics()
    ratio = whole(_gamma / _sigma)
    growth = next(step for step in derive_fixed() if step.name == "BN: own margin growth").rhs
    rescaled = growth.subs(_sigma, moved[_sigma_c])
    split = growth.subs(ratio, _rho / _size).subs(_eta, 1) * _size**2 * whole(_eta / _size**2)
    traded = growth.subs({_gamma: _k * _gamma, _a: _a / _k}, simultaneous=True)
    return (
        *statistics,
        Step("z stays", "z_1(c w)", (_us_c[0] - _mu_c) / _sigma_c, (_us[0] - _mu) / _sigma, None,
             moved),
        Step("gamma/sigma does not", r"(\gamma / \sigma)(c w)", _gamma / _sigma_c, ratio / _c,
             None, moved),
        Step("rho stays", r"\rho(c w)", _gamma * _size_c / _sigma_c, _gamma * _size / _sigma, None,
             moved | {_size_c: _norm(_c), _size: _norm(1)}),
        Step("growth in two factors", r"\Delta\varphi", growth, split, FIXED,
             {_rho: _gamma * _size / _sigma}),
        Step("the same rate, another step", r"\Delta\varphi(c w;\, \eta)", rescaled,
             growth / _c**2),
        Step("the rate times c squared, the same step", r"\Delta\varphi(c w;\, c^2 \eta)",
             rescaled.subs(_eta, _c**2 * _eta), growth),
        Step("gamma traded for the readout", r"\Delta\varphi(k \gamma,\, a / k)", traded, growth),
    )  # fmt: skip
