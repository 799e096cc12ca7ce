import math

import numpy as np
import planted
import pytest
from remedied import GIVEN, HINGE, LOG, grid, run, table

from bn_memorization import tradeoff


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, (tradeoff.NOTHING, "")),
        (LOG, ("log", "weight 1, target 0.5")),
        (HINGE, ("hinge", "weight 0.1, target 0.25")),
        ({"penalty": "square", "penalty_weight": 0.3}, ("square", "weight 0.3")),
        ({"weight_decay": 0.01}, (tradeoff.DECAY, "0.01")),
        ({"lr": 0.005}, (tradeoff.RATE, "0.005")),
    ],
)
def test_remedies_are_told_from_the_config(changes, found):
    assert tradeoff.remedy(planted.config(**changes), **GIVEN) == found


def test_gain_and_cost_are_against_the_same_seed():
    found = table(
        run(0.9, 0.8, seed=0),
        run(0.2, 0.75, seed=0, **LOG),
        run(0.7, 0.6, seed=1),
        run(0.3, 0.7, seed=1, **LOG),
    )
    np.testing.assert_allclose(found.gain, [0, 0.7, 0, 0.4])
    np.testing.assert_allclose(found.cost, [0, 0.05, 0, -0.1])
    assert found.method.tolist() == [tradeoff.NOTHING, "log"] * 2


def test_settings_are_paired_within_themselves():
    found = table(
        run(0.9, 0.8, noise_rate=0.1),
        run(0.5, 0.7, noise_rate=0.2),
        run(0.1, 0.6, noise_rate=0.1, **LOG),
        run(0.1, 0.6, noise_rate=0.2, **LOG),
    )
    np.testing.assert_allclose(found.gain, [0, 0, 0.8, 0.4])


@pytest.mark.parametrize("seeds", [[1], [0, 0]])
def test_each_seed_needs_one_run_without_a_remedy(seeds):
    without = [run(0.9, 0.8, seed=seed) for seed in seeds]
    with pytest.raises(ValueError, match="one run without a remedy"):
        table(*without, run(0.1, 0.8, seed=0, **LOG))


def targets(rows):
    return [int(setting[-1]) for setting in rows.setting]


def test_a_seed_has_no_say_in_its_own_choice():
    """On each seed another setting is best by far; on the others it is the worst."""
    free = [[0.0] * 3] * 3
    found = tradeoff.chosen(
        grid([[0.9, 0.0, 0.1], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]], free), ["log"], "penalty"
    )
    # For seed 0: means over seeds 1 and 2 are .05, .45 and .5; and so on around.
    assert found.seed.tolist() == [0, 1, 2]
    assert targets(found) == [3, 1, 2]
    np.testing.assert_allclose(found.gain, [0.0, 0.0, 0.0], atol=1e-12)


def test_changing_a_seed_does_not_change_its_own_choice():
    gains = [[0.3, 0.2, 0.1], [0.2, 0.25, 0.3]]
    costs = [[0.0, 0.0, 0.0], [0.0, 0.02, -0.01]]
    before = targets(tradeoff.chosen(grid(gains, costs), ["log"], "penalty"))
    for seed in range(3):
        for gain, cost in ((0.8, -0.2), (-0.05, 0.5)):
            changed = [[*row] for row in gains], [[*row] for row in costs]
            changed[0][1][seed], changed[1][1][seed] = gain, cost
            after = targets(tradeoff.chosen(grid(*changed), ["log"], "penalty"))
            assert after[seed] == before[seed]


def test_a_setting_that_costs_more_than_a_point_on_the_others_is_not_chosen():
    gains = [[0.5, 0.5, 0.5], [0.2, 0.2, 0.2]]
    found = tradeoff.chosen(grid(gains, [[0.02] * 3, [0.005] * 3]), ["log"], "penalty")
    assert targets(found) == [2, 2, 2]
    # A mean over the others counts, and seed 0's own cost does not.
    found = tradeoff.chosen(grid(gains, [[0.5, 0.0, 0.015], [0.0] * 3]), ["log"], "penalty")
    assert targets(found) == [1, 2, 2]
    np.testing.assert_allclose(found.cost, [0.5, 0.0, 0.0], atol=1e-12)


def test_if_all_cost_too_much_the_cheapest_is_taken():
    gains = [[0.5] * 3, [0.6] * 3, [0.9] * 3]
    found = tradeoff.chosen(grid(gains, [[0.2] * 3, [0.1] * 3, [0.3] * 3]), ["log"], "penalty")
    assert targets(found) == [2, 2, 2]


def test_a_choice_is_among_its_methods_and_carries_its_name():
    rows = [run(0.9, 0.9, seed=seed, **change) for seed in (0, 1) for change in ({}, LOG, HINGE)]
    found = tradeoff.chosen(table(*rows), ["hinge"], "some name")
    assert found.method.tolist() == ["hinge", "hinge"]
    assert found.remedy.tolist() == ["some name", "some name"]


@pytest.mark.parametrize("lost", [2, 3])
def test_every_setting_needs_every_seed(lost):
    rows = [run(0.9, 0.9, seed=seed, **change) for change in ({}, LOG, HINGE) for seed in (0, 1)]
    del rows[lost]
    with pytest.raises(ValueError, match="every setting with the same 2 or more seeds"):
        tradeoff.chosen(table(*rows), ["log", "hinge"], "penalty")


def test_one_seed_leaves_no_other_to_choose_on():
    with pytest.raises(ValueError, match="2 or more seeds"):
        tradeoff.chosen(table(run(0.9, 0.9), run(0.1, 0.9, **LOG)), ["log"], "penalty")


def stop(test_accuracy, corrupted=(0.1, 0.2, 0.6, 0.9), test=(0.5, 0.8, 0.9, 0.7)):
    without = run(corrupted, test)
    rows = table(run(0.9, 0.7), run(0.0, test_accuracy, **LOG)).iloc[1:].assign(remedy="penalty")
    return tradeoff.stopped([without], rows).iloc[0]


def test_early_stopping_at_the_first_epoch_of_equal_test_accuracy():
    found = stop(0.75)
    assert (found.method, found.remedy, found.setting) == (tradeoff.STOPPING,) * 2 + ("epoch 2",)
    assert (found.corrupted, found.test) == (0.2, 0.8)
    assert (found.gain, found.cost) == pytest.approx((0.7, -0.1))
    assert stop(0.8).setting == "epoch 2"  # equal is enough
    assert stop(0.1).setting == "epoch 1"  # and not before training


def test_early_stopping_at_the_best_epoch_if_none_reaches_it():
    found = stop(0.95)
    assert found.setting == "epoch 3"
    assert not found.reached
    assert stop(0.9).reached
    assert (found.gain, found.cost) == pytest.approx((0.3, -0.2))


def test_early_stopping_takes_the_run_of_the_same_seed():
    without = [run([0.1, 0.9], [0.5, 0.6], seed=0), run([0.3, 0.8], [0.7, 0.6], seed=1)]
    rows = [run(0.9, 0.6, seed=seed) for seed in (0, 1)]
    rows += [run(0.0, 0.5, seed=seed, **LOG) for seed in (1, 0)]
    chosen = table(*rows)
    found = tradeoff.stopped(without, chosen[chosen.method == "log"])
    assert found.seed.tolist() == [1, 0]
    assert found.corrupted.tolist() == [0.3, 0.1]


def test_evidence_by_hand():
    """Gains .2, .4 and .6: mean .4, s .2; t for 2 degrees of freedom is 4.302652730."""
    rows = tradeoff.chosen(grid([[0.2, 0.4, 0.6]], [[0.01, 0.01, 0.01]]), ["log"], "penalty")
    (gain,), (cost,) = tradeoff.evidence(rows, "gain"), tradeoff.evidence(rows, "cost")
    reach = 4.302652729911275 * 0.2 / math.sqrt(3)
    assert (gain.estimate, gain.low, gain.high) == pytest.approx((0.4, 0.4 - reach, 0.4 + reach))
    assert (cost.estimate, cost.n) == (pytest.approx(0.01), 3)
    assert gain.where["noise_rate"] == 0.25


def test_further_pairs_any_column_by_seed():
    first, second = grid([[0.9, 0.2]], [[0.0, 0.1]]), grid([[0.4, 0.1]], [[0.0, 0.0]])
    rows, rival = (frame[frame.method == "log"] for frame in (first, second))
    for column, wanted in (("gain", 0.3), ("corrupted", -0.3), ("test", -0.05)):
        (found,) = tradeoff.further(rows, rival[::-1], column)
        assert found.estimate == pytest.approx(wanted)
        assert found.n == 2
    assert tradeoff.further(rows, rival) == tradeoff.further(rows, rival, "gain")


def test_points_are_means_with_intervals_in_the_order_of_the_runs():
    found = tradeoff.points(grid([[0.2, 0.4], [0.6, 0.6]], [[0.0, 0.0], [0.1, 0.3]]))
    assert found.method.tolist() == [tradeoff.NOTHING, "log", "log"]
    np.testing.assert_allclose(found.corrupted, [0.9, 0.6, 0.3])
    np.testing.assert_allclose(found.test, [0.9, 0.9, 0.7])
    assert found.n.tolist() == [2, 2, 2]
    assert found.corrupted_low[1] < 0.6 < found.corrupted_high[1]
    np.testing.assert_allclose([found.test_low[1], found.test_high[1]], 0.9)


def test_path_is_the_mean_after_each_epoch():
    runs = [run([0.1, 0.5], [0.6, 0.8], seed=0), run([0.3, 0.7], [0.8, 0.8], seed=1)]
    found = tradeoff.path(runs)
    assert found.epoch.tolist() == [1, 2]
    np.testing.assert_allclose(found.corrupted, [0.2, 0.6])
    np.testing.assert_allclose(found.test, [0.7, 0.8])


def test_without_remedy():
    runs = [run(0.9, 0.9), run(0.9, 0.9, **LOG), run(0.9, 0.9, lr=0.01), run(0.9, 0.9, seed=1)]
    assert tradeoff.without_remedy(runs, **GIVEN) == [runs[0], runs[3]]
