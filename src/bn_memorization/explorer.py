"""The growth of one sample's margin, to be moved by hand: its formulas, ranges and presets.

The formulas are taken from the proved lines of `theory` and `theory_exact`, eps left out, and go to
the page as JavaScript that sympy writes.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

import pandas as pd
import sympy as sp

from bn_memorization import live, theory, theory_exact
from bn_memorization.exact_trained import FULL

NAMES = ("gamma", "sigma", "z", "m")
START = {"gamma": 1.5, "sigma": 1.0, "z": 3.0, "m": 64}
# The ends and the step of each slider; that of m moves in powers of two.
RANGES = {"gamma": (0.2, 3.0, 0.05), "sigma": (0.2, 3.0, 0.05), "z": (0.0, 8.0, 0.1)}
POWERS = (1, 12)


@lru_cache(maxsize=1)
def formulas() -> dict[str, sp.Expr]:
    """Return what the picture shows, as expressions in NAMES.

    - fixed: growth over that of the plain step, statistics fixed;
    - left: the share that statistics which move leave of it, for inputs that are random about the
      regression on u: the sum of the squared weights P_ij;
    - exact: the growth that is left, over that of the plain step;
    - bound: the largest |z| that a sample among m can have.
    """
    lines = {step.name: step for step in theory_exact.derive_exact()}
    fixed = next(step for step in theory.derive_fixed() if step.name == "ratio").rhs.doit()
    ratio = lines["ratio to the plain step"].rhs.doit()
    sums = {one.function.base.base.name: one for one in ratio.atoms(sp.Sum)}
    mean_square = sp.Symbol(lines["mean of the squares"].notation, real=True)  # 1 without eps
    left = lines["squared weights of the inputs"].rhs.subs(mean_square, 1)
    room = lines["room below the bound"].lhs.subs(mean_square, 1)
    square = sp.Symbol("z_i", real=True) ** 2
    (largest,) = sp.solve(room, square)
    found = {
        "fixed": fixed,
        "left": left,
        "exact": ratio.subs(sums["c"], left * sums["x"]),
        "bound": sp.sqrt(largest),
    }
    plain = {symbol: sp.Symbol(symbol.name.removesuffix("_i")) for symbol in _symbols(found)}
    return {name: formula.subs(plain) for name, formula in found.items()}


def _symbols(expressions: Mapping[str, sp.Expr]) -> set[sp.Symbol]:
    return set().union(*(expression.free_symbols for expression in expressions.values()))


@lru_cache(maxsize=1)
def functions() -> dict[str, Callable[..., float]]:
    """Return the formulas as numeric functions of NAMES, in that order, also of arrays."""
    return {name: sp.lambdify(NAMES, formula, "numpy") for name, formula in formulas().items()}


def presets(channels: pd.DataFrame, medians: pd.DataFrame) -> list[dict]:
    """Return the typical samples of a trained network's fully connected BN layers.

    `channels` is that of `ratios.gamma_sigma`, `medians` that of `exact_trained.summary`. Each has
    a title, values of NAMES (medians over channels and over samples) and `kept`, the median shares
    that were measured to be left where the mean alone moves and where both move. Convolutions have
    many terms a sample and are left out.
    """
    found = []
    for row in medians[medians.kind == FULL].to_dict("records"):
        layer = channels[channels.layer == row["BN layer"]]
        found.append(
            {
                "title": f"layer {row['BN layer']}, {row['samples']} sample",
                "gamma": float(layer.gamma.abs().median()),
                "sigma": float(layer.sigma.median()),
                "z": float(row["|z|"]),
                "m": int(row["m"]),
                "kept": [float(row["mean moves"]), float(row["both move"])],
            }
        )
    return found


def picture(typical: list[dict]) -> dict:
    """Return the data of the picture; `typical` is that of `presets`."""
    return {
        "names": list(NAMES),
        "formulas": live.script(formulas()),
        "start": START,
        "ranges": RANGES,
        "powers": POWERS,
        "presets": typical,
    }
