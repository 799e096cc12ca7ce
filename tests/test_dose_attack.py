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
    assert table.dose.tolist() == ["0.7", "2"]
    low, high = table["AUC, all"].astype(float)
    assert high > low
    assert set(table.n) == {len(made_shadows.KEEP) // 2}
    assert "highest dose minus lowest" in dose_attack.at_equal(by_dose)
