import made_shadows
import pytest

from bn_memorization import dose_attack, membership
from bn_memorization.models import PLAIN
from bn_memorization.stats import auc

LOG = {"penalty": "log", "penalty_weight": 1.0}


def attacked(shift, target):
    held = {**LOG, "penalty_target": target, "hold_weights": True}
    return made_shadows.shadows(shifts=(0.0, shift / 2, shift), **held)


def test_the_gap_between_doses_is_the_highest_minus_the_lowest():
    by_dose = dose_attack.pools_by_dose(
        [*attacked(3.0, 2.0), *attacked(0.0, 0.5), *attacked(1.0, 1.0)]
    )
    assert list(by_dose) == [0.5, 1.0, 2.0]
    arms = dose_attack.as_arms(by_dose)
    assert [pool.norm for pool in arms] == [dose_attack.HIGHER, PLAIN]
    (gap,) = membership.compare(arms, dose_attack.HIGHER)
    low, high = (by_dose[d][0].aucs(membership.DECIDES).mean() for d in (0.5, 2.0))
    assert gap.estimate == pytest.approx(high - low)
    assert gap.low > 0
    assert gap.n == len(made_shadows.KEEP) // 2


def test_no_gap_between_doses_that_are_attacked_equally_well():
    by_dose = dose_attack.pools_by_dose([*attacked(1.0, 2.0), *attacked(1.0, 0.5)])
    (gap,) = membership.compare(dose_attack.as_arms(by_dose), dose_attack.HIGHER)
    assert gap.estimate == 0
    pool = by_dose[0.5][0]
    score = pool.score(membership.DECIDES)
    assert auc(score[0], pool.keep[0]) > 0.5  # the attack itself works


def test_the_attack_by_dose_in_a_table():
    by_dose = dose_attack.pools_by_dose([*attacked(0.5, 0.7), *attacked(3.0, 2.0)])
    table = dose_attack.attack(by_dose)
    assert table["dose set"].tolist() == ["0.7", "2"]
    low, high = table["AUC, all"].astype(float)
    assert high > low
    assert set(table.n) == {len(made_shadows.KEEP) // 2}
    assert "highest dose minus lowest" in dose_attack.at_equal(by_dose)


def test_a_peak_between_the_ends_is_told():
    """Ends that are attacked equally well hide what lies between them."""
    by_dose = dose_attack.pools_by_dose(
        [*attacked(0.5, 0.5), *attacked(3.0, 1.0), *attacked(0.5, 2.0)]
    )
    found = dose_attack.steps(by_dose)
    assert list(found) == [(0.5, 1.0), (1.0, 2.0)]
    (up,), (down,) = found.values()
    assert up.low > 0 > down.high
    assert up.estimate == pytest.approx(-down.estimate)
    gaps = dose_attack.attack(by_dose)["AUC minus that of the dose before"].tolist()
    assert gaps[0] == "lowest dose"
    assert gaps[1].startswith("+")
    assert gaps[2].startswith("\N{MINUS SIGN}")
    text = dose_attack.path(by_dose)
    rise = gaps[1].split(" (")[0]
    assert f"changes by {rise} from 0.5 to 1, \N{MINUS SIGN}{rise[1:]} from 1 to 2" in text
    pool = by_dose[1.0][0]
    loss, accuracy = pool.train_loss[-1].mean(), pool.test_accuracy[-1].mean()
    assert f"; 1: {loss:.3f}, {100 * accuracy:.1f}" in text


def test_settings_are_told_from_the_least_to_the_most():
    held = {**LOG, "hold_weights": True}
    made = [
        made_shadows.shadows((0.0, 0.5, shift), noise_rate=rate, penalty_target=target, **held)
        for rate, shift in ((0.0, 4.0), (0.05, 1.0))
        for target in (0.5, 2.0)
    ]
    by_dose = dose_attack.pools_by_dose([one for group in made for one in group])
    losses = sorted(pool.train_loss[-1].mean() for pool in by_dose[0.5])
    assert f"0.5: {losses[0]:.3f} to {losses[1]:.3f}, " in dose_attack.path(by_dose)
