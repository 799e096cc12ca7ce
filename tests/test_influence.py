import re

import numpy as np
import pandas as pd
import planted
import pytest
import torch

from bn_memorization import gradnorm, influence, models, train
from bn_memorization.claims import CLAIMS
from bn_memorization.config import SETTING
from bn_memorization.errors import BadInput
from bn_memorization.influence import COMPARISONS, OVER_CLEAN, OVER_PLAIN, at, summed
from bn_memorization.judging import Evidence, judge
from bn_memorization.stats import mean_interval

EPOCHS = 2


def run(corrupted, clean, **changes):
    """Return a run with these norms, [E + 1, n] each."""
    config = planted.config(epochs=len(corrupted) - 1, **changes)
    arrays = {"norm_corrupted": np.array(corrupted), "norm_clean": np.array(clean)}
    return train.Run(config, {name: values.astype(np.float32) for name, values in arrays.items()})


def pair(high, low, seed=0, **changes):
    """Return a pair whose treated arm has the norms `high` on corrupted samples."""
    return [
        run([[1, 1]] + [high] * EPOCHS, [[1, 2, 3]] * (EPOCHS + 1), seed=seed, **changes),
        run([[1, 1]] + [low] * EPOCHS, [[1, 2, 3]] * (EPOCHS + 1), seed=seed, norm="none",
            **changes),
    ]  # fmt: skip


def test_the_sum_runs_over_all_moments():
    norms = np.array([[1, 2], [10, 20], [100, 200]], np.float32)
    np.testing.assert_array_equal(summed(norms), [111, 222])
    assert summed(norms).dtype == np.float64
    np.testing.assert_array_equal(at(1)(norms), [10, 20])


@pytest.mark.parametrize(
    ("epochs", "wanted"), [(1, [0, 1, 1, 1]), (2, [0, 1, 1, 2]), (15, [0, 1, 5, 15])]
)
def test_moments(epochs, wanted):
    assert list(influence.moments(epochs).values()) == wanted


def test_delta_by_hand():
    """Corrupted 2.5 and 0.5: over plain 1 and 1 it is half above, half below; over 1, 2, 3 2-4."""
    treated, plain = pair([2.5, 0.5], [1, 1])
    assert influence.delta(treated, plain, OVER_PLAIN, at(1)) == 0
    assert influence.delta(treated, plain, OVER_CLEAN, at(1)) == pytest.approx((2 - 4) / 6)
    assert influence.delta(treated, plain, OVER_PLAIN, at(0)) == 0
    # Sums 6 and 2 against 3 and 3, and against 3, 6, 9.
    assert influence.delta(treated, plain, OVER_PLAIN, summed) == 0
    assert influence.delta(treated, plain, OVER_CLEAN, summed) == pytest.approx((1 - 4) / 6)


def test_the_arms_are_not_confused():
    treated, plain = pair([9, 8], [5, 4])
    assert influence.delta(treated, plain, OVER_PLAIN, summed) == 1
    assert influence.delta(plain, treated, OVER_PLAIN, summed) == -1
    assert influence.delta(treated, plain, OVER_CLEAN, summed) == 1


def test_an_unknown_comparison_is_refused():
    with pytest.raises(BadInput, match="comparison"):
        influence.delta(*pair([1, 1], [1, 1]), "over all", summed)


def test_a_run_without_corrupted_samples_is_named():
    treated, plain = pair([1, 1], [1, 1], seed=7)
    treated.arrays["norm_corrupted"] = np.empty((EPOCHS + 1, 0))
    with pytest.raises(ValueError, match=r"seed 7, over plain: .*0 and 2"):
        influence.delta(treated, plain, OVER_PLAIN, summed)


def test_compare_is_the_mean_over_pairs_with_its_interval():
    runs = [
        *pair([9, 8], [5, 4], seed=0),
        *pair([9, 0], [5, 4], seed=1),
        *pair([0, 0], [5, 4], seed=2),
    ]
    (found,) = influence.compare(runs, "batch", OVER_PLAIN)
    gap = mean_interval([1, 0, -1])
    assert (found.estimate, found.low, found.high, found.n) == (0, gap.low, gap.high, 3)
    assert found.where == {name: getattr(runs[0].config, name) for name in SETTING}


def test_settings_are_kept_apart_and_the_order_of_runs_does_not_matter():
    low = pair([0, 0], [5, 4], seed=0, noise_rate=0.1) + pair([0, 0], [5, 4], 1, noise_rate=0.1)
    high = pair([9, 8], [5, 4], seed=0, noise_rate=0.5) + pair([9, 8], [5, 4], 1, noise_rate=0.5)
    found = influence.compare(low + high, "batch", OVER_PLAIN)
    assert [(item.where["noise_rate"], item.estimate) for item in found] == [(0.1, -1), (0.5, 1)]
    assert influence.compare(high[::-1] + low, "batch", OVER_PLAIN) == found[::-1]


def test_a_seed_without_its_twin_is_an_error():
    with pytest.raises(ValueError, match=r"seeds \[0\] of batch, \[\] of plain"):
        influence.compare(pair([1, 1], [1, 1])[:1], "batch", OVER_PLAIN)


def test_both_arms_are_compared_with_their_own_clean_samples():
    """Sums 19, 17, then 1, 1 with norm; 11, 9, then 11, 7 in plain; over 3, 6 and 9."""
    runs = [*pair([9, 8], [5, 4], seed=0), *pair([0, 0], [5, 3], seed=1)]
    found = influence.compare_plain(runs, "batch")
    assert found.seed.tolist() == [0, 1]
    assert found.treated.tolist() == [1, -1]
    assert found.plain.tolist() == pytest.approx([5 / 6, (5 - 1) / 6])
    text = influence.control(found, "BN").replace("\N{NO-BREAK SPACE}", " ")
    assert "the same delta is 0.75. It is larger with BN in 0 of 1 setting, and in 0 " in text
    found = found.assign(treated=[0.9, 0.91], plain=[0.1, 0.1])
    assert "in 1 of 1 setting, and in 1 the" in influence.control(found, "BN")


def test_what_was_measured():
    runs = [*pair([9, 8], [5, 4]), run([[1]] * 3, [[1, 2, 3]] * 3)]
    wanted = "Measured in each run: 1 to 2 corrupted and 3 clean samples."
    assert influence.measured(runs) == wanted


def test_by_epoch_is_the_delta_of_each_epoch():
    runs = [*pair([9, 8], [5, 4], seed=0), *pair([0, 0], [5, 4], seed=1)]
    frame = influence.by_epoch(runs, "batch")
    assert len(frame) == 2 * len(COMPARISONS) * (EPOCHS + 1)
    values = frame.set_index(["comparison", "seed", "epoch"]).delta.sort_index()
    assert values[OVER_PLAIN, 0].tolist() == [0, 1, 1]
    assert values[OVER_PLAIN, 1].tolist() == [0, -1, -1]
    assert values[OVER_CLEAN, 1].tolist() == [pytest.approx(-2 / 3), -1, -1]


def test_distributions_hold_every_sample_of_the_highest_rate():
    runs = [*pair([9, 8], [5, 4], noise_rate=0.1), *pair([7, 6], [3, 2], noise_rate=0.5)]
    frame = influence.distributions(runs)
    assert set(frame.noise_rate) == {0.5}
    assert len(frame) == 2 * 4 * (2 + 3)
    part = frame[(frame.norm == "none") & (frame.subset == "corrupted")]
    assert part[part.moment == "end of training"].value.tolist() == [3, 2]
    assert part[part.moment == "before training"].value.tolist() == [1, 1]


@pytest.fixture
def sample():
    return train.draw(planted.config(), planted.planted_set(), torch.device("cpu"))


def same(first, second):
    return (first[:, None] == second[None]).flatten(2).all(2)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_a_mixture_holds_the_rate_and_says_what_is_corrupted(sample, most):
    x, y, is_corrupted = influence.mixture(sample, 0.25, most)
    n = min(most, 12)
    assert is_corrupted.sum() == n
    assert (~is_corrupted).sum() == min(3 * n, 24)  # eval_size
    for subset, mask in (("corrupted", is_corrupted), ("clean", ~is_corrupted)):
        images, labels = sample.subsets[subset]
        found = same(x[torch.from_numpy(mask)], images)
        assert (found.sum(1) == 1).all()  # each is there, and none twice
        assert (found.sum(0) <= 1).all()
        torch.testing.assert_close(y[torch.from_numpy(mask)], labels[found.int().argmax(1)])


@pytest.mark.parametrize(("most", "found"), [(3, 3), (8, 8), (100, 8)])
def test_the_clean_samples_bound_a_mixture_that_holds_its_rate(sample, most, found):
    """24 clean samples suffice for 8 corrupted ones at a quarter."""
    assert influence.most_at_rate(sample, 0.25, most) == found
    assert influence.mixture(sample, 0.25, found)[2].mean() == 0.25
    assert influence.most_at_rate(sample, 0.001, most) == 1


def test_a_mixture_is_drawn_by_its_seed(sample):
    first, again, other = (influence.mixture(sample, 0.25, 12, seed)[2] for seed in (0, 0, 1))
    assert first.tolist() == again.tolist() != other.tolist()


def test_a_model_without_corrupted_samples_has_no_mixture():
    config = planted.config(noise_rate=0.0)
    clean = train.draw(config, planted.planted_set(), torch.device("cpu"))
    with pytest.raises(BadInput, match=r"noise_rate=0\.0 corrupts no sample"):
        influence.mixture(clean, 0.0, 10)


def test_both_modes_measures_each_sample_in_its_batch(sample):
    torch.set_num_threads(1)
    model = models.build("lenet", "batch", in_channels=1, image_size=12, classes=3, seed=0)
    x, y, is_corrupted = influence.mixture(sample, 0.25, 4)  # 16 samples
    frame = influence.both_modes(model, x, y, is_corrupted, batch_size=5)  # 5, 5 and 6: not 1
    assert (frame.subset == "corrupted").tolist() == is_corrupted.tolist()
    running = gradnorm.per_sample_norms(model, x, y, bn_mode="running")
    np.testing.assert_allclose(frame.running, running, rtol=1e-5)
    batches = zip(x.split([5, 5, 6]), y.split([5, 5, 6]), strict=True)
    batch = [gradnorm.per_sample_norms(model, *part, bn_mode="batch") for part in batches]
    np.testing.assert_allclose(frame.batch, np.concatenate(batch), rtol=1e-5)


def test_the_table_of_modes_by_hand():
    subset = ["corrupted"] * 2 + ["clean"] * 3
    frame = pd.DataFrame({"subset": subset, "running": [5, 7, 1, 2, 3], "batch": [1, 4, 1, 2, 3]})
    table = influence.modes_table(frame)
    assert table.columns.tolist() == ["mode", *influence.MODE_NUMBERS]
    assert table.iloc[0].tolist() == ["running", 6, 2, 1]
    assert table.iloc[1].tolist() == ["batch", 2.5, 2, pytest.approx((3 - 2) / 6)]


def verdict(key, *estimates):
    items = [
        Evidence({"dataset": f"set {i}"}, e, e - 0.01, e + 0.01, 3) for i, e in enumerate(estimates)
    ]
    return judge(CLAIMS[key], items)


def test_the_answer_says_what_the_evidence_says():
    text = influence.answer(
        verdict("gradient_norm", 0.5, -0.25), verdict("gradient_norm_clean", 0.75), "group norm"
    )
    first, second = text.split(". With group norm ")
    numbers = [[float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", part.replace("−", "-"))]
               for part in (first, second)]  # fmt: skip
    assert numbers == [[1, 2, -0.25, 0.5], [1, 1, 0.75]]
    assert first.endswith("(partly)")
    assert second.endswith("(reproduced).")


@pytest.mark.parametrize("key", ["gradient_norm", "gradient_norm_clean"])
def test_the_claims_name_the_mode_and_the_moment(key):
    assert "running mode" in CLAIMS[key].quantity
    assert "summed over training" in CLAIMS[key].quantity
    assert CLAIMS[key].chapter == "02_gradient_norms"


def test_a_real_pair_from_training_to_evidence():
    torch.set_num_threads(1)
    data = planted.planted_set()
    runs = [
        train.fit(planted.config(norm=norm, seed=seed), data, probes=(gradnorm.probe,))
        for seed in (0, 1)
        for norm in ("batch", "none")
    ]
    for comparison in COMPARISONS:
        (found,) = influence.compare(runs, "batch", comparison)
        assert found.n == 2
        assert -1 <= found.estimate <= 1
