"""Every row at a tiny size: both ways do the same work, and a line says all that the page tells."""

import sys

import numpy as np
import pytest
import torch

from bn_memorization import measured, paths, speed
from bn_memorization.errors import BadInput

sys.path.append(str(paths.root()))
from benchmarks import attack, batch_norms, measure, norms, training
from benchmarks import speed as bench


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(before)
    torch.use_deterministic_algorithms(deterministic)


def equal(lines: list[dict]) -> None:
    compared = [line for line in lines if "error" in line]
    assert compared
    assert all(line["error"] <= line["tolerance"] for line in compared)
    assert all(speed.told(line) for line in lines)


def test_norms_in_running_mode_are_equal_in_four_ways():
    equal(norms.of_network("lenet", 8, 4, repeats=1))


def test_norms_in_batch_mode_are_equal_in_three_ways(monkeypatch):
    monkeypatch.setattr(norms, "NETWORKS", {"lenet": "mnist", "resnet8": "cifar10"})
    lines = batch_norms.run(batch=4, repeats=1)
    equal(lines)
    assert len(lines) == 4


def test_the_attack_is_equal_to_the_loop_in_every_mode(monkeypatch):
    monkeypatch.setattr(measure, "peak_bytes", lambda *_: 1)
    lines = attack.run(models=8, samples=30, looped_samples=20, repeats=1)
    equal(lines)
    assert len([line for line in lines if "error" in line]) == len(attack.ATTACKS)


def test_training_is_timed_against_loaders_and_processes(monkeypatch):
    monkeypatch.setattr(training, "WORKERS", (0,))
    settings = training.config("lenet", "mnist", 128, 1)
    (line,) = training.of_network(settings, 2, repeats=1)
    assert line["seconds"] > 0
    assert 0 < line["of_limit"] < 1
    both = training.side_by_side_runs(settings, runs=2, repeats=1)
    assert both["ratio"] > 0


def test_peak_memory_is_that_of_the_work():
    grown = measure.high_water()
    block = np.ones(64 * measure.MIB, np.uint8)
    assert measure.high_water() >= grown
    assert block.size == 64 * measure.MIB


def test_a_ratio_is_the_median_over_the_turns_and_scaled():
    line = measure.compared("a", "b", [1.0, 2.0, 4.0], [2.0, 2.0, 2.0], target=1, scale=3.0)
    assert (line["ratio"], line["low"], line["high"]) == (3.0, 1.5, 6.0)
    assert (line["seconds"], line["other_seconds"], line["n"]) == (2.0, 6.0, 3)


def test_one_row_is_measured_alone_and_the_others_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    line = measure.compared("a", "b", [1.0], [2.0], target=1)
    monkeypatch.setattr(bench, "ROWS", {"one": lambda: [line], "two": lambda: [line | {"n": 9}]})
    bench.main([])
    monkeypatch.setattr(bench, "ROWS", {"one": lambda: [line | {"n": 7}], "two": lambda: []})
    bench.main(["one"])
    rows = measured.read("speed")["rows"]
    assert [rows[name]["lines"][0]["n"] for name in ("one", "two")] == [7, 9]
    with pytest.raises(BadInput, match="row"):
        bench.main(["three"])
