import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bn_memorization.judging import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    PARTLY,
    REPRODUCED,
    Claim,
    Evidence,
    declare,
    judge,
    judge_one,
)
from bn_memorization.stats import Gap

NAN = math.nan


def claim(direction="above", threshold=1.0, least_n=3):
    """Return a claim by this rule."""
    return Claim(
        key="key",
        number=1,
        title="Title",
        statement="A statement.",
        quantity="a quantity",
        unit="units",
        direction=direction,
        threshold=threshold,
        least_n=least_n,
        chapter="01_x",
    )


def evidence(low, estimate, high, n=3):
    return Evidence({"dataset": "mnist"}, estimate, low, high, n)


CASES = [
    ("above", (1.1, 2.0, 3.0), REPRODUCED),
    ("above", (1.0, 2.0, 3.0), PARTLY),  # the interval touches the threshold
    ("above", (0.5, 2.0, 3.0), PARTLY),
    ("above", (0.5, 1.0, 3.0), NOT_REPRODUCED),  # the estimate is not beyond
    ("above", (-1.0, 0.5, 2.0), NOT_REPRODUCED),
    ("above", (-3.0, -2.0, -1.0), NOT_REPRODUCED),  # the opposite, with certainty
    ("above", (2.0, 2.0, 2.0), REPRODUCED),  # no width
    ("above", (1.0, 1.0, 1.0), NOT_REPRODUCED),
    ("below", (0.1, 0.5, 0.9), REPRODUCED),
    ("below", (0.1, 0.5, 1.0), PARTLY),
    ("below", (0.1, 0.5, 1.5), PARTLY),
    ("below", (0.1, 1.0, 1.5), NOT_REPRODUCED),
    ("below", (1.5, 2.0, 3.0), NOT_REPRODUCED),
]


@pytest.mark.parametrize(("direction", "interval", "word"), CASES)
def test_judge_one(direction, interval, word):
    assert judge_one(claim(direction), evidence(*interval)) == word


@pytest.mark.parametrize(("direction", "interval", "word"), CASES)
def test_too_few_units_decide_nothing(direction, interval, word):
    assert judge_one(claim(direction, least_n=4), evidence(*interval, n=3)) == NOT_TESTABLE
    assert judge_one(claim(direction, least_n=4), evidence(*interval, n=4)) == word


@pytest.mark.parametrize(("low", "high"), [(NAN, NAN), (1.5, NAN), (NAN, 3.0)])
def test_no_interval_decides_nothing(low, high):
    assert judge_one(claim(), evidence(low, 2.0, high)) == NOT_TESTABLE


@pytest.mark.parametrize("n", [1, 3])
def test_a_missing_estimate_is_an_error_that_says_where(n):
    with pytest.raises(ValueError, match=r"key: the estimate in .*mnist.* is NaN"):
        judge_one(claim(), evidence(NAN, NAN, NAN, n))


def test_an_unknown_direction_is_an_error():
    with pytest.raises(KeyError, match="sideways"):
        judge_one(claim("sideways"), evidence(1.0, 2.0, 3.0))


WHOLE, BACK, NOT = (1.5, 2.0, 3.0), (0.5, 2.0, 3.0), (-1.0, 0.0, 3.0)
FEW = (*WHOLE, 1)


@pytest.mark.parametrize(
    ("settings_", "word"),
    [
        ([WHOLE], REPRODUCED),
        ([WHOLE, WHOLE], REPRODUCED),
        ([WHOLE, BACK], PARTLY),
        ([WHOLE, NOT], PARTLY),
        ([BACK, BACK], PARTLY),
        ([BACK, NOT], NOT_REPRODUCED),
        ([NOT, NOT], NOT_REPRODUCED),
        ([FEW, FEW], NOT_TESTABLE),
        ([FEW, WHOLE], REPRODUCED),
        ([FEW, NOT], NOT_REPRODUCED),
        ([FEW, WHOLE, NOT], PARTLY),
    ],
)
def test_judge_over_settings(settings_, word):
    items = [evidence(*setting) for setting in settings_]
    verdict = judge(claim(), items)
    assert verdict.word == word
    assert verdict.evidence == tuple(items)
    assert verdict.words == tuple(judge_one(claim(), item) for item in items)
    assert judge(claim(), items[::-1]).word == word


def test_no_evidence_is_an_error():
    with pytest.raises(ValueError, match="key: no evidence"):
        judge(claim(), [])


FINITE = st.floats(-10, 10)


@settings(deadline=None)
@given(
    st.lists(FINITE, min_size=3, max_size=3).map(sorted),
    FINITE,
    st.sampled_from(["above", "below"]),
    st.integers(1, 6),
)
def test_words_mean_what_they_say(interval, threshold, direction, n):
    low, estimate, high = interval
    word = judge_one(claim(direction, threshold), evidence(low, estimate, high, n))
    whole = low > threshold if direction == "above" else high < threshold
    center = estimate > threshold if direction == "above" else estimate < threshold
    assert (word == REPRODUCED) == (n >= 3 and whole)
    assert (word == NOT_REPRODUCED) == (n >= 3 and not center)
    assert (word == PARTLY) == (n >= 3 and center and not whole)
    assert (word == NOT_TESTABLE) == (n < 3)


@settings(deadline=None)
@given(st.lists(FINITE, min_size=3, max_size=3).map(sorted), FINITE)
def test_below_is_above_in_the_mirror(interval, threshold):
    low, estimate, high = interval
    above = judge_one(claim("above", threshold), evidence(low, estimate, high))
    below = judge_one(claim("below", -threshold), evidence(-high, -estimate, -low))
    assert above == below


@given(st.lists(st.sampled_from([WHOLE, BACK, NOT, FEW]), min_size=1, max_size=6))
def test_reproduced_over_settings_needs_every_tested_setting(drawn):
    verdict = judge(claim(), [evidence(*setting) for setting in drawn])
    assert verdict.word in (REPRODUCED, PARTLY, NOT_REPRODUCED, NOT_TESTABLE)
    all_hold = set(verdict.words) <= {REPRODUCED, NOT_TESTABLE} and REPRODUCED in verdict.words
    assert (verdict.word == REPRODUCED) == all_hold


def test_evidence_from_a_gap():
    found = Evidence.from_gap({"arch": "lenet"}, Gap(0.5, 0.25, 0.75, 4))
    assert (found.where, found.estimate, found.low, found.high, found.n) == (
        {"arch": "lenet"},
        0.5,
        0.25,
        0.75,
        4,
    )


def test_declared_claims_are_found_by_key_in_their_order():
    first, second = replace(claim(), key="b"), replace(claim(), key="a")
    assert list(declare(first, second).items()) == [("b", first), ("a", second)]
    assert declare() == {}
