"""A sample's own margin growth when mean and variance are the batch's own: line by line.

The channel of `theory`, with A1 lifted: mu and sigma = sqrt(v + eps) are those of the m terms
u_j = w . x_j of the batch and move with w; sample i is one of them, and the step follows the
gradient of its loss through the statistics. One weight w_k moves by tau, so u_j moves by
tau x_j, with x_j the k-th entry of input j; the lines hold for every k, hence for any dimension.

Batch means are symbols and `mean` multiplies out what is averaged, so the lines hold for any m.
eps is kept. The growth is that to first order in the rate: sigma bends the margin.
"""

from collections.abc import Callable
from functools import lru_cache

import sympy as sp

from bn_memorization.theory import Step

ASSUMPTIONS = {
    "B1": r"$\mu$ and $\sigma$ are those of the batch and move with $w$",
    "B2": "the learning rate is small: growth is to first order in it",
}

_m, _d = sp.symbols("m d", integer=True, positive=True)
_k = sp.Symbol("k", integer=True, positive=True)
_l = sp.Symbol("l", integer=True)
_eps, _sigma = sp.symbols("varepsilon sigma", positive=True)
_beta, _gamma, _a, _b, _t, _eta, _s = sp.symbols("beta gamma a b t eta s", real=True)
_tau = sp.Symbol("tau", real=True)
_ratio = sp.UnevaluatedExpr(_gamma / _sigma)  # kept together, so that formulas show gamma/sigma
# Term j of the batch and sample i: input of the channel, and the entry of x that w_k multiplies.
_uj, _xj, _ui, _xi = sp.symbols("u_j x_j u_i x_i", real=True)
_means = {
    (1, 0): sp.Symbol(r"\overline{u}", real=True),
    (0, 1): sp.Symbol(r"\overline{x}", real=True),
    (2, 0): sp.Symbol(r"\overline{u^2}", real=True),
    (1, 1): sp.Symbol(r"\overline{ux}", real=True),
    (0, 2): sp.Symbol(r"\overline{x^2}", real=True),
}
_x_mean = _means[0, 1]
_zi = sp.Symbol("z_i", real=True)
_zx = sp.Symbol(r"\overline{zx}", real=True)
_zz = sp.Symbol(r"\overline{z^2}", real=True)
_mu_of, _v_of, _sigma_of, _z_of = (sp.Function(name)(_tau) for name in ("mu", "v", "sigma", "z_i"))
_c = _xi - _x_mean - _zi * _zx
_input, _left = sp.IndexedBase("x", real=True), sp.IndexedBase("c", real=True)


def mean(of: sp.Expr) -> sp.Expr:
    """Return the batch mean over j of a polynomial of degree 2 at most in u_j and x_j.

    A mean is linear, so each product of u_j and x_j becomes the symbol of its own mean: true for
    any number of terms. Raises KeyError for a higher degree.
    """
    terms = sp.Poly(of, _uj, _xj).terms()
    return sp.Add(*(factor * (_means[power] if any(power) else 1) for power, factor in terms))


def _moved() -> dict[sp.Expr, sp.Expr]:
    """Return what mu, v, sigma and z_i are after w_k has moved by tau."""
    mu = mean(_uj + _tau * _xj)
    v = mean((_uj + _tau * _xj - mu) ** 2)
    sigma = sp.sqrt(v + _eps)
    return {_mu_of: mu, _v_of: v, _sigma_of: sigma, _z_of: (_ui + _tau * _xi - mu) / sigma}


def _written_out() -> dict[sp.Expr, sp.Expr]:
    """Return every short symbol by its definition, at any tau."""
    moved = _moved()
    of_term = (_uj + _tau * _xj - moved[_mu_of]) / moved[_sigma_of]
    now = {_sigma: moved[_sigma_of], _zi: moved[_z_of]}
    return moved | now | {_zx: mean(of_term * _xj), _zz: mean(of_term**2)}


def _statistics(definitions: dict) -> list[Step]:
    return [
        Step("mean moves", r"\frac{\partial \mu}{\partial w_k}", sp.Derivative(_mu_of, _tau),
             _x_mean, f"B1: {ASSUMPTIONS['B1']}", definitions),
        Step("standard deviation moves", r"\frac{\partial \sigma}{\partial w_k}",
             sp.Derivative(sp.sqrt(_v_of + _eps), _tau), _zx, None, definitions),
        Step("own normalized input moves", r"\frac{\partial z_i}{\partial w_k}",
             sp.Derivative((_ui + _tau * _xi - _mu_of) / _sigma_of, _tau), _c / _sigma, None,
             definitions),
    ]  # fmt: skip


def _growth(definitions: dict) -> list[Step]:
    at, loss = sp.Symbol("varphi"), sp.Function("ell")
    margin = _t * (_a * (_gamma * _z_of + _beta) + _b)
    slope = -sp.Subs(sp.Derivative(loss(at), at), at, margin)
    c_k = sp.Symbol("c_k", real=True)
    # The line before this one, taken at its word: z_i moves by c_k/sigma.
    moves = {_z_of: sp.Symbol("z_0", real=True) + _tau * c_k / _sigma}
    own = moves | {_s: slope.subs(moves)}
    left_sq, input_sq = (sp.Sum(v[_l] ** 2, (_l, 1, _d)) for v in (_left, _input))
    to_margin = _t * _a * _ratio * _left[_l]
    grown = sp.Sum(to_margin * _eta * _s * to_margin, (_l, 1, _d))
    with_bn, without = sp.symbols(r"\Delta\varphi \Delta\varphi_{\mathrm{plain}}", real=True)
    growths = {with_bn: _growth_of(left_sq) * _ratio**2, without: _growth_of(input_sq)}
    return [
        Step("SGD step on the sample's own loss", r"\Delta w_k",
             -_eta * sp.Derivative(loss(margin), _tau), _eta * _s * _t * _a * _ratio * c_k,
             None, own),
        Step("own margin growth", r"\Delta \varphi", grown, growths[with_bn],
             f"B2: {ASSUMPTIONS['B2']}"),
        Step("ratio to the plain step", r"\frac{\text{growth with BN}}{\text{growth without}}",
             with_bn / without, _ratio**2 * left_sq / input_sq, None, growths),
    ]  # fmt: skip


def _growth_of(norm_sq: sp.Expr) -> sp.Expr:
    return _eta * _s * _a**2 * norm_sq


def _limits(definitions: dict) -> list[Step]:
    """List the lines on how large z_i can be and what is left of the step there."""
    now = {symbol: meaning.subs(_tau, 0) for symbol, meaning in definitions.items()}
    mu, v, zu = sp.symbols(r"mu v \overline{zu}", real=True)
    now |= {mu: now[_mu_of], v: now[_v_of], zu: mean((_uj - now[_mu_of]) / now[_sigma] * _uj)}
    others = _m - 1
    spread = sp.Symbol("V_{-i}", real=True)  # the variance of the other z_j; the mean of all is 0
    of_others = {spread: (_m * _zz - _zi**2) / others - (_zi / others) ** 2}
    z = sp.Symbol("z_j", real=True)
    # The weights of the other inputs are -(1 + z_i z_j)/m; sums over j are m times means.
    square = sp.Poly(((1 + _zi * z) / _m) ** 2, z)
    mean_square = sum(f * (1, 0, _zz)[power] for (power,), f in square.terms())
    weights = (1 - (1 + _zi**2) / _m) ** 2 + _m * mean_square - ((1 + _zi**2) / _m) ** 2
    return [
        Step("mean of the squares", r"\overline{z^2}", v / _sigma**2, 1 - _eps / _sigma**2, None,
             now),
        Step("room below the bound", r"(m - 1)\,\overline{z^2} - z_i^2", others * _zz - _zi**2,
             others**2 / _m * spread, None, of_others),
        Step("squared weights of the inputs", r"\sum_j P_{ij}^2", weights,
             1 - (1 + _zi**2 * (2 - _zz)) / _m),
        Step("along the weights", r"w \cdot c_i", _ui - mu - _zi * zu, _zi * _eps / _sigma, None,
             now),
    ]  # fmt: skip


@lru_cache(maxsize=1)
def derive_exact() -> tuple[Step, ...]:
    """Derive the own margin growth with batch statistics that move; each line is asserted.

    With c_i = x_i - mean(x) - z_i mean_j(z_j x_j) it is (gamma/sigma)^2 |c_i|^2 / |x_i|^2 times
    that of the plain step. Then: z_i^2 is at most (m - 1) mean(z^2), reached where the other z_j
    are equal; c_i = sum_j P_ij x_j with P_ij = [i = j] - (1 + z_i z_j)/m, whose squares sum to
    what the last lines say, and to 0 at the bound where eps is 0; and c_i is at right angles to w
    but for eps. Raises Failure if a line is not an identity. Source: derived here; the paper
    (arXiv:2605.24420) keeps the statistics fixed.
    """
    definitions = _written_out()
    return (*_statistics(definitions), *_growth(definitions), *_limits(definitions))


@lru_cache(maxsize=1)
def exact_formula() -> Callable[..., float]:
    """Return the derived growth as a numeric function of (eta, s, a, gamma, sigma, |c_i|^2).

    Made from the proved line itself.
    """
    derived = next(step for step in derive_exact() if step.name == "own margin growth")
    norm_sq = sp.Symbol("n")
    formula = derived.rhs.doit().subs(sp.Sum(_left[_l] ** 2, (_l, 1, _d)), norm_sq)
    return sp.lambdify((_eta, _s, _a, _gamma, _sigma, norm_sq), formula, "math")
