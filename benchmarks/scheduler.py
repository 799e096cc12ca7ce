"""Measure what a run costs beside its training: published/measured/scheduler.json.

Ten thousand calls that do nothing go through Dask as runs do; then some that take five seconds.
Records that come with the code are written, found and read again.
"""

import json
import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable

import psutil

from bn_memorization import measured, paths, store, training
from bn_memorization.executors import executor

TASKS, WORKERS = 10_000, 2
RUNS, RUN_SECONDS = 20, 5.0


def nothing(number: int) -> int:
    """Stand for a run that takes no time."""
    return number


def wait(number: int) -> int:
    """Stand for a run that takes some seconds, and no processor, which others may be using."""
    time.sleep(RUN_SECONDS)
    return number


def through(spec: str, call: Callable[[int], int], count: int) -> dict:
    """Return the seconds that `count` calls take, and by how much this process grew.

    The scheduler is a part of it.
    """
    with executor(spec) as pool:
        for first in [pool.submit(nothing, -number) for number in range(1, 9)]:
            first.result()  # the workers have started and imported what they need
        before, start = psutil.Process().memory_info().rss, time.perf_counter()

        def submit(number: int):
            return pool.submit(call, number)

        found = [
            future.result()
            for _, future in training.follow(pool, submit, range(count), threading.Event())
        ]
        seconds = time.perf_counter() - start
        assert sorted(found) == list(range(count))
        grown = psutil.Process().memory_info().rss - before
        return {"seconds": seconds, "grown_bytes": grown, "ahead": pool.ahead}


def of_one_run() -> dict:
    """Return the means over the records that come with the code."""
    folders = sorted((paths.published() / store.RECORDS).glob("*/*"))
    disk, answer, call, training_seconds = 0, 0, 0, 0.0
    write, find, read = 0.0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BN_MEMORIZATION_RUNS"] = folder
        for source in folders:
            meta = json.loads((source / store.META).read_text())
            names = ("kind", "config", "data_sha256", "version")
            address = store.Address(**{name: meta.pop(name) for name in names})
            arrays, _ = store.read(address)
            files = [source / store.ARRAYS, source / store.META]
            disk += sum(-(-file.stat().st_size // 4096) * 4096 for file in files) + 4096
            answer += len(pickle.dumps((arrays, meta)))
            call += len(pickle.dumps((address.config, address.data_sha256)))
            training_seconds += meta["seconds"]
            write += _timed(lambda a=address, x=arrays, m=meta: _written(a, x, m))
            find += _timed(lambda a=address: store.exists(a))
            read += _timed(lambda a=address: store.read(a))
    count = len(folders)
    return {
        "records": count,
        "disk_bytes": disk / count,
        "answer_bytes": answer / count,
        "call_bytes": call / count,
        "training_seconds": training_seconds / count,
        "write_seconds": write / count,
        "find_seconds": find / count,
        "read_seconds": read / count,
    }


def _written(address: store.Address, arrays: store.Arrays, meta: dict) -> None:
    other = store.Address(address.kind, address.config, address.data_sha256, version=0)
    store.write(other, arrays, {k: v for k, v in meta.items() if k != "arrays_sha256"})


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Measure all and write it."""
    spec = f"dask-local:{WORKERS}"
    tasks = through(spec, nothing, TASKS)
    long = through(spec, wait, RUNS)
    found = {
        "run": of_one_run(),
        "tasks": tasks | {"count": TASKS, "seconds_a_task": tasks["seconds"] / TASKS},
        "overhead": {
            "runs": RUNS,
            "run_seconds": RUN_SECONDS,
            "workers": WORKERS,
            "seconds": long["seconds"],
            "ideal_seconds": RUNS * RUN_SECONDS / WORKERS,
        },
    }
    print(measured.write("scheduler", found))


if __name__ == "__main__":
    main()
