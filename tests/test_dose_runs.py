import pytest

from bn_memorization import chapter, dose, dose_runs
from bn_memorization.errors import BadInput
from bn_memorization.shadows import ShadowConfig

NAME = "07_dose_response"
PARAMETERS = {
    "dataset": ["mnist", "fashion_mnist"],
    "arch": ["lenet"],
    "noise_rate": [0.05],
    "dose": [2.0, 0.5, 1.0],
    "dose_weight": 3.0,
    "dose_layer": [1, 4],
    "dose_lr": [0.02, 0.01],
    "attack_dose": [2.0, 0.5],
    "source": "embedded",
    "train_size": 300,
    "eval_size": 100,
    "epochs": 4,
    "batch_size": 32,
    "seeds": 2,
    "pool_size": 200,
    "n_models": 6,
    "moments": 2,
    "seed": 0,
    "optimizer": "sgd",
    "lr": 0.02,
    "momentum": 0.9,
    "weight_decay": 0.0,
}


def of(series, **changes):
    configs = dose_runs.trained(PARAMETERS | changes)
    return [c for c in configs if dose.series_of(c) == series]


def test_every_series_has_its_doses_for_every_setting_and_seed():
    everything = dose_runs.trained(PARAMETERS)
    assert len(everything) == len(set(everything)) == 2 * 2 * (3 + 3 + 2 * 2 + 2)
    for series in (dose.HELD, dose.FREE):
        found = [c for c in of(series) if (c.dataset, c.seed) == ("mnist", 1)]
        assert [c.penalty_target for c in found] == [0.5, 1.0, 2.0]
        assert {c.hold_weights for c in found} == {series == dose.HELD}
    for layer in (1, 4):
        found = [c for c in of(dose.layer_series(layer)) if (c.dataset, c.seed) == ("mnist", 0)]
        assert [c.penalty_target for c in found] == [0.5, 2.0]
        assert all(c.hold_weights for c in found)
    rates = [c for c in of(dose.RATE) if (c.dataset, c.seed) == ("fashion_mnist", 0)]
    assert [c.lr for c in rates] == [0.01, 0.02]
    assert not any(c.hold_weights for c in rates)


def test_what_is_not_the_dose_is_the_same_in_all_runs():
    for config in dose_runs.trained(PARAMETERS):
        assert (config.norm, config.batch_size, config.train_size) == ("batch", 32, 300)
        if dose.series_of(config) != dose.RATE:
            assert (config.lr, config.penalty_weight, config.penalty) == (0.02, 3.0, "log")


def test_the_attack_has_whole_pools_at_every_dose_with_weights_held():
    found = dose_runs.attacked(PARAMETERS)
    assert len(found) == len(set(found)) == 2 * 2 * 6
    assert all(isinstance(c, ShadowConfig) and c.hold_weights for c in found)
    first = [c for c in found if (c.dataset, c.penalty_target) == ("mnist", 0.5)]
    assert [c.model for c in first] == list(range(6))
    assert {(c.penalty, c.penalty_weight) for c in found} == {("log", 3.0)}


def test_the_plan_is_both():
    both = dose_runs.trained(PARAMETERS) + dose_runs.attacked(PARAMETERS)
    assert dose_runs.plan(PARAMETERS) == both


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dose": [0.5, 1.0]}, r"dose=\[0\.5, 1\.0\]: a slope needs at least 3"),
        ({"dose_lr": [0.02]}, "dose_lr"),
        ({"attack_dose": [1.0]}, "attack_dose"),
        ({"lr": 0.03}, r"lr=0\.03 is not among dose_lr"),
        ({"n_models": 4}, "n_models=4"),
        ({"n_models": 7}, "n_models=7"),
    ],
)
def test_refuses_what_gives_no_answer(change, message):
    with pytest.raises(BadInput, match=message):
        dose_runs.plan(PARAMETERS | change)


@pytest.mark.parametrize("profile", ["smoke", "quick", "standard", "paper"])
def test_the_plan_of_every_profile(profile):
    planned = chapter.plan(NAME, profile)
    series = {dose.series_of(c) for c in planned.configs if not isinstance(c, ShadowConfig)}
    assert {dose.HELD, dose.FREE, dose.RATE} < series
    assert planned.configs == dose_runs.plan(planned.parameters)
