import pytest
import torch

from bn_memorization import stopwatch
from bn_memorization.planning import Network

SMALL, OTHER = Network("lenet", "batch", 28, 1), Network("resnet8", "none", 32, 3)


@pytest.fixture(autouse=True)
def torch_settings():
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


def test_every_network_is_measured_once_and_all_times_are_there():
    found = stopwatch.measure([SMALL, OTHER, SMALL], "cpu", budget=1.0)
    assert set(found) == {SMALL, OTHER}
    for times in found.values():
        assert times.step + times.image > 0
        assert times.step >= 0
        assert times.image >= 0
        assert times.look > 0


def test_without_a_budget_each_is_measured_all_the_same():
    assert stopwatch.measure([SMALL], "cpu", budget=0.0)[SMALL].look > 0


def test_the_first_call_counts_only_alone(monkeypatch):
    now = iter([0.0, 0.0, 9.0, 9.0, 9.0, 10.0, 10.0, 10.0, 11.0, 99.0])
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: next(now))
    assert stopwatch._median(lambda: None, torch.device("cpu"), budget=10.5) == 1.0
