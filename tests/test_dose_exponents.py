import numpy as np
import pytest
from dosed import DOSES, run, series
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bn_memorization import dose, dose_exponents
from bn_memorization.dose import FREE, HELD


def outcomes(**how):
    return dose.outcomes(series(**how))


def mean_exponent(frame, response, series):
    (item,) = dose_exponents.evidence(dose_exponents.exponents(frame, response, series))
    return item


@given(
    power=st.floats(-3, 3),
    scale=st.floats(0.01, 100),
    x=st.lists(st.floats(0.1, 10), min_size=2, max_size=6, unique=True),
)
def test_slope_recovers_a_power_whatever_the_unit(power, scale, x):
    x = np.unique(np.round(x, 2))
    if len(x) > 1:
        y = scale * x**power
        assert dose_exponents.slope(x, y) == pytest.approx(power, abs=1e-8)


def test_slope_is_least_squares():
    x, y = [1.0, 2.0, 3.0, 5.0], [2.0, 3.0, 9.0, 4.0]
    wanted = stats.linregress(np.log(x), np.log(y)).slope
    assert dose_exponents.slope(x, y) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("x", "y"),
    [([1.0, 1.0], [1.0, 2.0]), ([0.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 0.0])],
)
def test_slope_refuses_what_has_none(x, y):
    with pytest.raises(ValueError, match="slope"):
        dose_exponents.slope(x, y)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_planted_exponent_is_recovered_for_both_kinds_of_samples(power):
    frame = outcomes(held_power=power)
    for response in ("corrupted", "clean"):
        item = mean_exponent(frame, response, HELD)
        assert item.estimate == pytest.approx(power, abs=1e-6)
        assert item.low < power < item.high
        assert (item.n, item.interval) == (3, "95 % t over seeds")


def test_the_square_of_a_gradient_that_goes_with_the_dose():
    frame = outcomes()
    assert mean_exponent(frame, "pull_corrupted", HELD).estimate == pytest.approx(2.0)
    assert mean_exponent(frame, "pull_clean", HELD).estimate == pytest.approx(1.0)


def test_null_no_response():
    frame = outcomes(held_power=0.0)
    item = mean_exponent(frame, "corrupted", HELD)
    assert item.estimate == pytest.approx(0.0, abs=1e-6)
    assert item.low < 0 < item.high


def test_the_achieved_ratio_counts_and_not_the_target():
    """Where the ratio is the root of the target, the exponent doubles."""
    frame = outcomes(held_power=1.0)
    frame["achieved"] **= 0.5
    assert mean_exponent(frame, "corrupted", HELD).estimate == pytest.approx(2.0)


def test_one_layer_with_two_doses_has_an_exponent():
    item = mean_exponent(outcomes(), "corrupted", dose.layer_series(1))
    assert item.estimate == pytest.approx(0.0, abs=1e-6)


def test_a_run_without_a_speed_is_left_out_and_counted():
    doses = (0.25, *DOSES)
    frame = outcomes(held_power=2.0, doses=doses)  # at 0.25 it takes 128 epochs of 40
    assert frame.corrupted.isna().sum() >= 3
    item = mean_exponent(frame, "corrupted", HELD)
    assert item.estimate == pytest.approx(2.0)
    assert item.interval == "95 % t over seeds; 3 of 12 runs without a speed left out"
    bounded = mean_exponent(dose_exponents.bounded(frame), "corrupted", HELD)
    assert bounded.interval == "95 % t over seeds"
    assert 1 < bounded.estimate < 2  # the bound is above the speed of a low dose


def test_with_too_few_doses_left_a_seed_has_no_exponent():
    frame = outcomes(held_power=4.0)  # at 0.5 it takes 128 epochs of 40
    item = mean_exponent(frame, "corrupted", HELD)
    assert (item.n, item.interval) == (0, "no seed has an exponent")
    assert np.isnan(item.low)
    held = dose_exponents.exponents(frame, "corrupted", HELD)
    assert (held.runs.tolist(), held.missing.tolist()) == ([3] * 3, [1] * 3)


def test_seeds_without_an_exponent_do_not_count():
    frame = outcomes()
    frame.loc[(frame.seed == 0) & (frame.dose == 0.5), "corrupted"] = np.nan
    item = mean_exponent(frame, "corrupted", HELD)
    assert item.n == 2
    assert item.estimate == pytest.approx(2.05)  # of seeds 1 and 2: 2.0 and 2.1


def test_stretches_tell_a_bend():
    frame = outcomes(held_power=2.0)
    frame.loc[(frame.series == HELD) & (frame.dose == 2.0), "corrupted"] = 0.125
    found = dose_exponents.stretches(frame, "corrupted", HELD)
    by = {ends: part.exponent.mean() for ends, part in found.items()}
    assert by[(0.5, 1.0)] == pytest.approx(2.0)
    assert by[(1.0, 2.0)] == pytest.approx(0.0, abs=1e-6)


def test_selective_is_the_difference_over_the_same_doses():
    frame = outcomes(held_power=2.0)
    (same,) = dose_exponents.selective(frame, HELD)
    assert same.estimate == pytest.approx(0.0, abs=1e-9)
    frame["clean"] *= frame.achieved**-0.5
    (item,) = dose_exponents.selective(frame, HELD)
    assert item.estimate == pytest.approx(0.5)
    assert item.low == pytest.approx(0.5)  # seeds differ in both alike
    wide = dose.outcomes(series(doses=(0.25, *DOSES)))
    wide.loc[wide.dose == 0.25, "clean"] = 1e6  # no corrupted speed there: it must not count
    (item,) = dose_exponents.selective(wide, HELD)
    assert item.estimate == pytest.approx(0.0, abs=1e-9)


def test_parts_add_up_where_the_weights_move_and_nothing_else_does():
    """Speed ~ ratio^1.5 (lr / |w|^2)^0.8 with |w|^2 ~ ratio^-0.5: 0.4 is learning rate."""
    frame = outcomes(held_power=1.5, free_power=1.5, moved=-0.5, by_rate=0.8)
    found = dose_exponents.parts(frame)[["free", "held", "moved", "by_rate", "rate", "rest"]].mean()
    wanted = {"free": 1.9, "held": 1.5, "moved": -0.5, "by_rate": 0.8, "rate": 0.4, "rest": 0.0}
    assert found.to_dict() == pytest.approx(wanted, abs=1e-6)


def test_all_is_learning_rate_where_held_weights_leave_no_response():
    found = dose_exponents.parts(outcomes(held_power=0.0, free_power=0.0, moved=-1.0))
    assert found.free.mean() == pytest.approx(1.0)
    assert found.beyond_rate.mean() == pytest.approx(0.0, abs=1e-6)


def test_held_is_free_where_the_weights_do_not_move():
    found = dose_exponents.parts(outcomes(moved=0.0))
    np.testing.assert_allclose(found.free, found.held, rtol=1e-9)
    np.testing.assert_allclose(found[["rate", "rest"]], 0, atol=1e-6)


def test_a_rest_that_is_planted_is_found():
    found = dose_exponents.parts(outcomes(held_power=1.0, free_power=1.25, moved=-0.5))
    assert found.rest.mean() == pytest.approx(0.25, abs=1e-6)


def test_parts_compare_held_and_free_over_the_same_doses():
    """A dose at which one of the two has no speed bends neither."""
    frame = outcomes(held_power=2.0, free_power=1.0, doses=(0.25, *DOSES))
    low = frame.dose == 0.25
    assert frame.corrupted[low & (frame.series == HELD)].isna().all()
    assert frame.corrupted[low & (frame.series == FREE)].notna().all()
    frame.loc[low & (frame.series == FREE), ["corrupted", "weight"]] *= 7.0
    found = dose_exponents.parts(frame).mean(numeric_only=True)
    wanted = {"free": 1.0, "held": 2.0, "moved": 0.0, "rest": -1.0}
    assert found[list(wanted)].to_dict() == pytest.approx(wanted, abs=1e-6)


def test_equal_doses_are_those_of_a_seed_and_a_setting():
    frame = dose.outcomes([*series(), *series(noise_rate=0.5)])
    lost = (frame.series == FREE) & (frame.dose == 1.0) & (frame.seed == 2)
    lost &= frame.noise_rate == 0.5
    frame.loc[lost, "corrupted"] = np.nan
    found = dose_exponents.equal_doses(frame)
    gone = found.index[found.corrupted.isna()]
    assert len(gone) == 2
    same = ["noise_rate", "seed", "dose"]
    assert found.loc[gone, same].drop_duplicates().to_numpy().tolist() == [[0.5, 2, 1.0]]
    assert sorted(found.series[gone]) == sorted([HELD, FREE])
    assert found.weight[gone].isna().all()
    # Two doses are too few for a slope that a bend would show in.
    assert len(dose_exponents.parts(frame)) == 5


def test_settings_are_kept_apart():
    frame = dose.outcomes([*series(held_power=1.0), *series(held_power=2.0, noise_rate=0.5)])
    found = dose_exponents.evidence(dose_exponents.exponents(frame, "corrupted", HELD))
    assert [item.estimate for item in found] == pytest.approx([1.0, 2.0])
    assert [item.where["noise_rate"] for item in found] == [0.25, 0.5]
    assert len(dose_exponents.parts(frame)) == 6


def test_a_run_is_no_series_of_another():
    frame = dose.outcomes([run(d, held=False) for d in DOSES])
    assert dose_exponents.evidence(dose_exponents.exponents(frame, "corrupted", HELD)) == []
    assert mean_exponent(frame, "corrupted", FREE).n == 1
