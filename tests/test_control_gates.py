import math
from dataclasses import replace

import pandas as pd
import pytest
from made_shadows import KEEP, both
from test_norm_controls import three

from bn_memorization import control_gates, controls
from bn_memorization import membership as mia
from bn_memorization.control_claims import CONTROLS
from bn_memorization.judging import NOT_TESTABLE, REPRODUCED, Evidence, judge

WHERE = {"dataset": "planted", "arch": "lenet", "corruption": "flip", "noise_rate": 0.25}


def evidence(low=0.1, middle=0.2, high=0.3, **where):
    return Evidence(WHERE | {"sizes": "48 images, 1 epoch"} | where, middle, low, high, 6)


def test_without_an_interval_it_says_why_and_has_no_verdict():
    item = control_gates.without(evidence(), "too little")
    assert (item.interval, item.estimate) == ("none: too little", 0.2)
    assert judge(CONTROLS["matched_fitted"], [evidence()]).word == REPRODUCED
    assert judge(CONTROLS["matched_fitted"], [item]).word == NOT_TESTABLE


@pytest.mark.parametrize(
    ("ends", "clean", "why"),
    [
        ((0.9, 0.4), (0.95, 0.95), None),
        ((0.99, 0.4), (0.95, 0.95), None),  # one arm alone is full
        ((0.95, 0.96), (0.95, 0.95), "both fit all"),
        ((0.9, 0.4), (0.95, 0.85), "plain has not learned"),
        ((0.9, 0.4), (0.85, 0.95), "BN has not learned"),
    ],
)
def test_a_long_run_decides_between_floor_and_ceiling(ends, clean, why):
    runs = [
        run
        for norm, end, learned in zip(("batch", "none"), ends, clean, strict=True)
        for run in three(norm, end, clean=(0.1, learned))
    ]
    (item,) = control_gates.long_runs([evidence()], runs, "batch")
    assert math.isnan(item.low) == (why is not None)
    assert (why or "t over seeds") in item.interval


def test_each_setting_of_long_runs_has_its_own_gate():
    runs = [
        run
        for rate, end in ((0.25, 0.5), (0.5, 0.97))
        for norm in ("batch", "none")
        for run in three(norm, end, noise_rate=rate)
    ]
    items = [evidence(noise_rate=0.5), evidence(noise_rate=0.25)]
    full, free = control_gates.long_runs(items, runs, "batch")
    assert math.isnan(full.low)
    assert free.low == 0.1


@pytest.mark.parametrize("arm", [0, 1])
def test_pools_must_have_fitted_their_members(arm):
    pair = list(mia.paired(mia.pools(both((0.0, 9.0, 9.0), (0.0, 9.0, 9.0))), "batch")[0])
    item = evidence(noise_rate=0.05)
    assert control_gates.long_pools([item], [tuple(pair)]) == [item]
    wrong = pair[arm].correct.copy()
    wrong[-1, :, :10] &= ~KEEP[:, :10]  # a quarter of the members, about
    pair[arm] = replace(pair[arm], correct=wrong)
    (gated,) = control_gates.long_pools([item], [tuple(pair)])
    assert math.isnan(gated.low)
    assert "has not fitted its members" in gated.interval


@pytest.mark.parametrize(
    ("log", "stays"), [((0.05, 0.1, 0.2), True), ((-0.1, 0.1, 0.2), False), ((-1, -1, -1), False)]
)
def test_two_readings_must_give_one_verdict(log, stays):
    item = control_gates.agreed(CONTROLS["matched_loss"], evidence(), evidence(*log))
    assert math.isnan(item.low) != stays
    assert item.estimate == 0.2


def test_at_equal_loss_reads_both_lines():
    rows = [
        WHERE
        | {"sizes": "few", "quantity": controls.ACCURACY, "matching": way, "unit": unit}
        | {"value": sign * 0.1 + 0.001 * unit}
        for way, sign in ((controls.LOSS, 1), (controls.LOG, -1))
        for unit in range(3)
    ]
    claim = CONTROLS["matched_loss"]
    (item,) = control_gates.at_equal_loss(claim, pd.DataFrame(rows), controls.ACCURACY)
    assert math.isnan(item.low)
    alike = pd.DataFrame(rows).assign(value=[0.1, 0.101, 0.102] * 2)
    (item,) = control_gates.at_equal_loss(claim, alike, controls.ACCURACY)
    assert (item.estimate, item.where["sizes"]) == (pytest.approx(0.101), "few")
    assert item.low > 0
