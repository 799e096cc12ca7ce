"""The faults: each really happens to drivers at work, and what they left is counted."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import drill
from book_trials import two_books
from cluster_trials import dask_worker_killed, scheduler_restarted, worker_of_another_version
from drill import Trial, finish, start, wait_for
from ground import Ground, begun, completed, lives, refused
from record_trials import byte_flipped, record_moved, record_truncated

from bn_memorization import store

YEAR = 365 * 24 * 3600.0
TMPFS_KB = 64  # holds some of the records of drill.RUNS, not all


@dataclass(frozen=True)
class Fault:
    """A fault by name: `happen` lets it happen `tries` times and returns the means and counts."""

    happen: Callable[[Ground, random.Random, int], tuple[str, Counter]]
    tries: int  # in a test

    def trial(self, name: str, ground: Ground, tries: int | None = None) -> Trial:
        """Let it happen and return what became of the runs."""
        tries = tries or self.tries
        means, counts = self.happen(ground, random.Random(f"{name} {tries}"), tries)
        told = ("finished", "lost", "retrained", "again", "half_written")
        same = counts["same"] == counts["places"]
        return Trial(name, means, tries, **{what: counts[what] for what in told}, same=same)


def driver_killed(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total, killed = Counter(), 0
    while killed < tries:
        place, status = ground.place(), -signal.SIGKILL
        while status != 0 and killed < tries:
            driver = ground.forks.start(place)
            before, present = place.found[-1]
            least = before + min(rng.randrange(3), len(drill.RUNS) - len(present))
            wait_for(lambda p=place, n=least: len(p.started()) >= n, "runs at work")
            time.sleep(rng.uniform(0, 2 * ground.seconds / len(drill.RUNS)))
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(driver, signal.SIGKILL)
            status, _ = ground.forks.finish()
            killed += status == -signal.SIGKILL
        completed(ground.forks.run(place))
        total += ground.judged(place)
    return "SIGKILL at a random moment; it trains in its own process", total


def driver_with_workers_killed(
    ground: Ground, rng: random.Random, tries: int
) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = ground.place()
        driver = start(place, "local:1")
        least = rng.randrange(1, len(drill.RUNS) - 3)
        wait_for(lambda p=place, n=least: len(p.present()) >= n, "records")
        driver.kill()
        status, _ = finish(driver)
        assert status == -signal.SIGKILL
        workers = {pid for _, pid in place.started()}
        wait_for(lambda w=workers: not any(map(lives, w)), "the workers' end")
        completed(ground.forks.run(place))
        total += ground.judged(place)
    return "SIGKILL while a worker process trains", total


def worker_killed(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = ground.place()
        driver = start(place, "local:2")
        least = rng.randrange(1, len(drill.RUNS) - 3)
        wait_for(lambda p=place, n=least: len(p.present()) >= n, "records")
        place.strike()
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(place.started()[-1][1], signal.SIGKILL)
        completed(finish(driver))
        total += ground.judged(place)
    return "SIGKILL of one of two worker processes amid a run", total


def two_drivers(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = begun(ground)
        completed(ground.forks.run(place, drivers=2))
        total += ground.judged(place)
    return "two that ask for the same runs, with nothing between them", total


def disk_full(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = ground.place()
        place.records.mkdir()
        with small_disk(place.records) as (means, make_room, more):
            outcome = ground.forks.run(place, **more)
            refused(outcome, "Cannot write the run record", "BN_MEMORIZATION_RUNS", "are kept")
            assert len(place.present()) < len(drill.RUNS)
            make_room()
            completed(ground.forks.run(place))
            total += ground.judged(place)
    return means, total


@contextmanager
def small_disk(folder: Path):
    """Yield what makes `folder` small, a function that makes room, and what a driver must know."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS_KB}k", "none", str(folder)]
    if shutil.which("mount") and subprocess.run(mount, capture_output=True).returncode == 0:
        larger = ["mount", "-o", "remount,size=16m", str(folder)]
        try:
            yield f"a tmpfs of {TMPFS_KB} kB", lambda: subprocess.run(larger, check=True), {}
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    else:
        limit = {drill.LARGEST: "4096"}
        yield (
            "RLIMIT_FSIZE of 4,096 bytes a file, since no disk may be mounted",
            lambda: None,
            limit,
        )


def clock_wrong(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for number in range(tries):
        place = begun(ground)
        left = place.records / "train" / f"{store.WRITING}elsewhere-1-x"
        left.mkdir()
        offset = (-YEAR, YEAR)[number % 2]
        completed(ground.forks.run(place, **{drill.CLOCK: str(offset)}))
        total += ground.judged(place)
    return "a driver that sees the clock a year back, or ahead, of the files' times", total


def out_of_memory(ground: Ground, rng: random.Random, tries: int) -> tuple[str, Counter]:
    total = Counter()
    for _ in range(tries):
        place = ground.place()
        greedy = {drill.GREEDY: str(rng.randrange(len(drill.RUNS)))}
        outcome = finish(start(place, "local:1", **greedy))
        refused(outcome, "1 of 12 runs failed", "out of memory", "EXECUTOR=local:1")
        assert len(place.present()) == len(drill.RUNS) - 1
        completed(ground.forks.run(place))
        total += ground.judged(place)
    return "one run that asks its worker for 128 TiB", total


FAULTS = {
    "driver killed": Fault(driver_killed, 20),
    "driver killed, workers at work": Fault(driver_with_workers_killed, 1),
    "worker killed": Fault(worker_killed, 1),
    "Dask worker killed": Fault(dask_worker_killed, 1),
    "Dask scheduler restarted": Fault(scheduler_restarted, 1),
    "Dask worker of another version": Fault(worker_of_another_version, 1),
    "two drivers at once": Fault(two_drivers, 1),
    "two books at once": Fault(two_books, 1),
    "disk full": Fault(disk_full, 1),
    "record truncated": Fault(record_truncated, 3),
    "bit of a record flipped": Fault(byte_flipped, 3),
    "record of another run in its place": Fault(record_moved, 2),
    "clock set back or ahead": Fault(clock_wrong, 2),
    "out of memory in one run": Fault(out_of_memory, 1),
}
