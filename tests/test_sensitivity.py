from dataclasses import replace

import numpy as np
import pytest
from made_shadows import KEEP, N, both, pool

from bn_memorization import calibration, lira, sensitivity
from bn_memorization import membership as mia
from bn_memorization.masks import paired_masks
from bn_memorization.queries import VIEWS
from bn_memorization.signals import naive_margin
from bn_memorization.stats import auc, mean_interval


def pairs(**changes):
    return mia.paired(mia.pools(both(**changes)), "batch")


def with_margins(phi, keep):
    """Return a pool that has these margins [M, N] under every view."""
    views = np.stack([phi] * len(VIEWS))
    return replace(pool(), phi=phi[None], phi_view=views, phi_naive=phi, phi_batch=phi, keep=keep)


def by_pair(score, keep):
    each = [auc(*both) for both in zip(score, keep, strict=True)]
    return np.reshape(each, (-1, 2)).mean(axis=1)


def test_each_choice_is_an_attack_on_its_own_margins():
    found = pool()
    wanted = {
        sensitivity.as_declared: found.phi[-1],
        sensitivity.in_training_mode: found.phi_batch,
        sensitivity.through_float32: found.phi_naive,
        sensitivity.averaged: found.phi_view.mean(axis=0),
    }
    for choice, margins in wanted.items():
        np.testing.assert_allclose(choice(found), by_pair(lira.online(margins, KEEP), KEEP))
    np.testing.assert_allclose(
        sensitivity.stacked(found), by_pair(lira.stacked(lira.online, found.phi_view, KEEP), KEEP)
    )
    assert sensitivity.CHOICES["as in chapter 3"] is sensitivity.as_declared


def test_views_are_counted_from_the_image_as_it_is():
    found = pool()
    for way in (sensitivity.stacked, sensitivity.averaged):
        np.testing.assert_array_equal(way(found, 1), sensitivity.as_declared(found))
        assert not np.array_equal(way(found, 2), way(found, 6))
    two = by_pair(lira.online(found.phi_view[:2].mean(axis=0), KEEP), KEEP)
    np.testing.assert_allclose(sensitivity.averaged(found, 2), two)


@pytest.mark.parametrize("n_models", [6, 8])
def test_fewer_models_by_hand(n_models):
    """Of five pairs: every run of neighbors, round past the last, is a pool of its own."""
    keep = paired_masks(10, N, 3)
    phi = calibration.margins(keep, 1.0, 3)
    size, each = n_models // 2, {p: [] for p in range(5)}
    for start in range(5):
        chosen = [(start + k) % 5 for k in range(size)]
        rows = [row for p in chosen for row in (2 * p, 2 * p + 1)]
        aucs = by_pair(lira.online(phi[rows], keep[rows]), keep[rows])
        for place, p in enumerate(chosen):
            each[p].append(aucs[place])
    assert {len(values) for values in each.values()} == {size}
    wanted = [np.mean(values) for values in each.values()]
    np.testing.assert_allclose(sensitivity.with_models(with_margins(phi, keep), n_models), wanted)


def test_all_models_are_chapter_3s_attack():
    np.testing.assert_array_equal(
        sensitivity.with_models(pool(), 6), sensitivity.as_declared(pool())
    )


@pytest.mark.parametrize(("n_models", "half"), [(6, 6), (12, 6), (14, 6), (16, 8), (26, 12)])
def test_half_of_the_models_come_in_pairs_and_are_at_least_six(monkeypatch, n_models, half):
    asked = []
    monkeypatch.setattr(sensitivity, "with_models", lambda pool, count: asked.append(count))
    keep = paired_masks(n_models, 4, 0)
    sensitivity.with_half(with_margins(np.zeros(keep.shape), keep))
    assert asked == [half]


def test_too_few_models_are_refused():
    with pytest.raises(ValueError, match=r"4 models: .*at least 6"):
        sensitivity.with_models(pool(), 4)
    with pytest.raises(ValueError, match="4 models: the attack needs at least 6"):
        sensitivity.sizes(4)


@pytest.mark.parametrize("n_models", [6, 8, 16, 32])
def test_noise_gives_one_half_however_few_models_are_left(n_models):
    """Within 3 standard errors over 20 pools."""
    found = []
    for seed in range(20):
        keep = paired_masks(32, 60, seed)
        made = with_margins(calibration.margins(keep, 0.0, seed), keep)
        found.append(sensitivity.with_models(made, n_models).mean())
    assert abs(np.mean(found) - 0.5) < 3 * np.std(found, ddof=1) / np.sqrt(len(found))


def test_a_planted_shift_is_found_better_with_more_models():
    keep = paired_masks(64, 200, 0)
    made = with_margins(calibration.margins(keep, 1.5, 0), keep)
    found = [gap.estimate for gap in sensitivity.against_models(made).values()]
    assert found == sorted(found)
    wanted = calibration.expected("online, pooled", 1.5)
    assert found[0] < wanted - 0.05
    assert found[-1] == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize(
    ("n_models", "wanted"),
    [(6, [6]), (8, [6, 8]), (12, [6, 8, 10, 12]), (64, [6, 8, 12, 16, 24, 32, 46, 64])],
)
def test_numbers_of_models_are_even_and_end_with_all(n_models, wanted):
    assert sensitivity.sizes(n_models) == wanted


def test_curves_hold_means_with_their_intervals():
    found = pool()
    assert sensitivity.against_models(found) == {6: mean_interval(found.aucs(mia.DECIDES))}
    curve = sensitivity.against_views(found, sensitivity.stacked)
    assert list(curve) == [1, 2, 3, 4, 5, 6]
    assert curve[3] == mean_interval(sensitivity.stacked(found, 3))


def test_gaps_are_those_of_the_claim_and_of_each_choice():
    pools = mia.pools(both())
    assert sensitivity.gaps(pairs(), sensitivity.as_declared) == mia.compare(pools, "batch")
    (item,) = sensitivity.gaps(pairs(), sensitivity.in_training_mode)
    first, second = (sensitivity.in_training_mode(p) for p in pools)
    assert item.estimate == pytest.approx((first - second).mean())
    assert (item.n, item.interval) == (3, mia.INTERVAL)


def test_shifts_by_hand():
    """Where one arm alone moves, the gap moves as much; the sign is left out."""
    ((treated, plain),) = pairs()
    moves = np.array([0.1, -0.3, 0.2])

    def choice(pool):
        return pool.aucs(mia.DECIDES) + (moves if pool.norm == "batch" else 0)

    (item,) = sensitivity.shifts([(treated, plain)], choice)
    assert item.estimate == pytest.approx(0.2)
    reach = 4.302652729911275 * 0.1 / np.sqrt(3)  # t for 2 degrees of freedom
    assert item.high == pytest.approx(0.2 + reach)
    assert item.n == 3


def test_changes_keep_the_sign_that_shifts_leave_out():
    ((treated, plain),) = pairs()
    moves = np.array([0.1, -0.3, -0.1])

    def choice(pool):
        return pool.aucs(mia.DECIDES) + (moves if pool.norm == "batch" else 0)

    (item,) = sensitivity.changes([(treated, plain)], choice)
    assert item.estimate == pytest.approx(-0.1)
    reach = 4.302652729911275 * 0.2 / np.sqrt(3)
    assert (item.low, item.high) == (pytest.approx(-0.1 - reach), pytest.approx(-0.1 + reach))
    (size,) = sensitivity.shifts([(treated, plain)], choice)
    assert size.estimate >= abs(item.estimate)
    assert (item.n, item.interval, item.where) == (size.n, size.interval, size.where)


def test_changes_are_the_difference_of_the_gaps():
    arms = pairs(shifts=(0.0, 0.0, 15.0))
    (item,) = sensitivity.changes(arms, sensitivity.through_float32)
    (before,) = sensitivity.gaps(arms, sensitivity.as_declared)
    (after,) = sensitivity.gaps(arms, sensitivity.through_float32)
    assert item.estimate == pytest.approx(after.estimate - before.estimate)


def test_no_interval_of_a_size_starts_below_zero():
    ((treated, plain),) = pairs()

    def choice(pool):
        return pool.aucs(mia.DECIDES) + (np.array([0.0, 0.0, 0.3]) if pool.norm == "batch" else 0)

    (item,) = sensitivity.shifts([(treated, plain)], choice)
    uncut = mean_interval([0.0, 0.0, 0.3])
    assert uncut.low < 0 == item.low
    assert item.high == pytest.approx(uncut.high)


@pytest.mark.parametrize("of", [sensitivity.shifts, sensitivity.changes])
def test_a_choice_that_changes_nothing_shifts_nothing(of):
    (item,) = of(pairs(), sensitivity.as_declared)
    assert (item.estimate, item.low, item.high) == (0, 0, 0)


def test_means_over_sets_of_shadows_spread_less_than_one_run():
    """Why the page says so of half of the models: over 20 pools of margins without membership."""
    one_run, over_sets = [], []
    for seed in range(20):
        keep = paired_masks(24, 60, seed)
        made = with_margins(calibration.margins(keep, 0.0, seed), keep)
        over_sets.append(sensitivity.with_half(made).std(ddof=1))
        few = replace(made, phi=made.phi[:, :12], phi_view=made.phi_view[:, :12], keep=keep[:12])
        one_run.append(sensitivity.as_declared(few).std(ddof=1))
    assert np.mean(over_sets) < np.mean(one_run)


def test_a_ceiling_over_members_of_one_arm_shifts_the_gap():
    """Members far up are told apart by their own levels alone, and the ceiling takes these."""
    keep = paired_masks(12, N, 0)
    phi = calibration.margins(keep, 1.5, 0) + 30 * np.random.default_rng(0).random(N)
    high = replace(with_margins(phi, keep), phi_naive=np.minimum(phi, sensitivity.CEILING))
    (item,) = sensitivity.shifts(
        [(high, replace(with_margins(phi, keep), norm="none"))], sensitivity.through_float32
    )
    assert item.estimate > 0.05


def test_at_ceiling_by_hand():
    phi = np.full(KEEP.shape, 3.0)
    phi[KEEP & (np.arange(N) < N // 2)] = sensitivity.CEILING
    found = sensitivity.at_ceiling(replace(pool(), phi_naive=phi))
    assert found == {"members": pytest.approx(0.5), "non-members": 0.0}


def test_the_ceiling_is_that_of_float32():
    logits = np.array([[40.0, 0.0], [15.0, 0.0], [1e4, -1e4]])
    margins = naive_margin(logits, np.zeros(3, int))
    assert (margins >= sensitivity.CEILING).tolist() == [True, False, True]
    assert 15.9 < sensitivity.CEILING < 16
