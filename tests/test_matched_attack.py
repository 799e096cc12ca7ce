from dataclasses import replace

import made_shadows
import numpy as np
import pandas as pd
import pytest
from made_shadows import M, both, pool, shadows

from bn_memorization import controls, matched_attack
from bn_memorization import membership as mia
from bn_memorization.judging import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from bn_memorization.shadows import Shadow
from bn_memorization.stats import auc


def found(values, matching, quantity=controls.AUC):
    (item,) = controls.evidence(values, matching, quantity)
    return item


def pool_pair(shifts, plain, test=(0.1, 0.5, 0.5)):
    pools = mia.pools(made_shadows.both(shifts, plain))
    (pair,) = mia.paired(
        [replace(p, test_accuracy=np.tile(test, (6, 1)).T) for p in pools], "batch"
    )
    return pair


def test_pools_at_equal_loss_are_what_chapter_3_reads():
    pair = pool_pair((0.0, 2.0, 4.0), (0.0, 1.0, 2.0))
    values = matched_attack.of_pools([pair], 4)
    (equal,) = matched_attack.at_equal_loss(pair, "batch")
    for way, item in ((controls.LOSS, equal.straight), (controls.LOG, equal.log)):
        mine = found(values, way, controls.AUC)
        assert (mine.estimate, mine.low) == pytest.approx((item.estimate, item.low))
    for way, gap in ((controls.BEFORE, equal.before), (controls.AFTER, equal.after)):
        assert found(values, way, controls.AUC).estimate == pytest.approx(gap)
    fixed = found(values, controls.FIXED, controls.AUC)
    end = [pool.aucs(mia.DECIDES, look=-1) for pool in pair]
    assert fixed.estimate == pytest.approx((end[0] - end[1]).mean())
    assert fixed.interval == mia.INTERVAL
    assert not controls.evidence(values, controls.LONG, controls.AUC)


def test_a_longer_pool_is_matched_early_and_read_late():
    pair = pool_pair((0.0, 0.5, 4.0), (0.0, 0.5, 0.5))
    values = matched_attack.of_pools([pair], 2)  # the look in the middle
    assert found(values, controls.FIXED, controls.AUC).estimate == pytest.approx(0)
    assert found(values, controls.LOG, controls.AUC).estimate == pytest.approx(0)
    assert found(values, controls.TEST, controls.AUC).estimate == pytest.approx(0)
    assert found(values, controls.LONG, controls.AUC).estimate > 0.1


def test_pools_at_equal_test_accuracy_by_hand():
    """Both get to an accuracy of .3 half way to the second look, so half of its gap is left."""
    first, second = pool_pair((0.0, 2.0, 2.0), (0.0, 0.0, 0.0))
    second = replace(second, test_accuracy=np.tile([0.1, 0.3, 0.3], (6, 1)).T)
    values = matched_attack.of_pools([(first, second)], 4)
    paths = [matched_attack.auc_path(pool) for pool in (first, second)]
    wanted = (paths[0][0] + paths[0][1]).mean() / 2 - paths[1][1].mean()
    assert found(values, controls.TEST, controls.AUC).estimate == pytest.approx(wanted)


def test_auc_path_is_one_auc_a_look_and_model():
    pool = made_shadows.pool()
    path = matched_attack.auc_path(pool)
    assert path.shape == (3, made_shadows.M)
    one = auc(pool.score(mia.DECIDES, 1)[2], pool.keep[2])
    assert path[1, 2] == one


def arms(monkeypatch, *given):
    """Return two pools from (clean losses, AUCs) of every look, the same for all models."""
    made = []
    for norm, (losses, aucs) in zip(("batch", "none"), given, strict=True):
        one = replace(pool(), norm=norm, looks=list(range(len(losses))))
        vars(one)["clean_loss"] = np.repeat(np.array(losses, float)[:, None], M, axis=1)
        vars(one)["given"] = np.repeat(np.array(aucs, float)[:, None], M, axis=1)
        made.append(one)
    monkeypatch.setattr(matched_attack, "auc_path", lambda pool: vars(pool)["given"])
    return made


FAST, SLOW = ([1, 0.2], [0.5, 0.9]), ([1, 0.6], [0.5, 0.6])


@pytest.mark.parametrize(
    ("first", "second", "straight", "around"),
    [
        # The plain arm ends at a loss of .6; BN came by it half way.
        (FAST, SLOW, 0.7 - 0.6, (0.5 - 0.6, 0.9 - 0.6)),
        # The other way round.
        (SLOW, FAST, 0.6 - 0.7, (0.6 - 0.5, 0.6 - 0.9)),
        # Equal ends: the last looks, and nothing around them.
        (([1, 0.5], [0.5, 0.8]), ([1, 0.5], [0.5, 0.7]), 0.1, (0.1, 0.1)),
        # The first time counts: a loss that rises again later does not.
        (([1, 0.2, 1.5, 0.2], [0.5, 0.9, 0.1, 0.2]), ([1, 1, 1, 0.6], [0.5, 0.5, 0.5, 0.6]),
         0.7 - 0.6, (0.5 - 0.6, 0.9 - 0.6)),
    ],
)  # fmt: skip
def test_at_equal_loss_by_hand(monkeypatch, first, second, straight, around):
    made = arms(monkeypatch, first, second)
    (equal,) = matched_attack.at_equal_loss(made, "batch")
    assert equal.straight.estimate == pytest.approx(straight)
    assert (equal.before, equal.after) == pytest.approx(around)
    assert equal.straight.n == equal.log.n == M // 2
    assert equal.loss == pytest.approx(max(first[0][-1], second[0][-1]))


def test_log_lines_lie_at_another_place(monkeypatch):
    """From e^0 to e^-2 a loss of e^-1 lies half way in logs, and further on straight lines."""
    made = arms(monkeypatch, ([1, np.exp(-2)], [0.5, 0.9]), ([1, np.exp(-1)], [0.5, 0.6]))
    (equal,) = matched_attack.at_equal_loss(made, "batch")
    assert equal.log.estimate == pytest.approx(0.7 - 0.6)
    share = (1 - np.exp(-1)) / (1 - np.exp(-2))
    assert equal.straight.estimate == pytest.approx(0.5 + 0.4 * share - 0.6)


def test_outliers_have_no_part_in_the_matching():
    """How far members that are outliers are fitted moves the loss on all, and not the place."""
    slow, fast = both((0.0, 1.0, 2.0), (0.0, 1.0, 2.0))[:M], shadows((0.0, 2.0, 4.0), norm="none")
    pools = mia.pools([*slow, *fast])
    chosen = pools[0].keep & pools[0].outlier
    fitted = replace(pools[0], phi=np.where(chosen, pools[0].phi + 9, pools[0].phi))
    assert (fitted.train_loss < pools[0].train_loss).all()
    (one,), (other,) = (
        matched_attack.at_equal_loss([first, pools[1]], "batch") for first in (pools[0], fitted)
    )
    assert one.loss == other.loss


def test_views_have_no_part_in_it():
    one, six = (mia.pools(both(), queries) for queries in (1, 6))
    assert matched_attack.at_equal_loss(one, "batch") == matched_attack.at_equal_loss(six, "batch")


def test_an_arm_with_itself_has_no_gap():
    made = shadows() + [Shadow(replace(s.config, norm="none"), s.arrays, s.meta) for s in shadows()]
    (equal,) = matched_attack.at_equal_loss(mia.pools(made), "batch")
    for item in (equal.straight, equal.log):
        assert (item.estimate, item.low, item.high) == (0, 0, 0)
    assert equal.before == equal.after == 0


def rows(rate, gap, way=(controls.LOSS, controls.LOG)):
    where = {"dataset": "mnist", "arch": "lenet", "corruption": "flip", "noise_rate": rate}
    where |= {"quantity": controls.AUC, "sizes": "pool of 40 images, 4 epochs"}
    return [
        where | {"matching": matching, "unit": unit, "value": gap + 0.001 * unit}
        for matching in way
        for unit in range(6)
    ]


def test_each_share_of_outliers_has_its_control():
    values = pd.DataFrame(rows(0.0, 0.01) + rows(0.05, 0.03) + rows(0.2, 0.3))
    none, five = matched_attack.attack_verdicts(values)
    assert (none.claim.key, none.word) == ("matched_attack_clean", REPRODUCED)
    assert (five.claim.key, five.word) == ("matched_attack_5", NOT_REPRODUCED)


def test_lines_that_disagree_leave_no_verdict():
    values = pd.DataFrame(rows(0.05, 0.05, [controls.LOSS]) + rows(0.05, 0.01, [controls.LOG]))
    (verdict,) = matched_attack.attack_verdicts(values)
    assert verdict.word == NOT_TESTABLE
    assert "different verdicts" in verdict.evidence[0].interval


def test_evidence_tells_pool_and_epochs():
    values = matched_attack.of_pools([pool_pair((0.0, 1.0, 2.0), (0.0, 1.0, 1.0))], 2)
    assert found(values, controls.LOSS).where["sizes"] == "pool of 40 images, 2 epochs"
    assert found(values, controls.LONG).where["sizes"] == "pool of 40 images, 4 epochs"
