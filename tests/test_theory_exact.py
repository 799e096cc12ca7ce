from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bn_memorization import theory_exact
from bn_memorization.errors import Failure


@pytest.fixture(scope="module")
def steps():
    return {step.name: step for step in theory_exact.derive_exact()}


def test_the_lines_lead_from_the_statistics_to_the_limits(steps):
    assert list(steps) == [
        "mean moves",
        "standard deviation moves",
        "own normalized input moves",
        "SGD step on the sample's own loss",
        "own margin growth",
        "ratio to the plain step",
        "mean of the squares",
        "room below the bound",
        "squared weights of the inputs",
        "along the weights",
    ]


def test_the_mean_of_a_product_is_the_mean_of_the_products():
    """For three terms with numbers, and by linearity for any."""
    u, x = sp.symbols("u_j x_j", real=True)
    of = 2 * u**2 - 3 * u * x + x - 5
    terms = [(1, 4), (-2, 3), (6, 0)]
    by_hand = sp.Rational(sum(of.subs({u: a, x: b}) for a, b in terms), 3)
    values = {
        r"\overline{u}": sp.Rational(5, 3),
        r"\overline{x}": sp.Rational(7, 3),
        r"\overline{u^2}": sp.Rational(41, 3),
        r"\overline{ux}": sp.Rational(-2, 3),
    }
    found = theory_exact.mean(of)
    assert found.subs({s: values[s.name] for s in found.free_symbols}) == by_hand
    with pytest.raises(KeyError):
        theory_exact.mean(u**3)


def test_three_samples_written_out():
    """No means and no short symbols: a batch of three in two dimensions, differentiated by hand."""
    x = sp.Matrix([[1, 2], [-3, 1], [2, 5]])
    w = sp.Matrix(sp.symbols("w_1 w_2"))
    eps = sp.Rational(1, 10)
    u = x * w
    mu = sum(u) / 3
    sigma = sp.sqrt(sum((value - mu) ** 2 for value in u) / 3 + eps)
    at = {w[0]: sp.Rational(1, 2), w[1]: sp.Rational(-1, 3)}
    z = [((value - mu) / sigma).subs(at) for value in u]
    for k in (0, 1):
        column = list(x[:, k])
        zx = sum(a * b for a, b in zip(z, column, strict=True)) / 3
        c = column[0] - sum(column) / sp.Integer(3) - z[0] * zx
        derivative = sp.diff((u[0] - mu) / sigma, w[k]).subs(at)
        assert sp.simplify(derivative - c / sigma.subs(at)) == 0


def test_results_are_the_known_ones(steps):
    m = sp.Symbol("m", integer=True, positive=True)
    z = sp.Symbol("z_i", real=True)
    zz = sp.Symbol(r"\overline{z^2}", real=True)
    left = steps["squared weights of the inputs"].rhs.subs(zz, 1)
    assert sp.simplify(left - (1 - (1 + z**2) / m)) == 0
    assert sp.simplify(left.subs(z, sp.sqrt(m - 1))) == 0  # nothing is left at the bound
    room = steps["room below the bound"]
    assert sp.simplify(room.lhs.subs(zz, 1) - (m - 1 - z**2)) == 0


@pytest.mark.parametrize("name", [step.name for step in theory_exact.derive_exact()])
def test_a_line_with_a_wrong_factor_cannot_be_made(steps, name):
    with pytest.raises(Failure, match="not an identity"):
        replace(steps[name], rhs=2 * steps[name].rhs)


def test_the_bound_holds_for_numbers_and_is_reached_by_a_sample_alone():
    rng = np.random.default_rng(0)
    for m in (2, 3, 10):
        for _ in range(100):
            u = rng.standard_normal(m) ** 3
            z = (u - u.mean()) / u.std()
            assert (z**2 <= (m - 1) * (1 + 1e-12)).all()
        alone = np.eye(m)[0]
        z = (alone - alone.mean()) / alone.std()
        assert z[0] ** 2 == pytest.approx(m - 1)


def test_each_assumption_enters_at_one_line(steps):
    entered = [step.assumption for step in steps.values() if step.assumption]
    assert entered == [f"{key}: {text}" for key, text in theory_exact.ASSUMPTIONS.items()]


def test_exact_formula_by_hand():
    # eta s a^2 (gamma/sigma)^2 |c|^2 = 0.1 * 0.5 * 4 * 4 * 25
    assert theory_exact.exact_formula()(0.1, 0.5, 2.0, 4.0, 2.0, 25.0) == pytest.approx(20.0)
