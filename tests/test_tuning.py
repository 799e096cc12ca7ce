import numpy as np
import planted
import pytest

from bn_memorization import tuning
from bn_memorization.train import Run


def run(lr, seed, test, clean_loss=1.0, corrupted=0.0, norm="batch", **changes):
    """Return a run that ends at this test accuracy and clean loss."""
    config = planted.config(epochs=1, lr=lr, seed=seed, norm=norm, **changes)
    arrays = {
        "accuracy": np.array([[0.0, 0.0, 0.0], [corrupted, 0.5, test]]),
        "loss": np.array([[3.0, 3.0, 3.0], [2.0, clean_loss, 2.0]]),
    }
    return Run(config, arrays)


def chosen(runs, rule=tuning.TEST):
    return {(one.config.norm, one.config.seed): one.config.lr for one in tuning.tuned(runs, rule)}


def test_a_seed_has_no_part_in_its_own_choice():
    """Seed 0 alone likes .5, so its own rate is .1, and .5 wins in the mean with it: 1 and 2."""
    ends = {0.1: (0.5, 0.7, 0.7), 0.5: (0.99, 0.6, 0.6)}
    runs = [run(lr, seed, test) for lr, tests in ends.items() for seed, test in enumerate(tests)]
    assert chosen(runs) == {("batch", 0): 0.1, ("batch", 1): 0.5, ("batch", 2): 0.5}


def test_each_arm_has_its_own_rate_and_each_setting():
    runs = [
        run(lr, seed, 0.9 if (lr == best) else 0.5, norm=norm, noise_rate=rate)
        for norm, rate, best in (("batch", 0.25, 0.1), ("none", 0.25, 0.5), ("none", 0.5, 0.1))
        for lr in (0.1, 0.5)
        for seed in (0, 1)
    ]
    picked = tuning.tuned(runs)
    found = {(r.config.norm, r.config.noise_rate, r.config.seed): r.config.lr for r in picked}
    assert len(picked) == len(found) == 6
    assert {key[:2]: lr for key, lr in found.items()} == {
        ("batch", 0.25): 0.1,
        ("none", 0.25): 0.5,
        ("none", 0.5): 0.1,
    }


def test_the_rule_by_clean_loss_takes_the_lowest():
    runs = [run(lr, seed, 0.5, clean_loss=loss) for lr, loss in ((0.1, 0.2), (0.5, 0.1))
            for seed in (0, 1)]  # fmt: skip
    assert set(chosen(runs, tuning.CLEAN).values()) == {0.5}


def test_corrupted_samples_have_no_part_and_equal_rates_are_the_lower():
    runs = [run(lr, seed, 0.5, corrupted=end) for lr, end in ((0.5, 1.0), (0.1, 0.0), (0.9, 0.3))
            for seed in (0, 1)]  # fmt: skip
    assert set(chosen(runs).values()) == {0.1}


@pytest.mark.parametrize("missing", [(0.1, 1), (0.5, 0)])
def test_a_rate_that_lacks_a_seed_is_an_error(missing):
    grid = [(lr, seed) for lr in (0.1, 0.5) for seed in (0, 1, 2)]
    with pytest.raises(ValueError, match="every rate"):
        tuning.tuned([run(lr, seed, 0.5) for lr, seed in grid if (lr, seed) != missing])


def test_a_single_seed_cannot_choose():
    with pytest.raises(ValueError, match="2 or more seeds"):
        tuning.tuned([run(0.1, 0, 0.5), run(0.5, 0, 0.5)])


def test_rates_tell_means_and_who_chose():
    ends = {0.5: (0.9, 0.7, 0.8), 0.1: (0.5, 0.5, 0.5)}
    runs = [
        run(lr, seed, test, clean_loss=lr, corrupted=0.25)
        for lr, tests in ends.items()
        for seed, test in enumerate(tests)
    ]
    low, high = tuning.rates(runs).to_dict("records")
    assert (low["lr"], high["lr"]) == (0.1, 0.5)
    assert high["test"] == pytest.approx(0.8)
    assert high["spread"] == pytest.approx(0.1)
    assert (high["corrupted"], high["clean"], high["clean_loss"]) == (0.25, 0.5, 0.5)
    assert (low[tuning.TEST], high[tuning.TEST]) == (0, 3)
    assert (low[tuning.CLEAN], high[tuning.CLEAN]) == (3, 0)
