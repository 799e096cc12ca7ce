from dataclasses import replace

import made_ways
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_shadows import KEEP
from made_ways import every, shadows, ways

from bn_memorization import frontier
from bn_memorization.membership import DECIDES
from bn_memorization.stats import auc
from bn_memorization.tradeoff import DECAY, NOTHING, STOPPING

VALUES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12
)  # few values, so that ties are common


@pytest.mark.parametrize(
    ("gain", "loss", "wanted"),
    [
        ([0.9], [0.8], [True]),
        ([0.9, 0.8, 0.7], [0.8, 0.6, 0.7], [True, True, False]),  # the last by the second
        ([0.8, 0.8], [0.6, 0.7], [True, False]),  # equal in one, worse in the other
        ([0.7, 0.8], [0.6, 0.6], [False, True]),
        ([0.8, 0.8, 0.7], [0.6, 0.6, 0.6], [True, True, False]),  # equal points stay together
        ([0.8, 0.8, 0.9], [0.6, 0.6, 0.5], [False, False, True]),  # and fall together
        ([0.5, 0.7, 0.9], [0.5, 0.7, 0.9], [True, True, True]),
    ],
)
def test_front_by_hand(gain, loss, wanted):
    assert frontier.front(gain, loss).tolist() == wanted


@given(VALUES)
def test_front_is_what_no_other_beats(points):
    found = frontier.front(*zip(*points, strict=True))
    for (gain, loss), on in zip(points, found, strict=True):
        beaten = any(
            g >= gain and small <= loss and (g > gain or small < loss) for g, small in points
        )
        assert on == (not beaten)
    assert found.any()


@given(VALUES, st.randoms())
def test_front_does_not_depend_on_order(points, random):
    order = list(range(len(points)))
    random.shuffle(order)
    found = frontier.front(*zip(*points, strict=True))
    turned = frontier.front(*zip(*(points[i] for i in order), strict=True))
    assert turned.tolist() == found[order].tolist()


def test_a_point_without_a_value_has_no_place():
    with pytest.raises(ValueError, match="NaN"):
        frontier.front([0.5, np.nan], [0.5, 0.5])


def test_ways_are_told_apart_by_norm_remedy_and_strength():
    assert [way.key for way in ways()] == [
        ("batch", NOTHING, ""),
        ("none", NOTHING, ""),
        ("group", NOTHING, ""),
        ("layer", NOTHING, ""),
        ("batch", "log", "weight 1, target 0.25"),
        ("batch", DECAY, "0.01"),
        ("group", frontier.PRIVATE, "2"),
        ("group", frontier.PRIVATE, "8"),
    ]


def test_a_way_is_measured_pair_by_pair_after_the_last_epoch():
    made = shadows(1.0, 0.8)
    (way,) = ways(made)
    np.testing.assert_allclose(way.test, [0.8005, 0.8025, 0.8045])
    score = way.pool.score(DECIDES, look=2)
    of_model = [auc(score[m], KEEP[m]) for m in range(6)]
    np.testing.assert_allclose(way.auc, [np.mean(of_model[m : m + 2]) for m in (0, 2, 4)])


def test_members_found_need_enough_non_members(monkeypatch):
    assert ways(shadows(9.0, 0.8))[0].tpr is None  # 20 non-members do not resolve 1 %
    monkeypatch.setattr(frontier, "FPR", 0.05)
    (strong,), (null,) = ways(shadows(9.0, 0.8)), ways(shadows(0.0, 0.8))
    np.testing.assert_array_equal(strong.tpr, [1.0, 1.0, 1.0])
    assert null.tpr.mean() < 0.4


def test_settings_stand_apart():
    found = ways([*shadows(1.0, 0.8), *shadows(1.0, 0.8, noise_rate=0.1, norm="none")])
    groups = frontier.by_setting(found)
    assert [where["noise_rate"] for where, _ in groups] == [0.05, 0.1]
    assert [len(group) for _, group in groups] == [1, 1]


@pytest.mark.parametrize("name", ["keep", "outlier"])
def test_ways_on_other_halves_are_no_ways_to_compare(name):
    first, second = ways([*shadows(1.0, 0.8), *shadows(1.0, 0.8, norm="none")])
    changed = replace(second.pool, **{name: ~getattr(second.pool, name)})
    with pytest.raises(ValueError, match=f"not all ways have the same {name}"):
        frontier.by_setting([first, replace(second, pool=changed)])


def test_early_stopping_is_bn_at_its_earlier_looks():
    (found,) = frontier.stopped(ways())
    assert found.key == ("batch", STOPPING, "2")
    np.testing.assert_allclose(found.test, 0.7)
    np.testing.assert_array_equal(found._score, found.pool.score(DECIDES, look=1))
    assert frontier.stopped(ways(shadows(1.0, 0.8, norm="none"))) == []


def pair_of_ways(shift=(1.0, 1.0), test=(0.8, 0.8)):
    made = [shadows(s, t, norm=n) for s, t, n in zip(shift, test, ("batch", "none"), strict=True)]
    return ways([*made[0], *made[1]])


def test_clearly_better_needs_both_axes():
    first, second = pair_of_ways(shift=(0.5, 3.0), test=(0.8, 0.7))
    assert frontier.clearly_better(first, second)
    assert not frontier.clearly_better(second, first)
    assert not frontier.clearly_better(*pair_of_ways(shift=(0.5, 3.0)))  # as accurate
    assert not frontier.clearly_better(*pair_of_ways(test=(0.8, 0.7)))  # as leaky
    assert not frontier.clearly_better(*pair_of_ways(shift=(3.0, 0.5), test=(0.8, 0.7)))


def test_a_difference_within_its_interval_is_not_clear():
    first, second = pair_of_ways(shift=(0.5, 3.0))
    noisy = replace(first.pool, test_accuracy=first.pool.test_accuracy.copy())
    noisy.test_accuracy[-1] += [0.2, 0.2, -0.1, -0.1, 0.0, 0.0]  # 3 points more in the mean
    first = replace(first, pool=noisy)
    assert first.test.mean() > second.test.mean()
    assert not frontier.clearly_better(first, second)


def test_points_hold_means_intervals_and_the_front():
    found = made_ways.points()
    assert len(found) == 9
    bn = found.iloc[0]
    assert (bn.norm, bn.remedy, bn.n) == ("batch", NOTHING, 3)
    assert bn.test == pytest.approx(0.8025)
    reach = 4.302652729911275 * 0.002 / np.sqrt(3)
    assert (bn.test_low, bn.test_high) == pytest.approx((0.8025 - reach, 0.8025 + reach))
    assert bn.auc_low < bn.auc < bn.auc_high
    wanted = frontier.front(found["test"], found["auc"])
    np.testing.assert_array_equal(found.front_auc, wanted)
    on = set(found[found.front_auc].remedy)
    assert {"log", frontier.PRIVATE} <= on
    assert not bn.front_auc
    assert ("batch", "log", "weight 1, target 0.25") in bn.beaten_by
    assert found["tpr"].isna().all()
    assert not found.front_tpr.any()


def test_each_setting_has_a_front_of_its_own():
    found = ways([*every(), *every(noise_rate=0.1)])
    one, both = frontier.points(ways()), frontier.points(found)
    assert both.front_auc.tolist() == one.front_auc.tolist() * 2


def test_the_loss_of_a_way_is_its_members_at_its_look():
    (way,) = ways(shadows(3.0, 0.8))
    (stop,) = frontier.stopped([way])
    for each, look in ((way, 2), (stop, 1)):
        phi = each.pool.phi[look]
        of_model = [np.log1p(np.exp(-phi[m][KEEP[m]])).mean() for m in range(6)]
        wanted = np.reshape(of_model, (3, 2)).mean(axis=1)
        np.testing.assert_allclose(each.train_loss, wanted)
    assert way.train_loss.mean() < stop.train_loss.mean()
