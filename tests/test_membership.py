import math
from dataclasses import replace

import numpy as np
import pytest
from made_shadows import KEEP, OUTLIER, M, N, both, pool, shadows

from bn_memorization import lira
from bn_memorization import membership as mia
from bn_memorization.errors import BadInput
from bn_memorization.judging import NOT_REPRODUCED, REPRODUCED, Evidence
from bn_memorization.stats import auc, roc


def test_a_pool_holds_its_models_in_order():
    made = shadows()
    (found,) = mia.pools(made[::-1])
    assert found.where == {
        "dataset": "planted",
        "arch": "lenet",
        "corruption": "flip",
        "noise_rate": 0.05,
    }
    assert (found.norm, found.looks) == ("batch", [0, 2, 4])
    assert found.phi.dtype == np.float64
    np.testing.assert_array_equal(found.phi, np.stack([s.arrays["phi"] for s in made], 1))
    np.testing.assert_array_equal(found.correct, np.stack([s.arrays["correct"] for s in made], 1))
    np.testing.assert_array_equal(found.keep, KEEP)
    assert found.test_accuracy.shape == (3, M)


def test_a_pool_seen_by_other_margins_is_attacked_with_those():
    whole = pool()
    found = whole.seen_as(whole.phi_batch)
    np.testing.assert_array_equal(found.phi, [[s.arrays["phi_batch"] for s in shadows()]])
    np.testing.assert_array_equal(found.score(mia.DECIDES), lira.online(whole.phi_batch, KEEP))
    np.testing.assert_array_equal(found.score(mia.DECIDES, look=0), found.score(mia.DECIDES))
    assert found.looks == [4]
    assert found.train_loss.shape == found.test_accuracy.shape == (1, M)
    several = replace(whole, queries=6).seen_as(whole.phi_naive)
    np.testing.assert_array_equal(several.score(mia.DECIDES), lira.online(whole.phi_naive, KEEP))


@pytest.mark.parametrize("attack", mia.ATTACKS)
@pytest.mark.parametrize("queries", [1, 2, 6])
def test_queries_are_the_first_views_stacked_after_the_last_epoch(attack, queries):
    (found,) = mia.pools(shadows(), queries)
    views = np.stack([s.arrays["phi_view"] for s in shadows()], 1)
    wanted = sum(mia.ATTACKS[attack](view, KEEP) for view in views[:queries])
    np.testing.assert_allclose(found.score(attack), wanted)
    same = np.allclose(found.score(attack), found.score(attack, look=2))
    assert same == (queries == 1)


def test_queries_leave_what_is_set_against_training_loss_as_it_is():
    one, six = (mia.pools(both(), queries) for queries in (1, 6))
    for first, second in zip(one, six, strict=True):
        np.testing.assert_array_equal(first.train_loss, second.train_loss)
        for look in range(3):
            np.testing.assert_array_equal(
                first.aucs(mia.DECIDES, look=look), second.aucs(mia.DECIDES, look=look)
            )
    assert mia.compare(one, "batch") != mia.compare(six, "batch")


@pytest.mark.parametrize("queries", [0, 7])
def test_more_views_than_there_are_are_refused(queries):
    with pytest.raises(ValueError, match=f"queries={queries} must be from 1 to 6"):
        mia.pools(shadows(), queries)


def test_one_pool_a_setting_and_arm():
    found = mia.pools(both() + both(noise_rate=0.0) + both(dataset="mnist"))
    assert [(p.where["dataset"], p.where["noise_rate"], p.norm) for p in found] == [
        (dataset, rate, norm)
        for dataset, rate in (("planted", 0.05), ("planted", 0.0), ("mnist", 0.05))
        for norm in ("batch", "none")
    ]


@pytest.mark.parametrize("change", [lambda s: s[:2] + s[3:], lambda s: [*s, s[0]]])
def test_a_model_missing_or_twice_is_named(change):
    with pytest.raises(ValueError, match=r"planted.*batch.*wanted, but these are \[0, "):
        mia.pools(change(shadows()))


def test_training_loss_is_the_mean_cross_entropy_of_members():
    found = pool()
    for look, model in np.ndindex(3, M):
        losses = [math.log1p(math.exp(-phi)) for phi in found.phi[look, model, KEEP[model]]]
        assert found.train_loss[look, model] == pytest.approx(np.mean(losses))


def test_clean_loss_is_that_of_members_that_are_no_outliers():
    found = pool()
    for look, model in np.ndindex(3, M):
        margins = found.phi[look, model, KEEP[model] & ~OUTLIER]
        wanted = np.mean(np.log1p(np.exp(-margins)))
        assert found.clean_loss[look, model] == pytest.approx(wanted)


@pytest.mark.parametrize("attack", mia.ATTACKS)
def test_aucs_are_means_within_pairs(attack):
    found = pool()
    score = mia.ATTACKS[attack](found.phi[1], KEEP)
    each = [auc(score[m], KEEP[m]) for m in range(M)]
    wanted = [(each[0] + each[1]) / 2, (each[2] + each[3]) / 2, (each[4] + each[5]) / 2]
    np.testing.assert_allclose(found.aucs(attack, look=1), wanted)


def test_aucs_of_a_group_compare_its_samples_alone():
    found = pool()
    score = lira.online(found.phi[-1], KEEP)
    each = [auc(score[m, OUTLIER], KEEP[m, OUTLIER]) for m in range(M)]
    np.testing.assert_allclose(found.aucs(mia.DECIDES, OUTLIER), np.reshape(each, (-1, 2)).mean(1))


def test_a_pair_without_members_or_others_in_a_group_is_left_out_and_shows():
    """Two samples: of the three pairs those count that have one in each model."""
    kept = [pair for pair in range(3) if KEEP[2 * pair, 0] != KEEP[2 * pair, 1]]
    chosen = np.arange(N) < 2
    assert 0 < len(kept) < 3
    assert len(pool().aucs(mia.DECIDES, chosen)) == len(kept)
    assert pool().aucs(mia.DECIDES, np.zeros(N, bool)).size == 0


def test_every_attack_has_its_own_scores():
    scores = [pool().score(attack) for attack in mia.ATTACKS]
    assert len({score.tobytes() for score in scores}) == len(mia.ATTACKS) == 7
    np.testing.assert_array_equal(pool().score(mia.DECIDES), lira.online(pool().phi[-1], KEEP))
    with pytest.raises(BadInput, match="attack 'onlin'"):
        pool().score("onlin")


def test_gaps_are_paired_and_by_setting():
    found = mia.pools(both() + both(noise_rate=0.01))
    evidence = mia.compare(found, "batch")
    assert [item.where["noise_rate"] for item in evidence] == [0.05, 0.01]
    difference = found[0].aucs(mia.DECIDES) - found[1].aucs(mia.DECIDES)
    assert evidence[0].estimate == pytest.approx(difference.mean())
    reach = 4.302652729911275 * difference.std(ddof=1) / math.sqrt(3)  # t for 2 degrees of freedom
    assert evidence[0].high - evidence[0].low == pytest.approx(2 * reach)
    assert evidence[0].n == 3
    assert evidence[0].interval == mia.INTERVAL


def test_the_gap_has_the_sign_of_the_difference():
    strong, weak = (0.0, 0.0, 4.0), (0.0, 0.0, 0.5)
    (up,) = mia.compare(mia.pools(both(strong, weak)), "batch")
    (down,) = mia.compare(mia.pools(both(weak, strong)), "batch")
    assert up.estimate > 0.2
    assert down.estimate < -0.2


def test_a_missing_arm_is_named():
    with pytest.raises(ValueError, match=r"planted.*arms \['batch'\]"):
        mia.paired(mia.pools(shadows()), "batch")
    with pytest.raises(ValueError, match="group"):
        mia.paired(mia.pools(both()), "group")


@pytest.mark.parametrize(
    ("name", "change"), [("keep", {"keep": KEEP[:, ::-1]}), ("outlier", {"outlier": ~OUTLIER})]
)
def test_arms_that_differ_in_more_than_their_norm_are_refused(name, change):
    with pytest.raises(ValueError, match=f"differ in {name}"):
        mia.paired(mia.pools(shadows() + shadows(norm="none", **change)), "batch")


def evidence(rate, low, middle, high, n=6):
    return Evidence({"dataset": "mnist", "noise_rate": rate}, middle, low, high, n)


def test_each_share_of_outliers_has_its_claim():
    found = mia.verdicts(
        [
            evidence(0.05, 0.03, 0.035, 0.05),
            evidence(0.0, 0.001, 0.005, 0.02),
            evidence(0.01, 0.031, 0.035, 0.05),
            evidence(0.1, 0.5, 0.6, 0.7),
        ]
    )
    assert [(verdict.claim.key, verdict.word) for verdict in found] == [
        ("membership_clean", REPRODUCED),
        ("membership_1", REPRODUCED),
        ("membership_5", NOT_REPRODUCED),  # not beyond 4 points
    ]
    assert mia.verdicts([evidence(0.1, 0.5, 0.6, 0.7)]) == []


def test_mean_roc_is_the_mean_of_the_steps():
    found, grid = pool(), np.array([0.01, 0.05, 0.1, 0.5, 1.0])
    score = found.score(mia.DECIDES)
    curves = []
    for model in range(M):
        fpr, tpr = roc(score[model], KEEP[model])
        curves.append([tpr[fpr <= limit + 1e-9].max() for limit in grid])
    np.testing.assert_allclose(mia.mean_roc(found, grid), np.mean(curves, axis=0))
    assert mia.mean_roc(found, np.array([1.0])) == 1


def test_mean_tpr_is_none_where_it_cannot_be_told():
    """Twenty non-members a model resolve a twentieth."""
    found = pool(shifts=(0.0, 0.0, 9.0))
    assert mia.mean_tpr(found, 0.05) > 0.9
    assert mia.mean_tpr(found, 0.04) is None
