import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization.stats import epochs_until, mean_interval, paired_gap

NUMBERS = st.floats(-100, 100)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=12)
STUDENT_95_3 = 3.182446305284263  # two-sided 95 % point for 3 degrees of freedom, from tables


def columns(pairs):
    return [list(column) for column in zip(*pairs, strict=True)]


def test_by_hand():
    """Differences 1, 2, 3, 4: mean 2.5, s = sqrt(5/3), s over sqrt(4) = sqrt(5/12)."""
    gap = paired_gap([2, 4, 6, 8], [1, 2, 3, 4])
    reach = STUDENT_95_3 * math.sqrt(5 / 12)
    assert gap.n == 4
    assert (gap.estimate, gap.low, gap.high) == pytest.approx((2.5, 2.5 - reach, 2.5 + reach))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 3, 30])
def test_agrees_with_the_paired_t_test_of_scipy(level, n):
    first, second = np.random.default_rng(n).normal(size=(2, n))
    gap = paired_gap(first, second, level)
    wanted = scipy.stats.ttest_rel(first, second).confidence_interval(level)
    assert (gap.low, gap.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert gap.estimate == pytest.approx(np.mean(first) - np.mean(second))


@settings(deadline=None)
@given(PAIRS, st.randoms(use_true_random=False))
def test_order_of_the_pairs_does_not_matter(pairs, random):
    gap = paired_gap(*columns(pairs))
    random.shuffle(pairs)
    again = paired_gap(*columns(pairs))
    assert again.estimate == pytest.approx(gap.estimate, abs=1e-9)
    assert (again.low, again.high) == pytest.approx((gap.low, gap.high), abs=1e-9)


def test_pairing_matters():
    paired = paired_gap([1, 2, 3], [0, 1, 2])
    crossed = paired_gap([1, 2, 3], [2, 1, 0])
    assert paired.estimate == crossed.estimate
    assert paired.high - paired.low < crossed.high - crossed.low


@settings(deadline=None)
@given(PAIRS)
def test_swapping_the_arms_turns_the_sign(pairs):
    first, second = columns(pairs)
    gap, turned = paired_gap(first, second), paired_gap(second, first)
    assert (turned.estimate, turned.low, turned.high) == (-gap.estimate, -gap.high, -gap.low)
    assert gap.low <= gap.estimate <= gap.high


def test_equal_differences_give_an_interval_without_width():
    gap = paired_gap([1.5, 2.5, 3.5], [1, 2, 3])
    assert (gap.estimate, gap.low, gap.high, gap.n) == (0.5, 0.5, 0.5, 3)


def test_one_pair_has_no_interval():
    gap = paired_gap([3], [1])
    assert (gap.estimate, gap.n) == (2, 1)
    assert math.isnan(gap.low)
    assert math.isnan(gap.high)


@pytest.mark.parametrize(
    ("first", "second"),
    [([], []), ([1, 2], [1]), ([[1, 2]], [[1, 2]]), (1.0, 2.0), ([1, 2], 1)],
)
def test_shapes_that_are_no_pairs_are_refused(first, second):
    with pytest.raises(ValueError, match="two equal lists"):
        paired_gap(first, second)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("other", [0.0, math.inf])
def test_values_that_are_not_finite_are_refused(bad, other):
    with pytest.raises(ValueError, match="need finite numbers"):
        paired_gap([1.0, bad], [1.0, other])
    with pytest.raises(ValueError, match="need finite numbers"):
        paired_gap([1.0, other], [1.0, bad])


def test_the_interval_covers_a_null_effect_as_often_as_it_says():
    """Over 1,000 null data sets of 4 pairs: .95 within 3 standard errors, sqrt(.95 * .05 / 1000)."""
    data = np.random.default_rng(2605).normal(size=(1000, 2, 4))
    gaps = [paired_gap(first, second) for first, second in data]
    covered = np.mean([gap.low <= 0 <= gap.high for gap in gaps])
    assert abs(covered - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 1000)
    assert abs(np.mean([gap.estimate for gap in gaps])) < 3 * math.sqrt(2 / 4 / 1000)


def test_mean_interval_is_the_one_sample_interval():
    values = [0.1, 0.4, 0.2, 0.9]
    gap = mean_interval(values)
    wanted = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (gap.estimate, gap.low, gap.high) == pytest.approx((0.4, wanted.low, wanted.high))


@pytest.mark.parametrize(
    ("curve", "level", "epoch"),
    [
        ([0.0, 0.2, 0.5, 0.9], 0.5, 2),  # at the level counts
        ([0.0, 0.2, 0.49], 0.5, None),
        ([0.7, 0.1, 0.8], 0.5, 0),  # before training
        ([0.1, 0.6, 0.2, 0.9], 0.5, 1),  # the first time, though it falls back
        ([math.nan, math.nan], 0.5, None),
        ([math.nan, 0.6], 0.5, 1),
        ([], 0.5, None),
    ],
)
def test_epochs_until(curve, level, epoch):
    found = epochs_until(curve, level)
    assert found == epoch
    assert type(found) is type(epoch)
