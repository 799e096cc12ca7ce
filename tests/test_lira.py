"""The attack against a slow double loop, and against answers that are known."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from bn_memorization import lira
from bn_memorization.errors import BadInput
from bn_memorization.masks import paired_masks
from bn_memorization.stats import auc

MODES = {
    f"{name} {variance}": partial(attack, variance=variance)
    for (name, attack), variance in itertools.product(
        {
            "online": lira.online,
            "one_sided": lira.offline,
            "density": partial(lira.offline, form="density"),
        }.items(),
        lira.VARIANCES,
    )
} | {"global": lira.global_threshold}


def drawn(n_models=8, n_samples=50, seed=0, shift=0.0, spread=3.0):
    """Return margins of samples of different difficulty, and their masks."""
    rng = np.random.default_rng(seed)
    keep = paired_masks(n_models, n_samples, seed)
    phi = spread * rng.normal(size=n_samples) + rng.normal(size=keep.shape) + shift * keep
    return phi, keep


def slow(phi, keep, name, variance):
    """The definitions, one model and one sample at a time."""
    models, samples = phi.shape

    def shadow(attacked, sample, inside):
        pair = attacked // 2
        return [
            phi[m, sample] for m in range(models) if m // 2 != pair and keep[m, sample] == inside
        ]

    def sigma(attacked, sample, inside):
        if variance == "per_sample":
            return np.std(shadow(attacked, sample, inside), ddof=1)
        each = [np.var(shadow(attacked, i, inside), ddof=1) for i in range(samples)]
        return math.sqrt(np.mean(each))

    score = np.empty_like(phi)
    for attacked, sample in np.ndindex(*phi.shape):
        own = phi[attacked, sample]
        mu_in, mu_out = (np.mean(shadow(attacked, sample, side)) for side in (True, False))
        s_in, s_out = (sigma(attacked, sample, side) for side in (True, False))
        score[attacked, sample] = {
            "online": norm.logpdf(own, mu_in, s_in) - norm.logpdf(own, mu_out, s_out),
            "one_sided": (own - mu_out) / s_out,
            "density": -norm.logpdf(own, mu_out, s_out),
            "global": own,
        }[name]
    return score


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_models", [6, 8, 12])
def test_equal_to_a_slow_double_loop(mode, n_models):
    phi, keep = drawn(n_models, 15, seed=n_models, shift=1.0)
    name, _, variance = mode.partition(" ")
    np.testing.assert_allclose(
        MODES[mode](phi, keep), slow(phi, keep, name, variance or "pooled"), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("mode", MODES)
def test_equal_to_the_loop_where_one_margin_is_far_off(mode):
    """Digits that a difference of two sums would lose."""
    phi, keep = drawn(8, 10, seed=1)
    phi[3, 4] = 1e4
    phi = phi + 5e3
    name, _, variance = mode.partition(" ")
    attacked = slice(2, 4)  # the pair of the far margin, so that the shadows are near each other
    np.testing.assert_allclose(
        MODES[mode](phi, keep)[attacked],
        slow(phi, keep, name, variance or "pooled")[attacked],
        rtol=1e-9,
    )


def mean_aucs(mode, n_models, pools, attack=None, **made):
    """Return the mean AUC over models, one for each pool."""
    found = []
    for seed in range(pools):
        phi, keep = drawn(n_models, seed=seed, **made)
        score = (attack or MODES[mode])(phi, keep)
        found.append(np.mean([auc(*both) for both in zip(score, keep, strict=True)]))
    return np.array(found)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_models", [6, 8, 16, 32])
def test_noise_gives_one_half(mode, n_models):
    """Within 3 standard errors over 60 independent pools."""
    found = mean_aucs(mode, n_models, pools=60, n_samples=80)
    error = found.std(ddof=1) / math.sqrt(len(found))
    assert abs(found.mean() - 0.5) < 3 * error
    assert error < 0.005


def test_with_the_complement_among_the_shadows_noise_does_not():
    """The control: the counts of plain leave-one-out move the AUC, though there is no signal."""

    def leave_one_out(phi, keep):
        score = np.empty_like(phi)
        for m in range(len(phi)):
            others, inside = np.delete(phi, m, 0), np.delete(keep, m, 0)
            means = [np.mean(others, axis=0, where=side) for side in (inside, ~inside)]
            score[m] = -((phi[m] - means[0]) ** 2) + (phi[m] - means[1]) ** 2
        return score

    found = mean_aucs("", 8, pools=60, n_samples=80, attack=leave_one_out)
    assert found.mean() < 0.5 - 3 * found.std(ddof=1) / math.sqrt(len(found))


@pytest.mark.parametrize("shift", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("mode", MODES)
def test_a_planted_shift_is_found_as_well_as_it_can_be(mode, shift):
    """With many shadows the AUC is near Phi(d / sqrt 2); |z| alone gives p^2 + (1 - p)^2."""
    p = norm.cdf(shift / math.sqrt(2))
    wanted = p**2 + (1 - p) ** 2 if "density" in mode else p
    spread = 0.0 if mode == "global" else 3.0  # one threshold for all needs equal samples
    found = mean_aucs(mode, 128, pools=2, n_samples=500, shift=shift, spread=spread)
    assert found.mean() == pytest.approx(wanted, abs=0.03)


def test_calibration_is_what_the_shadows_are_for():
    """Samples of different difficulty hide the shift from one threshold for all."""
    sizes = {"n_models": 32, "pools": 2, "n_samples": 300, "shift": 1.5}
    assert mean_aucs("online pooled", **sizes).mean() > 0.8
    assert mean_aucs("global", **sizes).mean() < 0.7


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_samples_and_of_pairs_does_not_matter(mode):
    phi, keep = drawn(shift=1.0)
    score = MODES[mode](phi, keep)
    order = np.random.default_rng(3).permutation(phi.shape[1])
    np.testing.assert_allclose(MODES[mode](phi[:, order], keep[:, order]), score[:, order])
    models = [6, 7, 1, 0, 2, 3, 5, 4]
    np.testing.assert_allclose(MODES[mode](phi[models], keep[models]), score[models])


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "global"])
def test_each_samples_own_level_does_not_matter(mode):
    phi, keep = drawn(shift=1.0)
    level = np.random.default_rng(4).normal(size=phi.shape[1])
    np.testing.assert_allclose(MODES[mode](phi + level, keep), MODES[mode](phi, keep), atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_an_attacked_pair_has_no_part_in_its_own_shadows(mode):
    phi, keep = drawn(shift=1.0)
    score = MODES[mode](phi, keep)
    changed = phi.copy()
    changed[2] += 10
    again = MODES[mode](changed, keep)
    np.testing.assert_array_equal(again[3], score[3])
    assert (again[2] != score[2]).any()
    np.testing.assert_array_equal(phi, drawn(shift=1.0)[0])  # left as it was


def test_equal_margins_get_equal_scores():
    phi, keep = drawn()
    phi[:, 1], keep[:, 1] = phi[:, 0], keep[:, 0]
    for mode, attack in MODES.items():
        score = attack(phi, keep)
        assert (score[:, 0] == score[:, 1]).all(), mode


def test_one_sided_goes_on_where_the_tail_probability_rounds_to_one():
    phi, keep = drawn()
    phi[0, 0], phi[0, 1] = 1e3, 1e4
    score = lira.offline(phi, keep)[0]
    assert norm.cdf(score[0]) == norm.cdf(score[1]) == 1
    assert score[0] < score[1]


def test_a_margin_far_below_is_a_member_to_the_density_alone():
    phi, keep = drawn(n_models=16)
    phi[0, 0] = -1e3
    assert lira.offline(phi, keep)[0].argmin() == 0
    assert lira.offline(phi, keep, form="density")[0].argmax() == 0


def test_float32_margins_are_judged_in_float64():
    phi, keep = drawn()
    half = phi.astype(np.float32)
    score = lira.online(half, keep)
    assert score.dtype == np.float64
    np.testing.assert_array_equal(score, lira.online(half.astype(np.float64), keep))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_margins_that_are_not_finite_are_named(mode, bad):
    phi, keep = drawn()
    phi[5, 7] = bad
    with pytest.raises(ValueError, match="not finite, first at model 5, sample 7"):
        MODES[mode](phi, keep)


@pytest.mark.parametrize("mode", MODES)
def test_masks_that_are_no_pairs_are_named(mode):
    phi, keep = drawn()
    keep[4, 9] = keep[5, 9]
    with pytest.raises(ValueError, match="models 4 and 5 are not complementary"):
        MODES[mode](phi, keep)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_models", [0, 2, 4, 7])
def test_too_few_models_or_an_odd_number_are_refused(mode, n_models):
    phi, keep = np.zeros((n_models, 5)), np.zeros((n_models, 5), bool)
    with pytest.raises(ValueError, match=f"{n_models} models: .*at least 6"):
        MODES[mode](phi, keep)


@pytest.mark.parametrize("mode", MODES)
def test_shapes_and_types_that_do_not_fit_are_refused(mode):
    phi, keep = drawn()
    for wrong in (keep[:, :-1], keep[:-2], keep[0]):
        with pytest.raises(ValueError, match="Need phi"):
            MODES[mode](phi, wrong)
    with pytest.raises(ValueError, match="Need phi"):
        MODES[mode](phi[:, :0], keep[:, :0])
    with pytest.raises(ValueError, match="must be boolean, not int64"):
        MODES[mode](phi, keep.astype(int))


@pytest.mark.parametrize("level", [0.0, 0.1, 1e4 / 3])
def test_shadows_without_spread_are_named(level):
    """Equal margins have a variance of exactly zero, though their sum may round."""
    phi, keep = drawn()
    phi[:, 6] = level
    for attack in (lira.online, lira.offline):
        with pytest.raises(ValueError, match="sample 6 are equal when models 0 and 1"):
            attack(phi, keep, variance="per_sample")
        with pytest.raises(ValueError, match=r"are equal .*pooled"):
            attack(np.full_like(phi, level), keep)
    assert np.isfinite(lira.online(phi, keep)).all()


def test_unknown_names_are_refused():
    phi, keep = drawn()
    for attack in (lira.online, lira.offline, lira.global_threshold):
        with pytest.raises(BadInput, match="variance mode 'pool'"):
            attack(phi, keep, variance="pool")
    with pytest.raises(BadInput, match="form of the offline attack 'both'"):
        lira.offline(phi, keep, form="both")


def drawn_views(count, n_models=8, n_samples=50, seed=0, shift=0.0, common=0.0):
    """Return margins [V, M, N] of views whose noise is `common` in part, and their masks."""
    rng = np.random.default_rng([seed, 1])
    keep = paired_masks(n_models, n_samples, seed)
    level = 3.0 * rng.normal(size=(count, 1, n_samples))
    shared = np.sqrt(common) * rng.normal(size=keep.shape)
    own = np.sqrt(1 - common) * rng.normal(size=(count, *keep.shape))
    return level + shared + own + shift * keep, keep


@pytest.mark.parametrize("mode", MODES)
def test_stacked_views_are_equal_to_a_slow_double_loop(mode):
    """A normal vector with a diagonal covariance, one model, sample and view at a time."""
    phi, keep = drawn_views(3, n_samples=12, shift=1.0)
    name, _, variance = mode.partition(" ")
    wanted = np.zeros(keep.shape)
    for view in phi:
        wanted += slow(view, keep, name, variance or "pooled")
    np.testing.assert_allclose(lira.stacked(MODES[mode], phi, keep), wanted, rtol=1e-9, atol=1e-9)


def test_stacked_is_the_log_ratio_of_two_normal_vectors():
    phi, keep = drawn_views(3, n_samples=12, shift=1.0)
    score = lira.stacked(partial(lira.online, variance="per_sample"), phi, keep)
    for attacked, sample in np.ndindex(*keep.shape):
        density = {}
        for side in (True, False):
            rows = [m for m in range(8) if m // 2 != attacked // 2 and keep[m, sample] == side]
            shadow = phi[:, rows, sample]
            cov = np.diag(shadow.var(axis=1, ddof=1))
            own = multivariate_normal(shadow.mean(axis=1), cov)
            density[side] = own.logpdf(phi[:, attacked, sample])
        assert score[attacked, sample] == pytest.approx(density[True] - density[False])


@pytest.mark.parametrize("common", [0.0, 0.9])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_models", [6, 8, 16, 32])
def test_stacked_noise_gives_one_half(mode, n_models, common):
    """Within 3 standard errors over 40 pools, however much the views have in common."""
    found = []
    for seed in range(100, 140):
        phi, keep = drawn_views(6, n_models, 60, seed, common=common)
        score = lira.stacked(MODES[mode], phi, keep)
        found.append(np.mean([auc(*both) for both in zip(score, keep, strict=True)]))
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    assert abs(np.mean(found) - 0.5) < 3 * error
    assert error < 0.008


@pytest.mark.parametrize("mode", ["online pooled", "one_sided pooled", "online per_sample"])
@pytest.mark.parametrize("count", [1, 2, 6])
def test_independent_views_add_up_to_what_they_are_worth(mode, count):
    """Each with a shift d: together Phi(d sqrt(V) / sqrt 2)."""
    shift = 0.6
    phi, keep = drawn_views(count, 128, 500, shift=shift)
    score = lira.stacked(MODES[mode], phi, keep)
    found = np.mean([auc(*both) for both in zip(score, keep, strict=True)])
    assert found == pytest.approx(norm.cdf(shift * math.sqrt(count / 2)), abs=0.03)


def test_views_of_different_noise_are_worth_more_stacked_than_averaged():
    """The stack weighs a noisy view less; a mean does not."""
    phi, keep = drawn_views(2, 64, 300, shift=1.0)
    phi[1] *= 10
    phi[1] -= 9 * keep  # the shift is 1 in both

    def mean_auc(score):
        return np.mean([auc(*both) for both in zip(score, keep, strict=True)])

    stacked = mean_auc(lira.stacked(lira.online, phi, keep))
    assert stacked > mean_auc(lira.online(phi.mean(axis=0), keep)) + 0.1
    assert stacked == pytest.approx(norm.cdf(math.sqrt((1 + 0.01) / 2)), abs=0.03)


@pytest.mark.parametrize("mode", MODES)
def test_equal_views_change_no_order_and_one_view_nothing(mode):
    phi, keep = drawn(shift=1.0)
    score = MODES[mode](phi, keep)
    np.testing.assert_array_equal(lira.stacked(MODES[mode], phi[None], keep), score)
    thrice = lira.stacked(MODES[mode], np.stack([phi] * 3), keep)
    np.testing.assert_allclose(thrice, 3 * score)


def test_the_order_of_views_does_not_matter():
    phi, keep = drawn_views(4, shift=1.0)
    score = lira.stacked(lira.online, phi, keep)
    np.testing.assert_allclose(lira.stacked(lira.online, phi[[2, 0, 3, 1]], keep), score)


def test_views_of_another_form_are_refused_and_faults_are_named():
    phi, keep = drawn_views(3)
    for wrong in (phi[0], phi[:0], phi[None]):
        with pytest.raises(ValueError, match=r"Need phi\[V, M, N\] with V at least 1"):
            lira.stacked(lira.online, wrong, keep)
    phi[1, 5, 7] = math.nan
    with pytest.raises(ValueError, match="not finite, first at model 5, sample 7"):
        lira.stacked(lira.online, phi, keep)


def test_shadow_normals_are_what_online_scores_with():
    phi, keep = drawn(shift=1.0)
    for pair in range(len(phi) // 2):
        inside, outside = lira.shadow_normals(phi, keep, pair)
        own = phi[2 * pair : 2 * pair + 2]
        found = [norm.logpdf(own, side.mu, side.sigma) for side in (inside, outside)]
        wanted = lira.online(phi, keep)[2 * pair : 2 * pair + 2]
        np.testing.assert_allclose(found[0] - found[1], wanted, atol=1e-9)
        others = np.delete(np.arange(len(phi)), [2 * pair, 2 * pair + 1])
        for side, member in ((inside, True), (outside, False)):
            assert side.margins.shape == (len(phi) // 2 - 1, phi.shape[1])
            for sample in range(phi.shape[1]):
                of = [m for m in others if keep[m, sample] == member]
                np.testing.assert_array_equal(side.margins[:, sample], phi[of, sample])


@pytest.mark.parametrize("pair", [-1, 4])
def test_a_pair_that_is_not_there_has_no_normals(pair):
    with pytest.raises(ValueError, match=f"Pair {pair} is not among the 4 pairs"):
        lira.shadow_normals(*drawn(), pair)
