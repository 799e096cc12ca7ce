import math

import numpy as np
import pytest
from scipy.stats import norm

from bn_memorization import calibration
from bn_memorization.masks import paired_masks
from bn_memorization.membership import ATTACKS


def test_margins_are_difficulty_noise_and_shift():
    keep = paired_masks(40, 500, 0)
    still, moved = (calibration.margins(keep, shift, seed=1) for shift in (0.0, 2.0))
    np.testing.assert_allclose(moved - still, 2.0 * keep, atol=1e-12)
    assert still.mean(axis=0).std() == pytest.approx(
        math.hypot(calibration.DIFFICULTY, 1 / math.sqrt(40)), rel=0.1
    )
    assert still.std(axis=0, ddof=1).mean() == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("attack", ATTACKS)
def test_without_a_shift_one_half_is_right(attack):
    assert calibration.expected(attack, 0.0) == pytest.approx(0.5)


def test_expected_by_simulation():
    """Two unit normals d apart: which exceeds the other, by itself and by its size."""
    shift, rng = 1.5, np.random.default_rng(0)
    inside, outside = shift + rng.normal(size=200_000), rng.normal(size=200_000)
    wins, larger = np.mean(inside > outside), np.mean(np.abs(inside) > np.abs(outside))
    assert calibration.expected("online, pooled", shift) == pytest.approx(wins, abs=0.004)
    assert calibration.expected("offline density, pooled", shift) == pytest.approx(
        larger, abs=0.004
    )
    spread = calibration.DIFFICULTY * rng.normal(size=(2, 200_000))
    blurred = np.mean(inside + spread[0] > outside + spread[1])
    assert calibration.expected("global threshold", shift) == pytest.approx(blurred, abs=0.004)


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_come_near_what_is_right_with_many_models(attack):
    wanted = calibration.expected(attack, 1.5)
    found = calibration.attacked(attack, 64, 400, 1.5, seed=0)
    assert found.estimate == pytest.approx(wanted, abs=0.03)
    assert found.n == 32


def test_check_has_every_attack_and_knows_null_from_shift():
    frame = calibration.check(6, 32, 200, 1.5, seed=0)
    assert list(frame["attack"]) == list(ATTACKS)
    assert all(gap.n == 3 and abs(gap.estimate - 0.5) < 0.06 for gap in frame["null"])
    shifted = frame[["few", "many", "expected"]]
    assert (shifted.min(axis=1) > 0.6).all()
    nearer = (frame["many"] - frame["expected"]).abs() < (frame["few"] - frame["expected"]).abs()
    assert nearer[:6].all()  # but for the last, which uses no shadow model
    assert frame["expected"][0] == pytest.approx(norm.cdf(1.5 / math.sqrt(2)))


def test_the_same_seed_gives_the_same_table():
    first, second = (calibration.check(6, 8, 60, 1.0, seed=3) for _ in range(2))
    assert first.equals(second)


def test_expected_of_views_by_simulation():
    """The sum over views: its shift grows with V, its noise with the root of V."""
    rng = np.random.default_rng(1)
    inside = (0.6 + rng.normal(size=(6, 100_000))).sum(axis=0)
    outside = rng.normal(size=(6, 100_000)).sum(axis=0)
    wanted = np.mean(inside > outside)
    assert calibration.expected_of_views(6, 0.6) == pytest.approx(wanted, abs=0.005)
    assert calibration.expected_of_views(1, 0.6) == calibration.expected("online, pooled", 0.6)


def test_made_views_have_the_right_answer_either_way():
    null = calibration.views_attacked(6, 6, 300, 0.0, seed=0)
    found = calibration.views_attacked(6, 64, 300, 0.6, seed=0)
    assert list(null) == list(found) == ["averaged", "stacked"]
    for way in null:
        assert abs(null[way].estimate - 0.5) < 0.05
        assert null[way].n == 3
        assert found[way].estimate == pytest.approx(calibration.expected_of_views(6, 0.6), abs=0.03)
    assert null["averaged"] != null["stacked"]
    one = calibration.views_attacked(1, 8, 60, 0.6, seed=0)
    assert one["averaged"] == one["stacked"]
