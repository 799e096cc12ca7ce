from dataclasses import asdict, fields

import pytest

from bn_memorization import experiments, paths
from bn_memorization.config import TrainConfig
from bn_memorization.errors import BadInput

SHARED = {
    "source": "embedded",
    "train_size": 300,
    "eval_size": 100,
    "arch": "lenet",
    "epochs": 2,
    "batch_size": 32,
    "optimizer": "adam",
    "lr": 0.01,
    "momentum": 0.5,
    "weight_decay": 0.25,
}
GRID = {
    "dataset": ["mnist", "cifar10"],
    "noise_rate": [0.01, 0.05, 0.1],
    "seeds": 2,
    "norm": "group",
}


def grid(**changes):
    return experiments.forced_memorization(SHARED | GRID | changes)


def test_every_cell_has_both_arms_of_every_seed():
    cells = {(c.dataset, c.noise_rate, c.seed, c.norm) for c in grid()}
    assert cells == {
        (dataset, rate, seed, norm)
        for dataset in ("mnist", "cifar10")
        for rate in (0.01, 0.05, 0.1)
        for seed in (0, 1)
        for norm in ("group", "none")
    }
    assert len(grid()) == 24  # none twice


def test_arms_of_a_pair_stand_side_by_side_and_differ_by_their_norm_alone():
    configs = grid()
    for normed, plain in zip(configs[::2], configs[1::2], strict=True):
        assert (normed.norm, plain.norm) == ("group", "none")
        assert asdict(normed) | {"norm": ""} == asdict(plain) | {"norm": ""}


def test_shared_parameters_reach_every_run():
    for config in grid():
        assert {name: getattr(config, name) for name in SHARED} == SHARED


def test_no_field_of_a_config_is_left_to_its_default():
    """Else a parameter of the chapter would have no effect."""
    names = {field.name for field in fields(TrainConfig)}
    assert names == {*experiments.SHARED, "dataset", "noise_rate", "seed", "norm"}


@pytest.mark.parametrize(
    ("name", "value"), [("norm", "bach"), ("lr", -1.0), ("noise_rate", [0.01, 1.5])]
)
def test_bad_values_stop_before_any_run(name, value):
    with pytest.raises(BadInput):
        grid(**{name: value})


def test_more_seeds_keep_the_runs_of_fewer():
    assert set(grid(seeds=2)) < set(grid(seeds=3))


@pytest.mark.parametrize("chapter", experiments.CHAPTERS)
def test_every_entry_names_a_chapter(chapter):
    assert (paths.notebooks() / f"{chapter}.py").is_file()


def test_a_chapter_without_training_asks_for_no_run():
    assert experiments.none(SHARED | GRID) == []
