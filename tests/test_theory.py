from dataclasses import replace

import pytest
import sympy as sp

from bn_memorization import theory
from bn_memorization.errors import Failure


@pytest.fixture(scope="module")
def steps():
    return {step.name: step for step in theory.derive_fixed()}


def loss_after_chain(gamma, sigma, mu, beta, a, b, t, x, w):
    """The logistic loss of one sample, written out anew with plain sympy for d = 2."""
    u = w[0] * x[0] + w[1] * x[1]
    return sp.log(1 + sp.exp(-t * (a * (gamma * (u - mu) / sigma + beta) + b)))


def test_the_lines_lead_from_the_weights_to_the_ratio(steps):
    assert list(steps) == [
        "pre-activation against a weight",
        "margin against pre-activation",
        "margin is affine",
        "BN: SGD step",
        "BN: pre-activation moves",
        "BN: own margin growth",
        "plain: SGD step",
        "plain: pre-activation moves",
        "plain: own margin growth",
        "ratio",
    ]


def test_results_are_the_known_ones(steps):
    eta, s, a, t, gamma = sp.symbols("eta s a t gamma", real=True)
    sigma = sp.Symbol("sigma", positive=True)
    i, d = sp.Symbol("i", integer=True), sp.Symbol("d", integer=True, positive=True)
    k = sp.Symbol("k", integer=True, positive=True)
    x = sp.IndexedBase("x", real=True)
    norm_sq = sp.Sum(x[i] ** 2, (i, 1, d))
    known = {
        "BN: SGD step": eta * s * t * a * (gamma / sigma) * x[k],
        "BN: own margin growth": eta * s * a**2 * (gamma / sigma) ** 2 * norm_sq,
        "plain: own margin growth": eta * s * a**2 * norm_sq,
        "ratio": (gamma / sigma) ** 2,
    }
    for name, result in known.items():
        assert sp.simplify(steps[name].rhs.doit() - result) == 0, name


def test_sgd_step_agrees_with_a_loss_written_out_for_two_inputs(steps):
    """Hand-written components and a concrete loss, instead of sums and a symbol for the loss."""
    numbers = {"gamma": 3, "sigma": 2, "mu": 1, "beta": 5, "a": 7, "b": -70}
    w, x, (x1, x2) = sp.symbols("w1 w2"), sp.symbols("x1 x2"), (2, -3)
    at = {w[0]: sp.Rational(1, 2), w[1]: sp.Rational(1, 3), x[0]: x1, x[1]: x2}
    for t in (-1, 1):
        loss = loss_after_chain(**numbers, t=t, x=x, w=w)
        margin = t * (7 * (sp.Rational(3, 2) * (1 - 1 - 1) + 5) - 70)  # u = 1/2*2 - 1/3*3 = 0
        slope = 1 / (1 + sp.exp(margin))
        for wk, xk in zip(w, (x1, x2), strict=True):
            step = -sp.Rational(1, 10) * loss.diff(wk).subs(at)
            formula = steps["BN: SGD step"].rhs.doit()
            values = dict(zip(("eta", "s", "t", "a", "gamma", "sigma"),
                              (sp.Rational(1, 10), slope, t, 7, 3, 2), strict=True))  # fmt: skip
            names = {symbol.name: symbol for symbol in formula.free_symbols}
            x_k = next(iter(formula.atoms(sp.Indexed)))
            predicted = formula.subs({names[n]: value for n, value in values.items()} | {x_k: xk})
            assert sp.simplify(step - predicted) == 0


def test_each_line_states_something_and_prints_both_sides(steps):
    for step in steps.values():
        assert isinstance(step.statement, sp.Eq), step.name
        assert step.statement.args == (step.lhs, step.rhs)
        assert sp.latex(step.rhs, order="rev-lex") in step.latex
        assert step.notation in step.latex
        assert step.latex in step.markdown


def test_each_assumption_enters_at_one_line(steps):
    entered = [step.assumption for step in steps.values() if step.assumption]
    assert sorted(entered) == [f"{key}: {text}" for key, text in theory.ASSUMPTIONS.items()]
    assert steps["margin against pre-activation"].assumption.startswith("A1")
    assert steps["BN: SGD step"].assumption.startswith("A4")
    assert steps["BN: own margin growth"].assumption.startswith("A2")
    assert steps["ratio"].assumption.startswith("A3")


@pytest.mark.parametrize(
    "name", [step.name for step in theory.derive_fixed() if step.name != "margin is affine"]
)
def test_a_line_with_a_wrong_factor_cannot_be_made(steps, name):
    step = steps[name]
    with pytest.raises(Failure, match="not an identity"):
        theory.Step(name, step.notation, step.lhs, 2 * step.rhs, definitions=step.definitions)


def test_a_line_that_holds_for_one_label_only_cannot_be_made():
    t = sp.Symbol("t", real=True)
    theory.Step("square", "t^2", t**2, sp.S.One)
    with pytest.raises(Failure, match=r"'cube' is not an identity: at t = -1 .* differ by -2"):
        theory.Step("cube", "t^3", t**3, sp.S.One)


def test_growth_formula_by_hand():
    # eta s a^2 (gamma/sigma)^2 |x|^2 = 0.1 * 0.5 * 4 * 4 * 25
    assert theory.growth_formula()(0.1, 0.5, 2.0, 4.0, 2.0, 25.0) == pytest.approx(20.0, rel=1e-15)


def test_gamma_dynamics_are_proved_lines():
    steps = {step.name: step for step in theory.gamma_dynamics()}
    assert list(steps) == [
        "gradient of gamma",
        "gamma moves",
        "z moves",
        "margin grows",
        "conserved",
    ]
    assert steps["conserved"].rhs == 0
    # Differentiated anew, with numbers: the descent direction is the negative gradient.
    values = {"s": 0.25, "t": -1, "a": 2, "gamma": 3, "z": 0.5}
    for name, sign in (("gradient of gamma", -1), ("gamma moves", 1)):
        rhs = steps[name].rhs
        found = rhs.subs({symbol: values[symbol.name] for symbol in rhs.free_symbols})
        assert float(found) == sign * 0.25 * -1 * 2 * 0.5


@pytest.mark.parametrize("factor", [2, -1])
def test_a_wrong_line_of_the_dynamics_cannot_be_made(factor):
    line = theory.gamma_dynamics()[3]
    with pytest.raises(Failure, match="is not an identity"):
        replace(line, rhs=factor * line.rhs)


def test_gamma_flow_evaluates_the_proved_rates():
    rate_of_gamma, rate_of_z = theory.gamma_flow()
    # s = 1/4, t = -1, a = 2, gamma = 3, z = 1/2, sigma = 2, |x|^2 = 8
    assert rate_of_gamma(0.25, -1, 2, 3, 0.5, 2, 8) == 0.25 * -1 * 2 * 0.5
    assert rate_of_z(0.25, -1, 2, 3, 0.5, 2, 8) == 0.25 * -1 * 2 * 3 / 4 * 8
