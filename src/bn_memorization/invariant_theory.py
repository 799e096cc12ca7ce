"""What rescaling the weights before BN does to gamma/sigma and to a step, line by line.

The channel is that of `theory`: u = w . x, z = (u - mu)/sigma, y = gamma z + beta, readout a y + b.
Multiply w by c > 0: mu and sigma are multiplied by c (eps left aside), z and all outputs stay, and
gamma/sigma is divided by c. rho = gamma |w| / sigma stays. As sigma / |w| is the spread of the
input along the direction of w alone, rho is what gamma/sigma would be with |w| = 1. With
gamma/sigma = rho / |w| the growth of a sample's own margin, proved in `theory`, falls into a
factor of the function, rho^2, and one of the step, eta / |w|^2: the effective learning rate.
"""

from functools import lru_cache

import sympy as sp

from bn_memorization.theory import Step, derive_fixed

_c, _k = sp.symbols("c k", positive=True)
_size = sp.Symbol(r"\lVert w \rVert", positive=True)
_size_c = sp.Symbol(r"\lVert c w \rVert", positive=True)
_sigma_c = sp.Symbol(r"\sigma(c w)", positive=True)
_gamma, _rho, _u, _mu, _a = sp.symbols("gamma rho u mu a", real=True)
_sigma, _eta = sp.Symbol("sigma", positive=True), sp.Symbol("eta", real=True)


@lru_cache(maxsize=1)
def derive_invariant() -> tuple[Step, ...]:
    """Derive what a rescaling by c leaves and what it moves; each line is asserted.

    The last line rescales gamma by k and the readout by 1/k, which changes no output either: the
    growth stays, rho does not. Raises Failure if a line is not an identity. Source: derived here;
    that scale-invariant weights have the effective rate eta / |w|^2 is known (van Laarhoven, 2017,
    arXiv:1706.05350).
    """
    whole = sp.UnevaluatedExpr
    ratio = whole(_gamma / _sigma)
    growth = next(step for step in derive_fixed() if step.name == "BN: own margin growth").rhs
    rescaled = growth.subs(_sigma, _c * _sigma)
    split = growth.subs(ratio, _rho / _size).subs(_eta, 1) * _size**2 * whole(_eta / _size**2)
    traded = growth.subs({_gamma: _k * _gamma, _a: _a / _k}, simultaneous=True)
    return (
        Step("z stays", "z(c w)", (_c * _u - _c * _mu) / (_c * _sigma), (_u - _mu) / _sigma),
        Step("gamma/sigma does not", r"\frac{\gamma}{\sigma(c w)}", _gamma / (_c * _sigma),
             ratio / _c),
        Step("rho stays", r"\rho(c w)", _gamma * _size_c / _sigma_c, _gamma * _size / _sigma, None,
             {_size_c: _c * _size, _sigma_c: _c * _sigma}),
        Step("growth in two factors", r"\Delta\varphi", growth, split, None,
             {_rho: _gamma * _size / _sigma}),
        Step("the same rate, another step", r"\Delta\varphi(c w;\, \eta)", rescaled,
             growth / _c**2),
        Step("the rate times c squared, the same step", r"\Delta\varphi(c w;\, c^2 \eta)",
             rescaled.subs(_eta, _c**2 * _eta), growth),
        Step("gamma traded for the readout", r"\Delta\varphi(k \gamma,\, a / k)", traded, growth),
    )  # fmt: skip
