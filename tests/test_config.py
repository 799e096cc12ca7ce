import math
from dataclasses import FrozenInstanceError, replace

import planted
import pytest

from bn_memorization.errors import BadInput


@pytest.mark.parametrize(
    ("name", "bad", "allowed"),
    [
        ("train_size", [0, 1, -5], "at least 2"),
        ("eval_size", [0, -1], "at least 1"),
        ("epochs", [0, -1], "at least 1"),
        ("batch_size", [1, 0, -2], "at least 2"),
        ("seed", [-1], "at least 0"),
        ("noise_rate", [-0.01, 1, 1.5, math.nan], r"in \[0, 1\)"),
        ("lr", [0, -0.1, math.nan, math.inf], "above 0"),
        ("momentum", [-0.1, 1, math.nan], r"in \[0, 1\)"),
        ("weight_decay", [-1e-9, math.nan, math.inf], "at least 0"),
        ("penalty_weight", [-1e-9, math.nan, math.inf], "at least 0"),
        ("penalty_target", [0, -1, math.nan, math.inf], "above 0"),
        ("penalty_layer", [0, -1], "at least 1"),
    ],
)
def test_ranges(name, bad, allowed):
    for value in bad:
        with pytest.raises(BadInput, match=rf"^{name}={value} is out of range: .*{allowed}"):
            planted.config(**{name: value})


@pytest.mark.parametrize(
    "edge",
    [
        {"train_size": 2, "eval_size": 1, "epochs": 1, "batch_size": 2},
        {"noise_rate": 0, "momentum": 0, "weight_decay": 0},
        {"noise_rate": 0.999, "momentum": 0.999, "lr": 1e-12, "seed": 2**31},
    ],
)
def test_values_at_the_edge_are_allowed(edge):
    config = planted.config(**edge)
    assert {name: getattr(config, name) for name in edge} == edge


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("optimizer", "adm", "Unknown optimizer 'adm'. Did you mean 'adam'.*adam, sgd"),
        ("arch", "alexnet", "Unknown architecture 'alexnet'.*lenet"),
        ("norm", "bach", "Unknown norm 'bach'. Did you mean 'batch'"),
        ("corruption", "flop", "Unknown corruption 'flop'. Did you mean 'flip'.*flip, noise, ood"),
        ("penalty", "lag", "Unknown penalty 'lag'. Did you mean 'log'.*hinge, log, none, square"),
    ],
)
def test_unknown_words(name, value, message):
    with pytest.raises(BadInput, match=message):
        planted.config(**{name: value})


def test_a_config_cannot_be_changed_and_equal_ones_are_one():
    config = planted.config()
    with pytest.raises(FrozenInstanceError):
        config.lr = 1.0
    assert len({config, planted.config(), replace(config, seed=1)}) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", "mnist"),
        ("norm", "none"),
        ("seed", 1),
        ("noise_rate", 0.26),
        ("noise_rate", 0.254),
        ("penalty", "log"),
        ("corruption", "ood"),
        ("corruption", "noise"),
        ("hold_weights", True),
    ],
)
def test_description_tells_a_run_from_its_neighbors(name, value):
    assert planted.config().describe() != planted.config(**{name: value}).describe()


@pytest.mark.parametrize(
    ("name", "value"), [("penalty_weight", 0.5), ("penalty_target", 0.25), ("penalty_layer", 2)]
)
def test_description_tells_penalties_apart(name, value):
    first, second = planted.config(penalty="log"), planted.config(penalty="log", **{name: value})
    assert first.describe() != second.describe()


def test_description_of_what_is_done_to_the_weights():
    assert planted.config(penalty_layer=1).penalty_layer == 1
    assert planted.config().describe() == "lenet/batch on planted, 25 % flipped, seed 0"
    done = {"penalty": "log", "penalty_weight": 2.0, "penalty_target": 0.5, "penalty_layer": 3}
    assert planted.config(**done, hold_weights=True).describe() == (
        "lenet/batch on planted, 25 % flipped, "
        "penalty log 2 at 0.5 on layer 3, weights held, seed 0"
    )
