from functools import partial

import numpy as np
import planted
import pytest

from bn_memorization import controls, matched
from bn_memorization.stats import paired_gap
from bn_memorization.train import Run

LOSS_PATH = np.linspace(2.0, 0.5, 7)  # of clean samples, at epochs 0 to 6
FITTED_PATH = np.linspace(0.0, 0.9, 7)
TEST_PATH = np.linspace(0.1, 0.7, 7)
NORMS = np.random.default_rng(0).uniform(1, 2, 20)[None] * np.linspace(1, 3, 7)[:, None]


def made(epochs, *, fitted=FITTED_PATH, norms=NORMS, speed=1.0, **changes):
    """Return a run that goes along one path at a speed: its state after e epochs is at speed e."""
    places = np.arange(epochs + 1) * speed
    at = partial(np.interp, places, np.arange(7))
    corrupted, clean, test = at(fitted), np.ones(epochs + 1), at(TEST_PATH)
    arrays = {
        "accuracy": np.array([corrupted, clean, test]).T,
        "loss": np.array([3 - 2 * corrupted, at(LOSS_PATH), 1 - test]).T,
        "fitted": np.ones((epochs + 1, 4), bool),
        "norm_corrupted": np.array([at(sample) for sample in norms.T]).T,
        "norm_clean": np.ones((epochs + 1, 3)),
        "weight_norm": np.ones((epochs + 1, 2)),
        "given_label": np.arange(epochs + 1),  # as long as a curve, and none
    }
    return Run(planted.config(epochs=epochs, **changes), arrays, {"seconds": 1.0})


def pairs(fast, slow):
    """Return the runs of two arms and three seeds, from what makes a run of each."""
    return [
        make(norm=norm, seed=seed)
        for seed in range(3)
        for norm, make in (("batch", fast), ("none", slow))
    ]


def found(values, matching, quantity=controls.ACCURACY):
    (item,) = controls.evidence(values, matching, quantity)
    return item


@pytest.fixture
def same_path():
    """Return effects of two arms on one path, that with BN three times as fast."""
    long = pairs(partial(made, 6, speed=1.0), partial(made, 6, speed=1 / 3))
    return controls.of_runs(long, [controls.until(run, 3) for run in long], "batch", 3)


@pytest.mark.parametrize("quantity", [controls.ACCURACY, controls.CORRUPTED_LOSS])
@pytest.mark.parametrize("matching", [controls.LOSS, controls.TEST, controls.TUNED_LOSS])
def test_arms_on_one_path_have_no_gap_where_they_are_matched(same_path, matching, quantity):
    assert found(same_path, controls.FIXED, quantity).estimate > 0.2
    assert found(same_path, matching, quantity).estimate == pytest.approx(0, abs=1e-9)


def test_norms_on_one_path_are_alike_where_they_are_matched(same_path):
    assert found(same_path, controls.FIXED, controls.GRADIENT).estimate > 0.5
    at_loss = found(same_path, controls.LOSS, controls.GRADIENT)
    assert at_loss.estimate == pytest.approx(0, abs=0.05)


def test_a_real_gap_is_found_whatever_the_matching():
    better = partial(made, 6, fitted=FITTED_PATH**0.5, norms=2 * NORMS)
    long = pairs(better, partial(made, 6, speed=0.5))
    values = controls.of_runs(long, [controls.until(run, 3) for run in long], "batch", 3)
    for matching in controls.MATCHINGS:
        for quantity in (controls.ACCURACY, controls.CORRUPTED_LOSS, controls.GRADIENT):
            assert found(values, matching, quantity).estimate > 0.1, (matching, quantity)


def test_at_equal_clean_loss_it_is_what_chapter_1_reads():
    long = pairs(partial(made, 6, speed=0.9), partial(made, 6, speed=0.35))
    values = controls.of_runs(long, long, "batch", 4)
    short = [controls.until(run, 4) for run in long]
    for matching, scale in ((controls.LOSS, float), (controls.LOG, np.log)):
        ((item, _),) = matched.at_equal_clean(short, "batch", scale=scale)
        assert found(values, matching).estimate == pytest.approx(item.estimate)


def test_the_gap_turns_with_the_arms():
    fast, slow = partial(made, 6), partial(made, 6, fitted=FITTED_PATH / 2)
    ahead, behind = (
        controls.of_runs(long, long, "batch", 4) for long in (pairs(fast, slow), pairs(slow, fast))
    )
    for matching in controls.MATCHINGS:
        for quantity in (controls.ACCURACY, controls.CORRUPTED_LOSS, controls.GRADIENT):
            one, other = (found(values, matching, quantity) for values in (ahead, behind))
            assert one.estimate == pytest.approx(-other.estimate), (matching, quantity)


def test_until_is_the_shorter_run():
    long, short = made(6), made(4)
    cut = controls.until(long, 4)
    assert cut.config == short.config
    for name in ("accuracy", "loss", "norm_corrupted", "weight_norm"):
        np.testing.assert_array_equal(cut.arrays[name], short.arrays[name])
    assert len(cut.arrays["given_label"]) == 7  # it is no curve
    assert len(long.arrays["accuracy"]) == 7
    with pytest.raises(ValueError, match="no 7 epochs"):
        controls.until(long, 7)


def test_moments_by_hand():
    fast, slow = made(4), made(4, speed=0.5)
    assert controls.at_end(fast, slow) == (4, 4)
    assert controls.at_clean_loss(fast, slow) == pytest.approx((2, 4))
    assert controls.at_test_accuracy(fast, slow) == pytest.approx((2, 4))
    assert controls.at_test_accuracy(slow, fast) == pytest.approx((4, 2))


def test_test_accuracy_is_matched_at_the_lower_best_and_the_first_time():
    one, other = made(3), made(3)
    one.arrays["accuracy"][:, 2] = [0.1, 0.5, 0.9, 0.8]
    other.arrays["accuracy"][:, 2] = [0.1, 0.7, 0.3, 0.7]
    assert controls.at_test_accuracy(one, other) == pytest.approx((1.5, 1))


@pytest.mark.parametrize(
    ("at", "wanted"), [(0, 2.0), (1, 3.0), (2, 4.0), (1.5, (3.0 + 0.5 * 4.5) / 1.5)]
)
def test_mean_norms_by_hand(at, wanted):
    """Norms 2, 4, 6: the mean over time is half way between the ends."""
    run = made(2)
    run.arrays["norm_corrupted"] = np.array([[2.0], [4.0], [6.0]], np.float32)
    assert controls.mean_norms(run, at) == pytest.approx([wanted])


def test_share_left_by_hand():
    whole = np.array([0.9, 1.0, 1.1])
    half = controls.share_left(whole / 2, whole)
    assert (half.estimate, half.low, half.high) == pytest.approx((0.5, 0.5, 0.5))
    assert half.n == 3
    none = controls.share_left([-0.01, 0.0, 0.01], [1.0, 1.0, 1.0])
    gap = paired_gap([-0.01, 0.0, 0.01], np.zeros(3))
    assert (none.estimate, none.low, none.high) == pytest.approx((0, gap.low, gap.high))


@pytest.mark.parametrize("whole", [[-1.0, 0.0, 1.0], [0.0, 0.1, 2.0], [0.0, 0.0, 0.0], [1.0]])
def test_a_gap_that_is_not_clear_of_zero_has_no_shares(whole):
    assert controls.share_left(np.ones(len(whole)), whole) is None


def test_fieller_covers_the_share():
    """Of 400 made studies of five pairs whose true share is one half, about 95 % cover it."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        whole = 1 + 0.2 * rng.normal(size=5)
        share = controls.share_left(0.5 + 0.2 * rng.normal(size=5) + 0.3 * (whole - 1), whole)
        covered.append(share.low <= 0.5 <= share.high)
    assert 0.92 < np.mean(covered) < 0.98


def test_shares_left_of_every_gap():
    long = pairs(partial(made, 6), partial(made, 6, speed=1 / 3))
    for run, seed in ((run, run.config.seed) for run in long):
        if run.config.norm == "none":
            run.arrays["accuracy"][:, 0] *= 1 - 0.05 * seed
    values = controls.of_runs(long, long, "batch", 3)
    shares = controls.shares_left(values)
    own = shares[shares.quantity == controls.ACCURACY].set_index("matching")
    assert list(own.index) == list(controls.MATCHINGS)
    assert own.share[controls.FIXED].estimate == 1
    item = found(values, controls.LOSS)
    assert own.gap[controls.LOSS].estimate == pytest.approx(item.estimate)
    assert own.share[controls.LOSS].estimate == pytest.approx(
        item.estimate / found(values, controls.FIXED).estimate
    )
    assert set(own.noise_rate) == {0.25}


def test_joined_keeps_all_rows(same_path):
    both = controls.joined(same_path, same_path.assign(noise_rate=0.5))
    assert len(both) == 2 * len(same_path)
    assert both.index.is_unique


def test_clean_samples_are_a_row_of_their_own(same_path):
    """Their norms are all one here, so whatever the corrupted ones do there is no gap."""
    assert found(same_path, controls.FIXED, controls.GRADIENT).estimate > 0.5
    assert found(same_path, controls.FIXED, controls.CLEAN_GRADIENT).estimate == 0
    long = pairs(partial(made, 6), partial(made, 6))
    for run in long:
        if run.config.norm == "batch":
            run.arrays["norm_clean"] = run.arrays["norm_clean"] * 2
    values = controls.of_runs(long, long, "batch", 3)
    assert found(values, controls.LOSS, controls.CLEAN_GRADIENT).estimate == 1
    assert found(values, controls.LOSS, controls.GRADIENT).estimate == 0


def test_evidence_tells_the_sizes_of_what_was_read(same_path):
    short, long = (found(same_path, matching).where for matching in (controls.LOSS, controls.LONG))
    assert short["sizes"] == f"{planted.config().train_size} images, 3 epochs"
    assert long["sizes"].endswith("images, 6 epochs")
