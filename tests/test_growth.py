import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization import growth
from bn_memorization.errors import BadInput

TOLERANCE = 1e-10  # what the chapter claims


@pytest.fixture(scope="module")
def check():
    return growth.check_against_autograd(100, 0)


def by_hand(**changes):
    """A case whose numbers can be followed on paper.

    u = 3 - 4 = -1 = mu, so z = 0 and y = beta = 0.5; sigma = sqrt(3.5 + 0.5) = 2, gamma/sigma = 2.
    f = 2 * 0.5 - 1 = 0, so the margin is 0 and the slope of the logistic loss 1/2.
    """
    numbers = {"gamma": 4.0, "beta": 0.5, "mu": -1.0, "var": 3.5, "eps": 0.5}
    numbers |= {"a": 2.0, "b": -1.0, "t": 1, "eta": 0.1}
    return growth.Case(x=np.array([3.0, 4.0]), w=np.array([1.0, -1.0]), **(numbers | changes))


def close(first, second):
    return first == pytest.approx(second, rel=TOLERANCE, abs=0)


def test_case_worked_by_hand():
    case = by_hand()
    assert (case.sigma, case.margin) == (2.0, 0.0)
    # One step moves w by eta s t a (gamma/sigma) x = 0.2 * (3, 4), u by 0.2 * 25 = 5, the margin
    # by a (gamma/sigma) * 5 = 20. Without BN: w by 0.1 * (3, 4), u by 2.5, the margin by 2 * 2.5.
    assert growth.predicted_growth(case) == pytest.approx(20.0, rel=1e-15)
    assert growth.measured_growth(case) == pytest.approx(20.0, rel=1e-14)
    assert growth.measured_growth_plain(case) == pytest.approx(5.0, rel=1e-14)


def test_label_minus_one_by_hand():
    case = by_hand(t=-1, b=0.0)  # f = 1, margin -1, slope 1/(1 + e^-1)
    assert case.margin == -1.0
    assert close(growth.measured_growth(case), 40.0 / (1 + np.exp(-1.0)))


def test_autograd_agrees_on_100_random_cases(check):
    assert len(check) == 100
    assert check["relative_error"].max() < TOLERANCE
    assert (check["measured"] > 0).all()


def test_ratio_to_the_plain_twin_is_the_square(check):
    np.testing.assert_allclose(check["ratio"], check["gamma_over_sigma"] ** 2, rtol=TOLERANCE)
    np.testing.assert_array_equal(check["factor"], check["gamma_over_sigma"] ** 2)


def test_cases_reach_both_sides_of_one_and_both_signs(check):
    assert check["factor"].min() < 0.1
    assert check["factor"].max() > 10
    assert (check["gamma_over_sigma"] < 0).any()
    assert (check["gamma_over_sigma"] > 0).any()
    assert check["factor"].between(0.01, 100).all()


@pytest.mark.parametrize("power", [0, 1, 1.999, 2.001, 3])
def test_a_wrong_power_of_the_ratio_is_noticed(power):
    def wrong(case):
        return growth.predicted_growth(case) * abs(case.gamma / case.sigma) ** (power - 2)

    frame = growth.check_against_autograd(20, 0, wrong)
    assert frame["relative_error"].max() > 1e6 * TOLERANCE


def test_forgetting_eps_in_sigma_is_noticed():
    def wrong(case):
        return growth.predicted_growth(dataclasses.replace(case, eps=0.0))

    frame = growth.check_against_autograd(20, 0, wrong)
    assert frame["relative_error"].max() > 1e3 * TOLERANCE


def test_relative_error_has_no_floor():
    frame = growth.check_against_autograd(3, 0, lambda case: 0.0)
    np.testing.assert_array_equal(frame["relative_error"], 1.0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_prediction_and_ratio_hold_for_any_draw(seed):
    (case,) = growth.random_cases(1, seed)
    assert abs(case.margin) <= 2 + 1e-9
    measured = growth.measured_growth(case)
    assert close(measured, growth.predicted_growth(case))
    plain = growth.measured_growth_plain(case)
    assert close(measured / plain, (case.gamma / case.sigma) ** 2)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), c=st.floats(0.2, 5))
def test_rescaling_keeps_the_function_and_divides_the_growth(seed, c):
    (case,) = growth.random_cases(1, seed)
    scaled = case.rescaled(c)
    assert scaled.margin == pytest.approx(case.margin, abs=1e-12)
    assert scaled.sigma == pytest.approx(c * case.sigma, rel=1e-12)
    assert growth.measured_growth(scaled) * c**2 == pytest.approx(
        growth.measured_growth(case), rel=1e-9
    )


def test_signs_of_gamma_and_readout_do_not_matter():
    (case,) = growth.random_cases(1, 3)
    for changes in ({"gamma": -case.gamma}, {"a": -case.a}, {"beta": case.beta + 1.0}):
        changed = dataclasses.replace(case, **changes)
        changed = dataclasses.replace(
            changed, b=changed.b + case.t * (case.margin - changed.margin)
        )
        assert close(growth.measured_growth(changed), growth.measured_growth(case))


def test_growth_is_proportional_to_the_learning_rate_even_a_large_one():
    (case,) = growth.random_cases(1, 4)
    large = dataclasses.replace(case, eta=1000 * case.eta)
    assert close(growth.measured_growth(large), 1000 * growth.measured_growth(case))


def test_a_plain_network_with_the_ratio_in_its_readout_grows_as_fast():
    (case,) = growth.random_cases(1, 5)
    ratio = case.gamma / case.sigma
    # The same function: the ratio moved from the channel into the readout.
    moved = dataclasses.replace(case, a=case.a * ratio, gamma=case.sigma, beta=case.beta / ratio)
    assert moved.margin == pytest.approx(case.margin, abs=1e-12)
    assert close(growth.measured_growth_plain(moved), growth.measured_growth(case))


def test_plain_twin_starts_at_the_same_margin():
    for case in growth.random_cases(10, 6):
        twin = case.t * (case.a * (case.w @ case.x) + case.plain_bias)
        assert twin == pytest.approx(case.margin, abs=1e-12)


def test_same_seed_same_cases():
    first = growth.check_against_autograd(5, 7)
    assert first.equals(growth.check_against_autograd(5, 7))
    assert not first.equals(growth.check_against_autograd(5, 8))


def test_measuring_leaves_the_case_and_torch_random_numbers_alone():
    case = by_hand()
    w, state = case.w.copy(), torch.get_rng_state()
    growth.measured_growth(case)
    growth.measured_growth_plain(case)
    np.testing.assert_array_equal(case.w, w)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t": 0}, "t = 0 is not a label"),
        ({"var": -0.5}, "var \\+ eps = 0.0 is not allowed"),
        ({"w": np.ones(3)}, r"shapes \(2,\) and \(3,\)"),
        ({"x": np.ones((1, 2)), "w": np.ones((1, 2))}, r"shapes \(1, 2\)"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        dataclasses.replace(by_hand(), **changes)


@pytest.mark.parametrize("c", [0.0, -1.0, float("nan")])
def test_a_scale_that_is_not_positive_is_refused(c):
    with pytest.raises(BadInput, match="a scale is positive"):
        by_hand().rescaled(c)


def test_no_cases_are_refused():
    with pytest.raises(BadInput, match="cases = 0 is not allowed"):
        growth.random_cases(0, 0)
