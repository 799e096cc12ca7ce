"""Every row at a tiny size: both ways do the same work, and a line says all that the page tells."""

import os
import sys

import numpy as np
import pytest
import torch

from bn_memorization import exponents, gradnorm, measured, paths, speed, stack_speed
from bn_memorization.errors import BadInput, Failure

sys.path.append(str(paths.root()))
from benchmarks import (
    attack,
    batch_norms,
    batch_parts,
    measure,
    norms,
    pages,
    scaling,
    stacked,
    steps,
    training,
)
from benchmarks import speed as bench


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(before)
    torch.use_deterministic_algorithms(deterministic)


def equal(lines) -> list[dict]:
    """Return the lines after a look at their errors."""
    lines = list(lines)
    compared = [line for line in lines if "error" in line]
    assert compared
    assert all(line["error"] <= line["tolerance"] for line in compared)
    assert all(speed.told(line) for line in lines)
    return lines


def test_norms_in_running_mode_are_equal_in_four_ways():
    equal(norms.of_network("lenet", 8, 4, repeats=1))


def test_all_rows_of_norms_end_with_memory(monkeypatch):
    monkeypatch.setattr(norms, "NETWORKS", {"lenet": "mnist", "resnet8": "cifar10"})
    monkeypatch.setattr(norms, "of_network", lambda *_: iter([]))
    monkeypatch.setattr(measure, "peak_bytes", lambda *_: [10, 30])
    (line,) = norms.run(samples=8, looped_samples=4, repeats=1)
    assert (line["bytes"], line["other_bytes"], line["ratio"]) == (10, 30, 3)
    assert speed.reached(line)


@pytest.mark.parametrize(("arch", "ways"), [("lenet", 4), ("resnet8", 3)])
def test_norms_in_batch_mode_are_equal_in_all_ways(arch, ways):
    lines = equal(batch_norms.of_network(arch, batch=6, losses=3, repeats=1))
    assert len(lines) == ways
    assert all(line["possible"] > 0 for line in lines)


def test_passes_and_parts_have_the_norms_that_the_package_has():
    model, x, y = norms.problem("lenet", "batch", 40)
    model.train()
    wanted = gradnorm.per_sample_norms(model, x, y, bn_mode="batch")
    for found in (batch_norms.passes(model, x, y, 40), batch_parts.in_parts(model, x, y, 40)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    exact = gradnorm.per_sample_norms(model.double(), x.double(), y, bn_mode="batch")
    np.testing.assert_allclose(batch_parts.in_parts(model.float(), x, y, 40), exact, rtol=3e-6)


def test_the_attack_is_equal_to_the_loop_in_every_mode(monkeypatch):
    monkeypatch.setattr(measure, "peak_bytes", lambda *_: [1])
    lines = equal(attack.run(models=8, samples=30, looped_samples=20, repeats=1))
    assert len([line for line in lines if "error" in line]) == len(attack.ATTACKS) == 6


def test_training_is_timed_against_loaders_and_processes(monkeypatch):
    monkeypatch.setattr(training, "WORKERS", (0,))
    settings = training.config("lenet", "mnist", 128, 1)
    (line,) = training.of_network(settings, 2, repeats=1)
    assert line["seconds"] > 0
    assert 0 < line["of_limit"] < 1
    both = training.side_by_side_runs(settings, runs=2, repeats=1)
    assert both["ratio"] == 2 * both["of_limit"] > 0


def test_parts_of_a_step_add_up():
    lines = list(steps.run(steps=2))
    assert {line["part"] for line in lines} >= {"convolutions", "normalization", steps.CALLS}
    assert all(line["share"] >= 0 for line in lines)
    assert sum(line["share"] for line in lines) == pytest.approx(1)
    assert speed.told_part(lines[0])


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("aten::convolution_backward", "convolutions"),
        ("aten::native_batch_norm_backward", "normalization"),
        ("Optimizer.step#SGD.step", "optimizer"),
        ("aten::unknown", steps.ELSE),
    ],
)
def test_what_torch_does_belongs_to_a_part(name, part):
    assert steps.part_of(name) == part


@pytest.mark.parametrize("curve", scaling.CURVES, ids=lambda curve: curve.what)
def test_every_curve_can_be_made_at_its_smallest(curve):
    curve.make(min(curve.values))()


def test_a_curve_holds_times_and_memory(monkeypatch):
    monkeypatch.setattr(measure, "peak_bytes", lambda _, *calls: [10**5 * v for _, v in calls])
    curve = scaling.Curve("nothing", "samples", (1, 2, 4), lambda value: lambda: sum(range(value)))
    (line,) = scaling.run([curve], repeats=1)
    assert line["at"] == [1, 2, 4]
    assert exponents.powers(line)["bytes"].exponent == pytest.approx(1)


def test_peak_memory_of_a_curve_is_measured_in_another_process():
    what = scaling.CURVES[1].what
    large, small = measure.peak_bytes("scaling", (what, 65_536), (what, 16_384))
    assert large > 64 * 65_536 * 8  # the scores
    assert small < large / 2  # though it came later


def test_pages_that_are_out_of_date_are_not_measured(monkeypatch):
    monkeypatch.setattr(pages.book, "stale", lambda profile: {"a": "b"})
    with pytest.raises(Failure, match="make book"):
        next(pages.run(1))


def test_pages_are_measured_where_the_book_is_up_to_date(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("x" * 1000)
    monkeypatch.setattr(pages, "check_built", lambda: None)
    monkeypatch.setattr(pages.paths, "site", lambda: tmp_path)
    asked = []
    monkeypatch.setattr(pages, "python", lambda code, *words: asked.append(words))
    idle, size, rerun = pages.run(repeats=2)
    assert (size["bytes"], size["ratio"]) == (1000, 15_000)
    assert all(speed.reached(line) for line in (idle, size, rerun))
    assert asked[-1][:1] == ("chapter",)


def test_a_command_that_fails_is_told():
    with pytest.raises(Failure, match="a word failed: no luck"):
        pages.python("import sys; sys.exit('no luck')", "a", "word")


def test_a_stack_is_equal_to_its_networks_and_told_without_a_gpu():
    torch.set_num_threads(1)
    gpu, cpu = stacked.run(networks=2, pool=200, epochs=1, repeats=1)
    assert cpu["error"] <= cpu["tolerance"]
    assert cpu["times"] > 0
    if not torch.cuda.is_available():
        assert "not measured on a GPU" in stack_speed.told(gpu)


def test_peak_memory_is_that_of_the_work_and_not_of_what_came_before():
    block = np.ones(64 * measure.MIB, np.uint8)
    high = measure.high_water()
    del block
    measure.forget_high_water()
    low = measure.high_water()
    block = np.ones(32 * measure.MIB, np.uint8)
    assert measure.high_water() - low > 0.9 * block.nbytes
    if os.path.exists("/proc/self/clear_refs"):
        assert low < high


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


def test_a_row_that_fails_keeps_no_other_back_and_what_was_measured_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("BN_MEMORIZATION_ROOT", str(tmp_path))
    line = measure.compared("a", "b", [1.0], [2.0], target=1)

    def broken():
        yield line
        raise Failure("no book")

    monkeypatch.setattr(bench, "ROWS", {"one": lambda: [line], "two": lambda: [line]})
    bench.main(["one"])
    monkeypatch.setattr(bench, "ROWS", {"one": broken, "two": lambda: [line]})
    with pytest.raises(Failure, match="one: no book"):
        bench.main([])
    rows = measured.read("speed")["rows"]
    assert list(rows) == ["one", "two"]
    assert rows["one"]["lines"] == [line]
