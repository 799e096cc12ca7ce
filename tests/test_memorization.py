import math
from dataclasses import replace

import numpy as np
import pandas as pd
import planted
import pytest

from bn_memorization import memorization, sample
from bn_memorization.claims import CLAIMS
from bn_memorization.foreign import with_foreign
from bn_memorization.judging import NOT_TESTABLE, judge
from bn_memorization.train import Run

NAN = math.nan


def run(corrupted, *, clean=None, test=None, **changes):
    """Return a run with the given accuracy curves; an untold one stays at zero."""
    columns = [corrupted, *(curve or [0.0] * len(corrupted) for curve in (clean, test))]
    accuracy = np.array(columns, float).T
    config = planted.config(epochs=len(corrupted) - 1, **changes)
    return Run(config, {"accuracy": accuracy, "loss": 10 - accuracy})


def pairs(*ends, **changes):
    """Return both arms of each seed from (batch, plain) final accuracies."""
    return [
        run([0.0, end], norm=norm, seed=seed, **changes)
        for seed, both in enumerate(ends)
        for norm, end in zip(("batch", "none"), both, strict=True)
    ]


FINAL = memorization.final_accuracy("corrupted")


def test_final_accuracy_takes_the_last_epoch_of_its_subset():
    one = run([0.1, 0.9, 0.2], clean=[0.3, 0.4, 0.5], test=[0.6, 0.7, 0.8])
    found = [memorization.final_accuracy(subset)(one) for subset in ("corrupted", "clean", "test")]
    assert found == [0.2, 0.5, 0.8]
    assert all(type(value) is float for value in found)


@pytest.mark.parametrize(
    ("curve", "epochs", "never"),
    [
        ([0.1, 0.2, 0.5, 0.9], 2, False),  # half counts
        ([0.6, 0.2, 0.3], 0, False),  # before training
        ([0.1, 0.7, 0.2], 1, False),  # it does not have to last
        ([0.1, 0.2, 0.3, 0.5], 3, False),  # in the last epoch
        ([0.1, 0.2, 0.3, 0.499], 3, True),  # cut off at the same number
        ([NAN, NAN], 1, True),
    ],
)
def test_half_fitted(curve, epochs, never):
    one = run(curve)
    assert memorization.half_fitted(one) == epochs
    assert isinstance(memorization.half_fitted(one), float)
    assert memorization.never_half_fitted(one) is never


def test_compare_by_hand():
    """Gaps .2, .4 and .6: mean .4, s .2; t for 2 degrees of freedom is 4.302652730 at 95 %."""
    (found,) = memorization.compare(pairs((0.5, 0.3), (0.7, 0.3), (0.9, 0.3)), "batch", FINAL)
    reach = 4.302652729911275 * 0.2 / math.sqrt(3)
    assert found.n == 3
    assert (found.estimate, found.low, found.high) == pytest.approx((0.4, 0.4 - reach, 0.4 + reach))
    assert found.where == {
        "dataset": "planted",
        "arch": "lenet",
        "corruption": "flip",
        "noise_rate": 0.25,
    }


def test_compare_turns_with_its_sign():
    runs = pairs((0.5, 0.3), (0.7, 0.3), (0.9, 0.4))
    (up,) = memorization.compare(runs, "batch", FINAL)
    (down,) = memorization.compare(runs, "batch", FINAL, sign=-1)
    assert (down.estimate, down.low, down.high) == (-up.estimate, -up.high, -up.low)


def test_compare_pairs_by_seed_whatever_the_order():
    ends = (0.9, 0.8), (0.5, 0.4), (0.1, 0.0)  # the same gap in each pair, so no width
    runs = pairs(*ends)
    for order in (runs, runs[::-1], runs[1::2] + runs[::2], runs[1::2] + runs[::2][::-1]):
        (found,) = memorization.compare(order, "batch", FINAL)
        assert (found.estimate, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_compare_gives_one_piece_of_evidence_a_cell():
    runs = [
        one
        for dataset in ("planted", "other")
        for rate in (0.25, 0.5)
        for one in pairs((rate, 0.0), (rate, 0.0), dataset=dataset, noise_rate=rate)
    ]
    found = memorization.compare(runs, "batch", FINAL)
    assert [(e.where["dataset"], e.where["noise_rate"], e.estimate, e.n) for e in found] == [
        ("planted", 0.25, 0.25, 2),
        ("planted", 0.5, 0.5, 2),
        ("other", 0.25, 0.25, 2),
        ("other", 0.5, 0.5, 2),
    ]


def test_compare_leaves_other_arms_out():
    runs = pairs((0.5, 0.3), (0.7, 0.4))
    others = [run([0.0, 0.1], norm="group", seed=seed) for seed in (0, 1)]
    assert memorization.compare(runs + others, "batch", FINAL) == memorization.compare(
        runs, "batch", FINAL
    )
    (group,) = memorization.compare(runs + others, "group", FINAL)
    assert group.estimate == pytest.approx(0.1 - 0.35)


@pytest.mark.parametrize("lost", range(4))
def test_a_seed_without_one_of_its_arms_is_an_error(lost):
    runs = pairs((0.5, 0.3), (0.7, 0.4))
    del runs[lost]
    with pytest.raises(ValueError, match=r"planted.*seeds \[.*\] of batch, \[.*\] of plain"):
        memorization.compare(runs, "batch", FINAL)


def test_no_runs_of_the_arm_is_an_error():
    with pytest.raises(ValueError, match="of group"):
        memorization.compare(pairs((0.5, 0.3)), "group", FINAL)


def test_censored_times_understate_the_gap():
    """The plain arms never get there: they count with their 4 epochs."""
    fast, slow = [0.0, 0.5, 0.9, 0.9, 0.9], [0.0, 0.1, 0.2, 0.3, 0.4]
    runs = [
        run(curve, norm=norm, seed=seed)
        for seed in (0, 1)
        for norm, curve in (("batch", fast), ("none", slow))
    ]
    (found,) = memorization.compare(runs, "batch", memorization.half_fitted, sign=-1)
    assert found.estimate == 4 - 1


FAST, SLOW = [0.0, 0.5, 0.9], [0.0, 0.1, 0.2]
T = "95 % t over seeds"


@pytest.mark.parametrize(
    ("batch", "plain", "label"),
    [
        ([FAST, FAST], [FAST, FAST], T),
        ([FAST, FAST], [SLOW, FAST], f"{T}; lower bound: 1 of 2 plain runs censored"),
        ([FAST, FAST], [SLOW, SLOW], "t not meaningful; lower bound: 2 of 2 plain runs censored"),
        ([FAST, SLOW], [FAST, FAST], f"{T}; upper bound: 1 of 2 BN runs censored"),
        ([SLOW, SLOW], [FAST, FAST], "t not meaningful; upper bound: 2 of 2 BN runs censored"),
        (
            [FAST, SLOW],
            [SLOW, FAST],
            f"{T}; no bound: 1 of 2 BN runs and 1 of 2 plain runs censored",
        ),
        (
            [FAST, SLOW],
            [SLOW, SLOW],
            "t not meaningful; no bound: 1 of 2 BN runs and 2 of 2 plain runs censored",
        ),
    ],
)
def test_gaps_in_speed_say_which_bound_they_are(batch, plain, label):
    runs = [
        run(curve, norm=norm, seed=seed)
        for norm, arm in (("batch", batch), ("none", plain))
        for seed, curve in enumerate(arm)
    ]
    (found,) = memorization.compare_speed(iter(runs), "batch")
    assert found.interval == label
    (same,) = memorization.compare(runs, "batch", memorization.half_fitted, sign=-1)
    assert found.estimate == same.estimate
    if label.startswith(T):
        assert (found.low, found.high) == (same.low, same.high)
    else:  # a whole arm is censored: no interval, and so no verdict
        assert math.isnan(found.low)
        assert judge(CLAIMS["forced_speed"], [replace(found, n=3)]).word == NOT_TESTABLE


def test_paired_gives_the_runs_of_each_setting_in_order_of_seed():
    runs = pairs((0.1, 0.2), (0.3, 0.4)) + pairs((0.5, 0.6), noise_rate=0.5)
    one, other = memorization.paired(runs[::-1], "batch")[::-1]
    assert one[0]["noise_rate"] == 0.25
    assert one[1:] == (runs[:4:2], runs[1:4:2])
    assert other[0]["noise_rate"] == 0.5
    assert other[1:] == (runs[4:5], runs[5:])


def test_curves_in_long_form():
    one = run([0.1, 0.2], clean=[0.3, 0.4], test=[0.5, 0.6], seed=3)
    two = run([0.7, 0.8], norm="none", seed=4, noise_rate=0.5)
    frame = memorization.curves([one, two])
    assert list(frame) == [
        *("dataset", "arch", "corruption", "noise_rate"),
        *("norm", "seed", "epoch", "subset", "accuracy", "loss"),
    ]
    assert len(frame) == 2 * 2 * 3
    clean = frame[(frame.seed == 3) & (frame.subset == "clean")]
    assert list(clean.epoch) == [0, 1]
    assert list(clean.accuracy) == [0.3, 0.4]
    assert list(clean.loss) == [9.7, 9.6]
    assert set(clean.norm) == {"batch"}
    last = frame[(frame.seed == 4) & (frame.subset == "corrupted") & (frame.epoch == 1)]
    assert last.accuracy.item() == 0.8
    assert last.noise_rate.item() == 0.5
    assert last.norm.item() == "none"


def test_final_accuracies_are_means_over_seeds_of_the_last_epoch():
    runs = [
        run([0.9, 0.2], clean=[0, 0.4], test=[0, 0.6], seed=0),
        run([0.9, 0.4], clean=[0, 0.6], test=[0, 1.0], seed=1),
        run([0.9, 0.1], clean=[0, 0.2], test=[0, 0.3], seed=0, norm="none"),
    ]
    found = memorization.final_accuracies(runs)
    wanted = pd.DataFrame(
        {
            "dataset": "planted",
            "arch": "lenet",
            "corruption": "flip",
            "noise_rate": 0.25,
            "norm": ["batch", "none"],
            "corrupted": [0.3, 0.1],
            "clean": [0.5, 0.2],
            "test": [0.8, 0.3],
        }
    )
    pd.testing.assert_frame_equal(found, wanted)


def test_final_accuracies_of_settings_that_differ_in_length():
    runs = [run([0.1, 0.2, 0.3]), run([0.4, 0.5], arch="resnet8")]
    found = memorization.final_accuracies(runs)
    assert list(found.arch) == ["lenet", "resnet8"]
    assert list(found.corrupted) == [0.3, 0.5]


def test_settings_differ_by_corruption_too():
    runs = [
        one
        for kind, end in (("flip", 0.2), ("ood", 0.4), ("noise", 0.6))
        for one in pairs((end, 0.0), (end, 0.0), corruption=kind)
    ]
    found = memorization.compare(runs, "batch", FINAL)
    assert [(e.where["corruption"], e.estimate) for e in found] == [
        ("flip", 0.2),
        ("ood", 0.4),
        ("noise", 0.6),
    ]


def test_loss_area_by_hand():
    """Losses 10, 9 and 6: trapezoids 9.5 and 7.5 over two epochs."""
    assert memorization.loss_area(run([0.0, 1.0, 4.0])) == pytest.approx(8.5)
    assert memorization.loss_area(run([2.0, 2.0])) == 8.0  # flat: the loss itself
    early, late = run([0.0, 5.0, 5.0, 5.0]), run([0.0, 0.0, 0.0, 5.0])
    assert memorization.loss_area(early) < memorization.loss_area(late)


def test_examples_are_the_first_of_the_arm_at_the_highest_rate_of_each_kind():
    runs = [
        run([0, 1], noise_rate=0.1, seed=0),
        run([0, 1], noise_rate=0.5, seed=1, norm="none"),
        run([0, 1], noise_rate=0.5, seed=2),
        run([0, 1], noise_rate=0.5, seed=3),
        run([0, 1], noise_rate=0.1, seed=4, corruption="noise"),
        run([0, 1], noise_rate=0.2, seed=5, corruption="noise"),
    ]
    assert memorization.examples(runs, "batch") == [runs[2], runs[5]]
    assert memorization.examples(runs, "none") == [runs[1]]


def trained_on(data, **changes):
    """Return the run of one epoch with the sample's own arrays, every second sample fitted."""
    one = run([0.0, 0.5], **changes)
    drawn = sample.corrupt(one.config, data)
    fitted = np.arange(len(drawn.index)) % 2 == 0
    one.arrays["fitted"] = np.array([~fitted, fitted])
    return one, drawn


@pytest.mark.parametrize("limit", [2, 3, 24])
def test_flipped_samples(limit):
    data = planted.planted_set()
    one, drawn = trained_on(data)
    n = min(limit, 12)
    found = memorization.corrupted_samples(one, data, limit)
    assert len(found) == n
    rows = drawn.rows[drawn.index[:n]]
    np.testing.assert_array_equal(np.stack(found["images"]), data.train.images[rows])
    given, true = drawn.labels[drawn.index], data.train.labels[rows]
    words = data.classes
    assert list(found["titles"]) == [
        f"{words[g]}\n({words[t]})" for g, t in zip(given, true, strict=False)
    ]
    assert list(found["marked"]) == [True, False] * (n // 2) + [True] * (n % 2)


def test_foreign_and_noise_samples_say_what_they_are():
    data = with_foreign(planted.planted_set(), planted.planted_set("fashion_mnist"))
    for kind, what in (("ood", "Fashion-MNIST"), ("noise", "noise")):
        one, drawn = trained_on(data, corruption=kind)
        found = memorization.corrupted_samples(one, data, 3)
        np.testing.assert_array_equal(np.stack(found["images"]), drawn.images[drawn.index[:3]])
        given = [data.classes[label] for label in drawn.labels[drawn.index[:3]]]
        assert list(found["titles"]) == [f"{label}\n({what})" for label in given]


def test_a_sheet_holds_the_samples_of_all_runs_in_order():
    gray, color = np.zeros((2, 2)), np.zeros((3, 3, 3))
    first = pd.DataFrame({"images": [gray], "titles": ["a"], "marked": [True]})
    second = pd.DataFrame({"images": [color], "titles": ["b"], "marked": [False]})
    found = memorization.sheet([first, second])
    assert [image.shape for image in found["images"]] == [(2, 2), (3, 3, 3)]
    assert (found["titles"], found["marked"]) == (["a", "b"], [True, False])


def learned(bn, plain, seed=0, **changes):
    return [
        run([0.0, 0.0], clean=[0.0, end], norm=norm, seed=seed, **changes)
        for norm, end in (("batch", bn), ("none", plain))
    ]


def test_arms_that_learned_their_clean_samples_are_told_as_such():
    text = memorization.unlearned(learned(0.9, 0.95), "batch")  # the bound itself is enough
    assert text == "Both arms fit at least 90 % of their clean samples in every setting."


def test_an_arm_that_has_not_is_named_with_its_setting():
    # The mean over seeds decides: .85 and .97 have .91, .85 and .94 have .895.
    runs = [*learned(0.85, 0.85), *learned(0.97, 0.94, seed=1)]
    runs += [*learned(0.2, 0.2, arch="resnet8")]
    text = memorization.unlearned(runs, "batch")
    assert "of 2 settings" in text
    both = text.partition("BN: ")[2]
    bn, plain = both.partition("; plain: ")[::2]
    assert bn == "planted, ResNet-8, 25\xa0% flipped"
    assert plain.startswith(
        "planted, LeNet, 25\xa0% flipped, planted, ResNet-8, 25\xa0% flipped. With"
    )


def test_no_arm_is_named_for_what_the_other_lacks():
    assert "BN: none; plain: planted" in memorization.unlearned(learned(1.0, 0.5), "batch")
