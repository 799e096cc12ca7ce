import math
from dataclasses import replace

import made_shadows
import numpy as np
import planted
import pytest

from bn_memorization import membership as mia
from bn_memorization import norm_controls
from bn_memorization.control_claims import CONTROLS
from bn_memorization.judging import NOT_TESTABLE, judge
from bn_memorization.norms import NORMS
from bn_memorization.train import Run


def run(norm, corrupted=(0.0, 0.5), clean=(0.1, 1.0), loss=(2.0, 0.5), **changes):
    """Return a run whose accuracy on corrupted and clean samples and clean loss are these."""
    ends = len(corrupted)
    zero = np.zeros(ends)
    with_bn = norm.startswith("batch")
    arrays = {
        "accuracy": np.array([corrupted, clean, np.linspace(0, 0.5, ends)], float).T,
        "loss": np.array([zero, loss, zero], float).T,
        "gamma": np.array([[1.0, -2.0, 6.0][: 3 * with_bn]] * ends),
        "sigma": np.array([[1.0, 1.0, 2.0][: 3 * with_bn]] * ends),
    }
    return Run(planted.config(norm=norm, epochs=ends - 1, **changes), arrays)


def three(norm, end, **changes):
    """Return the runs of three seeds that end near this accuracy on corrupted samples."""
    return [run(norm, (0.0, end + 0.01 * s), seed=s, **changes) for s in range(3)]


def test_arms_are_paired_by_seed_in_each_setting():
    runs = [run(n, seed=s, noise_rate=r) for r in (0.25, 0.5) for s in (1, 0)
            for n in ("group", "batch", "none")]  # fmt: skip
    found = norm_controls.arms(runs, "batch", "group")
    assert [where["noise_rate"] for where, _ in found] == [0.25, 0.5]
    for _, pairs in found:
        assert [(a.config.norm, b.config.norm) for a, b in pairs] == [("batch", "group")] * 2
        assert [(a.config.seed, b.config.seed) for a, b in pairs] == [(0, 0), (1, 1)]
    with pytest.raises(ValueError, match="seeds"):
        norm_controls.arms(runs[1:], "batch", "group")


def test_against_is_first_minus_second():
    runs = three("batch", 0.7) + three("group", 0.4)
    (found,) = norm_controls.against(runs, "batch", "group")
    assert (found.estimate, found.low, found.high) == pytest.approx((0.3, 0.3, 0.3))
    (turned,) = norm_controls.against(runs, "group", "batch")
    assert turned.estimate == pytest.approx(-0.3)


@pytest.mark.parametrize("norm", ["batch", "batch_cut"])
def test_an_arm_that_has_not_learned_decides_nothing(norm):
    low = {norm: (0.1, 0.89)}
    runs = [one for n in ("batch", "batch_cut")
            for one in three(n, 0.5, clean=low.get(n, (0.1, 0.9)))]  # fmt: skip
    (found,) = norm_controls.against(runs, "batch", "batch_cut")
    assert found.estimate == pytest.approx(0)
    assert math.isnan(found.low)
    assert "has not learned the clean samples" in found.interval
    assert ("as constants" in found.interval) == (norm == "batch_cut")
    assert judge(CONTROLS["norm_statistics"], [found]).word == NOT_TESTABLE
    assert found.where["sizes"] == f"{planted.config().train_size} images, 1 epoch"


def test_each_size_of_batches_is_a_setting():
    runs = [
        one
        for size, end in ((256, 0.2), (16, 0.6))
        for one in (*three("batch", end, batch_size=size), *three("none", 0.1, batch_size=size))
    ]
    small, large = norm_controls.by_batch_size(runs, "batch")
    assert (small.where["batch_size"], large.where["batch_size"]) == (
        "batches of 16",
        "batches of 256",
    )
    assert (small.estimate, large.estimate) == pytest.approx((0.5, 0.1))


def test_median_ratio_is_of_the_absolute_and_only_with_bn():
    assert norm_controls.median_ratio(run("batch")) == 2
    assert math.isnan(norm_controls.median_ratio(run("none")))


def test_every_control_compares_norms_that_there_are():
    assert set(norm_controls.COMPARED) <= set(CONTROLS)
    assert {norm for pair in norm_controls.COMPARED.values() for norm in pair} <= set(NORMS)


def test_standings_by_hand():
    where = {"dataset": "planted", "noise_rate": 0.25}
    norms = ("batch", "none", "group")
    shadows = [
        one
        for shift, norm in zip((3.0, 0.0, 1.0), norms, strict=True)
        for one in made_shadows.shadows((0.0, shift, 9.0), norm=norm, noise_rate=0.25)
    ]
    pools = [replace(pool, looks=[0, 1, 2]) for pool in mia.pools(shadows)]
    assert all(where.items() <= pool.where.items() for pool in pools)
    runs = [
        *three("batch", 0.8, loss=(2.0, 0.5)),
        *three("none", 0.2, loss=(2.0, 1.0)),
        *three("group", 0.4, loss=(2.0, 1.0)),
    ]
    found = norm_controls.standings(runs, pools, "batch").set_index("norm")
    assert list(found.index) == list(norms)
    assert list(found.corrupted) == pytest.approx([0.81, 0.21, 0.41])
    assert list(found.clean_loss) == [0.5, 1.0, 1.0]
    assert found.ratio["batch"] == 2
    assert found.auc["batch"] > found.auc["group"] > found.auc["none"]
    wanted = [pool.aucs(mia.DECIDES, look=1).mean() for pool in pools]
    assert list(found.auc) == pytest.approx(wanted)  # after one epoch, not at the end
    assert found.to_plain["group"].estimate == pytest.approx(0.2)
    assert found.bn_minus["group"].estimate == pytest.approx(0.4)
    # The arm with BN passes a loss of 1 after two thirds of its epoch.
    at_loss = 0.81 * 2 / 3
    assert found.to_plain_equal["batch"].estimate == pytest.approx(at_loss - 0.21)
    assert found.bn_minus_equal["group"].estimate == pytest.approx(at_loss - 0.41)
    for norm, column in (("none", "to_plain"), ("batch", "bn_minus")):
        assert found[column][norm] == norm_controls.ITSELF
        assert found[f"{column}_equal"][norm] == norm_controls.ITSELF
    assert set(found.n) == {3}


def test_a_norm_that_has_not_learned_has_no_gaps_in_the_standings():
    norms = ("batch", "none", "group")
    pools = mia.pools([s for n in norms for s in made_shadows.shadows(norm=n, noise_rate=0.25)])
    pools = [replace(pool, looks=[0, 1, 2]) for pool in pools]
    runs = [*three("batch", 0.8), *three("none", 0.2), *three("group", 0.4, clean=(0.1, 0.8))]
    found = norm_controls.standings(runs, pools, "batch").set_index("norm")
    for column in ("to_plain", "bn_minus", "to_plain_equal", "bn_minus_equal"):
        assert found[column]["group"] == norm_controls.UNLEARNED
    assert found.to_plain["batch"].estimate == pytest.approx(0.6)
