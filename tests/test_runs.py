import multiprocessing
import os
import shutil
import threading
import time
from dataclasses import replace
from functools import partial

import made_shadows
import numpy as np
import planted
import pytest
import torch

from bn_memorization import machine, run_kinds, runs, shadows, store, train
from bn_memorization.errors import BadInput, Failure
from bn_memorization.executors import SerialExecutor

# In worker processes only real data can be had: the smallest run on the part in the repository.
REAL = planted.config(dataset="mnist", train_size=100, eval_size=100, epochs=1, batch_size=50)
DIVERGING = replace(REAL, norm="none", lr=1e20, seed=5)
BOTH = [planted.config(norm="batch"), planted.config(norm="none")]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """An empty folder of runs, the CPU, torch's settings restored, no data set remembered."""
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv(machine.DEVICE_VARIABLE, "cpu")
    monkeypatch.delenv(runs.EXECUTOR_VARIABLE, raising=False)
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    run_kinds._dataset.cache_clear()
    yield
    run_kinds._dataset.cache_clear()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


@pytest.fixture
def fits(monkeypatch):
    """Put the planted set in the place of all data and return the list of configs trained."""
    trained, real = [], train.fit

    def fit(config, data, **how):
        trained.append(config)
        return real(config, data, **how)

    monkeypatch.setattr(run_kinds.data, "load", planted.planted_set)
    monkeypatch.setattr(train, "fit", fit)
    return trained


def identical(first, second):
    assert first.arrays.keys() == second.arrays.keys()
    return all(first.arrays[k].tobytes() == second.arrays[k].tobytes() for k in first.arrays)


def test_runs_are_trained_once_and_then_read(fits):
    first = runs.run_all(BOTH, "serial")
    assert fits == BOTH
    again = runs.run_all(BOTH, "serial")
    assert fits == BOTH
    for one, other in zip(first, again, strict=True):
        assert identical(one, other)
        assert one.meta == other.meta


def test_a_run_from_the_store_is_the_run_that_was_trained(fits):
    (found,) = runs.run_all(BOTH[:1], "serial")
    again = train.fit(BOTH[0], planted.planted_set(), device="cpu", probes=run_kinds.PROBES)
    assert identical(found, again)


def test_results_come_in_the_order_asked_for(fits):
    configs = [planted.config(seed=seed) for seed in (3, 1, 2)]
    runs.run_all(configs[1:], "serial")
    assert [run.config for run in runs.run_all(configs, "serial")] == configs
    assert [run.config for run in runs.run_all(configs[::-1], "serial")] == configs[::-1]
    assert len(fits) == 3


def test_the_same_config_twice_is_trained_once(fits):
    found = runs.run_all([BOTH[0], BOTH[1], BOTH[0]], "serial")
    assert fits == BOTH
    assert [run.config for run in found] == [BOTH[0], BOTH[1], BOTH[0]]
    assert identical(found[0], found[2])


def test_missing_runs_each_once_and_in_order(fits):
    configs = [planted.config(seed=seed) for seed in (3, 1, 2, 1)]
    assert runs.missing(configs) == configs[:3]
    runs.run_all([configs[1]], "serial")
    assert runs.missing(configs) == [configs[0], configs[2]]
    assert runs.missing([]) == []


def test_only_what_was_deleted_is_trained_again(fits):
    configs = [planted.config(seed=seed) for seed in range(3)]
    before = runs.run_all(configs, "serial")
    fits.clear()
    shutil.rmtree(runs.address(configs[1]).folder)
    after = runs.run_all(configs, "serial")
    assert fits == [configs[1]]
    assert all(identical(*both) for both in zip(before, after, strict=True))


def test_a_damaged_record_is_named_and_not_used(fits):
    runs.run_all(BOTH, "serial")
    path = runs.address(BOTH[1]).folder / store.ARRAYS
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(store.DamagedRecord, match=runs.address(BOTH[1]).key):
        runs.run_all(BOTH, "serial")
    assert fits == BOTH


def test_meta_says_how_the_run_was_made(fits):
    (run,) = runs.run_all(BOTH[:1], "serial")
    assert run.meta["config"] == vars(BOTH[0])
    assert run.meta["data_sha256"] == planted.planted_set().sha256
    assert run.meta["version"] == train.VERSION
    assert run.meta["device"] == "cpu"
    assert run.meta["threads"] == 1
    assert run.meta["seconds"] > 0
    assert run.meta["versions"]["torch"] == torch.__version__
    assert set(run.meta["git"]) == {"commit", "dirty"}


def test_other_data_or_other_code_are_other_runs(fits, monkeypatch):
    runs.run_all(BOTH[:1], "serial")
    monkeypatch.setattr(train, "VERSION", train.VERSION + 1)
    assert runs.missing(BOTH[:1]) == BOTH[:1]
    monkeypatch.undo()
    changed = replace(planted.planted_set(), sha256="6" * 64)
    monkeypatch.setattr(run_kinds.data, "load", lambda name, source: changed)
    run_kinds._dataset.cache_clear()
    assert runs.missing(BOTH[:1]) == BOTH[:1]


def test_more_images_than_there_are_stops_before_any_training(fits):
    with pytest.raises(BadInput, match="train_size=61, but planted"):
        runs.run_all([BOTH[0], planted.config(train_size=61)], "serial")
    assert fits == []


@pytest.mark.parametrize(("variable", "value"), [("DEVICE", "abacus"), ("EXECUTOR", "cloud")])
def test_a_bad_variable_stops_before_any_training(fits, monkeypatch, variable, value):
    monkeypatch.setenv(f"BN_MEMORIZATION_{variable}", value)
    with pytest.raises(BadInput, match=value):
        runs.run_all(BOTH)
    assert fits == []


@pytest.mark.parametrize(
    ("argument", "variable", "used"),
    [
        (None, None, "local"),
        (None, "local:3", "local:3"),
        ("serial", "local:3", "serial"),
    ],
)
def test_which_executor_is_used(fits, monkeypatch, argument, variable, used):
    asked = []

    def executor(spec):
        asked.append(spec)
        return SerialExecutor()

    monkeypatch.setattr(runs, "executor", executor)
    if variable:
        monkeypatch.setenv(runs.EXECUTOR_VARIABLE, variable)
    runs.run_all(BOTH[:1], argument)
    assert asked == [used]
    runs.run_all(BOTH[:1], argument)
    assert asked == [used]  # nothing to train, no processes to start


def test_a_failing_run_does_not_stop_the_others(fits):
    bad = [planted.config(norm="none", lr=1e20, seed=seed) for seed in (8, 9)]
    with pytest.raises(Failure) as caught:
        runs.run_all([BOTH[0], *bad, BOTH[1]], "serial")
    assert str(caught.value).startswith(f"2 of 4 runs failed. The first, {bad[0].describe()}: ")
    assert "stopped being finite" in str(caught.value)
    assert runs.missing([*BOTH, *bad]) == bad


@pytest.mark.parametrize("spec", ["serial", "local:1"])
def test_an_error_that_nobody_foresaw_comes_with_its_traceback(spec, monkeypatch):
    """Each kind of executor hands it over in a way of its own."""
    broken = replace(REAL, epochs=2)
    object.__setattr__(broken, "lr", "fast")  # as a mistake in a config's checks would leave it
    with pytest.raises(Failure) as caught:
        runs.run_all([broken], spec)
    told = str(caught.value)
    assert told.startswith(f"1 of 1 runs failed. The first, {broken.describe()}: ")
    assert "in make_optimizer" in told
    assert told.splitlines()[-1].startswith("TypeError: ")
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_failure_that_was_foreseen_is_told_without_a_traceback(fits):
    with pytest.raises(Failure) as caught:
        runs.run_all([planted.config(norm="none", lr=1e20)], "serial")
    assert "Traceback" not in str(caught.value)
    assert isinstance(caught.value.__cause__, Failure)


def test_a_record_that_cannot_be_written_stops_at_once(fits, monkeypatch):
    """No later one could be kept either."""

    def full(address, arrays, details):
        raise store.CannotWrite("no space")

    monkeypatch.setattr(store, "write", full)
    with pytest.raises(store.CannotWrite, match="no space"):
        runs.run_all(BOTH, "serial")
    assert fits == BOTH[:1]


def test_what_another_process_has_kept_meanwhile_is_not_trained_again(fits):
    """Here that is done between two runs."""
    first, second = planted.config(seed=1), planted.config(seed=2)
    training = runs.train_missing([first, second], 2, "serial")
    assert next(training).config == first
    runs.run_one(second)
    assert [ended.config for ended in training] == [second]
    assert fits == [first, second]


def test_ctrl_c_says_what_is_left_and_keeps_what_is_done(fits, monkeypatch):
    configs = [planted.config(seed=seed) for seed in range(3)]
    real = train.fit

    def fit(config, data, **how):
        if config == configs[1]:
            raise KeyboardInterrupt
        return real(config, data, **how)

    with monkeypatch.context() as patched:
        patched.setattr(train, "fit", fit)
        with pytest.raises(Failure, match="Stopped with 2 models to train"):
            runs.run_all(configs, "serial")
    assert runs.missing(configs) == configs[1:]
    fits.clear()
    runs.run_all(configs, "serial")
    assert fits == configs[1:]


def test_old_leftovers_are_swept_when_there_is_something_to_train(fits, tmp_path):
    left = tmp_path / "runs" / run_kinds.KIND / ".writing-left"
    left.mkdir(parents=True)
    runs.run_all(BOTH[:1], "serial")
    assert left.exists()  # its writer may be at work
    stamp = time.time() - 2 * store.ABANDONED_SECONDS
    os.utime(left, (stamp, stamp))
    runs.run_all(BOTH, "serial")
    assert not left.exists()


def test_processes_give_the_same_bits_and_one_failure_stops_none(monkeypatch, tmp_path):
    good = [REAL, replace(REAL, norm="none")]
    with pytest.raises(Failure) as caught:
        runs.run_all([good[0], DIVERGING, good[1]], "local:2")
    assert str(caught.value).startswith(f"1 of 3 runs failed. The first, {DIVERGING.describe()}: ")
    assert runs.missing([*good, DIVERGING]) == [DIVERGING]
    apart = runs.run_all(good)
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "others"))
    assert runs.missing(good) == good
    for one, other in zip(runs.run_all(good, "serial"), apart, strict=True):
        assert identical(one, other)
        assert one.meta["threads"] == other.meta["threads"] == 1
        assert np.isfinite(one.arrays["loss"]).all()


def test_a_killed_worker_costs_no_run_and_changes_no_bit(monkeypatch, tmp_path):
    longer = replace(REAL, epochs=40)

    def kill_after_the_first():
        deadline = time.monotonic() + 120
        while not store.exists(runs.address(REAL)) and time.monotonic() < deadline:
            time.sleep(0.02)
        for worker in multiprocessing.active_children():
            worker.kill()

    runs.address(REAL)  # the data are read before the other thread asks for them
    killer = threading.Thread(target=kill_after_the_first)
    killer.start()
    found = runs.run_all([REAL, longer], "local:1")
    killer.join()
    monkeypatch.setenv("BN_MEMORIZATION_RUNS", str(tmp_path / "others"))
    for one, other in zip(runs.run_all([REAL, longer], "serial"), found, strict=True):
        assert identical(one, other)


BOTH_SHADOWS = [made_shadows.config(norm="batch"), made_shadows.config(norm="none")]


def test_shadow_models_are_trained_once_and_kept_apart(fits):
    (trained, *attacked) = runs.run_all([BOTH[0], *BOTH_SHADOWS], "serial")
    assert runs.missing([BOTH[0], *BOTH_SHADOWS]) == []
    assert isinstance(trained, train.Run)
    for shadow, config in zip(attacked, BOTH_SHADOWS, strict=True):
        assert isinstance(shadow, shadows.Shadow)
        assert shadow.config == config
        assert identical(shadow, shadows.fit(config, planted.planted_set()))
        assert runs.address(config).folder.parent.name == run_kinds.SHADOW_KIND
        assert shadow.meta["config"] == vars(config)
    assert runs.address(BOTH[0]).folder.parent.name == run_kinds.KIND


@pytest.mark.parametrize("module", [train, shadows])
def test_other_code_makes_other_shadow_models(fits, monkeypatch, module):
    runs.run_all(BOTH_SHADOWS[:1], "serial")
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    assert runs.missing(BOTH_SHADOWS[:1]) == BOTH_SHADOWS[:1]


def test_a_pool_larger_than_the_data_stops_before_any_training(fits):
    with pytest.raises(BadInput, match="pool_size=61, but planted"):
        runs.run_all([BOTH[0], made_shadows.config(pool_size=61)], "serial")
    assert fits == []


def test_a_class_that_no_shadow_model_sees_stops_before_any_training(fits):
    lacking = made_shadows.config(pool_size=8, model=1)
    with pytest.raises(BadInput, match=r"shadow model 1 of .* no image of class (top|mid|bot)"):
        runs.run_all([BOTH[0], lacking], "serial")
    assert fits == []


def test_a_diverging_shadow_model_is_named_and_does_not_stop_the_others(fits):
    bad = made_shadows.config(norm="none", lr=1e20)
    with pytest.raises(Failure, match=r"1 of 3 runs failed. The first, shadow model 0 of lenet/no"):
        runs.run_all([BOTH_SHADOWS[0], bad, BOTH_SHADOWS[1]], "serial")
    assert runs.missing([*BOTH_SHADOWS, bad]) == [bad]


def test_foreign_images_are_part_of_the_data_of_the_runs_that_use_them(fits, monkeypatch):
    monkeypatch.setattr(run_kinds, "FOREIGN", {"planted": "other"})
    kinds = {kind: planted.config(corruption=kind) for kind in ("flip", "ood", "noise")}
    own = planted.planted_set().sha256
    hashes = {kind: runs.address(config).data_sha256 for kind, config in kinds.items()}
    assert hashes["flip"] == hashes["noise"] == own != hashes["ood"]
    assert run_kinds.dataset(kinds["ood"]).foreign.name == "other"
    assert run_kinds.dataset(kinds["flip"]).foreign is None

    def load(name, source):
        found = planted.planted_set(name, source)
        return replace(found, sha256="6" * 64) if name == "other" else found

    monkeypatch.setattr(run_kinds.data, "load", load)
    run_kinds._dataset.cache_clear()
    again = {kind: runs.address(config).data_sha256 for kind, config in kinds.items()}
    assert again["flip"] == own
    assert again["ood"] not in hashes.values()


@pytest.mark.parametrize("kind", ["ood", "noise"])
def test_every_kind_of_corruption_is_trained_and_kept(fits, monkeypatch, kind):
    monkeypatch.setattr(run_kinds, "FOREIGN", {"planted": "other"})
    config = planted.config(corruption=kind)
    (run,) = runs.run_all([config], "serial")
    assert (run.arrays["true_label"] == -1).all()
    assert run.arrays["fitted"].shape == (3, 12)
    assert run.meta["config"]["corruption"] == kind
    assert runs.missing([config]) == []


@pytest.fixture
def stacks(monkeypatch, fits):
    """Make this machine say that it has CUDA, train on the CPU, and return the stacks' sizes."""
    sizes, real = [], run_kinds.together.train_all

    def noted(configs, begin):
        sizes.append(len(configs))
        return real(configs, begin)

    monkeypatch.setattr(machine, "device", lambda: "cuda")
    monkeypatch.setattr(run_kinds.together, "train_all", noted)
    on_cpu = {kind: partial(lambda begin, c, d, _: begin(c, d, "cpu"), begin)
              for kind, begin in run_kinds.BEGIN.items()}  # fmt: skip
    monkeypatch.setattr(run_kinds, "BEGIN", on_cpu)
    return sizes


def test_on_a_gpu_runs_that_are_alike_are_trained_as_one(stacks, fits):
    configs = [planted.config(seed=seed) for seed in range(3)]
    found = runs.run_all(configs, "serial")
    assert (stacks, fits) == ([3], [])
    assert [run.config for run in found] == configs
    assert {run.meta["stacked"] for run in found} == {3}
    alone = train.fit(configs[1], planted.planted_set(), probes=run_kinds.PROBES)
    assert found[1].arrays.keys() == alone.arrays.keys()
    assert found[1].arrays["loss"][0] == pytest.approx(alone.arrays["loss"][0], abs=1e-6)
    runs.run_all(configs, "serial")
    assert stacks == [3]


def test_a_stack_holds_only_what_is_missing(stacks):
    configs = [planted.config(seed=seed) for seed in range(4)]
    runs.run_all(configs[1:3], "serial")
    runs.run_all(configs, "serial")
    assert stacks == [2, 2]


def test_a_run_that_fails_in_a_stack_is_named_and_the_others_are_kept(stacks, monkeypatch):
    real = run_kinds.BEGIN[type(BOTH[0])]

    def begin(config, data, where):
        begun = real(config, data, where)
        if config.seed == 2:
            begun.x.fill_(float("inf"))
        return begun

    monkeypatch.setattr(run_kinds, "BEGIN", {type(BOTH[0]): begin})
    configs = [planted.config(seed=seed) for seed in range(3)]
    with pytest.raises(Failure, match=r"1 of 3 runs failed.*seed 2"):
        runs.run_all(configs, "serial")
    assert [c.seed for c in runs.missing(configs)] == [2]


def test_a_call_that_fails_fails_all_its_runs(stacks, monkeypatch):
    def broken(configs, begin):
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(run_kinds.together, "train_all", broken)
    with pytest.raises(Failure, match="2 of 2 runs failed"):
        runs.run_all([planted.config(seed=seed) for seed in range(2)], "serial")
