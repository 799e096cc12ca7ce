import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization.stats import (
    auc,
    cliffs_delta,
    epochs_until,
    mean_interval,
    paired_gap,
    roc,
    share_interval,
    tpr_at_fpr,
)

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
    """Over 1,000 null data sets of 4 pairs: .95, within three standard errors of a share."""
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


def test_the_interval_of_shares_is_cut_at_what_a_share_can_be():
    gap = share_interval(np.array([1.0, 0.6, 1.0]))
    assert gap.estimate == pytest.approx(2.6 / 3)
    assert gap.high == 1.0
    assert gap.low == pytest.approx(mean_interval([1.0, 0.6, 1.0]).low)
    assert share_interval(np.array([0.0, 0.4, 0.0])).low == 0.0
    assert np.isnan(share_interval(np.array([0.7])).low)


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


SCORED = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: len({member for _, member in rows}) == 2
)


def scored(rows):
    """Return scores, with many ties, and who is a member."""
    score, member = zip(*rows, strict=True)
    return np.array(score, float), np.array(member)


@pytest.mark.parametrize(
    ("members", "others", "wanted"),
    [
        ([3, 4], [1, 2], 1.0),
        ([1, 2], [3, 4], 0.0),
        ([1, 3], [2], 0.5),
        ([2, 3, 4], [1, 3], 4.5 / 6),
        ([1], [1, 1], 0.5),
        ([1, 1, 2], [1], (0.5 + 0.5 + 1) / 3),
        ([math.inf], [-math.inf, math.inf], 0.75),
    ],
)
def test_auc_by_hand(members, others, wanted):
    score = np.array([*members, *others], float)
    member = np.arange(len(score)) < len(members)
    assert auc(score, member) == pytest.approx(wanted)


@settings(deadline=None)
@given(SCORED)
def test_auc_is_the_chance_of_a_win_over_all_pairs(rows):
    score, member = scored(rows)
    wins = [(a > b) + (a == b) / 2 for a in score[member] for b in score[~member]]
    assert auc(score, member) == pytest.approx(np.mean(wins))
    assert auc(-score, member) == pytest.approx(1 - np.mean(wins))
    assert auc(np.exp(score), member) == auc(score, member)


@settings(deadline=None)
@given(SCORED, st.randoms(use_true_random=False))
def test_auc_and_roc_do_not_depend_on_the_order(rows, random):
    first = scored(rows)
    random.shuffle(rows)
    second = scored(rows)
    assert auc(*first) == auc(*second)
    np.testing.assert_array_equal(roc(*first), roc(*second))


@settings(deadline=None)
@given(SCORED)
def test_the_area_under_the_roc_is_the_auc(rows):
    score, member = scored(rows)
    fpr, tpr = roc(score, member)
    assert np.trapezoid(tpr, fpr) == pytest.approx(auc(score, member))
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(fpr) >= 0).all()
    assert (np.diff(tpr) >= 0).all()
    assert len(fpr) == len(set(score)) + 1


def test_roc_by_hand_with_a_tie():
    score, member = np.array([3.0, 2, 2, 1]), np.array([True, True, False, False])
    fpr, tpr = roc(score, member)
    assert fpr.tolist() == [0, 0, 0.5, 1]
    assert tpr.tolist() == [0, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("fpr", "wanted"), [(0.24, None), (0.25, 0.5), (0.49, 0.5), (0.5, 1.0), (0.75, 1.0), (1.0, 1.0)]
)
def test_tpr_at_fpr_by_hand(fpr, wanted):
    """Four non-members resolve a quarter; at the tie of 3 both are taken or neither."""
    score = np.array([9.0, 3, 8, 3, 1, 0])
    member = np.array([True, True, False, False, False, False])
    assert tpr_at_fpr(score, member, fpr) == wanted


def test_a_thousand_non_members_resolve_a_thousandth():
    score, member = np.arange(1001.0), np.arange(1001) == 999
    assert tpr_at_fpr(score, member, 0.001) == 1.0
    assert tpr_at_fpr(score[1:], member[1:], 0.001) is None


@settings(deadline=None)
@given(SCORED, st.floats(0.04, 1))
def test_tpr_at_fpr_is_the_best_threshold_that_keeps_to_the_rate(rows, fpr):
    score, member = scored(rows)
    found = tpr_at_fpr(score, member, fpr)
    others = np.sum(~member)
    if found is None:
        assert others * fpr < 1
        return
    marks = [*set(score), math.inf]
    kept = [t for t in marks if np.sum(score[~member] >= t) <= fpr * others + 1e-9]
    assert found == max(np.mean(score[member] >= t) for t in kept)


@pytest.mark.parametrize("measure", [auc, roc, lambda *both: tpr_at_fpr(*both, 0.5)])
def test_scores_that_cannot_be_compared_are_refused(measure):
    member = np.array([True, False, True])
    with pytest.raises(ValueError, match="1 scores are NaN"):
        measure([0.0, math.nan, 1.0], member)
    for wrong in ([True, True, True], [False, False, False]):
        with pytest.raises(ValueError, match="of 3 are members: both kinds needed"):
            measure([0.0, 1.0, 2.0], np.array(wrong))
    for score, of in [([0.0, 1.0], member), ([0.0, 1.0, 2.0], [1, 0, 1]), ([[0.0, 1, 2]], member)]:
        with pytest.raises(ValueError, match="Need score"):
            measure(score, of)


@pytest.mark.parametrize(
    ("first", "second", "delta"),
    [
        ([2, 3], [0, 1], 1.0),
        ([0, 1], [2, 3], -1.0),
        ([1, 1], [1, 1], 0.0),  # ties count nothing
        ([2.0], [1, 2, 3], 0.0),
        ([3.0], [1, 2, 3], 2 / 3),
        ([0, 4], [1, 2, 3], 0.0),
        ([2, 4], [1, 3, 3, 9], (1 - 3 + 3 - 1) / 8),
    ],
)
def test_cliffs_delta_by_hand(first, second, delta):
    assert cliffs_delta(first, second) == pytest.approx(delta)


@settings(deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=9),
    st.lists(st.integers(-3, 3), min_size=1, max_size=9),
)
def test_cliffs_delta_counts_pairs(first, second):
    signs = [np.sign(a - b) for a in first for b in second]
    delta = cliffs_delta(first, second)
    assert delta == pytest.approx(np.mean(signs))
    assert cliffs_delta(second, first) == pytest.approx(-delta)
    assert cliffs_delta(np.exp(first), np.exp(second)) == pytest.approx(delta)


@pytest.mark.parametrize("bad", [[], [1, math.nan], [math.inf]])
def test_cliffs_delta_refuses_what_it_cannot_compare(bad):
    with pytest.raises(ValueError, match=r"value|finite"):
        cliffs_delta(bad, [1.0])
    with pytest.raises(ValueError, match=r"value|finite"):
        cliffs_delta([1.0], bad)
