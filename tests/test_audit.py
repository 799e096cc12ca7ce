import numpy as np
import pytest
from made_audit import audited
from scipy import stats as scipy_stats

from bn_memorization import audit
from bn_memorization.audit_runs import AuditConfig, AuditShadow
from bn_memorization.judging import NOT_TESTABLE, REPRODUCED
from bn_memorization.stats import auc, tpr_at_fpr

WHERE = {"network": "net", "images": "made up"}


def shadow(model, **arrays):
    config = AuditConfig(
        **dict.fromkeys(("factory", "code_sha256", "versions", "images"), "x"),
        **dict.fromkeys(("pool_size", "image_size", "num_classes", "seed", "epochs"), 1),
        **dict.fromkeys(("planted_rate", "lr", "momentum", "weight_decay"), 0.1),
        batch_size=2,
        scaling="unit",
        optimizer="sgd",
        model=model,
    )
    values = {
        "phi": np.float32([model, -1]),
        "correct": np.array([True, False]),
        "norm": np.float32([1, 2]),
        "member": np.array([model % 2 == 0, model % 2 == 1]),
        "planted": np.array([False, True]),
        "given_label": np.array([0, 1]),
        "gamma": np.float32([-2, 3]),
        "sigma": np.float32([4, 1]),
        "bn_layer": np.int16([1, 2]),
        "fast": np.array(True),
    }
    return AuditShadow(config, values | arrays)


def test_models_are_stacked_by_index_whatever_their_order():
    found = audit.stack([shadow(1, fast=np.array(False)), shadow(0), shadow(2)])
    assert found.phi.tolist() == [[0, -1], [1, -1], [2, -1]]
    assert found.keep.tolist() == [[True, False], [False, True], [True, False]]
    assert found.ratio.tolist() == [[0.5, 3]] * 3  # of a negative gamma the size
    assert not found.fast
    assert found.phi.dtype == np.float64


def test_pair_aucs_by_hand():
    score = np.array([[3, 2, 1, 0], [0, 1, 2, 3], [1, 1, 1, 1], [0, 0, 5, 5]], float)
    truth = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0]], bool)
    everyone = np.ones_like(truth)
    # 1 and .5 (1 > 0, 2 > 0, 1 < 3, 2 < 3), then .5 (ties) and 0.
    np.testing.assert_allclose(audit.pair_aucs(score, truth, everyone), [0.75, 0.25])
    some = everyone.copy()
    some[3, 2:] = False  # no sample of one kind is left
    np.testing.assert_allclose(audit.pair_aucs(score, truth, some), [0.75])
    assert audit.pair_aucs(score, everyone, everyone).size == 0


def test_the_attack_finds_a_shift_and_nothing_without_one():
    strong, null = audited(shift=3.0), audited(shift=0.0)
    assert audit.attack_aucs(strong).mean() > 0.9
    reach = audit.by_chance(null.keep[0])
    assert abs(audit.attack_aucs(null).mean() - 0.5) < reach


def test_planted_labels_do_not_count_for_the_attack():
    """Planted labels alone are told apart: nothing is found but with them."""
    made = audited(shift=0.0)
    leaky = audited(phi=made.phi + 20.0 * (made.keep & made.planted))
    reach = audit.by_chance(leaky.keep[0][leaky.own])
    assert abs(audit.attack_aucs(leaky).mean() - 0.5) < reach
    assert audit.attack_aucs_with_planted(leaky).mean() > audit.attack_aucs(leaky).mean() + 0.02
    own = audit.pair_aucs(
        leaky.score()[:, leaky.own], leaky.keep[:, leaky.own], np.ones((8, 72), bool)
    )
    np.testing.assert_array_equal(audit.attack_aucs(leaky), own)
    verdict, _ = audit.verdicts(leaky, WHERE)
    assert verdict.evidence[0].estimate == pytest.approx(own.mean() - 0.5)
    none = audited(planted=np.zeros(80, bool))
    np.testing.assert_array_equal(audit.attack_aucs(none), audit.attack_aucs_with_planted(none))


def test_a_verdict_s_interval_ends_where_an_auc_does():
    norm = np.ones((8, 80))
    made = audited(norm=norm)
    norm = norm + 1.0 * made.planted
    norm[0] = norm[1] = 1.0  # one pair that is told nothing, and three that are told all
    planted = audit.verdicts(audited(norm=norm), WHERE)[1]
    assert planted.evidence[0].estimate == pytest.approx(0.375)
    assert planted.evidence[0].high == pytest.approx(0.5)


def test_where_all_labels_are_fitted_the_planted_ones_have_no_verdict():
    made = audited()
    right = made.keep.copy()
    assert audit.all_fitted(audited(correct=right))
    assert [v.claim.key for v in audit.verdicts(audited(correct=right), WHERE)] == ["audit_attack"]
    right[tuple(np.argwhere(made.keep)[0])] = False
    assert not audit.all_fitted(audited(correct=right))
    assert len(audit.verdicts(audited(correct=right), WHERE)) == 2


def test_planted_labels_are_looked_for_among_members_alone():
    assert audit.planted_aucs(audited(pull=4.0)).mean() > 0.95
    assert abs(audit.planted_aucs(audited(pull=0.0)).mean() - 0.5) < 0.2
    made = audited(pull=4.0)
    outside = np.where(made.keep, made.norm, 0.0)  # what is no member has no part in it
    again = audit.planted_aucs(audited(pull=4.0, norm=outside))
    np.testing.assert_array_equal(again, audit.planted_aucs(made))


def test_verdicts_come_from_the_intervals():
    made = audited(shift=3.0, pull=4.0)
    attack, planted = audit.verdicts(made, WHERE)
    assert (attack.claim.key, planted.claim.key) == ("audit_attack", "audit_planted")
    assert attack.evidence[0].where == WHERE
    assert attack.evidence[0].n == 4
    assert attack.word == NOT_TESTABLE  # four pairs, six wanted
    np.testing.assert_allclose(attack.evidence[0].estimate, audit.attack_aucs(made).mean() - 0.5)


def test_enough_pairs_decide():
    three = [audited(shift=3.0, pull=4.0) for _ in range(2)]
    more = {
        name: np.vstack([getattr(each, name) for each in three])
        for name in ("phi", "correct", "norm", "keep", "ratio")
    }
    rng = np.random.default_rng(5)
    more["phi"] = more["phi"] + 0.1 * rng.normal(size=more["phi"].shape)
    assert {v.word for v in audit.verdicts(audited(**more), WHERE)} == {REPRODUCED}


def test_without_planted_labels_only_the_attack_has_a_verdict():
    made = audited(planted=np.zeros(80, bool))
    assert [v.claim.key for v in audit.verdicts(made, WHERE)] == ["audit_attack"]


def test_accuracy_of_members_and_others():
    made = audited(shift=2.0)
    expected = np.mean([c[k].mean() for c, k in zip(made.correct, made.keep, strict=True)])
    np.testing.assert_allclose(audit.accuracy(made, True), expected)
    assert audit.accuracy(made, True) > audit.accuracy(made, False)


def test_a_rate_that_the_others_do_not_resolve_is_none():
    assert audit.tpr(audited(), 0.1) > 0
    assert audit.tpr(audited(), 0.001) is None


def test_planted_labels_do_not_count_among_the_members_found():
    made = audited(shift=0.0)
    leaky = audited(phi=made.phi + 20.0 * (made.keep & made.planted))
    own, keep = leaky.score()[:, leaky.own], leaky.keep[:, leaky.own]
    wanted = np.mean([tpr_at_fpr(*both, 0.1) for both in zip(own, keep, strict=True)])
    assert audit.tpr(leaky, 0.1) == pytest.approx(wanted)


def test_share_above_one_by_hand():
    ratio = np.array([[0.5, 2.0], [0.5, 0.9], [1.0, 1.1], [2.0, 3.0]])
    found = audit.share_above_one(audited(ratio=ratio, bn_layer=np.array([1, 1])))
    assert found.estimate == pytest.approx((0.25 + 0.75) / 2)  # 1 itself is not above 1
    assert found.n == 2


def test_layers_by_hand():
    ratio = np.array([[0.5, 2.0, 4.0], [1.5, 3.0, 0.5]])
    found = audit.layers(ratio, np.array([1, 2, 2]), ["a", "b"])
    assert found.layer.tolist() == ["a", "b"]
    assert found.channels.tolist() == [1, 2]
    assert found["median"].tolist() == [1.0, 2.5]
    assert found.above.tolist() == [0.5, 0.75]


def test_percentile_by_hand():
    assert audit.percentile(np.array([5.0, 1.0, 9.0, 1.0])).tolist() == [0.75, 0.375, 1.0, 0.375]


def test_prominence_is_a_mean_over_the_models_that_trained_on_the_image():
    keep = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], bool)
    norm = np.array([[1, 2, 99, 99], [99, 99, 1, 2], [1, 99, 2, 99], [99, 2, 99, 1]], float)
    found = audit.prominence(audited(norm=norm, keep=keep))
    assert found.tolist() == [0.5, 1.0, 0.75, 0.75]


def test_held_out_by_hand():
    keep = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], bool)
    correct = np.array([[1, 1], [1, 0], [1, 0], [0, 0]], bool)
    assert audit.held_out(audited(keep=keep, correct=correct)).tolist() == [0.5, 0.5]


def test_the_attack_on_a_saved_network_uses_every_shadow_model():
    made = audited()
    phi = np.random.default_rng(0).normal(size=80)
    inside = np.where(made.keep, made.phi, np.nan)
    outside = np.where(made.keep, np.nan, made.phi)

    def log_density(margins):
        mean = np.nanmean(margins, axis=0)
        # Half of the models each way: the residuals' mean square, with n - 1 for n shadows.
        spread = np.sqrt(np.nanmean(np.nanvar(margins, axis=0, ddof=1)))
        return scipy_stats.norm.logpdf(phi, mean, spread)

    expected = log_density(inside) - log_density(outside)
    np.testing.assert_allclose(audit.attack_saved(made, phi), expected)


def test_a_saved_network_that_leaks_and_one_that_does_not():
    made, rng = audited(shift=3.0), np.random.default_rng(8)
    member = rng.permutation(80) < 40
    hard = made.phi.mean(axis=0) - 1.5
    for shift, leaks in ((3.0, True), (0.0, False)):
        phi = hard + rng.normal(size=80) + shift * member
        score, marks = audit.of_saved(made, phi, member)
        reach = audit.by_chance(marks)
        assert (abs(auc(score, marks) - 0.5) > reach) == leaks


@pytest.mark.parametrize("member", [None, np.ones(80, bool), np.zeros(80, bool)])
def test_without_both_kinds_of_marks_there_is_nothing_to_score(member):
    assert audit.of_saved(audited(), np.zeros(80), member) is None


def test_by_chance_is_what_chance_does():
    rng, member = np.random.default_rng(0), np.arange(80) < 30
    found = [abs(auc(rng.normal(size=80), member) - 0.5) for _ in range(2000)]
    assert 0.93 < np.mean(np.array(found) < audit.by_chance(member)) < 0.97
