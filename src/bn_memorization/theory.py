"""Why gamma/sigma enters a sample's own margin growth squared: the derivation, line by line.

One channel and a linear classifier: u = w . x, z = (u - mu)/sigma, y = gamma z + beta,
f = a y + b, label t in {-1, +1}, margin phi = t f, loss ell(phi) with slope s = -ell'(phi). The
plain twin has f = a u + b. With mu and sigma fixed, one SGD step on w raises the sample's own
margin (gamma/sigma)^2 times as much with BN as without. Proved for any input dimension d and any
differentiable loss; `growth` measures the same on torch layers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import sympy as sp

from bn_memorization.errors import Failure

ASSUMPTIONS = {
    "A1": r"$\mu$ and $\sigma$ are fixed numbers: they do not move with $w$",
    "A2": r"only $w$ moves in the step: $\gamma$, $\beta$, $a$ and $b$ stay",
    "A3": "both arms have the same readout $a$ and the same loss slope $s$",
    "A4": "the step is taken on this sample alone (in a batch: its own contribution)",
}

_i = sp.Symbol("i", integer=True)
_k, _d = sp.symbols("k d", integer=True, positive=True)
_w, _x = sp.IndexedBase("w", real=True), sp.IndexedBase("x", real=True)
_u, _mu, _beta, _gamma = sp.symbols("u mu beta gamma", real=True)
_a, _b, _t, _eta, _s = sp.symbols("a b t eta s", real=True)
_sigma = sp.Symbol("sigma", positive=True)
_preactivation = sp.Sum(_w[_i] * _x[_i], (_i, 1, _d))
_norm_sq = sp.Sum(_x[_i] ** 2, (_i, 1, _d))
_ratio = sp.UnevaluatedExpr(_gamma / _sigma)  # kept together, so that formulas show gamma/sigma


@dataclass(frozen=True)
class Step:
    """One line of a derivation; a line that is not an identity cannot be made.

    `notation` is LaTeX for the quantity on the left, `lhs` its definition, `rhs` the result,
    `assumption` the text of the assumption that enters at this line (None: none does), and
    `definitions` says what the short symbols in `lhs` and `rhs` stand for.

    Raises Failure if lhs - rhs does not simplify to 0 for both labels t = -1 and t = +1.
    """

    name: str
    notation: str
    lhs: sp.Expr
    rhs: sp.Expr
    assumption: str | None = None
    definitions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)

    def __post_init__(self):
        difference = (self.lhs.subs(self.definitions) - self.rhs.subs(self.definitions)).doit()
        # d = k + r with r >= 0 says 1 <= k <= d, so that sympy can pick the k-th term of a sum.
        any_d = _k + sp.Symbol("r", integer=True, nonnegative=True)
        for label in (-1, 1):
            left_over = sp.simplify(difference.subs({_d: any_d, _t: label}))
            if left_over != 0:
                raise Failure(
                    f"Derivation line {self.name!r} is not an identity: at t = {label} its sides "
                    f"differ by {left_over}. Correct the line."
                )

    @property
    def statement(self) -> sp.Eq:
        """The line as a sympy equation, left unevaluated."""
        return sp.Eq(self.lhs, self.rhs, evaluate=False)

    @property
    def latex(self) -> str:
        """The line as LaTeX: notation = definition = result, as sympy prints what it proved."""
        lhs, rhs = (sp.latex(side, order="rev-lex") for side in (self.lhs, self.rhs))
        return rf"\begin{{aligned}} {self.notation} &= {lhs} \\ &= {rhs} \end{{aligned}}"

    @property
    def markdown(self) -> str:
        """The line for a page: its name, the assumption that enters, the formula."""
        enters = f" *{self.assumption}.*" if self.assumption else ""
        title = self.name[0].upper() + self.name[1:]
        return f"**{title}.**{enters}\n\n$$\n{self.latex}\n$$"


def _assumption(key: str) -> str:
    return f"{key}: {ASSUMPTIONS[key]}"


def _margin_bn(u: sp.Expr) -> sp.Expr:
    return _t * (_a * (_gamma * (u - _mu) / _sigma + _beta) + _b)


def _margin_plain(u: sp.Expr) -> sp.Expr:
    return _t * (_a * u + _b)


def _opening() -> list[Step]:
    """List the lines on how the margin depends on u, and u on the weights."""
    of_u = _margin_bn(_u)
    du, dphi, d2phi = (
        r"\frac{\partial u}{\partial w_k}",
        r"\frac{\partial \varphi}{\partial u}",
        r"\frac{\partial^2 \varphi}{\partial u^2}",
    )
    slope = _t * _a * _ratio
    return [
        Step("pre-activation against a weight", du, sp.Derivative(_preactivation, _w[_k]), _x[_k]),
        Step(
            "margin against pre-activation", dphi, sp.Derivative(of_u, _u), slope, _assumption("A1")
        ),
        Step("margin is affine", d2phi, sp.Derivative(of_u, (_u, 2)), sp.S.Zero),
    ]


def _growth(
    arm: str, margin: Callable, factor: sp.Expr, assumptions: tuple[str | None, str | None]
) -> list[Step]:
    """List the lines from the loss to the margin growth; dphi/du is t a `factor`."""
    at, loss = sp.Symbol("varphi"), sp.Function("ell")
    slope = -sp.Subs(sp.Derivative(loss(at), at), at, margin(_preactivation))
    rate = _eta * _s * _a * _t * factor  # w_k moves by rate * x_k
    step = -_eta * sp.Derivative(loss(margin(_preactivation)), _w[_k])
    after = sp.Sum((_w[_i] + rate * _x[_i]) * _x[_i], (_i, 1, _d))
    move = sp.Symbol(rf"\Delta u_{{\mathrm{{{arm}}}}}", real=True)
    grown = sp.Symbol(rf"\Delta \varphi_{{\mathrm{{{arm}}}}}", real=True)
    growth = _eta * _s * _a**2 * factor**2 * _norm_sq
    return [
        Step(f"{arm}: SGD step", rf"\Delta w_{{k,\mathrm{{{arm}}}}}", step, rate * _x[_k],
             assumptions[0], {_s: slope}),
        Step(f"{arm}: pre-activation moves", move.name, after - _preactivation, rate * _norm_sq),
        Step(f"{arm}: own margin growth", grown.name, margin(_u + move) - margin(_u), growth,
             assumptions[1], {move: rate * _norm_sq}),
    ]  # fmt: skip


@lru_cache(maxsize=1)
def derive_fixed() -> tuple[Step, ...]:
    """Derive the (gamma/sigma)^2 factor with fixed statistics; each line is asserted.

    Differentiated from the definitions in the module's docstring, for symbolic d and ell. An
    assumption holds from the line where it enters to the end.
    Raises Failure if a line is not an identity. Source: the paper's claim on margin growth
    (arXiv:2605.24420), derived here anew.
    """
    bn = _growth("BN", _margin_bn, _ratio, (_assumption("A4"), _assumption("A2")))
    plain = _growth("plain", _margin_plain, sp.S.One, (None, None))
    grown = {sp.Symbol(arm[-1].notation, real=True): arm[-1].rhs for arm in (bn, plain)}
    with_bn, without = grown
    notation = r"\frac{\text{growth with BN}}{\text{growth without}}"
    closing = Step(
        "ratio", notation, with_bn / without, _ratio**2, _assumption("A3"), definitions=grown
    )
    return (*_opening(), *bn, *plain, closing)


@lru_cache(maxsize=1)
def growth_formula() -> Callable[..., float]:
    """Return the derived growth as a numeric function of (eta, s, a, gamma, sigma, |x|^2).

    Made from the proved line itself, so that a measurement tests the derivation and not a copy.
    """
    derived = next(step for step in derive_fixed() if step.name == "BN: own margin growth")
    norm_sq = sp.Symbol("n")
    formula = derived.rhs.doit().subs(_norm_sq, norm_sq)
    return sp.lambdify((_eta, _s, _a, _gamma, _sigma, norm_sq), formula, "math")


@lru_cache(maxsize=1)
def gamma_dynamics() -> tuple[Step, ...]:
    """Derive how gamma moves with its sample: the system of gamma and z under gradient flow.

    A dot is the derivative by training time, in which a step of rate eta lasts eta. w and gamma
    move, a, b, beta and the statistics stay (A1, A4). The last line is conserved: gamma^2 grows
    exactly where z^2 does. Raises Failure if a line is not an identity. Source: the paper's claim
    on the feedback through gamma (arXiv:2605.24420), derived here anew.
    """
    z, at, loss = sp.Symbol("z", real=True), sp.Symbol("varphi"), sp.Function("ell")
    margin = _t * (_a * (_gamma * z + _beta) + _b)
    slope = -sp.Subs(sp.Derivative(loss(at), at), at, margin)
    own = {_s: slope}
    moved = next(step for step in derive_fixed() if step.name == "BN: pre-activation moves").rhs
    dot_gamma, dot_z = sp.symbols(r"\dot\gamma \dot{z}", real=True)
    flow = {dot_gamma: _s * _t * _a * z, dot_z: _s * _t * _a * _gamma / _sigma**2 * _norm_sq}
    chain = sp.Derivative(margin, _gamma) * dot_gamma + sp.Derivative(margin, z) * dot_z
    grown = _s * _a**2 * (_ratio**2 * _norm_sq + z**2)
    kept = 2 * _gamma * dot_gamma * _norm_sq / _sigma**2 - 2 * z * dot_z
    return (
        Step("gradient of gamma", r"\frac{\partial \ell}{\partial \gamma}",
             sp.Derivative(loss(margin), _gamma), -_s * _t * _a * z, None, own),
        Step("gamma moves", r"\dot\gamma", -sp.Derivative(loss(margin), _gamma),
             flow[dot_gamma], None, own),
        Step("z moves", r"\dot z", moved / (_eta * _sigma), flow[dot_z]),
        Step("margin grows", r"\dot\varphi", chain, grown, None, flow),
        Step("conserved", r"\frac{\mathrm{d}}{\mathrm{d}\tau}\Big(\frac{\gamma^2}{\sigma^2}"
             r"\lVert x \rVert^2 - z^2\Big)", kept, sp.S.Zero, None, flow),
    )  # fmt: skip


@lru_cache(maxsize=1)
def gamma_flow() -> tuple[Callable[..., float], Callable[..., float]]:
    """Return the derived rates of gamma and of z as functions of (s, t, a, gamma, z, sigma, |x|^2).

    Made from the proved lines themselves.
    """
    steps = {step.name: step for step in gamma_dynamics()}
    norm_sq, z = sp.Symbol("n"), sp.Symbol("z", real=True)
    names = (_s, _t, _a, _gamma, z, _sigma, norm_sq)
    rates = (steps[name].rhs.doit().subs(_norm_sq, norm_sq) for name in ("gamma moves", "z moves"))
    first, second = (sp.lambdify(names, rate, "math") for rate in rates)
    return first, second
