"""`runs.trained_model`: the network itself, kept as a record."""

from dataclasses import replace

import numpy as np
import planted
import pytest
import torch

from bn_memorization import machine, run_kinds, runs, store, train
from bn_memorization.errors import Failure


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """An empty folder of runs, the planted set for all data, torch's settings restored."""
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv(machine.DEVICE_VARIABLE, "cpu")
    monkeypatch.setattr(run_kinds.data, "load", planted.planted_set)
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    run_kinds._dataset.cache_clear()
    yield
    run_kinds._dataset.cache_clear()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


def bits(model):
    return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}


def test_it_is_the_network_that_the_run_measured():
    config = planted.config()
    (run,) = runs.run_all([config], "serial")
    model, sample = runs.trained_model(config)
    assert not any(module.training for module in model.modules())
    for i, (loss, correct) in enumerate(train.measure(model, sample.subsets).values()):
        assert np.mean(loss, dtype=np.float64) == run.arrays["loss"][-1, i]
        assert correct.mean() == run.arrays["accuracy"][-1, i]


def test_a_shorter_config_is_the_same_network_earlier():
    config = planted.config(epochs=3)
    (run,) = runs.run_all([config], "serial")
    model, sample = runs.trained_model(replace(config, epochs=1))
    loss, _ = train.measure(model, sample.subsets)["corrupted"]
    assert np.mean(loss, dtype=np.float64) == run.curve("loss", "corrupted")[1]


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_it_is_trained_once_and_then_read(norm, monkeypatch):
    config = planted.config(norm=norm)
    first, _ = runs.trained_model(config)
    monkeypatch.setattr(train, "optimize", lambda *_: pytest.fail("trained again"))
    again, _ = runs.trained_model(config)
    assert bits(again) == bits(first)


def test_its_record_stands_beside_the_runs_and_says_how_it_was_made():
    config = planted.config()
    model, _ = runs.trained_model(config)
    assert runs.missing([config]) == [config]
    place = replace(runs.address(config), kind=run_kinds.MODEL_KIND)
    arrays, meta = store.read(place)
    assert arrays.keys() == model.state_dict().keys()
    assert {"seconds", "device", "versions", "git"} <= meta.keys()


def test_a_run_that_diverges_is_named_and_leaves_no_record():
    config = planted.config(norm="none", lr=1e20, seed=5)
    with pytest.raises(Failure, match="seed 5"):
        runs.trained_model(config)
    assert not store.exists(replace(runs.address(config), kind=run_kinds.MODEL_KIND))
