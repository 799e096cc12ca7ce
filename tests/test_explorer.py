import math

import numpy as np
import pandas as pd
import pytest

from bn_memorization import explorer, growth, growth_exact, theory
from bn_memorization.exact_trained import CONVOLUTION, FULL


def test_the_formulas_are_of_what_is_moved_and_no_more():
    symbols = {str(symbol) for one in explorer.formulas().values() for symbol in one.free_symbols}
    assert symbols == set(explorer.NAMES)


def test_the_fixed_growth_is_the_one_measured_on_a_layer():
    """The ratio of two steps of torch layers: nothing of the derivation is in it."""
    for case in growth.random_cases(5, 0):
        found = explorer.functions()["fixed"](case.gamma, case.sigma, 1.0, 8)
        plain = theory.growth_formula()
        slope = 1 / (1 + math.exp(case.margin))
        norm_sq = float(np.sum(np.square(case.x)))
        unit = plain(case.eta, slope, case.a, 1.0, 1.0, norm_sq)
        assert growth.measured_growth(case) / unit == pytest.approx(found, rel=1e-6)


def test_what_is_left_is_that_of_batches_without_eps():
    for case in growth_exact.random_batches(20, 0):
        z = case.z / math.sqrt(np.mean(case.z**2))  # what they are without eps
        found = explorer.functions()["left"](case.gamma, case.sigma, z[case.i], case.m)
        assert found == pytest.approx(case.room, abs=1e-3)


def test_the_exact_growth_is_the_share_that_is_left_of_the_fixed_one():
    of = explorer.functions()
    values = (1.7, 0.4, 2.5, 32)
    assert of["exact"](*values) == pytest.approx(of["fixed"](*values) * of["left"](*values))
    assert of["exact"](-1.7, 0.4, 2.5, 32) == of["exact"](*values)


@pytest.mark.parametrize("m", [2, 8, 4096])
def test_nothing_is_left_at_the_bound(m):
    of = explorer.functions()
    bound = of["bound"](1.0, 1.0, 0.0, m)
    assert bound == pytest.approx(math.sqrt(m - 1))
    assert of["exact"](1.0, 1.0, bound, m) == pytest.approx(0, abs=1e-12)


def test_the_page_gets_the_formulas_as_code_of_the_names():
    data, values = explorer.picture([]), (1.7, 0.4, 2.5, 32)
    for name, code in data["formulas"].items():
        # JavaScript that happens to be Python too, but for the name of the module.
        found = eval(code, {"Math": math}, dict(zip(data["names"], values, strict=True)))
        assert found == pytest.approx(explorer.functions()[name](*values))
    assert list(data["start"]) == data["names"]


def test_the_start_can_be_set_and_is_no_sample_beyond_the_bound():
    for name, (low, high, _) in explorer.RANGES.items():
        assert low <= explorer.START[name] <= high
    assert explorer.POWERS[0] <= math.log2(explorer.START["m"]) <= explorer.POWERS[1]
    assert explorer.functions()["exact"](*explorer.START.values()) > 0


def test_presets_are_medians_of_fully_connected_layers():
    channels = pd.DataFrame(
        {"layer": [1, 2, 2, 2], "gamma": [9.0, -0.5, 1.5, 0.7], "sigma": [9.0, 1.0, 3.0, 2.0]}
    )
    medians = pd.DataFrame(
        {
            "BN layer": [1, 2, 2],
            "kind": [CONVOLUTION, FULL, FULL],
            "m": [6400, 64, 64],
            "samples": ["clean", "clean", "corrupted"],
            "|z|": [1.0, 1.1, 2.2],
            "mean moves": [1.0, 0.95, 0.7],
            "both move": [1.0, 0.9, 0.6],
        }
    )
    shared = {"gamma": 0.7, "sigma": 2.0, "m": 64}
    assert explorer.presets(channels, medians) == [
        {"title": "layer 2, clean sample", "z": 1.1, "kept": [0.95, 0.9]} | shared,
        {"title": "layer 2, corrupted sample", "z": 2.2, "kept": [0.7, 0.6]} | shared,
    ]
    assert explorer.presets(channels, medians[:1]) == []
