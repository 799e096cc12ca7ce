import numpy as np
import planted
import pytest
from dosed import EPOCHS, LR, SPEED, run, series

from bn_memorization import dose

LOG = {"penalty": "log", "penalty_weight": 1.0}


def test_a_series_is_what_is_set_where_and_how():
    found = [
        dose.series_of(planted.config(**change))
        for change in (
            {},
            {"hold_weights": True},
            LOG,
            LOG | {"hold_weights": True},
            LOG | {"hold_weights": True, "penalty_layer": 3},
        )
    ]
    assert found == [dose.RATE, dose.RATE, dose.FREE, dose.HELD, dose.layer_series(3)]


@pytest.mark.parametrize(
    ("curve", "level", "epochs"),
    [
        ([0, 0.2, 0.4], 0.4, 2),
        ([0, 0.2, 0.4], 0.3, 1.5),
        ([0, 1], 0.25, 0.25),
        ([0.1, 0.0, 0.5, 0.1], 0.25, 1.5),  # the first time counts
        ([0.3, 0.4], 0.25, 1),  # by chance before training: no time
        ([0.3, 0.0, 0.5], 0.25, 1.5),
    ],
)
def test_speed_by_hand(curve, level, epochs):
    assert dose.speed(curve, level) == pytest.approx(1 / epochs)


def test_a_run_that_never_gets_there_has_no_speed():
    assert np.isnan(dose.speed([0.9, 0.1, 0.2], 0.25))


def test_a_speed_does_not_depend_on_how_long_the_run_went_on():
    curve = np.linspace(0, 1, 11)
    assert dose.speed(curve, 0.25) == dose.speed(curve[:5], 0.25)


def test_outcomes_by_hand():
    found = dose.outcomes([run(0.5), run()]).set_index("series")
    held, natural = found.loc[dose.HELD], found.loc[dose.RATE]
    assert (held.dose, natural.dose) == (0.5, LR)
    assert (held.achieved, natural.achieved) == pytest.approx((0.5, 1.0))
    assert (held.gamma, held.sigma, held.weight) == pytest.approx((1.0, 2.0, 3.0))
    assert held.corrupted == pytest.approx(SPEED / 4)
    assert held.clean == pytest.approx(1.5 * SPEED / 4)
    assert (held.pull_corrupted, held.pull_clean) == pytest.approx((0.25, 0.5))
    assert np.isnan(held.next)
    assert (held.epochs, held.lr) == (EPOCHS, LR)


def test_all_layers_weigh_the_same_however_many_channels_they_have():
    made = run(1.0)
    made.arrays["gamma"][1:, 2] *= 16  # the one channel of layer 2
    found = dose.outcomes([made]).iloc[0]
    assert found.achieved == pytest.approx(4.0)
    assert found.last_gamma == pytest.approx(32.0)


def test_one_layer_is_measured_alone_and_the_next_beside_it():
    made = run(0.5, layer=1)
    made.arrays["gamma"][1:, 2] *= 2
    found = dose.outcomes([made]).iloc[0]
    assert (found.achieved, found.next) == pytest.approx((0.5, 2.0))
    last = dose.outcomes([run(0.5, layer=2)]).iloc[0]
    assert last.achieved == pytest.approx(0.5)
    assert np.isnan(last.next)


def test_a_layer_whose_weights_are_not_known_is_left_out_of_their_mean():
    made = run(1.0)
    made.arrays["weight_norm"][:, 2] = np.nan
    assert dose.outcomes([made]).weight[0] == pytest.approx(3.0)
    made.arrays["weight_norm"][:] = np.nan
    assert np.isnan(dose.outcomes([made]).weight[0])


def test_gradients_count_in_the_first_quarter_alone():
    made = run(1.0)
    for later in (0, *range(EPOCHS // dose.EARLY + 1, EPOCHS + 1)):
        made.arrays["norm_corrupted"][later] = 100.0
    assert dose.outcomes([made]).pull_corrupted[0] == pytest.approx(1.0)


def test_paths_are_those_of_weights_held():
    found = dose.paths(series(seeds=2))
    assert sorted(found.dose.unique()) == [0.5, 1.0, 2.0]
    assert len(found) == 2 * 3 * (EPOCHS + 1)
    line = found[(found.dose == 1.0) & (found.seed == 1)]
    np.testing.assert_allclose(line.share[:4], 0.25 * SPEED * np.arange(4))


@pytest.mark.parametrize(
    ("curve", "level", "epochs"),
    [
        ([0, 0.2, 0.4], 0.3, 1.5),  # never back: as the first time
        ([0, 1], 0.25, 0.25),
        ([0, 0.5, 0.0, 0.5, 0.6], 0.25, 2.5),  # the last time counts
        ([0, 0.5, 0.0, 0.25], 0.25, 3),
        ([0.3, 0.4, 0.5], 0.25, 1),  # above all along
    ],
)
def test_lasting_speed_by_hand(curve, level, epochs):
    assert dose.lasting_speed(curve, level) == pytest.approx(1 / epochs)


@pytest.mark.parametrize("curve", [[0.9, 0.1, 0.2], [0, 0.5, 0.1]])
def test_a_run_that_ends_below_has_no_lasting_speed(curve):
    assert np.isnan(dose.lasting_speed(curve, 0.25))
