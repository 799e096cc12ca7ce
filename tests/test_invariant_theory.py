import pytest
import sympy as sp

from bn_memorization.errors import Failure
from bn_memorization.invariant_theory import derive_invariant
from bn_memorization.theory import Step

LINES = {step.name: step for step in derive_invariant()}
# eta .1, s .5, a 2, |x|^2 = 1 + 4, gamma 1.5, sigma .5 and |w| 3: growth .1 .5 4 9 5 = 9, rho 9.
NUMBERS = {"eta": 0.1, "s": 0.5, "a": 2, "gamma": 1.5, "sigma": 0.5, r"\lVert w \rVert": 3}
NUMBERS |= {"rho": 9, "c": 4, "k": 5, r"\lVert c w \rVert": 12, r"\sigma(c w)": 2}


def value(side):
    """Return a side of a line with the numbers above, for the input (1, 2)."""
    side = side.subs(sp.Symbol("d", integer=True, positive=True), 2).doit()
    x = sp.IndexedBase("x", real=True)
    named = {symbol: NUMBERS[symbol.name] for symbol in side.free_symbols if symbol.name in NUMBERS}
    return float(side.subs({x[1]: 1, x[2]: 2} | named))


def test_the_lines_and_their_order():
    assert list(LINES) == [
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
