import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor

import pytest
import torch
import worker_tasks

from bn_memorization import executors
from bn_memorization.errors import BadInput, Failure


@pytest.fixture(autouse=True)
def torch_settings():
    """Restore what an executor in this process sets."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)


@pytest.fixture(scope="module")
def pool():
    # Where tests run in the background, Ctrl-C is ignored from the start and workers inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with executors.executor("local:2") as pool:
        yield pool
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "dask",
        "Serial",
        "serial ",
        "serial:2",
        "local:",
        "local:0",
        "local:-1",
        "local:1.5",
        "local:02",
        "local:two",
        "local:2\n",
        "local:99999",
        "mylocal:2",
        "dask-local",
        "dask-local:0",
        "dask://",
        "dask://host",
        "dask://host:port",
        "dask://host:8786/path",
        "dask://user@host:8786",
        "tcp://127.0.0.1:8786",
    ],
)
def test_bad_specs_are_refused_with_the_valid_ones(spec):
    with pytest.raises(BadInput) as caught:
        executors.executor(spec)
    assert str(caught.value) == f"Unknown executor {spec!r}. Choose {executors.SPECS}."
    for word in ("serial", "local:N", "dask-local:N", "dask://host:port", "dask+tls://"):
        assert word in executors.SPECS


@pytest.mark.parametrize(("spec", "workers"), [("local:1", 1), ("local:12", 12), ("local", None)])
def test_local_specs_say_how_many_processes(spec, workers):
    """None starts before there is work, so asking for 12 costs nothing."""
    with executors.executor(spec) as pool:
        assert isinstance(pool, Executor)
        assert pool.workers == (workers or executors.available_cores())


def test_available_cores_are_those_this_process_may_use():
    assert 1 <= executors.available_cores() <= os.cpu_count()
    if hasattr(os, "sched_setaffinity"):
        everywhere = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(everywhere)})
            assert executors.available_cores() == 1
        finally:
            os.sched_setaffinity(0, everywhere)


def test_serial_runs_here_at_once_and_in_order():
    calls = []
    with executors.executor("serial") as serial:
        futures = [serial.submit(calls.append, number) for number in range(3)]
        assert calls == [0, 1, 2]
        assert all(future.done() for future in futures)
        assert serial.submit(os.getpid).result() == os.getpid()
        assert serial.submit(dict, a=1).result() == {"a": 1}
        assert list(serial.map(abs, [-1, -2])) == [1, 2]


def test_new_tensors_are_not_filled_and_results_are_the_same():
    """Filling costs a twentieth of a step."""
    with executors.executor("serial"):
        assert not torch.utils.deterministic.fill_uninitialized_memory


def test_serial_is_as_deterministic_as_a_worker():
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(False)
    with executors.executor("serial") as serial:
        here = serial.submit(worker_tasks.settings).result()
    assert (here["threads"], here["deterministic"]) == (1, True)


def test_serial_keeps_an_exception_for_who_asks():
    with executors.executor("serial") as serial:
        future = serial.submit(worker_tasks.fail, "lost")
        assert isinstance(future.exception(), KeyError)
        with pytest.raises(KeyError, match="lost"):
            future.result()
        assert serial.submit(int, "3").result() == 3


def test_serial_lets_ctrl_c_through():
    def interrupt():
        raise KeyboardInterrupt

    with executors.executor("serial") as serial, pytest.raises(KeyboardInterrupt):
        serial.submit(interrupt)


def test_local_workers_are_other_processes_side_by_side(pool, tmp_path):
    """Each waits until the other has come."""
    tasks = [pool.submit(worker_tasks.meet, tmp_path, 2) for _ in range(2)]
    assert len({os.getpid(), *(task.result() for task in tasks)}) == 3


def test_a_worker_has_one_thread_and_deterministic_kernels(pool):
    found = pool.submit(worker_tasks.settings).result()
    assert found.pop("pid") != os.getpid()
    assert found == {"threads": 1, "deterministic": True, "ignores_ctrl_c": True}


def test_a_worker_survives_an_exception_and_passes_it_on(pool):
    with pytest.raises(KeyError, match="lost"):
        pool.submit(worker_tasks.fail, "lost").result()
    assert pool.submit(int, "3").result() == 3


def test_a_call_whose_worker_is_killed_is_made_again(pool, tmp_path):
    """And so are those beside it; later ones find new workers."""
    calls = [pool.submit(worker_tasks.die_once, tmp_path / str(n)) for n in range(2)]
    assert [call.result() for call in calls] == ["done", "done"]
    assert pool.submit(int, "3").result() == 3


def test_a_call_that_always_ends_its_process_fails_with_advice_and_harms_no_other(pool, tmp_path):
    stays = pool.submit(worker_tasks.wait_for, tmp_path / "go")
    deadly = pool.submit(worker_tasks.die)
    (tmp_path / "go").touch()
    with pytest.raises(Failure, match=r"ended from outside, and again.*EXECUTOR=local:1"):
        deadly.result()
    assert stays.result() == "went"
    assert pool.submit(int, "3").result() == 3


def test_what_has_not_begun_can_be_dropped(pool, tmp_path):
    begun = [pool.submit(worker_tasks.wait_for, tmp_path / "go") for _ in range(2)]
    assert wait_for(lambda: len(list(tmp_path.iterdir())) == 2, worker_tasks.PATIENCE)
    waiting = [pool.submit(int, "1") for _ in range(9)]
    pool.drop([*begun, *waiting])
    (tmp_path / "go").touch()
    assert [call.result() for call in begun] == ["went", "went"]
    ended = [call for call in waiting if not call.cancelled()]
    assert [call.result() for call in ended] == [1] * len(ended)
    assert len(ended) <= pool.workers + 1  # as many lie ready for workers that are done


PARENT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import worker_tasks
from bn_memorization.executors import executor

if __name__ == "__main__":
    with executor("local:1") as pool:
        pool.submit(worker_tasks.stay, Path(sys.argv[2])).result()
"""


def lives(pid: int) -> bool:
    """Say whether the process runs; one that has ended and waits to be collected does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def test_a_worker_ends_when_its_parent_is_killed(tmp_path):
    script, folder = tmp_path / "parent.py", tmp_path / "pids"
    script.write_text(PARENT)
    folder.mkdir()
    here = os.path.dirname(worker_tasks.__file__)
    parent = subprocess.Popen([sys.executable, str(script), here, str(folder)])
    worker = None
    try:
        files = wait_for(lambda: list(folder.iterdir()), worker_tasks.PATIENCE)
        assert files
        worker = int(files[0].name)
        assert lives(worker)
        parent.kill()
        parent.wait()
        assert wait_for(lambda: not lives(worker), 30)
    finally:
        parent.kill()
        parent.wait()
        if worker is not None and lives(worker):
            os.kill(worker, signal.SIGKILL)
