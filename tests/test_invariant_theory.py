import math

import pytest
import sympy as sp

from bn_memorization.errors import Failure
from bn_memorization.invariant_theory import ASIDE, FIXED, derive_invariant
from bn_memorization.theory import Step

LINES = {step.name: step for step in derive_invariant()}
# eta .1, s .5, a 2, |x|^2 = 1 + 4, gamma 1.5, sigma .5 and |w| 3: growth .1 .5 4 9 5 = 9, rho 9.
NUMBERS = {"eta": 0.1, "s": 0.5, "a": 2, "gamma": 1.5, "sigma": 0.5, r"\lVert w \rVert": 3}
NUMBERS |= {"rho": 9, "c": 4, "k": 5, r"\lVert c w \rVert": 12, r"\sigma(c w)": 2}
# A batch of u = 1, 2, 6 has the mean 3; times 4 it is 4, 8, 24 with the mean 12.
NUMBERS |= {"u_1": 1, "u_2": 2, "u_3": 6, "mu": 3, r"\mu(c w)": 12}
NUMBERS |= {"u_{1}(c w)": 4, "u_{2}(c w)": 8, "u_{3}(c w)": 24}


def value(side):
    """Return a side of a line with the numbers above, for the input (1, 2)."""
    side = side.subs(sp.Symbol("d", integer=True, positive=True), 2).doit()
    x = sp.IndexedBase("x", real=True)
    named = {symbol: NUMBERS[symbol.name] for symbol in side.free_symbols if symbol.name in NUMBERS}
    return float(side.subs({x[1]: 1, x[2]: 2} | named))


def test_the_lines_and_their_order():
    assert list(LINES) == [
        "the pre-activation of input j scales",
        "its batch mean scales",
        "sigma scales",
        "z stays",
        "gamma/sigma does not",
        "rho stays",
        "growth in two factors",
        "the same rate, another step",
        "the rate times c squared, the same step",
        "gamma traded for the readout",
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("its batch mean scales", 12),
        ("z stays", -4),
        ("gamma/sigma does not", 0.75),
        ("rho stays", 9),
        ("growth in two factors", 9),
        ("the same rate, another step", 9 / 16),
        ("the rate times c squared, the same step", 9),
        ("gamma traded for the readout", 9),
    ],
)
def test_both_sides_by_hand(name, wanted):
    line = LINES[name]
    assert value(line.lhs) == pytest.approx(wanted)
    assert value(line.rhs) == pytest.approx(wanted)


def test_the_second_factor_is_the_effective_rate():
    split = LINES["growth in two factors"].rhs
    eta, size = sp.Symbol("eta", real=True), sp.Symbol(r"\lVert w \rVert", positive=True)
    assert split.has(sp.UnevaluatedExpr(eta / size**2))
    assert not split.doit().has(sp.Symbol("sigma", positive=True))


def test_a_wrong_power_of_c_is_no_line():
    line = LINES["the same rate, another step"]
    with pytest.raises(Failure, match="is not an identity"):
        Step("wrong", line.notation, line.lhs, line.rhs * sp.Symbol("c", positive=True))


def test_sigma_by_hand():
    """1, 2, 6 deviate from 3 by 2, 1 and 3: variance 14 / 3; times 4, sigma is 4 times that."""
    line = LINES["sigma scales"]
    assert value(line.lhs) == pytest.approx(4 * math.sqrt(14 / 3))
    assert value(line.rhs.subs(line.definitions)) == pytest.approx(4 * math.sqrt(14 / 3))


def test_a_pre_activation_by_hand():
    """w = (3, 1) on the input (5, 7) is 22; times 4 it is 88."""
    line = LINES["the pre-activation of input j scales"]
    w, x = (sp.IndexedBase(name, real=True) for name in "wx")
    j, d = sp.Symbol("j", integer=True), sp.Symbol("d", integer=True, positive=True)
    given = {w[1]: 3, w[2]: 1, x[j, 1]: 5, x[j, 2]: 7, sp.Symbol("c", positive=True): 4}
    for side in (line.lhs, line.rhs):
        assert side.subs(d, 2).doit().subs(given) == 88


@pytest.mark.parametrize("name", ["its batch mean scales", "sigma scales"])
def test_another_power_of_c_is_no_line_for_the_statistics(name):
    line, c = LINES[name], sp.Symbol("c", positive=True)
    with pytest.raises(Failure, match="is not an identity"):
        Step("wrong", line.notation, line.lhs, line.rhs * c, None, line.definitions)


def test_sigma_scales_only_with_eps_left_aside():
    line, eps = LINES["sigma scales"], sp.Symbol("varepsilon", positive=True)
    assert line.assumption == ASIDE
    sigma = sp.Symbol("sigma", positive=True)
    kept = line.definitions | {sigma: sp.sqrt(line.definitions[sigma] ** 2 + eps)}
    with pytest.raises(Failure, match="is not an identity"):
        Step("kept", line.notation, sp.sqrt(line.lhs**2 + eps), line.rhs, None, kept)


def test_the_growth_is_said_to_be_at_fixed_statistics():
    assert LINES["growth in two factors"].assumption == FIXED
    assert "fixed statistics" in FIXED
